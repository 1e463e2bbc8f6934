#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputrace import + report beside HTA on the same PyTorch recordings: time and peak memory.

usage: bench_hta.py [--rounds N] GPUTRACE RECORDING...

Runs with a Python that has HolisticTraceAnalysis (pip install HolisticTraceAnalysis). Both are
started as fresh processes, alternating; the median of N rounds (default 3) counts, with the spread.
HTA makes its three tables (temporal breakdown, idle time, overlap), gputrace its whole report. Not a
test: it prints ratios, which are only worth something from one run on one machine.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HTA = """
import logging, os, sys
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=os.path.dirname(sys.argv[1]))
analysis.get_temporal_breakdown(visualize=False)
analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
analysis.get_comm_comp_overlap(visualize=False)
"""


def measure(command):
    """Seconds and peak MiB of one process."""
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    if status:
        sys.exit(f"failed: {' '.join(command[:3])}")
    return time.monotonic() - began, usage.ru_maxrss / 1024


def compare(gputrace, recording, rounds):
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "rank0.json.gz" if recording.endswith(".gz") else "rank0.json")
        trace = os.path.join(folder, "trace.gtrace")
        shutil.copy(recording, copy)
        for _ in range(rounds):
            imported = measure([gputrace, "import", "--force", "-o", trace, copy])
            report = measure([gputrace, "report", trace])
            ours.append((imported[0] + report[0], max(imported[1], report[1])))
            theirs.append(measure([sys.executable, "-c", HTA, copy]))
    print(os.path.basename(recording))
    medians = []
    for name, rows in (("gputrace import+report", ours), ("HTA", theirs)):
        seconds, mebibytes = [row[0] for row in rows], [row[1] for row in rows]
        medians.append((statistics.median(seconds), statistics.median(mebibytes)))
        print(f"  {name:24} {medians[-1][0]:8.2f} s ({min(seconds):.2f} to {max(seconds):.2f}) "
              f"{medians[-1][1]:8.1f} MiB")
    print(f"  {'ratio':24} {medians[1][0] / medians[0][0]:7.1f}x {'':16} "
          f"{medians[1][1] / medians[0][1]:7.1f}x", flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("gputrace")
    parser.add_argument("recordings", nargs="+")
    arguments = parser.parse_args()
    for recording in arguments.recordings:
        compare(arguments.gputrace, recording, arguments.rounds)


if __name__ == "__main__":
    main()
