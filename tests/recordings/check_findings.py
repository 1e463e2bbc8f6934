#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_findings.py GPUTRACE FINDINGS_TSV DEFAULT_FOLDER

Imports every real recording, runs the rules on it and holds what they find against the reviewed list.
A finding that is not listed fails: somebody has to look whether it is true and write down why. A
listed one that is not found fails too. Exit status 77 without recordings.

What is missing is printed as rows to paste; the last column, why it is believed, is left to write.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
NO_RECORDING = 4  # exit status of `gputrace import`

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


def findings_of(gputrace, recording, trace):
    """Keys with summaries; None when the file is no recording."""
    done = subprocess.run([gputrace, "import", "-f", "-o", trace, recording],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode == NO_RECORDING:
        return None
    if done.returncode:
        raise RuntimeError(f"import exits with {done.returncode}: {done.stderr.strip()}")
    done = subprocess.run([gputrace, "report", "--json", trace], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"report exits with {done.returncode}: {done.stderr.strip()}")
    found = {}
    for run in json.loads(done.stdout)["runs"]:
        for device in run["devices"]:
            for finding in device["findings"]:
                key = (str(device["ordinal"]), finding["id"], subject(finding))
                found[key] = finding["summary"]
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
                found = findings_of(gputrace, path, Path(scratch) / "recording.gtrace")
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
