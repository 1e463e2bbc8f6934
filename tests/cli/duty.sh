#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: duty.sh BUILD NAME: kernels are timed in windows; the time between is told, steps there are
# partial and in no mean; a CUPTI that cannot be switched safely is left alone and says so.
. "$(dirname "$0")/cli.sh" "$1" "$2"
program=$(program_of train_loop shared)
need_program "$program"
export GPUTRACE_DUTY=150/150 GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13

SIMCUDA_CUPTI_VERSION=26 record traces "$program" --steps 60 >out.txt 2>errors.txt ||
	fail "$(cat errors.txt)"
trace=$(trace_in traces) || exit 1
"$gputrace" info "$trace" >info.txt || fail "info gave $?"
grep -q "gpu_times.duty *kernels are timed 150 ms, then not for 150 ms" info.txt || fail "$(cat info.txt)"
for kind in mark launch gpu_kernel gpu_copy; do
	"$gputrace" dump --format json --kind $kind "$trace" >$kind.json || fail "dump gave $?"
done
"$gputrace" report --json "$trace" >report.json || fail "report gave $?"
GPUTRACE_DUTY='' record always "$program" --steps 20 >out.txt 2>errors.txt || fail "$(cat errors.txt)"
"$gputrace" report --json always >always.json || fail "report gave $?"
python3 - <<'PYTHON' || fail "the windows are not what was asked for, see $work"
import json, re

def rows(kind):
    return json.load(open(kind + ".json"))[kind]

off = sorted((m["begin_ns"], m["end_ns"], m["value"]) for m in rows("mark")
             if m["name"] == "kernel times off")
assert off and all(m["source"] == "0x4" and m["domain"] == "gputrace" for m in rows("mark")
                   if m["name"] == "kernel times off")
windows = {}
for begin, end, number in off:
    low, high = windows.get(number, (begin, begin))
    assert begin == high or number not in windows, "a window is told in pieces without a gap"
    windows[number] = (low, end)
info = dict(re.findall(r"^ *(gpu_times\.\w+) +(.*)$", open("info.txt").read(), re.M))
assert len(windows) == int(info["gpu_times.duty_count"]) >= 2, (windows, info)
whole = [end - begin for begin, end in list(windows.values())[:-1]]
assert all(140e6 < length < 2e9 for length in whole), whole

launches = [l for l in rows("launch") if l["parent_id"] == 0]
timed = {k["correlation"] for k in rows("gpu_kernel")}
slack = 5e6  # a switch takes a moment
def is_off(t, margin):
    return any(b + margin <= t <= e - margin for b, e in windows.values())
untimed = [l for l in launches if l["correlation"] not in timed]
assert len(untimed) > 100 and len(timed) > 100
# The simulated CUPTI decides when a kernel ends.
assert not [k for k in rows("gpu_kernel") if is_off(k["end_ns"], slack)]
# What was launched in a window that was on has a time, but for what was in flight at its end.
late = [l for l in untimed if not is_off(l["begin_ns"], 0) and
        not any(0 <= b - l["begin_ns"] < 100e6 for b, _ in windows.values())]
assert not late, late[:3]
assert len(rows("gpu_copy")) >= 60, "copies are always timed"

run = json.load(open("report.json"))["runs"][0]
steps = run["steps"]
assert steps["partial"] >= 5 and steps["steady"] >= 5, steps
assert [q for q in run["quality"] if q["id"] == "GT908"], run["quality"]
# A step that lacked kernels would look idle; those that count are as in a run without windows.
def parts(report):
    return {p["part"]: p["ms"] for p in report["devices"][0]["ledger"]["parts"]}
here, always = parts(run), parts(json.load(open("always.json"))["runs"][0])
for part in ("gemm", "memory_bound", "optimizer", "exposed_copy"):
    assert abs(here[part] - always[part]) < 0.01 * always[part], (part, here, always)
PYTHON

# Versions that hang or mix launches up.
SIMCUDA_CUPTI_VERSION=130001 record refused "$program" --steps 3 >out.txt 2>errors.txt || fail "$(cat errors.txt)"
"$gputrace" info refused >info.txt || fail "info gave $?"
grep -q "gpu_times.duty *kernels are always timed: the CUPTI of CUDA 13.0" info.txt || fail "$(cat info.txt)"
"$gputrace" dump --format tsv --kind mark refused | grep -q "kernel times off" && fail "it was switched"
GPUTRACE_DUTY=fast record wrong "$program" --steps 3 >out.txt 2>errors.txt || fail "$(cat errors.txt)"
"$gputrace" info wrong >info.txt || fail "info gave $?"
grep -q "gpu_times.duty *kernels are always timed: GPUTRACE_DUTY=fast is not ON/OFF" info.txt || fail "$(cat info.txt)"

# Nodes from a moment on, and wholes again; a simulated CUPTI switches existing executables too.
unset GPUTRACE_DUTY
late=$build/tests/shim-programs/prog_capture
switch() { # VERSION WHAT: expects the exit code in $1
	mkfifo line
	SIMCUDA_CUPTI_VERSION=$2 record "$4" "$late" late 20 <line >late.txt 2>errors.txt &
	local job=$!
	exec 9>line
	for _ in $(seq 100); do
		grep -q ready late.txt && break
		sleep 0.05
	done
	for _ in $(seq 100); do
		pid=$("$gputrace" ps | awk '/prog_capture/ { print $1; exit }')
		[ -n "$pid" ] && break
		sleep 0.05
	done
	"$gputrace" capture "$3" "$pid" >capture.txt 2>&1
	status=$?
	[ $status = "$1" ] || fail "capture $3 gave $status: $(cat capture.txt)"
	echo >&9
	exec 9>&-
	wait $job || fail "$(cat errors.txt)"
	rm line
	for kind in gpu_set gpu_graph; do
		"$gputrace" dump --format json --kind $kind "$4" >$kind.json || fail "dump gave $?"
	done
}

# count KIND
count() {
	python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1] + ".json")).get(sys.argv[1], [])))' "$1"
}
switch 0 26 nodes nodes
[ "$(count gpu_set) $(count gpu_graph)" = "40 0" ] || fail "$(count gpu_set) nodes, $(count gpu_graph) wholes are timed"
"$gputrace" info nodes | grep -q "gpu_times.graphs_switched *nodes: " || fail "$("$gputrace" info nodes)"
switch 4 130001 nodes refusal
grep -q "cannot be switched safely" capture.txt || fail "$(cat capture.txt)"
[ "$(count gpu_set) $(count gpu_graph)" = "0 20" ] || fail "the refused job times no wholes"
