#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_report.py GPUTRACE SAMPLE_NAME PROGRAM WORK_FOLDER [--twin-only]

--twin-only leaves out the twins that are cured of one thing only and the ones that must be silent.

Records a sample and its twins on the simulated GPU and holds their reports against what was planted
(report_cases.py): findings with their sizes, rates and shapes; a ledger of 100 %; twins without
findings; and gains that contain the difference between the step times of sample and twin.

The work completes on the wall clock, so another program on the same cores can spoil a run; what
fails is tried twice more. Sizes and shapes do not depend on time and would fail three times.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

from flag_cells import say_cell, say_findings
from report_cases import A100, CASES, LINK_GBS

ATTEMPTS = 3
NOISE = 0.02  # of the sample's step, beside both runs' own scatter
# Say that other programs run on these cores, or that collecting 50000 calls a second is much for two
# of them: of this machine, not of the sample.
ABOUT_THIS_MACHINE = {"GT509", "GT906"}


def is_about_sample(finding):
    """Slow steps that grew while no call was under way: another program had the CPU."""
    return finding["id"] not in ABOUT_THIS_MACHINE and not (
        finding["id"] == "GT508" and finding["evidence"]["part"].startswith("idle_"))


def run_report(gputrace, program, options, folder):
    folder.mkdir(parents=True)
    command = [gputrace, "record", "-o", str(folder), "--", program, *options.split()]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([gputrace, "report", "--json", str(folder)], check=True,
                          capture_output=True, text=True)
    (folder / "report.json").write_text(done.stdout)
    return json.loads(done.stdout)


def matches(value, wanted):
    if isinstance(wanted, tuple):
        return wanted[0] <= value <= wanted[1]
    if isinstance(wanted, int):
        return abs(value - wanted) <= 1e-9 * max(1, abs(wanted))
    return value == wanted


def find(device, identity, evidence):
    for finding in device["findings"]:
        if finding["id"] == identity and all(
                matches(finding["evidence"].get(key, -1), wanted)
                for key, wanted in evidence.items()):
            return finding
    return None


def describe(device):
    return [(f["id"], f["evidence"]) for f in device["findings"]]


class Checker:
    def __init__(self, gputrace, name, program, folder, is_twin_only):
        self.gputrace, self.program, self.folder = gputrace, program, folder
        self.name, self.case = name, CASES[name]
        if is_twin_only:
            self.case = dict(self.case, silent=[], cures={
                options: which for options, which in self.case["cures"].items()
                if options == "--cured"})
        self.problems = []

    def expect(self, claim, text):
        if not claim:
            self.problems.append(text)

    def device(self, options):
        folder = self.folder / (options.replace(" ", "_").replace("--", "") or "sample")
        report = run_report(self.gputrace, self.program,
                            f"{self.case.get('options', '')} {options}", folder)
        run = report["runs"][0]
        device = run["devices"][0]
        device["findings"] = [f for f in device["findings"] if is_about_sample(f)]
        self.expect(report["simulated"] and device["simulated"], "is not labelled simulated")
        self.expect(len(report["runs"]) == 1 and len(run["devices"]) == 1, "one run, one GPU")
        self.expect(device["name"] == A100, f"GPU is {device['name']}")
        flaws = [f for f in run["quality"] if f["id"] not in ABOUT_THIS_MACHINE]
        self.expect(flaws == [], f"{options}: recording has flaws {flaws}")
        parts = device["ledger"]["parts"]
        percent = sum(p["percent"] for p in parts)
        total = sum(p["ms"] for p in parts)
        self.expect(abs(percent - 100) < 0.051, f"{options}: ledger adds up to {percent} %")
        self.expect(abs(total - device["ledger"]["step_ms"]) < 1e-6 * max(total, 1),
                    f"{options}: ledger is {total} ms of a step of {device['ledger']['step_ms']}")
        return device

    def check_sample(self, device):
        planted = []
        for identity, evidence in self.case["planted"]:
            finding = find(device, identity, evidence)
            self.expect(finding, f"no {identity} with {evidence} among {describe(device)}")
            planted.append(finding)
        top = device["findings"][:len(self.case["planted"])]
        self.expect(all(f in top for f in planted if f), "something else stands above the planted")
        for key, wanted in self.case["per_step"].items():
            self.expect(matches(device[key], wanted), f"{key} is {device[key]}, not {wanted}")
        if not self.problems:
            say_findings(self.name, planted)
        for finding in device["findings"]:
            self.expect(0 <= finding["gain_low_ms"] <= finding["gain_high_ms"] <=
                        device["ledger"]["step_ms"], f"{finding['id']}: gain is no range")

    def check_gain(self, sample, twin, options, which):
        before = sample["ledger"]["step_median_ms"]
        gained = before - twin["ledger"]["step_median_ms"]
        if which is None:
            low, high = sample["combined_gain_low_ms"], sample["combined_gain_high_ms"]
        else:
            identity, evidence = which if isinstance(which, tuple) else (which, {})
            finding = find(sample, identity, evidence)
            if not finding:
                return
            low, high = finding["gain_low_ms"], finding["gain_high_ms"]
            self.expect(not find(twin, identity, evidence),
                        f"{options} still has {identity}: {describe(twin)}")
        noise = NOISE * before + sample["ledger"]["step_mad_ms"] + twin["ledger"]["step_mad_ms"]
        print(f"  {options}: {before:.3f} ms - {gained:.3f} ms, announced {low:.3f} to {high:.3f}")
        if options == "--cured" and not twin["findings"]:
            say_cell(self.name, "twin", f"silent, {before:.2f} -> {before - gained:.2f} ms")
        self.expect(low - noise <= gained <= high + noise,
                    f"{options} gains {gained:.3f} ms, announced were {low:.3f} to {high:.3f}")

    def check(self):
        sample = self.device("")
        self.check_sample(sample)
        for options, which in self.case["cures"].items():
            twin = self.device(options)
            if options == "--cured":
                self.expect(twin["findings"] == [], f"cured twin has {describe(twin)}")
            self.check_gain(sample, twin, options, which)
        for options in self.case.get("silent", []):
            twin = self.device(options)
            self.expect(twin["findings"] == [], f"{options} has {describe(twin)}")
        return self.problems


def main():
    gputrace, name, program, folder = sys.argv[1:5]
    os.environ["SIMCUDA_LINK_GBS"] = str(LINK_GBS)
    for attempt in range(1, ATTEMPTS + 1):
        problems = Checker(gputrace, name, program, Path(folder) / f"try{attempt}",
                           "--twin-only" in sys.argv).check()
        if not problems:
            print(f"{name}: as planted")
            return 0
        load = os.getloadavg()[0]
        print(f"attempt {attempt} (load {load:.1f}):", *problems, sep="\n  ", flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
