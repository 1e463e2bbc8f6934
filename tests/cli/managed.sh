#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: managed.sh BUILD NAME: migrations of managed memory are recorded where they are asked for, as the
# simulated driver's log has them in every layout; GT107 finds those that nobody asked for, and neither
# prefetches nor a program whose pages stay; without being asked it is not judged.
. "$(dirname "$0")/cli.sh" "$1" "$2"
program=$build/tests/shim-programs/prog_managed
need_program "$program"
export GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13

run() { # NAME OPTION...
	local name=$1
	shift
	rm -rf log.tsv "$name"
	SIMCUDA_LOG=$work/log.tsv record "$name" "$program" "$@" >out.txt || fail "$*: $(cat out.txt)"
	trace=$(trace_in "$name") || exit 1
	"$gputrace" dump --format tsv --kind gpu_copy "$trace" >dump.tsv || fail "dump gave $?"
	"$gputrace" report --json "$trace" >"$name.json" || fail "report gave $?"
}

# The log's migrations and the trace's, as lines of direction, bytes and who asked.
same_as_log() {
	awk -F '\t' '$3 == "migration" { split($7, b, "="); split($8, d, "="); print d[2], b[2] }' log.tsv |
		sort >wanted.txt
	awk -F '\t' 'NR == 2 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		NR > 2 { print $at["direction"], $at["size_bytes"] }' dump.tsv | sort >got.txt
	[ -s wanted.txt ] || fail "the log has no migrations"
	cmp wanted.txt got.txt || fail "migrations differ from the log, see $work"
}

for version in 18 19 22 26 130000; do
	SIMCUDA_CUPTI_VERSION=$version GPUTRACE_MANAGED=on run layouts 4
	same_as_log
done
GPUTRACE_MANAGED=on run thrash 30
cp log.tsv thrash.log
same_as_log
GPUTRACE_MANAGED=on run cured 30 --cured
same_as_log
GPUTRACE_MANAGED=on run quiet 30 --quiet
run unasked 30
[ "$(wc -l <dump.tsv)" -le 2 ] || fail "migrations are recorded without being asked for"
python3 - <<'PYTHON' || fail "the findings are not what was planted, see $work"
import json

def device(name):
    return json.load(open(name + ".json"))["runs"][0]["devices"][0]

def judgement(name):
    return {j["id"]: j for j in device(name)["judgements"]}["GT107"]

(found,) = [f for f in device("thrash")["findings"] if f["id"] == "GT107"]
evidence = found["evidence"]
# In a step 6 and 3 MiB go there, in pieces of 2 MiB, and come back.
assert abs(evidence["to_gpu_bytes_per_step"] / (9 << 20) - 1) < 0.05, evidence
assert abs(evidence["back_bytes_per_step"] / (9 << 20) - 1) < 0.05, evidence
assert abs(evidence["migrations_per_step"] - 10) < 0.5, evidence
assert evidence["thrashing"] == "yes", evidence
# What the log has, in milliseconds of a step.
rows = [line.rstrip("\n").split("\t") for line in open("thrash.log")]
took = [int(r[4]) - int(r[3]) for r in rows if r[0] == "gpu" and r[2] == "migration"]
assert abs(evidence["migration_ms_per_step"] / (sum(took) / 30 / 1e6) - 1) < 0.08, (evidence, sum(took))
for name in ("cured", "quiet"):
    assert not [f for f in device(name)["findings"] if f["id"] == "GT107"], name
    assert judgement(name)["status"] == "silent", judgement(name)
unasked = judgement("unasked")
assert unasked["status"] == "not_judged" and "GPUTRACE_MANAGED=on" in unasked["reason"], unasked
print(f"GT107: {evidence}")
PYTHON
