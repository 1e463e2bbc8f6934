#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: graph_times.sh BUILD NAME CUPTI_VERSION: launches of graphs as wholes and by nodes equal the
# simulated driver's exact log in the record layouts of that CUPTI; what cannot be had is said.
version=$3
. "$(dirname "$0")/cli.sh" "$1" "$2"
export SIMCUDA_TIME_SCALE=0 SIMCUDA_CUPTI_VERSION=$version GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13

# compare MODE WANTED_INFO SAMPLE OPTIONS...
compare() {
	local mode=$1 info=$2 program
	program=$(program_of "$3" shared)
	need_program "$program"
	shift 3
	rm -rf traces log.tsv
	record traces env SIMCUDA_LOG="$work/log.tsv" "$program" "$@" >out.txt 2>errors.txt ||
		fail "$program $*: $(cat errors.txt)"
	trace=$(trace_in traces) || exit 1
	"$gputrace" dump --format tsv "$trace" >dump.tsv || fail "dump gave $?"
	python3 "$here/compare_log.py" log.tsv dump.tsv --runtime --graphs "$mode" ||
		fail "$mode, $*: trace and log differ, see $work"
	"$gputrace" info "$trace" >info.txt || fail "info gave $?"
	grep -q "gpu_times.graphs *$info" info.txt || fail "info does not say \"$info\": $(cat info.txt)"
}

for sample in "launch_bound --cured --update --steps 40" "train_loop --graph --steps 4 --features 1"; do
	# shellcheck disable=SC2086
	compare whole whole $sample
	# shellcheck disable=SC2086
	GPUTRACE_GRAPHS=nodes compare nodes nodes $sample
done
# A driver or CUPTI that cannot time a launch as a whole gives its nodes.
SIMCUDA_CUPTI_FAULT=no-graph compare nodes "nodes: this CUPTI or driver cannot" launch_bound --cured --steps 10

# What was captured is in the report: where, and in node mode the shapes behind the kernels.
GPUTRACE_GRAPHS=nodes record nodes "$(program_of train_loop shared)" --graph --steps 12 --features 1 \
	>out.txt 2>&1 || fail "$(cat out.txt)"
"$gputrace" report --json nodes >nodes.json || fail "report gave $?"
record wholes "$(program_of train_loop shared)" --graph --steps 12 --features 1 >out.txt 2>&1 ||
	fail "$(cat out.txt)"
"$gputrace" report --json wholes >wholes.json || fail "report gave $?"
"$gputrace" report --html wholes.html wholes >out.txt || fail "report --html gave $?: $(cat out.txt)"
python3 - <<'PYTHON' || fail "the reports do not say what the graph is"
import json

nodes, wholes = (json.load(open(f))["runs"][0]["devices"][0] for f in ("nodes.json", "wholes.json"))
for device in (nodes, wholes):
    (graph,) = device["graphs"]
    assert graph["launches_per_step"] == 1 and graph["nodes"] == graph["kernel_nodes"] == 46, graph
    assert "train_loop.cu" in graph["launched_at"] and "train_loop.cu" in graph["captured_at"], graph
    assert graph["launched_at"] != graph["captured_at"], graph
assert nodes["graphs"][0]["has_nodes"] and nodes["graphs"][0]["linked_nodes_per_step"] == 46
assert not wholes["graphs"][0]["has_nodes"]
page = open("wholes.html").read()
table = page[page.index("<h3>CUDA graphs, per step</h3>"):]
row = table[table.index("<tr><td>"):table.index("</table>")]
assert row.count("train_loop.cu") == 2 and "<td>46</td><td>46</td><td>not recorded</td>" in row, row
part = {p["part"]: p["percent"] for p in wholes["ledger"]["parts"]}
assert part["graph_replay"] > 30, part
# The shapes of captured products are found by their nodes only.
backward = [f for f in nodes["findings"] if f["id"] == "GT201" and "backward" in f["site"]]
assert backward, [(f["id"], f["site"]) for f in nodes["findings"]]
assert not [f for f in wholes["findings"] if f["id"] == "GT201" and "backward" in f["site"]]
reasons = {j["id"]: (j["status"], j["reason"]) for j in wholes["judgements"]}
assert reasons["GT204"][0] == "not_judged" and "graph replays" in reasons["GT204"][1], reasons["GT204"]
PYTHON
