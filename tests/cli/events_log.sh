#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: events_log.sh BUILD NAME: with GPUTRACE_GPU=events the times of copies and launches are those
# of the simulated driver's log, in several contexts and streams and while these go; every kernel of a
# collective is measured; and the report tells what was.
. "$(dirname "$0")/cli.sh" "$1" "$2"
export GPUTRACE_GPU=events
for flavour in prog_events prog_events_per_thread; do
	program=$build/tests/shim-programs/$flavour
	need_program "$program"
	rm -rf "$flavour" log.tsv
	SIMCUDA_TIME_SCALE=1 SIMCUDA_GPUS=2 record "$flavour" env SIMCUDA_LOG="$work/log.tsv" "$program" >out.txt ||
		fail "$flavour: $(cat out.txt)"
	trace=$(trace_in "$flavour") || exit 1
	"$gputrace" dump --format tsv "$trace" >dump.tsv || fail "dump gave $?"
	"$gputrace" info "$trace" >info.txt || fail "info gave $?"
	# The launch and the copy in the context that is destroyed are never read.
	grep -q "gpu_times.events .*, 2 not (.* refused by the driver 0, context gone 2, not over at the end 0)" \
		info.txt || fail "$flavour: $(grep gpu_times info.txt)"
	python3 "$here/compare_events.py" log.tsv dump.tsv 2
	case $? in
	0) ;;
	77) skip "$flavour: the machine is too busy to queue copies in time" ;;
	*) fail "$flavour: trace and log differ, see $work" ;;
	esac
	# A release of a context that others hold costs no new events: two for each pair that was used.
	made=$(grep -c cuEventCreate log.tsv)
	[ "$made" -le $((2 * 70 + 6)) ] || fail "$flavour: $made events were made"
done

program=$(program_of exposed_allreduce shared)
need_program "$program"
rm -f log.*
measured=0
SIMCUDA_GPUS=2 SIMCUDA_TIME_SCALE=0 record ranks env SIMCUDA_LOG="$work/log.%p" "$program" --ranks 2 --steps 4 >out.txt ||
	fail "exposed_allreduce: $(cat out.txt)"
for log in log.*; do
	wanted=$(grep -cP '^gpu\t\d+\tkernel\t.*ncclDevKernel' "$log")
	[ "$wanted" -gt 0 ] || continue
	trace=$(ls ranks/*."${log#log.}".*.gtrace) || fail "no trace of rank ${log#log.}"
	measured=$("$gputrace" dump --format tsv --kind gpu_kernel "$trace" | grep -c ncclDevKernel)
	[ "$measured" = "$wanted" ] || fail "$measured of $wanted kernels of collectives are measured"
	"$gputrace" report "$trace" >report.txt || fail "report gave $?"
	grep -qE "GT902 .* Collectives: $wanted in [0-9.]+ ms\." report.txt ||
		fail "the report does not tell the collectives: $(grep GT902 report.txt)"
done
[ "$measured" -gt 0 ] || fail "no rank has collectives"
