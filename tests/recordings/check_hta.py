#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_hta.py GPUTRACE VALUES_JSON DEFAULT_FOLDER

Holds the "hta" tables of `gputrace report --json` against what HolisticTraceAnalysis 0.5.0 said of the same
recordings: VALUES_JSON, written by hta_values.py, or HTA itself where GPUTRACE_HTA_PYTHON names a Python that has it.
Exit status 77 without recordings.

HTA computes with doubles of microseconds since 1970 (steps of 0.25 us), cuts lengths to whole microseconds in its
table of kernel types, and takes bandwidths from the file, where lengths may have been rounded since: the tolerances.
"""
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
LARGEST = 2  # of which time and memory are shown

# Where HTA counts what is no work of the GPU; the tables that this changes are not compared.
SYNCS = "HTA counts the waits that CUPTI reports on streams (cuda_sync events) as kernels"
KNOWN = {
    "hta/critical_path_simple_add.json.gz": (SYNCS, ("breakdown",)),
    "hta/cuda_event_sync.json.gz": (SYNCS, ("breakdown",)),
    "hta/triton_example.json.gz": ("HTA counts an operator of the host that carries a stream number as a kernel",
                                   ("breakdown", "kernel_types", "kernels")),
}


class Comparison:
    def __init__(self, name):
        self.name, self.checked, self.problems = name, 0, []

    def number(self, what, ours, theirs, relative=1e-3, absolute=0.6):
        self.checked += 1
        ours = math.nan if ours is None else ours
        theirs = math.nan if theirs is None else theirs
        if math.isnan(ours) and math.isnan(theirs):
            return
        if not abs(ours - theirs) <= max(absolute, relative * abs(theirs)):
            self.problems.append(f"{self.name}: {what}: gputrace {ours!r}, HTA {theirs!r}")

    def stats(self, what, ours, theirs, **tolerance):
        self.number(f"{what} count", ours["count"], theirs["count"], absolute=0, relative=0)
        for key in ("mean", "std", "min", "p25", "p50", "p75", "max"):
            self.number(f"{what} {key}", ours[key], theirs[key], **tolerance)


def compare_totals(check, ours, theirs):
    if theirs["breakdown"]:
        for key, value in theirs["breakdown"].items():
            check.number(key, ours["temporal_breakdown"][f"{key}_us"], value)
    if theirs["overlap"] is not None:
        check.number("overlap", ours["communication_overlap"]["overlap_percent"], theirs["overlap"], absolute=0.02)
    if theirs["kernel_types"]:
        found = {row["kinds"]: row["sum_us"] for row in ours["kernel_types"]}
        named = {" overlapping ".join(sorted(key.split(" overlapping "))): value
                 for key, value in theirs["kernel_types"].items()}
        found = {" overlapping ".join(sorted(key.split(" overlapping "))): value for key, value in found.items()}
        for key in named.keys() | found.keys():
            # At most a microsecond is cut off each stretch.
            check.number(f"kernel type {key}", found.get(key, 0), named.get(key, 0), absolute=ours["operations"] + 1)


def compare_streams(check, ours, theirs):
    found = {str(stream["stream"]): stream for stream in ours["streams"]}
    for stream, idle in (theirs["idle"] or {}).items():
        keys = ("host_wait", "kernel_wait", "other")
        check.number(f"stream {stream} idle", sum(found[stream][f"{key}_us"] for key in keys), sum(idle.values()))
        for key in keys:
            # A launch within a step of the double beside the end before falls to either side.
            check.number(f"stream {stream} {key}", found[stream][f"{key}_us"], idle.get(key, 0), relative=0.05)
    for stream, queue in (theirs["queues"] or {}).items():
        check.stats(f"stream {stream} queue", found[stream]["queue_length"], queue, relative=0.01, absolute=1)


def compare_launches(check, ours, theirs):
    if theirs["launches"]:
        for key in ("call_us", "gpu_us", "delay_us"):
            check.stats(key, ours["launches"][key], theirs["launches"][key])
        for key in ("short_kernels", "slow_calls", "delayed_launches"):
            check.number(key, ours["launches"][key], theirs["launches"][key], absolute=1)
    for name, rates in (theirs["bandwidth"] or {}).items():
        # Rates of copies of a few bytes depend on the rounding of lengths; the fast ones do not.
        check.number(f"{name} count", ours["memory_bandwidth_gbs"][name]["count"], rates["count"], relative=0.05)
    for kernel in theirs["kernels"] or []:
        # Names are cut short, so of several with the same beginning the one nearest in time is meant.
        alike = [one for one in ours["kernels"] if one["name"].startswith(kernel["name"])]
        if not alike:
            check.problems.append(f"{check.name}: kernel {kernel['name'][:60]} is missing")
            continue
        found = min(alike, key=lambda one: abs(one["sum_us"] - kernel["sum_us"]))
        for key in ("sum_us", "min_us", "max_us", "mean_us", "std_us"):
            check.number(f"{kernel['name'][:40]} {key}", found[key], kernel[key])


def tables_of(gputrace, recording, trace):
    subprocess.run([gputrace, "import", "-f", "-o", trace, recording], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE)
    done = subprocess.run([gputrace, "report", "--json", trace], check=True, capture_output=True, text=True)
    devices = [device for run in json.loads(done.stdout)["runs"] for device in run["devices"] if device["hta"]]
    return devices[0]["hta"] if len(devices) == 1 else None


def compare_speed(gputrace, python, folder, names):
    """Import and report of the largest recordings beside HTA, once each, for tests/run.sh to print."""
    largest = sorted((folder / name for name in names), key=lambda path: path.stat().st_size)[-LARGEST:]
    bench = Path(__file__).resolve().parent.parent / "bench" / "bench_hta.py"
    done = subprocess.run([python, bench, "--rounds", "1", gputrace, *largest], check=True, capture_output=True,
                          text=True)
    print(done.stdout)
    table = Path(gputrace).resolve().parent.parent / "tests" / "hta-table"
    if table.parent.is_dir():
        table.write_text(done.stdout)


def main():
    gputrace, values_path, default = sys.argv[1:4]
    folder = Path(os.environ.get("GPUTRACE_RECORDINGS") or default)
    if not folder.is_dir():
        print(f"skipped: the real recordings are not in {folder} (set GPUTRACE_RECORDINGS)")
        return SKIPPED
    values = json.loads(Path(values_path).read_text())
    python = os.environ.get("GPUTRACE_HTA_PYTHON")
    if python:
        script = Path(__file__).with_name("hta_values.py")
        done = subprocess.run([python, script.resolve(), *values], cwd=folder, check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
        values = json.loads(done.stdout)
        compare_speed(gputrace, python, folder, values)
    else:
        print("HTA itself was not run (GPUTRACE_HTA_PYTHON is not set); comparing with what it said before")
    checked, problems = 0, []
    with tempfile.TemporaryDirectory() as scratch:
        for name, theirs in values.items():
            check = Comparison(name)
            if name in KNOWN:
                print(f"{name}: not compared: {', '.join(KNOWN[name][1])}: {KNOWN[name][0]}")
                theirs.update(dict.fromkeys(KNOWN[name][1]))
            ours = tables_of(gputrace, folder / name, Path(scratch) / "recording.gtrace")
            if not ours:
                check.problems.append(f"{name}: no tables")
            else:
                for compare in (compare_totals, compare_streams, compare_launches):
                    compare(check, ours, theirs)
            checked += check.checked
            problems += check.problems
    print(*problems, sep="\n")
    print(f"{len(values)} recordings, {checked} numbers, {len(problems)} problems")
    return 1 if problems or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
