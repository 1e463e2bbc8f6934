# SPDX-License-Identifier: Apache-2.0
"""Counts of one training step, as gputrace recorded it and as torch.profiler saw it.

usage: compare_profiler.py DUMP.tsv PROFILE.json   DUMP is of `gputrace dump --format tsv`

The step lies in the range check_step. Prints lines of what, tab, recorded, tab, profiler's; exit code 1
where they differ, or where an operation of the step has no GPU time.
"""
import collections
import json
import sys

CATEGORIES = {"kernel": "kernels", "gpu_memcpy": "copies", "gpu_memset": "sets"}


def read_dump(path):
    """{kind: [row as dict]}"""
    tables, rows, names = collections.defaultdict(list), None, None
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            cells = line.rstrip("\n").split("\t")
            if line.startswith("# "):
                rows, names = tables[line[2:].strip()], None
            elif names is None:
                names = cells
            else:
                rows.append(dict(zip(names, cells)))
    return tables


def leaves(tables, inside):
    """The innermost calls that give the GPU work: the runtime's call has the driver's inside it."""
    rows = [(kind, row) for kind in ("launch", "copy", "set", "graph") for row in tables[kind]
            if row["status"] == "0" and inside(row) and (kind != "graph" or row["op"] == "launch")]
    outer = {(row["thread"], row["parent_id"]) for _, row in rows}
    return [(kind, row) for kind, row in rows if (row["thread"], row["call_id"]) not in outer]


def correlation_of(row, by_call):
    """CUPTI's number may stand at the call around it."""
    while row and row["correlation"] == "0":
        row = by_call.get((row["thread"], row["parent_id"]))
    return row["correlation"] if row else None


def count_recorded(tables):
    ranges = [row for row in tables["mark"] if row["name"] == "check_step"]
    if len(ranges) != 1:
        sys.exit(f"{len(ranges)} ranges named check_step in the trace, not one: no NVTX?")
    begin_ns, end_ns = int(ranges[0]["begin_ns"]), int(ranges[0]["end_ns"])
    by_call = {(row["thread"], row["call_id"]): row for rows in tables.values() for row in rows
               if "call_id" in row and "correlation" in row}
    timed = collections.Counter(row["correlation"] for kind in ("kernel", "copy", "set", "graph")
                                for row in tables["gpu_" + kind])
    executables = {row["executable"]: row for row in tables["graph"]
                   if row["op"] in ("instantiate", "update") and row["status"] == "0"}
    counts = collections.Counter()
    for kind, row in leaves(tables, lambda row: begin_ns <= int(row["begin_ns"]) <= end_ns):
        if kind == "graph":
            made = executables.get(row["executable"], row)
            counts["kernels"] += int(made["kernel_nodes"])
            counts["copies"] += int(made["copy_nodes"])
            counts["sets"] += int(made["set_nodes"])
        else:
            counts[{"launch": "kernels", "copy": "copies", "set": "sets"}[kind]] += 1
        if kind == "copy":
            counts["copied bytes"] += int(row["size_bytes"])
        counts["untimed"] += not timed[correlation_of(row, by_call)]
    return counts


def count_profiled(path):
    counts = collections.Counter()
    with open(path, encoding="utf-8") as trace:
        for event in json.load(trace)["traceEvents"]:
            what = CATEGORIES.get(event.get("cat"))
            if what and event.get("ph") == "X":
                counts[what] += 1
                if what == "copies":
                    counts["copied bytes"] += int(event.get("args", {}).get("bytes", 0))
    return counts


def main():
    recorded, profiled = count_recorded(read_dump(sys.argv[1])), count_profiled(sys.argv[2])
    bad = recorded["untimed"]
    for what in ("kernels", "copies", "copied bytes", "sets"):
        print(f"{what}\t{recorded[what]}\t{profiled[what]}")
        bad += recorded[what] != profiled[what]
    print(f"operations without a GPU time\t{recorded['untimed']}\t0")
    return 1 if bad or not recorded["kernels"] else 0


sys.exit(main())
