#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputrace import + report beside HTA on the same PyTorch recording: time and peak memory.

usage: beside_hta.py GPUTRACE RECORDING [ROUNDS]

Runs with a Python that has HolisticTraceAnalysis (pip install HolisticTraceAnalysis). Both are
started as fresh processes, alternating; the median of ROUNDS (default 3) counts. Not a test: it
prints ratios, which are only worth something from one run on one machine.
"""
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


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    gputrace, recording = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) == 4 else 3
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
    seconds = [statistics.median(row[0] for row in rows) for rows in (ours, theirs)]
    mebibytes = [statistics.median(row[1] for row in rows) for rows in (ours, theirs)]
    print(f"{'':24} {'seconds':>9} {'peak MiB':>9}")
    print(f"{'gputrace import+report':24} {seconds[0]:9.2f} {mebibytes[0]:9.1f}")
    print(f"{'HTA':24} {seconds[1]:9.2f} {mebibytes[1]:9.1f}")
    print(f"{'ratio':24} {seconds[1] / seconds[0]:8.1f}x {mebibytes[1] / mebibytes[0]:8.1f}x")


if __name__ == "__main__":
    main()
