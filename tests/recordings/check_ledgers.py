#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_ledgers.py GPUTRACE LEDGERS_TSV DEFAULT_FOLDER

Holds the ledger of every real recording against values that were looked at, with the reason why they
are believed, and every file of the recordings' INDEX.md against the list: what has no ledger has a
row that says why. Prints missing rows to paste; the reason is left to write. Exit status 77 without
recordings.

Columns: recording, GPU, what the ledger is of (step, run), how many steady steps, ms of one, and the
parts in percent; for files without one "-" and the reason.
"""
import os
import re
import sys
import tempfile
from pathlib import Path

from import_recording import reported_devices

SKIPPED = 77
POINTS = 0.15     # percent of the step, rounded to tenths
SHARE = 0.001     # of the length


def ledgers_of(gputrace, recording, folder):
    """GPU -> (per, steady steps, ms, {part: percent}); None when the file is no recording."""
    devices = reported_devices(gputrace, recording, folder)
    if devices is None:
        return None
    found = {}
    for run, device in devices:
        ledger = device["ledger"]
        if ledger:
            parts = {part["part"]: part["percent"] for part in ledger["parts"] if part["percent"]}
            found[str(device["ordinal"])] = (ledger["per"], run["steps"]["steady"],
                                             ledger["step_ms"], parts)
    return found


def as_row(name, gpu, ledger):
    per, steps, length, parts = ledger
    return "\t".join((name, gpu, per, str(steps), f"{length:.3f}",
                      " ".join(f"{part}={percent:.1f}" for part, percent in parts.items()), ""))


def differences(row, ledger):
    per, steps, length, parts = ledger
    wanted = dict(pair.split("=") for pair in row[5].split())
    if (row[2], row[3]) != (per, str(steps)):
        yield f"{steps} times per {per}, listed as {row[3]} times per {row[2]}"
    if abs(float(row[4]) - length) > SHARE * length + 0.0006:
        yield f"{length:.3f} ms, listed as {row[4]}"
    for part in sorted(set(wanted) | set(parts)):
        listed, got = float(wanted.get(part, 0)), parts.get(part, 0)
        if abs(listed - got) > POINTS:
            yield f"{part} is {got:.1f} %, listed as {listed:.1f} %"


def read_list(path):
    rows, reasons = {}, {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) not in (3, 7) or not columns[-1].strip():
            sys.exit(f"{path.name}:{number}: wants 7 columns, or 3 without a ledger, and a reason")
        if len(columns) == 3:
            reasons[columns[0]] = columns[2]
        else:
            rows[(columns[0], columns[1])] = columns
    return rows, reasons


def check_recording(gputrace, path, name, scratch, rows, reasons):
    found = ledgers_of(gputrace, path, scratch)
    listed = {gpu for recording, gpu in rows if recording == name}
    if not found:
        if not any(re.fullmatch(pattern, name) for pattern in reasons):
            yield f"no ledger and no reason: {name}"
        for gpu in listed:
            yield f"{name}: GPU {gpu} is listed and has no ledger"
        return
    for gpu in sorted(listed | found.keys()):
        if gpu not in found:
            yield f"{name}: GPU {gpu} is listed and has no ledger"
        elif gpu not in listed:
            yield "not listed:\n" + as_row(name, gpu, found[gpu])
        else:
            for difference in differences(rows[(name, gpu)], found[gpu]):
                yield f"{name}, GPU {gpu}: {difference}"


def main():
    gputrace, list_path, default = sys.argv[1:4]
    folder = Path(os.environ.get("GPUTRACE_RECORDINGS") or default)
    if not folder.is_dir():
        print(f"skipped: the real recordings are not in {folder} (set GPUTRACE_RECORDINGS)")
        return SKIPPED
    rows, reasons = read_list(Path(list_path))
    names = re.findall(r"^\| [a-z-]+ \| `([^`]+)` \|", (folder / "INDEX.md").read_text(), re.M)
    problems = [] if names else ["INDEX.md lists nothing"]
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            if not (folder / name).exists():
                problems.append(f"{name} is in INDEX.md and not there")
                continue
            problems += check_recording(gputrace, folder / name, name, scratch, rows,
                                        reasons)
    problems += [f"listed, but not in INDEX.md: {name}" for name, _ in rows if name not in names]
    problems += [f"reason for nothing: {pattern}" for pattern in reasons
                 if not any(re.fullmatch(pattern, name) for name in names)]
    print(*problems, sep="\n")
    print(f"{len(names)} files of INDEX.md, {len(rows)} ledgers, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
