#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_link.py GPUTRACE SAMPLE PROGRAM WORK_FOLDER SHIM CUPTI

Records a sample and its cured twin on the simulated machine of GPUTRACE_ROOT and holds both reports
against what the machine's description says. Work completes on the wall clock, so what fails is tried
twice more.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

from flag_cells import say_cell, say_findings

ATTEMPTS = 3
NOISE = 0.03  # of the sample's step
FULL_GBS = 25.7 / 4  # four lanes of Gen4

# sample -> the finding, its evidence, the evidence of the link that both runs must have seen.
CASES = {
    "downgraded_link": ("GT106", {"link_gen": 4, "link_width": 2, "link_gen_able": 4,
                                  "link_width_able": 4}),
    "peer_staged": ("GT109", {"from_gpu": 0, "to_gpu": 1, "peer_access": "not enabled in this recording",
                              "achieved_gbs": (0.42 * FULL_GBS, 0.48 * FULL_GBS)}),
    "shared_uplink": ("GT111", {"direction": "H2D", "gpus_at_once": (1.8, 2.01),
                                "solo_gbs": (0.95 * FULL_GBS, 1.01 * FULL_GBS),
                                "shared_gbs": (0.45 * FULL_GBS, 0.65 * FULL_GBS)}),
}


def record(gputrace, program, folder, shim, cupti, *options):
    folder.mkdir(parents=True)
    environment = dict(os.environ, LD_PRELOAD=shim, GPUTRACE_OUT=str(folder), GPUTRACE_CUPTI=cupti)
    subprocess.run([program, *options], check=True, stdout=subprocess.DEVNULL, env=environment)
    done = subprocess.run([gputrace, "report", "--json", str(folder)], check=True,
                          capture_output=True, text=True)
    (folder / "report.json").write_text(done.stdout)
    devices = json.loads(done.stdout)["runs"][0]["devices"]
    return next(d for d in devices if d.get("findings") is not None and d.get("ledger"))


def find(device, identity):
    return next((f for f in device["findings"] if f["id"] == identity), None)


def is_as_wanted(value, wanted):
    if isinstance(wanted, tuple):
        return wanted[0] <= value <= wanted[1]
    return value == wanted


def busy_ms(device):
    """Copies and compute take turns here, so a step is what the GPU is busy for."""
    return sum(p["ms"] for p in device["ledger"]["parts"] if not p["part"].startswith("idle"))


def check(name, gputrace, program, folder, shim, cupti):
    identity, evidence = CASES[name]
    sample = record(gputrace, program, folder / "sample", shim, cupti)
    twin = record(gputrace, program, folder / "twin", shim, cupti, "--cured")
    finding = find(sample, identity)
    if not finding:
        yield f"no {identity} among {[f['id'] for f in sample['findings']]}"
        return
    for key, wanted in evidence.items():
        if not is_as_wanted(finding["evidence"][key], wanted):
            yield f"{key} is {finding['evidence'][key]}, not {wanted}"
    if find(twin, identity):
        yield f"the cured twin has {find(twin, identity)}"
    before, gained = busy_ms(sample), busy_ms(sample) - busy_ms(twin)
    print(f"  {before:.3f} ms - {gained:.3f} ms, announced {finding['gain_low_ms']:.3f} to "
          f"{finding['gain_high_ms']:.3f}")
    if not finding["gain_low_ms"] - NOISE * before <= gained <= \
            finding["gain_high_ms"] + NOISE * before:
        yield f"gains {gained:.3f} ms"
    say_findings(name, [finding])
    if not find(twin, identity):
        say_cell(name, "twin", f"silent, {before:.2f} -> {before - gained:.2f} ms")
    if gained < 0.1 * before:
        yield f"the cure gains only {gained:.3f} ms of {before:.3f}"


def main():
    gputrace, sample, program, folder, shim, cupti = sys.argv[1:7]
    for attempt in range(1, ATTEMPTS + 1):
        problems = list(check(sample, gputrace, program, Path(folder) / f"try{attempt}", shim, cupti))
        if not problems:
            print(f"{sample}: as planted")
            return 0
        print(f"attempt {attempt} (load {os.getloadavg()[0]:.1f}):", *problems, sep="\n  ",
              flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
