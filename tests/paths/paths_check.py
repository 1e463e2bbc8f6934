# SPDX-License-Identifier: Apache-2.0
"""Every call that paths_program.py has noted is a record of the trace, in the same order, with its
name, result, bytes and line; and no call that it did not make is in the trace on its own.

usage: paths_check.py CALLS.json TRACE.json
"""

import json
import sys

# Of these the line is always told, of launches and the rest by rate.
ALWAYS = ("copy", "set", "memory", "sync", "collective")


def frames_of(site):
    """[function, line] of each Python frame, the innermost first."""
    frames = []
    for text in site["frames"].split(";"):
        if "\\x1f" in text:
            function, place = text.split("\\x1f")
            frames.append([function, int(place.rsplit(":", 1)[1])])
    return frames


def main():
    with open(sys.argv[1]) as calls, open(sys.argv[2]) as dump:
        calls, trace = json.load(calls), json.load(dump)
    sites = {site["id"]: frames_of(site) for site in trace["site"]}
    rows = [dict(row, kind=kind) for kind, table in trace.items() if isinstance(table, list)
            for row in table if isinstance(row, dict) and "api" in row and row.get("parent_id") == 0]
    rows.sort(key=lambda row: row["begin_ns"])
    bad, lines = [], 0
    for number, (call, row) in enumerate(zip(calls + [None] * len(rows), rows + [None] * len(calls))):
        if call is None and row is None:
            break
        if call is None or row is None:
            bad.append("call %d: %s, in the trace %s" % (number, call, row))
            break
        got = [row["api"], row["status"], row.get("size_bytes") if call["bytes"] is not None else None]
        if got != [call["api"], call["status"], call["bytes"]]:
            bad.append("call %d: %s, in the trace %s" % (number, call, got))
        if int(row["site"], 0) and row["site"] not in sites:
            bad.append("call %d: %s, whose site is not in the dump" % (number, call))
        frames = sites.get(row["site"], [])
        if not frames and row["kind"] not in ALWAYS:
            continue
        # The program's own function "call" makes the call, whoever called that is who counts.
        name = frames[1][0].rsplit(".", 1)[-1] if len(frames) > 1 else None
        if name != call["function"] or frames[1][1] != call["line"]:
            bad.append("call %d: %s, its frames in the trace %s" % (number, call, frames))
        lines += 1
    print("\n".join(bad[:10]))
    print("%d calls, %d with their line, %d problems" % (len(calls), lines, len(bad)))
    return 1 if bad or len(calls) < 50 or lines < 30 else 0


sys.exit(main())
