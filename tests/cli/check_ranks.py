#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_ranks.py CASE REPORT.json REPORT.txt PAGE.html: what ranks.sh ran, and what is said of it;
or check_ranks.py gain REPORT.json CURED.json"""
import json
import sys

from flag_cells import say_cell, say_findings

LAYERS, BYTES = 8, 4 << 20
# The rows of the table of flags that a case fills.
ROWS = {"two": "exposed_allreduce --ranks 2", "cured": "exposed_allreduce --ranks 2",
        "four": "exposed_allreduce --ranks 4", "four_cured": "exposed_allreduce --ranks 4",
        "train": "train_loop --ranks 4", "train_cured": "train_loop --ranks 4"}


def is_about_sample(finding):
    """Not that other programs run on these cores, and that they made steps slow that made no call."""
    return finding["id"] != "GT509" and not (
        finding["id"] == "GT508" and finding["evidence"]["part"].startswith("idle_"))


def finding(findings, identity):
    found = [f for f in findings if f["id"] == identity]
    return found[0] if found else None


def check_gain(before_path, after_path):
    """The cured twin's step is shorter by what GT601 promises, within 2 % of the step."""
    reports = []
    for path in (before_path, after_path):
        with open(path, encoding="utf-8") as file:
            reports.append(json.load(file)["runs"][0]["devices"][0])
    exposed = finding(reports[0]["findings"], "GT601")
    if not exposed:
        print("no GT601")
        return 1
    before, after = (r["ledger"]["step_median_ms"] for r in reports)
    noise = 0.02 * before + sum(r["ledger"]["step_mad_ms"] for r in reports)
    low, high = exposed["gain_low_ms"], exposed["gain_high_ms"]
    print(f"{before:.3f} ms - {before - after:.3f} ms, announced {low:.3f} to {high:.3f}")
    return 0 if low - noise <= before - after <= high + noise else 1


def check_binding(expect, ranks, found, text):
    """All ranks on one CPU of node 0, GPUs on nodes 0, 0, 1, 1: the table says so, and GT304."""
    cpus = {r["cpus_allowed"] for r in ranks}
    expect(len(cpus) == 1 and cpus.pop().isdigit(), f"not bound to one CPU: {ranks}")
    expect([r["gpu_numa_node"] for r in ranks] == [0, 0, 1, 1], "GPUs are on other nodes")
    shared = [f for f in found if f["id"] == "GT304" and "ranks_sharing" in f["evidence"]]
    expect(len(shared) == 1 and shared[0]["evidence"]["ranks"] == "0, 1, 2, 3" and
           shared[0]["severity"] == "medium", f"GT304 is {shared}")
    expect("CPUs allowed" in text and "may use the same CPUs" in text, "the text does not say it")
    away = [f["evidence"] for f in found if "ranks_away_from_gpu" in f["evidence"]]
    expect([e["ranks_away_from_gpu"] for e in away] == [2], f"two are away, not {away}")


def main():
    if sys.argv[1] == "gain":
        return check_gain(*sys.argv[2:4])
    case, json_path, text_path, html_path = sys.argv[1:5]
    with open(json_path, encoding="utf-8") as file:
        report = json.load(file)
    with open(text_path, encoding="utf-8") as file:
        text = file.read()
    with open(html_path, encoding="utf-8") as file:
        page = file.read()
    problems = []

    def expect(claim, what):
        if not claim:
            problems.append(what)

    job = report.get("job")
    expect(job, "the files are not taken for one job")
    if not job:
        print(*problems, sep="\n")
        return 1
    ranks, found = job["ranks"], job["findings"]
    count = 2 if case in ("two", "cured", "accumulating") else 4
    expect([r["rank"] for r in ranks] == list(range(count)), f"ranks {[r['rank'] for r in ranks]}")
    expect(len({r["pci"] for r in ranks}) == count, "ranks do not have GPUs of their own")
    expect(len(report["runs"]) == 1, "not one rank in detail")
    device = report["runs"][0]["devices"][0]
    findings = device["findings"]
    exposed = finding(findings, "GT601")
    expect("came last" in text and f"rank {job['detail_rank']}" in text, "no table of ranks")
    expect("kept others waiting" in page, "no table of ranks on the page")
    for rank in ranks:
        if rank["step_ms"]:
            total = sum(rank["ledger_ms"].values())
            expect(abs(total - rank["step_ms"]) < 1e-6 * total, f"ledger of {rank['rank']}")
        if rank["matched_collectives"]:
            expect(0 <= rank["waiting_ms"] <= rank["communication_ms"], "waits too long")

    if case in ("two", "four"):
        expect(exposed, "no GT601")
        if exposed:
            evidence = exposed["evidence"]
            expect(evidence["kind"] == "all-reduce", f"kind {evidence['kind']}")
            expect(abs(evidence["bytes_per_step"] - BYTES) < 1, f"{evidence['bytes_per_step']} bytes")
            expect(abs(evidence["kernels_per_step"] - LAYERS) < 0.1, "not one sum per layer")
            expect(evidence["exposed_percent"] > 10, "too little exposed")
            expect("exposed_allreduce.cu" in exposed["site"], f"site {exposed['site']}")
        expect(not finding(findings, "GT610"), "GT610 without micro-batches")
    if case.endswith("cured"):
        left = [f["id"] for f in findings if is_about_sample(f)]
        expect(not left, f"the cured twin has {left}")
    if case == "bound":
        check_binding(expect, ranks, found, text)
    if case == "train":
        expect(job["world_size"] == 4, f"world size {job['world_size']}")
        expect(job["matched_collectives"] >= 5, f"{job['matched_collectives']} sums matched")
        expect({f["id"] for f in findings if is_about_sample(f)} ==
               {"GT201", "GT103", "GT503", "GT601"}, f"findings {[f['id'] for f in findings]}")
        expect(all(r["ledger_ms"]["exposed_communication"] > 0 for r in ranks), "nothing summed")
    if case == "accumulating":
        again = finding(findings, "GT610")
        expect(again and again["evidence"]["sums_per_step"] == 2, f"GT610 is {again}")
    if case == "late":
        late = finding(found, "GT604")
        expect(late and late["evidence"]["ranks"] == "2", f"GT604 is {late}")
        if late:
            expect(late["evidence"]["excess_part"] == "idle_host_away", late["evidence"])
            expect(late["cost_ms"] > 10, f"only {late['cost_ms']} ms late")
            waits = [r["waiting_ms"] for r in ranks]
            expect(waits[2] == min(waits), f"the late rank waits too: {waits}")
    if case == "stopped":
        missing = finding(found, "GT606")
        expect(missing and missing["evidence"]["missing_rank"] == 2, f"GT606 is {missing}")
        if missing:
            expect(missing["evidence"]["sequence"] == 6 * LAYERS + 1, missing["evidence"])
            expect(missing["evidence"]["ranks_that_joined"] == 3, missing["evidence"])
            expect("GT606" in report["verdict"], "the verdict is about something else")
    if case == "killed":
        expect(all(r["step_ms"] for r in ranks), "the file of a killed rank has no steps")
        expect(not finding(found, "GT605"), "a mismatch without one")
    else:
        expect(not finding(found, "GT605") and not finding(found, "GT607"), f"also {found}")
    if case != "stopped":
        expect(not finding(found, "GT606") or case == "killed", "a rank is missing without one")
    print(*problems, sep="\n")
    if not problems and case.endswith("cured"):
        say_cell(ROWS[case], "twin", f"silent, {device['ledger']['step_median_ms']:.2f} ms")
    elif not problems and case in ROWS:
        say_findings(ROWS[case], [f for f in findings if is_about_sample(f)])
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
