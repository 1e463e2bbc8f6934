#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_placement.py GPUTRACE PROGRAM WORK_FOLDER SHIM CUPTI

Records cross_numa and its cured twin on the simulated machine of GPUTRACE_ROOT and holds both reports
against what the machine's description says: GPU on node 0, the other node at distance 21, 70 % of the
rate from there. Work completes on the wall clock, so what fails is tried twice more.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

from flag_cells import say_cell, say_findings

ATTEMPTS = 3
NOISE = 0.03  # of the sample's step


def record(gputrace, program, folder, shim, cupti, *options):
    folder.mkdir(parents=True)
    environment = dict(os.environ, LD_PRELOAD=shim, GPUTRACE_OUT=str(folder), GPUTRACE_CUPTI=cupti)
    subprocess.run([program, *options], check=True, stdout=subprocess.DEVNULL, env=environment)
    done = subprocess.run([gputrace, "report", "--json", str(folder)], check=True,
                          capture_output=True, text=True)
    (folder / "report.json").write_text(done.stdout)
    return json.loads(done.stdout)["runs"][0]["devices"][0]


def find(device, identity):
    return next((f for f in device["findings"] if f["id"] == identity), None)


def check(gputrace, program, folder, shim, cupti):
    sample = record(gputrace, program, folder / "sample", shim, cupti)
    twin = record(gputrace, program, folder / "twin", shim, cupti, "--cured")
    finding = find(sample, "GT301")
    if not finding:
        yield f"no GT301 among {[f['id'] for f in sample['findings']]}"
        return
    evidence = finding["evidence"]
    for key, wanted in {"gpu_node": 0, "process_node": 1, "distance": 21}.items():
        if evidence[key] != wanted:
            yield f"{key} is {evidence[key]}, not {wanted}"
    if evidence["far_calls_percent"] < 95:
        yield f"only {evidence['far_calls_percent']} % of the calls are seen far from the GPU"
    rate = evidence["achieved_gbs"] / evidence["attainable_gbs"]
    if not 0.66 < rate < 0.72:
        yield f"copies reach {rate:.2f} of the link's rate, not 0.7"
    if "numactl --cpunodebind=0 --membind=0" not in finding["fix"]:
        yield f"no numactl line: {finding['fix']}"
    pages = find(sample, "GT302")
    if not pages:
        yield f"no GT302 among {[f['id'] for f in sample['findings']]}"
    elif (pages["evidence"]["pages_node"], pages["evidence"]["far_pages_percent"]) != (1, 100):
        yield f"GT302 says {pages['evidence']}"
    if find(twin, "GT302"):
        yield f"the cured twin has {find(twin, 'GT302')}"
    if find(twin, "GT301"):
        yield f"the cured twin has {find(twin, 'GT301')}"
    # Copies and compute take turns here, so a step is what the GPU is busy for.
    before, after = (sum(p["ms"] for p in d["ledger"]["parts"] if not p["part"].startswith("idle"))
                     for d in (sample, twin))
    gained = before - after
    print(f"  {before:.3f} ms - {gained:.3f} ms, announced {finding['gain_low_ms']:.3f} to "
          f"{finding['gain_high_ms']:.3f}")
    if not finding["gain_low_ms"] - NOISE * before <= gained <= \
            finding["gain_high_ms"] + NOISE * before:
        yield f"gains {gained:.3f} ms"
    say_findings("cross_numa", [f for f in (finding, pages) if f])
    if not find(twin, "GT301") and not find(twin, "GT302"):
        say_cell("cross_numa", "twin", f"silent, {before:.2f} -> {after:.2f} ms")
    if gained < 0.1 * before:
        yield f"the cure gains only {gained:.3f} ms of {before:.3f}"


def main():
    gputrace, program, folder, shim, cupti = sys.argv[1:6]
    for attempt in range(1, ATTEMPTS + 1):
        problems = list(check(gputrace, program, Path(folder) / f"try{attempt}", shim, cupti))
        if not problems:
            print("cross_numa: as planted")
            return 0
        print(f"attempt {attempt} (load {os.getloadavg()[0]:.1f}):", *problems, sep="\n  ",
              flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
