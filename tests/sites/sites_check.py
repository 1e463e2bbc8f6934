# SPDX-License-Identifier: Apache-2.0
"""Compares a dump of a trace of sites_train.py with what the program expected, event by event, and
adds a line to the table of what was compared.

usage: sites_check.py EXPECTED.json TRACE.json
"""

import collections
import json
import os
import sys

expected = json.load(open(sys.argv[1]))
trace = json.load(open(sys.argv[2]))
CALLS = {"copy": "cudaMemcpy", "set": "cudaMemset", "memory": "cudaMalloc", "gemm": "cublasSgemm_v2",
         "sync": "cudaDeviceSynchronize"}
KEYS = {"copy": lambda row: row["size_bytes"], "set": lambda row: row["size_bytes"],
        "memory": lambda row: row["size_bytes"], "gemm": lambda row: row["m"] * 8}
# Launches get their frames by rate: without, they show nothing but the address that called.
MAY_BE_CUT = ("gemm",)


def frames_of_sites():
    sites = {}
    for site in trace["site"]:
        frames = []
        for text in site["frames"].split(";"):
            if "\\x1f" in text:
                function, place = text.split("\\x1f")
                path, line = place.rsplit(":", 1)
                frames.append([function, path, int(line)])
        sites[site["id"]] = frames
    return sites


def events(kind):
    rows = [row for row in trace[kind] if row["api"] == CALLS[kind]]
    return sorted(rows, key=lambda row: row["begin_ns"])


sites = frames_of_sites()
problems, checked = [], collections.OrderedDict()
for kind in CALLS:
    wanted = [event for event in expected if event["kind"] == kind]
    found = collections.defaultdict(list)
    for number, row in enumerate(events(kind)):
        found[KEYS[kind](row) if kind in KEYS else number].append(row)
    whole = 0
    for number, want in enumerate(wanted):
        rows = found[want["key"] if kind in KEYS else number]
        if len(rows) != want["count"]:
            problems.append("%s %s: %d times in the trace instead of %d"
                            % (kind, want["key"], len(rows), want["count"]))
        for row in rows:
            got = sites.get(row["site"], [])
            if not got and kind in MAY_BE_CUT:
                continue
            whole += 1
            # The frame that made the call comes first; what the program noted are its callers.
            if got[1:] != want["frames"][:63]:
                problems.append("%s %s: %s instead of %s" % (kind, want["key"], got, want["frames"]))
    checked[kind] = whole
    if whole == 0 or (whole < len(wanted) and kind not in MAY_BE_CUT):
        problems.append("only %d of %d events of kind %s were compared" % (whole, len(wanted), kind))
for problem in problems[:10]:
    print(problem)
print("%s, %d problems" % (", ".join("%d %s" % (n, kind) for kind, n in checked.items()),
                           len(problems)))
table = os.environ.get("SITES_TABLE")
if table:
    if not os.path.isdir(table):
        os.makedirs(table)
    name = "%d.%02d.%d" % sys.version_info[:3]
    with open(os.path.join(table, name), "w") as line:
        line.write("\t".join(["Python %d.%d.%d" % sys.version_info[:3]]
                             + ["%s=%d" % item for item in checked.items()]
                             + ["problems=%d" % len(problems)]) + "\n")
sys.exit(1 if problems else 0)
