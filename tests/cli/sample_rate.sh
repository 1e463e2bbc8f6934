#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: sample_rate.sh BUILD NAME
# GPUTRACE_SAMPLE_RATE: where launches come faster than that, they are sampled, the totals stay those of the
# driver's log to the last call, and the report judges nothing by what is left; below it nothing is lost.
. "$(dirname "$0")/cli.sh" "$1" "$2"
program=$samples/launch_bound
need_program "$program"
export SIMCUDA_TIME_SCALE=0

run() { # NAME RATE LEAST MOST: in percent of the launches
	SIMCUDA_LOG=$work/$1.tsv GPUTRACE_SAMPLE_RATE=$2 record "$1" "$program" --steps 20 >"$1.txt" \
		2>errors.txt || fail "exit code $? with the shim"
	cmp plain.txt "$1.txt" || fail "standard output differs with the shim"
	[ ! -s errors.txt ] || fail "standard error: $(cat errors.txt)"
	trace=$(trace_in "$1") || exit 1
	"$gputrace" check "$trace" >check.txt || fail "the trace is not whole: $(cat check.txt)"
	"$gputrace" dump --format tsv "$trace" >dump.tsv || fail "dump"
	python3 "$here/compare_totals.py" "$1.tsv" dump.tsv --runtime --singly "$3" "$4" ||
		fail "$1: not what the log says, or not so many launches"
	"$gputrace" info "$trace" | grep -q "recording.mode *sampled above $2 launches/s per thread" ||
		fail "the trace does not say how it was recorded"
	"$gputrace" report "$trace" >"$1.report" || fail "report gave $?"
	"$gputrace" report --json "$trace" >"$1.json" || fail "report --json gave $?"
}

"$program" --steps 20 >plain.txt || fail "exit code $?"
# Between two launches 10 us pass, so there are some ten thousand in a second on the slowest machine.
run above 500 0 40
rows=$(wc -l <dump.tsv)
run below 10000000 100 100
[ "$rows" -lt $(($(wc -l <dump.tsv) / 2)) ] || fail "sampling saves no records"

grep -q '^  GT908 .*sampled' above.report || fail "the report does not say that launches were sampled"
grep -q 'launches were sampled (GPUTRACE_SAMPLE_RATE)' above.report || fail "nor by what"
grep -Eq '^ +20000 .*__cudaLaunchKernel residual_add' above.report || fail "the exact total is not printed"
! grep -q 'GT908\|launches were sampled\|Totals only' below.report || fail "a run below the rate is called sampled"
# Without its end nobody knows what else there was: the totals are not called exact any more.
whole=$(trace_in above) || exit 1
for ((cut = 40; cut < 3000; cut += 40)); do
	head -c $(($(stat -c %s "$whole") - cut)) "$whole" >cut.gtrace
	"$gputrace" info cut.gtrace | grep -q 'ending *cut_short' && break
done
"$gputrace" report cut.gtrace >cut.report || fail "report of the cut file gave $?"
"$gputrace" report --json cut.gtrace >cut.json || fail "report --json of the cut file gave $?"
! grep -q 'exact' cut.report || fail "totals of a file without an end are called exact"
grep -Eq 'GT904 .*(totals up to [0-9.]+ s|no total is complete for sure)' cut.report ||
	fail "the report does not say that totals are missing"

python3 - <<'PYTHON' || fail "the verdicts are not what they should be, see $work"
import json


def run_of(name):
    run = json.load(open(name + ".json"))["runs"][0]
    return run, run["devices"][0]


run, device = run_of("above")
# Steps whose launches are a sample must not be judged as if they had fewer launches.
assert not device["findings"], device["findings"]
judgements = {j["id"]: j for j in device["judgements"]}
assert judgements["GT201"]["status"] == "not_judged", judgements["GT201"]
assert "off" in judgements["GT201"]["reason"] or "sampled" in judgements["GT201"]["reason"]
assert device["ledger"] is None or not device.get("ledger"), device["ledger"]
assert run["totals"]["is_complete"] and run["totals"]["complete_up_to_s"] is None
totals = run_of("cut")[0]["totals"]
assert totals["calls"] and not totals["is_complete"], totals["is_complete"]
run, device = run_of("below")
assert "GT908" not in [q["id"] for q in run["quality"]], run["quality"]
assert run["steps"]["steady"] >= 10, run["steps"]
assert device["findings"], "a launch-bound run without a finding"
judgements = {j["id"]: j for j in device["judgements"]}
assert judgements["GT201"]["status"] != "not_judged", judgements["GT201"]
PYTHON
