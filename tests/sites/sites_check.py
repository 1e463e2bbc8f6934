# SPDX-License-Identifier: Apache-2.0
"""Compares a dump of a trace of sites_train.py with what the program expected.

usage: sites_check.py EXPECTED.json COPIES.json SITES.json
"""

import json
import sys

expected = json.load(open(sys.argv[1]))
copies = json.load(open(sys.argv[2]))["copy"]
sites = {}
for site in json.load(open(sys.argv[3]))["site"]:
    frames = []
    for text in site["frames"].split(";"):
        if "\\x1f" not in text:
            continue
        function, place = text.split("\\x1f")
        path, line = place.rsplit(":", 1)
        frames.append([function, path, int(line)])
    sites[site["id"]] = frames
problems, checked = [], 0
seen = dict.fromkeys(expected, 0)
for copy in copies:
    if copy["api"] != "cudaMemcpy":
        continue
    want = expected[str(copy["size_bytes"])]
    seen[str(copy["size_bytes"])] += 1
    got = sites.get(copy["site"], [])
    checked += 1
    # The frame that made the call comes first; what the program noted are its callers.
    if got[1:] != want["frames"][:63]:
        problems.append("copy of %d bytes: %s instead of %s"
                        % (copy["size_bytes"], got, want["frames"]))
for size, want in expected.items():
    if seen[size] != want["count"]:
        problems.append("copy of %s bytes: %d times in the trace instead of %d"
                        % (size, seen[size], want["count"]))
for problem in problems[:10]:
    print(problem)
print("%d copies, %d problems" % (checked, len(problems)))
sys.exit(1 if problems or checked < 80 else 0)
