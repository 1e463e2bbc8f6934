#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds a trace against the exact log of the simulated driver.

usage: compare_log.py LOG DUMP.tsv [--runtime] [--graphs nodes]

Every driver call that copies, sets, launches, allocates, frees or waits, every cuBLAS product and,
where the runtime is a shared library, every runtime call must stand in the trace once, in the same
order and with the same numbers; so must everything that the GPU did, with the same duration up to
the rate of two clocks, by which the viewer converts it. A launch of a CUDA graph is one operation in
the trace, or all its nodes with --graphs nodes.
"""
import re
import sys

from simlog import read_log

TYPES = {0: "f32", 1: "f64", 2: "f16", 14: "bf16"}  # cudaDataType_t of the samples
OPERATIONS = {0: "N", 1: "T", 2: "C"}
# Of a duration. How fast two clocks go is taken from pairs some milliseconds apart, one of which may
# have been taken while another program had the CPU: seen was 9e-4.
ROUNDING_NS, CLOCK_RATE = 2, 2e-3
# Calls about graphs, by the end of their names; runtime calls that the simulated log leaves out.
GRAPH_CALLS = {"begincapture": "capture_begin", "begincapturetograph": "capture_begin",
               "endcapture": "capture_end", "graphcreate": "create", "graphclone": "create",
               "graphinstantiate": "instantiate", "graphinstantiatewithflags": "instantiate",
               "graphinstantiatewithparams": "instantiate", "graphexecupdate": "update",
               "graphupload": "upload", "graphlaunch": "launch", "graphdestroy": "destroy",
               "graphexecdestroy": "exec_destroy"}
NOT_IN_RT_LOG = {"create", "update", "destroy", "exec_destroy"}


def read_dump(path):
    """{kind: [row as dict]} of `gputrace dump --format tsv`."""
    tables, kind, names = {}, None, None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            cells = line.rstrip("\n").split("\t")
            if line.startswith("# "):
                kind, names = line[2:].strip(), None
                tables[kind] = []
            elif names is None:
                names = cells
            else:
                tables[kind].append(dict(zip(names, cells)))
    return tables


def level_of(api):
    if re.match(r"_*cuda", api):
        return "rt"
    return "blas" if api.startswith("cublas") else "call"


def triple(cells, name):
    return ",".join(cells[f"{name}[{i}]"] for i in range(3)) if f"{name}[0]" in cells else cells[name]


def from_log(event):
    """(kind, api, numbers) of a log line, None for one that the trace need not have."""
    # The trace marks a call on a per-thread default stream by a flag, not by the twin's name.
    api = re.sub(r"_pt(ds|sz)$", "", event["function"])
    name = api.lower()
    if event["tag"] == "blas":
        if "gemm" not in name and "matmul" not in name:
            return None
        return ("gemm", api, event["m"], event["n"], event["k"], event["lda"], event["ldb"],
                event["ldc"], letter(event["opa"]), letter(event["opb"]), element(event["typea"]),
                element(event["typeb"]), element(event["typec"]), event["batch"])
    graph = graph_call(api)
    if graph:
        if event["tag"] == "rt":
            return None if graph in NOT_IN_RT_LOG else ("graph", api, graph)
        counted = graph in ("capture_end", "instantiate")
        return ("graph", api, graph, event.get("exec", 0), event["nodes"] if counted else 0)
    if "direction" in event:
        return ("copy", api, event["direction"], event["bytes"])
    if "memset" in name:
        return ("set", api, event["bytes"])
    if "launchkernel" in name:
        return ("launch", api, event["name"], event["grid"], event["block"], event["shared"])
    if re.search(r"malloc|memalloc|hostalloc|array(3d)?create", name):
        return ("memory", api, "alloc", event["address"], event["bytes"])
    if re.search(r"memfree|cudafree|freehost|arraydestroy", name):
        return ("memory", api, "free", event["address"])
    if re.search(r"synchronize", name):
        return ("sync", api)
    return None


def graph_call(api):
    name = re.sub(r"(_v\d+)?(_ptsz)?$", "", api.lower())
    return GRAPH_CALLS.get(re.sub(r"^(cuda|cu)(stream)?", "", name))


def letter(value):
    return OPERATIONS.get(value, value)


def element(value):
    return TYPES.get(value, value)


def from_trace(kind, row):
    api = row["api"]
    if kind == "gemm":
        return (kind, api, *(int(row[c]) for c in ("m", "n", "k", "lda_elements", "ldb_elements",
                                                  "ldc_elements")),
                row["op_a"], row["op_b"], row["type_a"], row["type_b"], row["type_c"],
                int(row["batch"]))
    if kind == "copy":
        return (kind, api, row["direction"], int(row["size_bytes"]))
    if kind == "set":
        return (kind, api, int(row["size_bytes"]))
    if kind == "launch":
        return (kind, api, row["kernel"], triple(row, "grid"), triple(row, "block"),
                int(row["shared_bytes"]))
    if kind == "graph":
        if level_of(api) == "rt":
            return None if row["op"] in NOT_IN_RT_LOG else (kind, api, row["op"])
        counted = row["op"] in ("capture_end", "instantiate")
        return (kind, api, row["op"], int(row["executable"], 0),
                int(row["node_count"]) if counted else 0)
    if kind == "memory":
        numbers = (int(row["address"], 0),)
        if row["op"] in ("1", "alloc"):
            return (kind, api, "alloc", *numbers, int(row["size_bytes"]))
        if row["op"] not in ("2", "free"):
            return None  # the end of a context is no call of the log's kinds
        return (kind, api, "free", *numbers)
    return (kind, api)


def differences(what, wanted, got):
    if wanted == got:
        print(f"{what}: {len(wanted)} equal")
        return 0
    print(f"{what}: DIFFER, log has {len(wanted)}, trace has {len(got)}")
    for i, (a, b) in enumerate(zip(wanted + [None] * len(got), got + [None] * len(wanted))):
        if a != b:
            print(f"  first difference at {i}:\n    log   {a}\n    trace {b}")
            break
    return 1


def compare_calls(events, tables, level):
    wanted = []
    for event in sorted((e for e in events if e["tag"] == level), key=lambda e: e["sequence"]):
        # A refused call has the fields that were known when it was refused.
        numbers = from_log(event) if event["result"] == 0 else None
        if numbers:
            wanted.append((event["sequence"], numbers))
    got = []
    for kind in ("copy", "set", "launch", "memory", "sync", "gemm", "graph"):
        for row in tables.get(kind, []):
            if level_of(row["api"]) == level and row["status"] == "0":
                numbers = from_trace(kind, row)
                if numbers:
                    got.append((int(row["end_ns"]), int(row["call_id"]), numbers))
    return differences(f"{level} lines", [numbers for _, numbers in wanted],
                       [numbers for _, _, numbers in sorted(got)])


def compare_gpu(events, tables, has_nodes):
    wanted, got = [], []
    for event in events:
        if event["tag"] == "gpu" and ("node" in event) <= has_nodes and \
                not (event["kind"] == "graph" and has_nodes):
            what = {"kernel": event.get("name"), "graph": event.get("graph")}.get(
                event["kind"], event.get("bytes"))
            wanted.append((event["kind"], event["correlation"], str(what),
                           event.get("direction", ""), event.get("node", 0),
                           event["end_ns"] - event["begin_ns"]))
    for kind in ("kernel", "copy", "set", "graph"):
        for row in tables.get("gpu_" + kind, []):
            what = row[kind if kind in ("kernel", "graph") else "size_bytes"]
            got.append((kind, int(row["correlation"]), what, row.get("direction", ""),
                        int(row["graph_node"]), int(row["end_ns"]) - int(row["begin_ns"])))
    wanted.sort()
    got.sort()
    bad = differences("gpu lines", [w[:-1] for w in wanted], [g[:-1] for g in got])
    for log, trace in zip(wanted, got):
        if not bad and abs(log[-1] - trace[-1]) > ROUNDING_NS + CLOCK_RATE * log[-1]:
            print(f"gpu durations: DIFFER\n    log   {log}\n    trace {trace}")
            bad = 1
    return bad


def main():
    events, tables = read_log(sys.argv[1]), read_dump(sys.argv[2])
    levels = {"call"}
    levels |= {e["tag"] for e in events if e["tag"] == "blas"}
    if "--runtime" in sys.argv:
        levels.add("rt")
    bad = sum(compare_calls(events, tables, level) for level in sorted(levels))
    bad += compare_gpu(events, tables, sys.argv[-2:] == ["--graphs", "nodes"])
    if not any(e["tag"] == "gpu" for e in events):
        print("the log has no GPU work at all")
        bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
