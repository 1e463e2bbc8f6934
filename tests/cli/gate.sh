#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: gate.sh BUILD NAME
# The gate passes a job against its own baseline, again and again, and fails when the vocabulary goes
# back to 50257, naming what changed. All of it as a CI job would write it: run && gate.
. "$(dirname "$0")/cli.sh" "$1" "$2"
train_loop=$samples/train_loop
need_program "$train_loop"
export GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13
# Small batches: the simulated driver really moves their bytes, which takes a slow host its time.
job=(env LD_PRELOAD="$shim" "$train_loop" --cured --features 1)
# Another program on the same cores can hold a run up, which the gate must not call a pass: it may
# say that it is not sure. Then, and only then, the run is repeated.
runs=0

# gate_after FOLDER OPTION...: a traced run, then the gate on it; the gate's exit code.
gate_after() {
	local folder=$1
	shift
	mkdir -p "$folder"
	GPUTRACE_OUT=$folder "${job[@]}" "$@" >/dev/null || fail "the job failed with the shim"
	"$gputrace" gate --baseline base "$folder" >"$folder.txt" 2>&1
}

mkdir base
GPUTRACE_OUT=base "${job[@]}" >/dev/null || fail "the baseline run failed"

passed=0
while [ $passed -lt 3 ]; do
	runs=$((runs + 1))
	[ $runs -le 9 ] || fail "no three passes in 8 runs"
	gate_after "same$runs"
	status=$?
	case $status in
	0) passed=$((passed + 1)) ;;
	1 | 3) echo "run $runs of the same job: exit code $status, load $(cut -d' ' -f1 /proc/loadavg)" ;;
	*) cat "same$runs.txt" >&2; fail "exit code $status on the same job" ;;
	esac
done
grep -q "gate: pass" "same$runs.txt" || fail "a pass does not say so"
[ $runs -le 5 ] || fail "needed $runs runs of the same job for three passes"

for try in 1 2 3; do
	rm -rf unpadded
	gate_after unpadded --vocabulary 50257
	status=$?
	[ $status = 3 ] || break
	echo "try $try at vocabulary 50257: not sure, load $(cut -d' ' -f1 /proc/loadavg)"
done
[ $status = 1 ] || { cat unpadded.txt >&2; fail "exit code $status instead of 1 at vocabulary 50257"; }
grep -q "FAIL *step_time_ms" unpadded.txt || fail "the step time is not what failed"
grep -q 50257 unpadded.txt || { cat unpadded.txt >&2; fail "it does not name the vocabulary"; }
sed -n '/What changed/,$p' unpadded.txt

expect_exit 1 "$gputrace" gate --baseline base --json unpadded
python3 -c '
import json
document = json.load(open("out.txt"))
assert document["verdict"] == "fail", document["verdict"]
assert any("50257" in change["text"] for change in document["changes"]), document["changes"]
' || fail "the JSON verdict does not name the vocabulary"
expect_exit 1 "$gputrace" gate --baseline base --junit gate.xml unpadded
python3 -c '
import xml.etree.ElementTree as tree
suite = tree.parse("gate.xml").getroot().find("testsuite")
cases = suite.findall("testcase")
assert int(suite.get("tests")) == len(cases) and int(suite.get("failures")) > 0, suite.attrib
failure = [c for c in cases if c.get("name").startswith("step_time_ms")][0].find("failure")
assert "50257" in failure.text and "allowed" in failure.get("message"), failure.attrib
' || fail "the XML does not name the vocabulary"
expect_exit 0 "$gputrace" gate --max step_time_ms=1000 --junit pass.xml base
grep -q 'failures="0" errors="0"' pass.xml || fail "the XML of a pass has failures"
expect_exit 1 "$gputrace" gate --max step_time_ms=1000 --junit no/such/folder.xml base
expect_exit 0 "$gputrace" gate --max step_time_ms=1000 base
expect_exit 1 "$gputrace" gate --max step_time_ms=1 base
expect_exit 2 "$gputrace" gate base
expect_exit 2 "$gputrace" gate --max step_time_ms=fast base
expect_exit 3 "$gputrace" gate --min-steps 1000 --max step_time_ms=1000 base
# Two runs as one baseline, whatever the verdict of three runs on a busy machine is.
"$gputrace" gate --json --baseline base --baseline unpadded "same$runs" >two.json
[ $? -ne 2 ] && python3 -c '
import json
document = json.load(open("two.json"))
assert document["baseline_runs"] == 2 and not document["mismatch"], document
assert all(check["baseline_samples"] >= 2 for check in document["checks"])
' || fail "two runs are not taken as one baseline"
SIMCUDA_GPU=h100-sxm gate_after other_gpu
[ $? = 3 ] || { cat other_gpu.txt >&2; fail "another GPU is compared as if it were the same"; }
grep -q "H100" other_gpu.txt || fail "it does not say which GPU differs"
