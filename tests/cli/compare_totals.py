#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the totals of a trace against the exact log of the simulated driver.

usage: compare_totals.py LOG DUMP.tsv [--runtime] [--sampled N | --singly LEAST MOST]

By function: calls that succeeded, and the bytes of copies, sets and allocations. By kernel and kind
of copy: how often, how many bytes, how long, to the nanosecond. With --sampled, what is recorded
singly beside the totals is one of N launches, each with the calls inside it and its kernel, and all
of the rest; with --singly that many percent of the launches.
"""
import collections
import sys

from compare_log import from_log, level_of, read_dump
from simlog import read_log

SIZED = ("copy", "set", "memory")
KINDS = ("copy", "set", "launch", "memory", "sync", "gemm", "graph")


def wanted_calls(events, levels):
    counts = collections.Counter()
    for event in events:
        if event["tag"] not in levels or event["result"] != 0:
            continue
        numbers = from_log(event)
        if not numbers:
            continue
        kind, api = numbers[:2]
        counts[kind, api, "calls"] += 1
        if kind in SIZED and (kind != "memory" or numbers[2] == "alloc"):
            counts[kind, api, "bytes"] += numbers[-1]
    return counts


def got_calls(totals, levels):
    counts = collections.Counter()
    for row in totals:
        kind, api = row["total_of"], row["api"]
        if kind not in KINDS or level_of(api) not in levels:
            continue
        # Contexts that memory ended with, which the log does not tell of.
        if kind == "memory" and row["variant"] not in ("1", "2"):
            continue
        counts[kind, api, "calls"] += int(row["count"]) - int(row["failed"])
        if kind in SIZED:
            counts[kind, api, "bytes"] += int(row["size_bytes"])
    return counts


def wanted_work(events):
    counts = collections.Counter()
    for event in events:
        if event["tag"] != "gpu" or "node" in event:
            continue
        kind = "gpu_" + event["kind"]
        name = event["name"] if kind == "gpu_kernel" else ""
        counts[kind, name, "times"] += 1
        counts[kind, name, "ns"] += event["end_ns"] - event["begin_ns"]
        counts[kind, name, "bytes"] += event.get("bytes", 0)
    return counts


def got_work(totals):
    counts = collections.Counter()
    for row in totals:
        kind = row["total_of"]
        if kind not in ("gpu_kernel", "gpu_copy", "gpu_set", "gpu_graph"):
            continue
        name = row["detail"] if kind == "gpu_kernel" else ""
        counts[kind, name, "times"] += int(row["count"])
        counts[kind, name, "ns"] += int(row["duration_ns"])
        counts[kind, name, "bytes"] += int(row["size_bytes"])
    return counts


def compare(what, wanted, got):
    # Functions that the log says nothing of by name and kind, as cudaMemGetInfo, are not compared.
    wanted, got = +wanted, +got
    bad = {key for key in wanted | got if wanted[key] != got[key]}
    print(f"{what}: {len(wanted)} sums, {len(bad)} differ")
    for key in sorted(bad, key=str)[:8]:
        print(f"  {key}: log {wanted[key]}, trace {got[key]}")
    return len(bad)


def is_captured(row):
    return int(row["flags"], 0) & 2 != 0


def check_sample(tables, totals, bounds):
    """Single records beside the totals."""
    bad = 0
    summed, single, nested = (collections.Counter() for _ in range(3))
    calls = {}
    for kind in (*KINDS, "call", "collective"):
        for row in tables.get(kind, []):
            calls[row["thread"], row["call_id"]] = (kind, row)
            single[kind] += row["parent_id"] == "0" and not is_captured(row)
    for row in totals:
        if not int(row["flags"]) & 3:
            summed[row["total_of"]] += int(row["count"])
    for kind in ("copy", "set", "memory", "sync"):
        if single[kind] != summed[kind]:
            print(f"  {kind}: {single[kind]} single records of {summed[kind]}, all were wanted")
            bad += 1
    launches, sampled = summed["launch"] + summed["gemm"], single["launch"] + single["gemm"]
    least, most = bounds(launches)
    print(f"sample: {sampled} of {launches} launches, {least:.0f} to {most:.0f} wanted")
    if not least <= sampled <= most:
        print("  not so many")
        bad += 1
    kernels = {row["correlation"] for row in tables.get("gpu_kernel", [])}
    for kind, row in calls.values():
        if row["parent_id"] != "0" and kind != "call":
            nested[row["thread"], row["parent_id"]] += 1
            if (row["thread"], row["parent_id"]) not in calls:
                print(f"  a {kind} of {row['api']} without the call around it")
                bad += 1
        if kind == "launch" and row["parent_id"] == "0" and not is_captured(row) and \
                row["correlation"] not in kernels:
            print(f"  a launch of {row['kernel']} without its kernel")
            bad += 1
    for key, (kind, row) in calls.items():
        if kind == "gemm" and row["parent_id"] == "0" and not nested[key]:
            print("  a product without the launch inside it")
            bad += 1
    known = {row["correlation"] for _, row in calls.values()}
    lone = sum(row["correlation"] not in known for row in tables.get("gpu_kernel", []))
    if lone:
        print(f"  {lone} kernels without their launch")
        bad += 1
    return bad


def sample_bounds(arguments):
    """How many launches are recorded singly, of how many there are; None: none is asked for."""
    if "--sampled" in arguments:
        one_of = int(arguments[arguments.index("--sampled") + 1])
        # The first call of each function and thread, and a group that was cut short, are on top.
        return lambda launches: (launches / one_of - 8, launches / one_of + 16)
    if "--singly" in arguments:
        at = arguments.index("--singly")
        least, most = (int(percent) / 100 for percent in arguments[at + 1:at + 3])
        return lambda launches: (least * launches, most * launches)
    return None


def main():
    events, tables = read_log(sys.argv[1]), read_dump(sys.argv[2])
    totals = tables.get("total", [])
    levels = {"call"} | {e["tag"] for e in events if e["tag"] == "blas"}
    if "--runtime" in sys.argv:
        levels.add("rt")
    wanted = wanted_calls(events, levels)
    got = got_calls(totals, levels)
    for key in set(got) - set(wanted):
        if key[0] == "graph":
            del got[key]  # calls about graphs that the log leaves out
    bad = compare("calls", wanted, got)
    bad += compare("work of the GPU", wanted_work(events), got_work(totals))
    bounds = sample_bounds(sys.argv)
    if bounds:
        bad += check_sample(tables, totals, bounds)
    else:
        lone = [kind for kind in ("copy", "set", "launch", "sync", "gemm", "gpu_kernel", "gpu_copy")
                for row in tables.get(kind, []) if row.get("status", "0") == "0"]
        if lone:
            print(f"{len(lone)} single records in a summary, the first is a {lone[0]}")
            bad += 1
    if not any(row["total_of"] == "gpu_kernel" for row in totals) and \
            any(e["tag"] == "gpu" and e["kind"] == "kernel" for e in events):
        print("no total of any kernel")
        bad += 1
    return 1 if bad or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
