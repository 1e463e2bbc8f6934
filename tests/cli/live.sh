#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: live.sh BUILD NAME process|thread
# A running job is listed, marked, switched off and on again, and its ledger is shown while it runs.
# Afterwards the trace has the mark, the pause as a range, and no call inside it.
. "$(dirname "$0")/cli.sh" "$1" "$2"
writer=$3
train_loop=$samples/train_loop
need_program "$train_loop"
export GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13
# That of CUDA 13.0, the simulated one's default, does not survive it that kinds are switched.
export SIMCUDA_CUPTI_VERSION=130200
export SIMCUDA_LOG=$work/log.tsv GPUTRACE_OUT=$work/traces
[ "$writer" = thread ] && export GPUTRACE_COLLECTOR=none
mkdir traces

LD_PRELOAD=$shim "$train_loop" --steps 100000 >/dev/null 2>&1 &
job=$!
trap 'kill -KILL $job 2>/dev/null' EXIT
for _ in $(seq 200); do
	[ -f log.tsv ] && [ "$(grep -c adamw_step log.tsv)" -ge 1500 ] && break
	sleep 0.1
done

expect_exit 0 "$gputrace" ps
grep -q "^ *$job .* recording .*train_loop --steps" out.txt || fail "ps does not list the job: $(cat out.txt)"
[ "$writer" = process ] || grep -q "^ *$job *thread " out.txt || fail "ps does not say that a thread writes"
expect_exit 0 "$gputrace" ps --json
python3 - "$job" "$work/traces" <<-'END' || fail "ps --json is not what it should be"
	import json, sys
	session, = [s for s in json.load(open("out.txt"))["sessions"] if s["pid"] == int(sys.argv[1])]
	assert session["state"] == "recording" and session["threads"] >= 1, session
	assert session["trace"].startswith(sys.argv[2]) and session["trace_bytes"] > 0, session
END

expect_exit 0 "$gputrace" top --count 2 --interval 0.2 --window 2 "$job"
[ "$(grep -c '^the last 2.0 s' out.txt)" = 2 ] || fail "top did not show two screens: $(cat out.txt)"
grep -q "compute: matrix products .* ms" out.txt || fail "top shows no ledger: $(cat out.txt)"
expect_exit 0 "$gputrace" top --count 1 --json "$job"
python3 -c 'import json; json.load(open("out.txt"))' || fail "top --json is no JSON"

expect_exit 0 "$gputrace" capture mark "epoch two begins" "$job"
expect_exit 0 "$gputrace" capture off "$job"
sleep 0.3
expect_exit 0 "$gputrace" ps
grep -q "^ *$job .* off " out.txt || fail "ps does not say off: $(cat out.txt)"
sleep 1
expect_exit 0 "$gputrace" capture on "$job"
sleep 0.5
kill -KILL $job
wait $job 2>/dev/null
trap - EXIT

expect_exit 4 "$gputrace" capture off "$job"
expect_exit 4 "$gputrace" top --count 1 "$job"
expect_exit 2 "$gputrace" capture sideways "$job"
expect_exit 2 "$gputrace" capture mark "" "$job"
trace=$(trace_in traces) || exit 1
for kind in mark launch gpu_kernel; do
	expect_exit 0 "$gputrace" dump --format json --kind $kind "$trace"
	mv out.txt $kind.json
done
expect_exit 0 "$gputrace" report --json "$trace"
mv out.txt report.json
python3 - <<-'END' || fail "the trace does not show what was done to the job, see $work"
	import json
	marks = json.load(open("mark.json"))["mark"]
	text, = [m for m in marks if m["name"] == "epoch two begins"]
	assert text["type"] == 3 and text["begin_ns"] == text["end_ns"], text
	off, = [m for m in marks if m["name"] == "recording off"]
	assert off["domain"] == "gputrace" and off["end_ns"] - off["begin_ns"] > 1e9, off
	assert off["begin_ns"] >= text["begin_ns"], (off, text)
	launches = [l["begin_ns"] for l in json.load(open("launch.json"))["launch"]]
	# The collector looks every few milliseconds, so the range begins and ends a little late.
	inside = [t for t in launches if off["begin_ns"] + 1e8 < t < off["end_ns"] - 1e8]
	assert not inside, len(inside)
	assert any(t < off["begin_ns"] for t in launches) and any(t > off["end_ns"] for t in launches)
	# CUPTI is off too: up to 20 ms later, and on again as much later.
	gpu, = [m for m in marks if m["name"] == "GPU times off"]
	assert gpu["domain"] == "gputrace" and gpu["begin_ns"] < off["begin_ns"] + 5e8, (gpu, off)
	assert gpu["end_ns"] > off["end_ns"] - 1e8, (gpu, off)
	kernels = [k["begin_ns"] for k in json.load(open("gpu_kernel.json"))["gpu_kernel"]]
	inside = [t for t in kernels if gpu["begin_ns"] + 1e8 < t < gpu["end_ns"] - 1e8]
	assert not inside, len(inside)
	assert any(t < gpu["begin_ns"] for t in kernels) and any(t > gpu["end_ns"] for t in kernels)
	run, = json.load(open("report.json"))["runs"]
	line, = [q for q in run["quality"] if q["id"] == "GT908"]
	assert 5 < line["blind_percent"] < 90, line
END
