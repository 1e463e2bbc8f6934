# SPDX-License-Identifier: Apache-2.0
"""A PyTorch recording of a real GPU: as many launches are tied to a forward line as the recording's
own numbers tie, counted here without the importer, and to the right ones.

usage: sites_recording.py GPUTRACE RECORDING.json.gz
"""

import bisect
import collections
import gzip
import json
import os
import subprocess
import sys
import tempfile

viewer, recording = sys.argv[1:3]
if not os.path.exists(recording):
    print("skipped: the recordings are not here (%s)" % recording)
    sys.exit(77)
events = json.load(gzip.open(recording))["traceEvents"]
operators = [e for e in events if e.get("cat") == "cpu_op" and e["args"].get("Sequence number", -1) >= 0]
forward = collections.defaultdict(list)  # number -> operators of the forward pass
backward = collections.defaultdict(list)  # thread -> operators of the backward pass that are outermost
for e in operators:
    if e["args"].get("Fwd thread id"):
        if e["name"].startswith("autograd::engine::evaluate_function"):
            backward[e["tid"]].append((e["ts"], e["ts"] + e["dur"], e["args"]["Sequence number"]))
    else:
        forward[e["args"]["Sequence number"]].append(e)
for spans in backward.values():
    spans.sort()
wanted = 0
for e in events:
    if e.get("cat") != "cuda_runtime" or e["name"] != "cudaLaunchKernel" or e["tid"] not in backward:
        continue
    spans = backward[e["tid"]]
    at = bisect.bisect_right(spans, (e["ts"], float("inf"), 0)) - 1
    wanted += at >= 0 and e["ts"] < spans[at][1] and spans[at][2] in forward

with tempfile.TemporaryDirectory() as folder:
    trace = folder + "/recording.gtrace"
    subprocess.run([viewer, "import", "-o", trace, recording], check=True, stdout=subprocess.DEVNULL)
    table = json.loads(subprocess.run([viewer, "report", "--by", "site", "--json", trace], check=True,
                                      stdout=subprocess.PIPE).stdout)
rows = [row for run in table["runs"] for row in run["sites"]]
found = sum(row["launches"] for row in rows if ", forward: " in row["place"])
of_convolution = [row for row in rows if row["place"].startswith("aten::convolution_backward, forward: ")]
problems = []
if not wanted or round(found) != wanted:
    problems.append("%s launches have a forward line instead of %d" % (found, wanted))
if not of_convolution or not all(": resnet.py:" in row["place"] for row in of_convolution):
    problems.append("convolutions come from %s" % [row["place"] for row in of_convolution])
for problem in problems:
    print(problem)
print("%d backward launches with their forward line, %d problems" % (wanted, len(problems)))
sys.exit(1 if problems else 0)
