#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: kill_job.sh BUILD NAME job|shell|init
# train_loop is killed in mid-run: itself by SIGKILL (the collector lives on), or with everything in
# its PID namespace, as a container's end does; there it is the child of a shell, or PID 1 itself. The
# trace is readable, says up to when it is complete, and holds everything that the simulated driver
# had logged up to then.
. "$(dirname "$0")/cli.sh" "$1" "$2"
what=$3
train_loop=$samples/train_loop
need_program "$train_loop"
export GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13
export SIMCUDA_LOG=$work/log.tsv GPUTRACE_OUT=$work/traces
mkdir traces

job=(env LD_PRELOAD="$shim" "$train_loop" --steps 100000)
namespace=(unshare --pid --fork --mount-proc --kill-child=KILL)
if [ "$what" != job ]; then
	"${namespace[@]}" true 2>/dev/null || skip "no right to make a PID namespace"
fi
case $what in
job) "${job[@]}" >/dev/null 2>&1 & ;;
shell) "${namespace[@]}" bash -c '"$@"; exit $?' shell "${job[@]}" >/dev/null 2>&1 & ;;
init) "${namespace[@]}" "${job[@]}" >/dev/null 2>&1 & ;;
esac
started=$!
trap 'kill -KILL $started 2>/dev/null' EXIT

# Long enough in the loop that there is something to lose.
for _ in $(seq 200); do
	[ -f log.tsv ] && [ "$(grep -c adamw_step log.tsv)" -ge 1500 ] && break
	sleep 0.1
done
[ "$(grep -c adamw_step log.tsv)" -ge 1500 ] || fail "train_loop does not get anywhere"
[ -n "$(echo traces/*.gtrace)" ] && [ -s "$(echo traces/*.gtrace)" ] || fail "no trace is being written"
kill -KILL $started
wait $started 2>/dev/null
trap - EXIT
# The collector of a killed job finishes the file; commands wait for it by themselves.
trace=$(trace_in traces) || exit 1

expect_exit 0 "$gputrace" info --json "$trace"
mv out.txt info.json
expect_exit 0 "$gputrace" report --json "$trace"
mv out.txt report.json
expect_exit 0 "$gputrace" dump --format tsv "$trace"
mv out.txt dump.tsv
python3 "$here/check_killed.py" "$what" info.json report.json log.tsv dump.tsv ||
	fail "the trace of a killed job is not what it should be, see $work"
