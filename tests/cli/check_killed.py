#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_killed.py job|shell|init INFO.json REPORT.json LOG DUMP.tsv

The trace of a killed train_loop against what the simulated driver had logged by then. What was
recorded must be a prefix of what happened, and complete up to the times that the trace states.
job: the collector lived on, so nothing that was recorded is lost. shell and init: the collector died
in the same instant, so the last moments may be missing, but not more than that.
"""
import json
import sys

from compare_log import from_log, from_trace, level_of, read_dump
from simlog import read_log

KINDS = ("copy", "set", "launch", "memory", "sync", "gemm")
TAIL_MS = 500      # committed records reach the file every 50 ms; the rest is for a busy machine
GPU_TAIL_MS = 3000  # GPU records arrive one flush period later
LONGEST_CALL_MS = 100  # train_loop waits in some for most of a step

problems = []


def expect(claim, text):
    if not claim:
        problems.append(text)


def check_host(how, trace, events, tables, killed_ns):
    wanted = [numbers for numbers in
              (from_log(e) for e in sorted((e for e in events if e["tag"] == "call"),
                                           key=lambda e: e["sequence"])) if numbers]
    got = sorted((int(row["end_ns"]), int(row["call_id"]), from_trace(kind, row))
                 for kind in KINDS for row in tables.get(kind, [])
                 if level_of(row["api"]) == "call")
    numbers = [g[2] for g in got]
    expect(len(got) >= 1000, f"only {len(got)} driver calls were recorded")
    expect(numbers == wanted[:len(got)], "what was recorded is no prefix of what happened")
    missing = len(wanted) - len(got)
    complete = trace["host_complete_ns"]
    print(f"host: {len(got)} of {len(wanted)} driver calls, complete up to {complete / 1e6:.0f} ms, "
          f"killed at {killed_ns / 1e6:.0f} ms or a little later")
    if how == "job":
        expect(missing <= 1, f"{missing} calls are missing although the collector lived on")
    if got and missing > 1:
        expect(complete <= got[-1][0] + LONGEST_CALL_MS * 1e6,
               "states completeness beyond the first missing call")
    expect(complete >= killed_ns - TAIL_MS * 1e6, "more than the last moments is missing")


def check_gpu(trace, events, tables, start_ns):
    complete = trace["gpu_complete_ns"] or 0
    recorded = {int(row["correlation"]) for kind in ("kernel", "copy", "set")
                for row in tables.get("gpu_" + kind, [])}
    gpu = [e for e in events if e["tag"] == "gpu"]
    over = [e for e in gpu if e["end_ns"] - start_ns < complete - 1e6]
    missing = [e for e in over if e["correlation"] not in recorded]
    ended = max((e["end_ns"] for e in gpu), default=start_ns) - start_ns
    print(f"GPU: {len(recorded)} of {len(gpu)} operations, complete up to {complete / 1e6:.0f} ms, "
          f"the last one ended at {ended / 1e6:.0f} ms")
    expect(len(recorded) >= 100, f"only {len(recorded)} GPU operations were recorded")
    expect(not missing, f"{len(missing)} operations are missing before the stated time")
    expect(complete >= ended - GPU_TAIL_MS * 1e6, "more than one flush period is missing")


def main():
    how = sys.argv[1]
    with open(sys.argv[2], encoding="utf-8") as info, open(sys.argv[3], encoding="utf-8") as report:
        trace, run = json.load(info)["traces"][0], json.load(report)["runs"][0]
    events, tables = read_log(sys.argv[4]), read_dump(sys.argv[5])
    start_ns = int(trace["session"]["session.start_realtime_ns"])
    # The stream waits in every step, so the GPU's last operation began just before the kill.
    killed_ns = max(e["begin_ns"] for e in events if e["tag"] == "gpu") - start_ns

    expect(trace["ending"] != "exited", "the trace says that the job exited")
    expect(how != "job" or trace["ending"] == "killed", f"ending is {trace['ending']}")
    check_host(how, trace, events, tables, killed_ns)
    check_gpu(trace, events, tables, start_ns)
    expect(trace["lost_events"] == 0, f"{trace['lost_events']} events are counted as lost")
    expect(run["devices"] and run["devices"][0]["ledger"], "the report has no ledger")
    if how != "job":
        expect(any(line["id"] == "GT904" for line in run["quality"]), "no word of GT904, cut short")
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
