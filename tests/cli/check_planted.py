#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_planted.py ID "EVIDENCE=VALUE..." REPORT.json WITHOUT.json: the finding stands in the
first report with that evidence, and in the second one it does not; fills both cells of its row."""
import json
import sys

from flag_cells import say_cell, say_findings


def found(path, identity):
    with open(path, encoding="utf-8") as file:
        devices = json.load(file)["runs"][0]["devices"]
    return [f for d in devices for f in d.get("findings") or [] if f["id"] == identity]


def main():
    identity, evidence, path, path_without = sys.argv[1:5]
    planted = found(path, identity)
    if not planted:
        sys.exit(f"no {identity}")
    for pair in evidence.split():
        key, value = pair.split("=")
        if str(planted[0]["evidence"].get(key)) != value:
            sys.exit(f"{key} is {planted[0]['evidence'].get(key)}, not {value}")
    if found(path_without, identity):
        sys.exit(f"{identity} without a cause: {found(path_without, identity)}")
    say_findings(identity, planted[:1])
    say_cell(identity, "twin", "silent")


if __name__ == "__main__":
    main()
