#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_pairs.py GPUTRACE PAIRS_TSV DEFAULT_FOLDER

Holds what gputrace announces of a real recording against a real recording of the same job after the
change: the stated range contains the real gain. Prints both. Exit status 77 without recordings.

The range of several findings together: at least the best lower end, because each may stand for the
others, at most the sum of the upper ends and what the report says of all its findings together.
"""
import gzip
import json
import os
import sys
import tempfile
from pathlib import Path

from import_recording import reported_devices

SKIPPED = 77
GPU_WORK = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}
SMALLEST = 0.01  # of the time before: less than that is no gain at all


def device_of(gputrace, recording, scratch):
    devices = [device for _, device in reported_devices(gputrace, recording, scratch)
               if device["gpu_operations"]]
    assert len(devices) == 1, f"{recording.name}: {len(devices)} GPUs"
    return devices[0]


def window_and_gap_ms(path):
    """First begin to last end of the GPU's work, and its longest idle time, out of the JSON."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    spans = sorted((float(e["ts"]), float(e["ts"]) + float(e["dur"])) for e in events
                   if e.get("ph") == "X" and e.get("cat") in GPU_WORK)
    end, gap = spans[0][1], 0.0
    for begin, until in spans:
        gap = max(gap, begin - end)
        end = max(end, until)
    return (end - spans[0][0]) / 1e3, gap / 1e3


def announced(device, cured):
    findings = [f for f in device["findings"] if f["id"] in cured]
    if not findings:
        return 0.0, 0.0, set()
    low = max(f["gain_low_ms"] for f in findings)
    high = min(sum(f["gain_high_ms"] for f in findings), device["combined_gain_high_ms"])
    return low, high, {f["id"] for f in findings}


def check(gputrace, row, folder, scratch):
    before, after, cured, per, one_time, _ = row
    wanted = set(cured.split()) - {"-"}
    devices = [device_of(gputrace, folder / name, scratch) for name in (before, after)]
    windows = [window_and_gap_ms(folder / name) for name in (before, after)]
    problems = []
    if per == "step":
        times = [device["ledger"]["step_ms"] for device in devices]
    else:
        times = [window for window, _ in windows]
    if float(one_time) and abs(windows[1][1] - float(one_time)) > 0.1:
        problems.append(f"the longest gap after is {windows[1][1]:.1f} ms, not {one_time}")
    wall = times[0] - times[1]
    gain = wall + float(one_time)
    low, high, found = announced(devices[0], wanted)
    print(f"{before} -> {Path(after).name}: {times[0]:.2f} -> {times[1]:.2f} ms per {per}, gained "
          f"{wall:.2f}" + (f" (+ {one_time} once)" if float(one_time) else "") +
          f"; announced {low:.2f} to {high:.2f} by {' '.join(sorted(found)) or 'nothing'}")
    if found != wanted:
        problems.append(f"{' '.join(sorted(wanted - found))} is not raised before")
    for real in {wall, gain} if wanted else ():
        if not low <= real <= high:
            problems.append(f"gained {real:.2f} ms, announced {low:.2f} to {high:.2f}")
    if not wanted and abs(gain) > SMALLEST * times[0]:
        problems.append(f"gained {gain:.2f} ms although no finding stands for it")
    if not wanted and devices[0]["combined_gain_high_ms"] > SMALLEST * times[0]:
        problems.append(f"announced {devices[0]['combined_gain_high_ms']:.2f} ms for nothing")
    return [f"{before}: {problem}" for problem in problems]


def main():
    gputrace, list_path, default = sys.argv[1:4]
    folder = Path(os.environ.get("GPUTRACE_RECORDINGS") or default)
    if not folder.is_dir():
        print(f"skipped: the real recordings are not in {folder} (set GPUTRACE_RECORDINGS)")
        return SKIPPED
    rows = [line.split("\t") for line in Path(list_path).read_text().splitlines()
            if line and not line.startswith("#")]
    problems = []
    with tempfile.TemporaryDirectory() as scratch:
        for row in rows:
            if len(row) != 6 or not row[5].strip():
                sys.exit(f"{list_path}: a row wants before, after, cured, per, one-time and why")
            problems += check(gputrace, row, folder, scratch)
    print(*problems, sep="\n")
    return 1 if problems or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
