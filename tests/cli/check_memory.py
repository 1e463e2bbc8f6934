#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_memory.py GPUTRACE SAMPLE_NAME PROGRAM WORK_FOLDER

Records a sample about memory in all of its modes and asks each report for its one verdict: the
planted finding with its numbers, none of the others about memory or pinning, and a cured twin with
none at all. Where time is the matter, the gain must hold what sample and twin differ by; that part
is tried twice more, since other programs may run on the same cores.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

from flag_cells import say_cell, say_findings

MIB = 1 << 20
ATTEMPTS = 3
NOISE = 0.05  # of the sample's step
VERDICTS = {"GT401", "GT402", "GT403", "GT404", "GT405", "GT406", "GT407", "GT408", "GT409", "GT110"}

CARD = {"SIMCUDA_MEMORY_MIB": "2048"}
PAIRS = 1834 // 20  # segments of 20 MiB in 90 % of the card; cuBLAS has 4 MiB
REQUEST = 2048 * MIB // 5
# mode -> environment, the one verdict, its numbers (a pair is a range), what the map's total says
OOM = {
    "": (CARD, "GT401", {
        "requested_bytes": (REQUEST, REQUEST + 512),
        "capacity_bytes": 2048 * MIB,
        # Beside 9 MiB in use each segment has 11 free.
        "fragmented_bytes": (11 * MIB * (PAIRS - 1), 11 * MIB * PAIRS),
        "reserved_bytes": (20 * MIB * (PAIRS - 1), 20 * MIB * PAIRS),
        "mixed_segments": (PAIRS - 1, PAIRS),
        "expandable_segments_would_pass": "yes"}),
    "--too-large": (CARD, "GT402", {"requested_bytes": 2560 * MIB, "capacity_bytes": 2048 * MIB}),
    "--full": (CARD, "GT404", {"fragmented_bytes": (2 * MIB * (PAIRS - 1), 2 * MIB * PAIRS)}),
    "--tenant": ({**CARD, "SIMCUDA_OTHERS_MIB": "1400"}, "GT403", {"requested_bytes": 1024 * MIB}),
    "--cured": (CARD, None, {}),
}


def run_report(gputrace, command, environment, folder):
    folder.mkdir(parents=True)
    subprocess.run([gputrace, "record", "-o", str(folder), "--", *command], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    done = subprocess.run([gputrace, "report", "--json", str(folder)], check=True,
                          capture_output=True, text=True)
    (folder / "report.json").write_text(done.stdout)
    return json.loads(done.stdout)["runs"][0]["devices"][0]


def is_as_wanted(value, wanted):
    if isinstance(wanted, tuple):
        return value is not None and wanted[0] <= value <= wanted[1]
    return value == wanted


def about_memory(device):
    return [f for f in device["findings"] if f["id"] in VERDICTS]


def check_oom(gputrace, program, folder):
    problems = []
    for mode, (environment, verdict, numbers) in OOM.items():
        device = run_report(gputrace, [program, *mode.split()], environment,
                            folder / (mode.strip("-") or "sample"))
        found = about_memory(device)
        ids = [f["id"] for f in found]
        print(f"  {mode or 'as it is'}: {ids}")
        if ids != ([verdict] if verdict else []):
            problems.append(f"{mode}: found {ids}, not {verdict}")
            continue
        for key, wanted in numbers.items():
            value = found[0]["evidence"].get(key)
            if not is_as_wanted(value, wanted):
                problems.append(f"{mode}: {key} is {value}, not {wanted}")
        if verdict and device["findings"][0]["id"] != verdict:
            problems.append(f"{mode}: the failure is not what comes first")
        if verdict:
            say_findings(f"oom_fragmentation {mode}".strip(), found)
        else:
            for row in OOM:
                say_cell(f"oom_fragmentation {row}".strip(), "twin", "silent, fits")
        live = {k["kind"]: k for k in device["live_memory"]["kinds"]}
        if live["plain"]["end_bytes"] != 0:
            problems.append(f"{mode}: {live['plain']['end_bytes']} bytes live at the end")
    return problems


TIMED = {
    # sample -> finding, numbers
    "alloc_churn": ("GT406", {"pairs_per_step": (9.9, 10.1)}),
    "pinning_in_loop": ("GT110", {"calls_per_step": (1.9, 2.1)}),
}


def check_timed(gputrace, name, program, folder):
    identity, numbers = TIMED[name]
    problems = []
    sample = run_report(gputrace, [program], {}, folder / "sample")
    twin = run_report(gputrace, [program, "--cured"], {}, folder / "cured")
    if about_memory(twin):
        problems.append(f"the twin has {[f['id'] for f in about_memory(twin)]}")
    found = about_memory(sample)
    if [f["id"] for f in found] != [identity]:
        return problems + [f"found {[f['id'] for f in found]}, not {identity}"]
    for key, wanted in numbers.items():
        if not is_as_wanted(found[0]["evidence"].get(key), wanted):
            problems.append(f"{key} is {found[0]['evidence'].get(key)}, not {wanted}")
    before, after = (d["ledger"]["step_median_ms"] for d in (sample, twin))
    low, high = found[0]["gain_low_ms"], found[0]["gain_high_ms"]
    noise = NOISE * before + sample["ledger"]["step_mad_ms"] + twin["ledger"]["step_mad_ms"]
    print(f"  {before:.3f} ms - {before - after:.3f} ms, announced {low:.3f} to {high:.3f}")
    say_findings(name, found)
    if not about_memory(twin):
        say_cell(name, "twin", f"silent, {before:.2f} -> {after:.2f} ms")
    if not low - noise <= before - after <= high + noise:
        problems.append(f"the twin gains {before - after:.3f} ms, announced were {low:.3f} to {high:.3f}")
    return problems


def main():
    gputrace, name, program, folder = sys.argv[1:5]
    for attempt in range(1, ATTEMPTS + 1):
        here = Path(folder) / f"try{attempt}"
        if name in TIMED:
            problems = check_timed(gputrace, name, program, here)
        else:
            problems = check_oom(gputrace, program, here)
        if not problems:
            print(f"{name}: as planted")
            return 0
        print(f"attempt {attempt} (load {os.getloadavg()[0]:.1f}):", *problems, sep="\n  ", flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
