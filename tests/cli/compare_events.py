# SPDX-License-Identifier: Apache-2.0
"""Holds the times of GPUTRACE_GPU=events against the exact log of the simulated driver.

usage: compare_events.py LOG DUMP.tsv GONE; exit code 77: the machine was too busy to tell

Every copy and launch of the log has a time in the trace but for GONE ones, whose context was
destroyed. Where a copy began when what was before it in its stream ended, and so did the next one,
events can tell its time exactly, which is then required. All other times hold the real one.
"""
import collections
import sys

from compare_log import CLOCK_RATE, ROUNDING_NS, level_of, read_dump
from simlog import read_log


def issued(events):
    """The calls that gave the GPU work, in their order."""
    calls = [e for e in events if e["tag"] == "call" and e["result"] == 0 and
             ("direction" in e or "LaunchKernel" in e["function"])]
    return sorted(calls, key=lambda e: e["sequence"])


def done(events):
    """Per correlation one operation: a batch is from its first beginning to its last end."""
    groups = collections.defaultdict(list)
    for event in events:
        if event["tag"] == "gpu" and event["kind"] in ("kernel", "copy"):
            groups[event["correlation"]].append(event)
    operations = []
    for _, group in sorted(groups.items()):
        operations.append({"kind": group[0]["kind"], "stream": group[0]["stream"],
                           "bytes": sum(e.get("bytes", 0) for e in group),
                           "begin_ns": min(e["begin_ns"] for e in group),
                           "end_ns": max(e["end_ns"] for e in group)})
    return operations


def mark_exact(operations):
    """How long events say that an operation took, where that is certain."""
    streams = collections.defaultdict(list)
    for operation in operations:
        streams[operation["stream"]].append(operation)
    for chain in streams.values():
        for before, this, after in zip(chain, chain[1:], chain[2:]):
            if this["begin_ns"] == before["end_ns"] and after["begin_ns"] == this["end_ns"]:
                this["exact_ns"] = this["end_ns"] - before["end_ns"]


def main():
    events, tables, gone = read_log(sys.argv[1]), read_dump(sys.argv[2]), int(sys.argv[3])
    calls, operations = issued(events), done(events)
    assert len(calls) == len(operations), (len(calls), len(operations))
    mark_exact(operations)
    host = [row for kind in ("copy", "launch") for row in tables[kind]
            if level_of(row["api"]) == "call" and row["status"] == "0"]
    host.sort(key=lambda row: int(row["end_ns"]))
    assert len(host) == len(calls), (len(host), len(calls))
    gpu = {int(row["correlation"]): row for kind in ("gpu_copy", "gpu_kernel")
           for row in tables[kind]}
    exact = missing = 0
    for call, operation, row in zip(calls, operations, host):
        assert call["function"].replace("_ptsz", "").replace("_ptds", "") == row["api"], (call, row)
        measured = gpu.pop(int(row["correlation"]), None)
        if not measured:
            missing += 1
            continue
        if operation["kind"] == "copy":
            assert int(measured["size_bytes"]) == operation["bytes"], (call, measured)
        took_ns = int(measured["end_ns"]) - int(measured["begin_ns"])
        real_ns = operation["end_ns"] - operation["begin_ns"]
        slack_ns = ROUNDING_NS + CLOCK_RATE * real_ns
        assert took_ns >= real_ns - slack_ns, (call, operation, measured)
        if "exact_ns" in operation:
            exact += 1
            assert abs(took_ns - operation["exact_ns"]) <= slack_ns, (call, operation, measured)
    assert not gpu, f"times of nothing: {gpu}"
    assert missing == gone, f"{missing} have no time, {gone} expected"
    print(f"{len(calls)} copies and launches, {exact} of them exactly as in the log, {gone} gone")
    return 0 if exact >= 8 else 77  # too few were queued in time


if __name__ == "__main__":
    sys.exit(main())
