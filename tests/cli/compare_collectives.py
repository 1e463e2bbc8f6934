#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds a trace's calls to NCCL against the simulated library's exact log.
usage: compare_collectives.py LOG DUMP.tsv

Each collective once, in the same order, with the same numbers; numbered from 1; each with one kernel
launched inside it.
"""
import sys

from compare_log import differences, read_dump
from simlog import read_log

OPS = {"ncclAllReduce": "all_reduce", "ncclBroadcast": "broadcast", "ncclReduce": "reduce",
       "ncclAllGather": "all_gather", "ncclReduceScatter": "reduce_scatter"}


def main():
    events, tables = read_log(sys.argv[1]), read_dump(sys.argv[2])
    wanted = [(OPS[e["function"]], e["comm"], e["send"], e["receive"], e["count"], e["type"],
               e["reduction"], e["stream"])
              for e in sorted((e for e in events if e["tag"] == "nccl"),
                              key=lambda e: e["sequence"])
              if e["function"] in OPS and e["result"] == 0]
    rows = tables.get("collective", [])
    got = [(r["op"], int(r["communicator"], 0), int(r["send"], 0), int(r["receive"], 0),
            int(r["count"]), int(r["element"]), int(r["reduction"]), int(r["stream"], 0))
           for r in rows]
    bad = differences("collectives", wanted, got)
    if not wanted:
        print("the log has no collectives at all")
        bad += 1
    if [int(r["sequence"]) for r in rows] != list(range(1, len(rows) + 1)):
        print("sequence numbers are not 1, 2, 3, ...")
        bad += 1
    inside = {r["call_id"] for r in rows}
    launches = [r for r in tables.get("launch", []) if "nccl" in r["kernel"]]
    if len(launches) != len(rows) or {r["parent_id"] for r in launches} - inside:
        print(f"{len(launches)} kernels launched by {len(rows)} collectives")
        bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
