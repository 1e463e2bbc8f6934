#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: commands.sh BUILD NAME
# What every command owes its user: help, one sentence and exit code 2 for wrong usage, JSON that
# parses, a page per rule, the child's exit code.
. "$(dirname "$0")/cli.sh" "$1" "$2"

names=$("$gputrace" help | awk '/^Commands:/ { list = 1; next } !NF { list = 0 } list { print $1 }')
[ "$(wc -w <<<"$names")" -ge 16 ] || fail "help lists only: $names"
for name in $names; do
	[ $name = help ] && continue
	expect_exit 0 "$gputrace" "$name" --help
	grep -q "usage: gputrace $name" out.txt || fail "$name --help does not say how it is used"
	expect_exit 2 "$gputrace" "$name" --no-such-option
	[ -s err.txt ] && [ ! -s out.txt ] || fail "$name: a wrong option is not refused on standard error"
done
# Where pandoc was found there are man pages, with options that can be pasted into a shell.
if ls "$build"/man/gputrace.1 >/dev/null 2>&1; then
	for name in $names; do
		grep -q "^.TH .GPUTRACE-${name^^}. .1." "$build/man/gputrace-$name.1" || fail "gputrace-$name.1 is no page of section 1"
	done
	grep -q '^.TH .LIBGPUTRACE. .7.' "$build/man/libgputrace.7" || fail "libgputrace.7 is no page of section 7"
	! grep -l '\\\[en\]\|–' "$build"/man/* || fail "a man page has dashes in place of --"
	grep -q -- '--baseline' "$build/man/gputrace-gate.1" || fail "gputrace-gate.1 lacks --baseline"
fi
expect_exit 2 "$gputrace" no-such-command
expect_exit 0 "$gputrace"

for rule in GT101 GT102 GT103 GT201 GT501 GT503; do
	expect_exit 0 "$gputrace" explain $rule
	grep -q "$rule" out.txt && grep -q "Raised when" out.txt && grep -q "Gain" out.txt ||
		fail "explain $rule lacks definition or gain"
done
expect_exit 2 "$gputrace" explain GT999

need_program "$samples/sync_in_loop"
export GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13 SIMCUDA_TIME_SCALE=0
expect_exit 0 "$gputrace" record -o traces -- "$samples/sync_in_loop" --steps 12
trace=$(trace_in traces) || exit 1
for command in "info --json" "report --json" "dump --json" "gate --json --max step_time_ms=1000"; do
	expect_exit 0 "$gputrace" $command "$trace"
	python3 -c 'import json; assert json.load(open("out.txt"))["schema"].startswith("gputrace.")' ||
		fail "$command is no JSON with a schema"
done
for window in "--from 1000" "--to -1000" "--from 2 --to 1"; do
	expect_exit 3 "$gputrace" report $window "$trace"
	[ ! -s out.txt ] && grep -q "lies between" err.txt || fail "report $window says nothing"
done
expect_exit 0 "$gputrace" report --from -1000 "$trace"
for command in "check --json" "top --json" "doctor --json" "ps --json" "explain --json"; do
	case $command in check* | top*) file=$trace ;; *) file= ;; esac
	"$gputrace" $command $file >out.txt
	python3 -c 'import json; assert json.load(open("out.txt"))["schema"].startswith("gputrace.")' ||
		fail "$command is no JSON with a schema"
done
expect_exit 0 "$gputrace" report --by kernel --json "$trace"
python3 -c 'import json; d = json.load(open("out.txt")); assert d["schema"] == "gputrace.kernels/1"
run = d["runs"][0]; assert abs(sum(w["gpu_ms"] for w in run["work"]) - run["gpu_ms"]) < 1e-6
assert run["work"]' || fail "report --by kernel does not add up"
expect_exit 2 "$gputrace" report --by rank "$trace"
expect_exit 0 "$gputrace" report --by site --json "$trace"
python3 -c 'import json; d = json.load(open("out.txt")); assert d["schema"] == "gputrace.sites/1"
assert any(s["lost_ms"] > 0 for s in d["runs"][0]["sites"])' || fail "report --by site finds no loss"
for weight in gpu_time host_time lost_time; do
	expect_exit 0 "$gputrace" export --to collapsed --weight $weight "$trace"
	grep -Evq '^[^ ].* [1-9][0-9]*$' out.txt && fail "collapsed has a line that is no stack and weight"
	expect_exit 0 "$gputrace" export --to speedscope --weight $weight -o stacks.json "$trace"
	python3 -c 'import json; d = json.load(open("stacks.json")); frames = len(d["shared"]["frames"])
for p in d["profiles"]:
	assert len(p["samples"]) == len(p["weights"]) and sum(p["weights"]) == p["endValue"]
	assert all(0 <= f < frames for s in p["samples"] for f in s)' || fail "speedscope: stacks.json"
done
expect_exit 0 "$gputrace" export --to chrome "$trace"
python3 -c 'import json; assert json.load(open("out.txt"))["traceEvents"]' || fail "chrome is no JSON"
expect_exit 2 "$gputrace" export --to nothing "$trace"
expect_exit 1 "$gputrace" export --to collapsed -o no-such-folder/file "$trace"
expect_exit 0 "$gputrace" report --tables hta "$trace"
grep -q "temporal breakdown" out.txt || fail "report --tables hta shows no tables"
expect_exit 0 "$gputrace" report "$trace"
grep -q "temporal breakdown" out.txt && fail "report shows HTA's tables unasked"
expect_exit 2 "$gputrace" report --tables everything "$trace"
expect_exit 0 "$gputrace" report --html page.html "$trace"
grep -q "temporal breakdown" page.html || fail "the page lacks HTA's tables"
grep -q "</html>" page.html || fail "the page is not whole"
grep -Eq 'src="?http|href="?http|@import' page.html && fail "the page loads something from elsewhere"
expect_exit 7 "$gputrace" record -o traces -- bash -c 'exit 7'
expect_exit 127 "$gputrace" record -o traces -- ./no-such-program
[ "$(ls traces | wc -l)" = 1 ] || fail "programs without CUDA left files: $(ls traces)"
exit 0
