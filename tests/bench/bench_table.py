# SPDX-License-Identifier: Apache-2.0
"""Makes run.sh's table out of what it measured: lines "PART words...". Medians over the rounds; every
figure that is a ratio to something measured in the same run says to what."""

import argparse
import os
import platform
import re
import statistics
import sys
import time

options = argparse.ArgumentParser()
options.add_argument("--calls", type=int, required=True)
options.add_argument("--commit", required=True)
options = options.parse_args()
parts = {}
for line in sys.stdin:
    part, rest = line.split(" ", 1)
    parts.setdefault(part, []).append(rest.rstrip("\n"))


def processor():
    with open("/proc/cpuinfo") as text:
        names = [line.split(":", 1)[1].strip() for line in text if line.startswith("model name")]
    return "%d x %s" % (os.cpu_count(), names[0] if names else platform.machine())


rows = []


def row(figure, value, target="", verdict=None):
    rows.append((figure, value, target, "" if verdict is None else "met" if verdict else "missed"))


# ---- calls ----
samples = {}
for line in parts.get("calls", []):
    words = line.split()
    if len(words) == 4:
        samples.setdefault(words[0], []).append([float(word) for word in words[1:]])


def typical(mode, column):
    return statistics.median(sample[column] for sample in samples[mode])


def added(mode, column, base):
    return typical(mode, column) - typical(base, column)


clock = typical("plain.1", 0)
budget = 2 * clock + 12
row("clock read (rdtsc)", "%.1f ns" % clock)
recorded = added("recorded.1", 1, "plain.1")
row("copy recorded, no stack, 1 thread", "+%.1f ns" % recorded, "<= 2 clock reads + 12 ns = %.1f ns" % budget,
    recorded <= budget)
row("wait recorded, no stack, 1 thread", "+%.1f ns" % added("recorded.1", 2, "plain.1"), "<= %.1f ns" % budget,
    added("recorded.1", 2, "plain.1") <= budget)
row("copy recorded, no stack, 2 threads", "+%.1f ns each" % added("recorded.2", 1, "plain.2"))
native = added("native.1", 1, "plain.1")
row("copy with its native stack, 1 thread", "+%.1f ns" % native, "<= +15 ns and 1 ns per frame (4) = +%.1f ns" %
    (recorded + 19), native <= recorded + 19)
row("copy with its native stack, 2 threads", "+%.1f ns each" % added("native.2", 1, "plain.2"))
if "recorded.g" in samples:
    for figure, name in ((1, "cudaGraphLaunch"), (2, "copy into an open capture")):
        row(name + ", no stack", "+%.1f ns" % added("recorded.g", figure, "plain.g"))
        row(name + ", with its native stack", "+%.1f ns" % added("native.g", figure, "plain.g"))
row("copy summed (GPUTRACE_MODE=summary)", "+%.1f ns" % added("summed.1", 1, "plain.1"))
off = added("off.1", 1, "plain.1")
row("recording off", "+%.1f ns" % off, "<= 3 ns", off <= 3)
for mode, name in (("uftrace", "uftrace (entry and exit)"), ("lttng", "LTTng-UST (one event per call)")):
    if mode + ".1" in samples:
        peer = added(mode + ".1", 1, "plain.1")
        row(name, "+%.1f ns, %.1f x gputrace" % (peer, peer / recorded), "gputrace <= 1/3 of it", peer >= 3 * recorded)
    else:
        row(name, "not installed, and could not be")
if "heaptrack.m" in samples:
    peer = added("heaptrack.m", 1, "plain.m")
    row("heaptrack (stack per malloc or free)", "+%.1f ns, %.1f x a copy with its native stack" % (peer, peer / native))
else:
    row("heaptrack", "not installed, and could not be")
for line in parts.get("python", []):
    found = re.match(r"(Python [\d.]+), ns at depth\s+(\d+)\s+(\d+)\s+(\d+)", line)
    if found:
        version = found.group(1)
    if line.startswith("python: copies"):
        figures = [float(word) for word in line.split()[-3:]]
        row("Python line, depth 11 (%s)" % version, "+%.0f ns" % figures[1], "<= 100 ns", figures[1] <= 100)
        row("Python line, depth 30", "+%.0f ns" % figures[2], "<= 210 ns", figures[2] <= 210)
if "python" not in parts:
    row("Python line", "not measured: no python3, or the test libsite_probe.so was not built")
for line in parts.get("bytes", []):
    mode, size = line.split()
    # LTTng's wrapper traces copies, uftrace waits too.
    calls = options.calls / 2 if mode == "lttng" else options.calls
    row("bytes per call, " + mode, "%.2f" % (int(size) / calls))

# ---- file ----
codec = "\n".join(parts.get("codec", []))
trace = re.search(r"trace file\s+([\d.]+) bytes/event\s+encode\s+([\d.]+) M ev/s\s+decode\s+([\d.]+)", codec)
to_rows = re.search(r"to rows\s+decode\s+([\d.]+) M ev/s, ([\d.]+) on all cores", codec)
ratio = re.search(r"trace / raw\s+([\d.]+)", codec)
if trace and to_rows and ratio:
    size, encode, decode = (float(word) for word in trace.groups())
    row("bytes per event, generator", "%.2f" % size, "<= 3.6", size <= 3.6)
    row("of raw records with zstd -1", ratio.group(1), "<= 0.45", float(ratio.group(1)) <= 0.45)
    row("encode, one core", "%.1f M events/s" % encode, ">= 15", encode >= 15)
    columns = float(to_rows.group(1))
    row("decode to columns, one core", "%.1f M events/s" % columns, ">= 40", columns >= 40)
    row("decode to columns, all cores", "%s M events/s" % to_rows.group(2))
    row("decode to whole records, one core", "%.1f M events/s" % decode)

# ---- collector ----
def collector_of(line):
    """Rate in millions per second, records lost, records, percent of a core, ns per record."""
    words = line.split()
    return float(words[0]), int(words[3]), int(words[5]), float(words[8]), float(words[13])


sustained = None
for line in parts.get("collector", []):
    rate, lost, records, cpu, cost = collector_of(line)
    if lost == 0:
        sustained = rate
    if rate == 1:
        row("collector at 1 M events/s", "%.1f %% of a core, %.2f s of CPU per million events" % (cpu, cost / 1000),
            "<= 13 %", cpu <= 13)
    if rate == 2:
        row("lost at 2 M events/s, ring of 4 MiB", "%d of %d" % (lost, records), "0", lost == 0)
for line in parts.get("rings", []):
    rate, lost, records, cpu, cost = collector_of(line)
    row("lost at %.0f M events/s, 4 rings of 4 MiB" % rate, "%d of %d, %.2f s of CPU per million events" %
        (lost, records, cost / 1000))
for line in parts.get("slow", []):
    rate, lost, records, cpu, cost = collector_of(line)
    row("  at 1 M events/s, each write 20 ms longer", "%d of %d" % (lost, records))
if sustained:
    row("highest rate without loss, ring of 4 MiB", "%.1f M events/s" % sustained)
if "exit" in parts:
    times = [int(word) for word in parts["exit"]]
    row("end of main() to complete file, 100 000 events", "%d ms (%d to %d)" %
        (statistics.median(times), times[0], times[-1]))

# ---- steps ----
steps = {}
for line in parts.get("steps", []):
    mode, ms = line.split()
    steps.setdefault(mode, []).append(float(ms))
if steps:
    base = statistics.median(steps["plain"])
    row("step of launch_bound without gputrace", "%.3f ms" % base)
    for mode, name, most in (("off", "off", 0.5), ("host", "host only", 0.5), ("cupti", "and GPU times", 0.5),
                             ("stacks", "and stacks (default)", 1.0)):
        # Start and exit of the program are in it: the target is one for long jobs.
        change = 100 * (statistics.median(steps[mode]) / base - 1)
        row("  step time, " + name, "%+.1f %%" % change, "<= %.1f %% on a GPU" % most)
else:
    row("step time of a sample", "not measured: samples were not built")

print("machine: %s, Linux %s" % (processor(), platform.release()))
print("load:    %s at the end of the run" % ", ".join("%.1f" % load for load in os.getloadavg()))
print("date:    %s   commit: %s\n" % (time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), options.commit))
print("| figure | measured | target | |")
print("|---|---|---|---|")
for cells in rows:
    print("| %s |" % " | ".join(cells))
