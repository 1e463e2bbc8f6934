#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_findings.py GPUTRACE FINDINGS_TSV DEFAULT_FOLDER

Imports every real recording, runs the rules on it and holds what they find against the reviewed list.
A finding that is not listed fails: somebody has to look whether it is true and write down why. A
listed one that is not found fails too. Exit status 77 without recordings.

What is missing is printed as rows to paste; the last column, why it is believed, is left to write.
"""
import os
import sys
import tempfile
from pathlib import Path

from import_recording import reported_devices

SKIPPED = 77

# What tells two findings of one rule on one device apart: evidence that no clock changes, or the
# site where the evidence is that of one call out of many.
SUBJECTS = {"GT102": ("direction",), "GT109": ("to_gpu",),
            "GT201": ("extent", "kernel"), "GT206": ("extent", "kernel"), "GT503": ("call",)}


def subject(finding):
    if finding["id"] == "GT103":
        return finding["site"] or "-"
    for key in SUBJECTS.get(finding["id"], ()):
        if key in finding["evidence"]:
            value = finding["evidence"][key]
            return f"{key}={value:.10g}" if isinstance(value, (int, float)) else f"{key}={value}"
    return "-"


def findings_of(gputrace, recording, folder):
    """Keys with summaries; None when the file is no recording."""
    devices = reported_devices(gputrace, recording, folder)
    if devices is None:
        return None
    found = {}
    for _, device in devices:
        for finding in device["findings"]:
            found[(str(device["ordinal"]), finding["id"], subject(finding))] = finding["summary"]
    return found


def read_list(path):
    listed = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != 5 or not columns[4].strip():
            sys.exit(f"{path.name}:{number}: wants recording, GPU, rule, subject and why")
        listed.setdefault(columns[0], set()).add(tuple(columns[1:4]))
    return listed


def main():
    gputrace, list_path, default = sys.argv[1:4]
    folder = Path(os.environ.get("GPUTRACE_RECORDINGS") or default)
    listed = read_list(Path(list_path))
    problems = []
    read = 0
    if not folder.is_dir():
        print(f"skipped: the real recordings are not in {folder} (set GPUTRACE_RECORDINGS)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            name = str(path.relative_to(folder))
            try:
                found = findings_of(gputrace, path, scratch)
            except (RuntimeError, OSError, ValueError) as error:
                problems.append(f"{name}: {error}")
                continue
            if found is None:
                continue
            read += 1
            for key in sorted(found.keys() - listed.get(name, set())):
                problems.append("not listed:\n" + "\t".join((name, *key, "")) +
                                f"\n  {found[key]}")
            for key in sorted(listed.pop(name, set()) - found.keys()):
                problems.append("listed but not found: " + "\t".join((name, *key)))
    problems += [f"listed, but no such recording: {name}" for name in sorted(listed)]
    print(*problems, sep="\n")
    print(f"{read} recordings, {len(problems)} problems")
    return 1 if problems or not read else 0


if __name__ == "__main__":
    sys.exit(main())
