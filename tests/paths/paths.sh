#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every wrapped function by every way: what arrives, what comes back and what is recorded.
. "$(dirname "$0")/../shim/shim_lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
paths=$build/tests/path-programs
export LD_LIBRARY_PATH=$paths/lib

# Runs the program with and without the shim: the same arguments arrive, the same comes back.
same_calls() { # PROGRAM STATUS WAY WORDS WHERE
	local program=$paths/$1 plain=0 with=0
	shift
	export PATHS_STATUS=$1
	shift
	rm -f "$work"/calls-* "$out"/*
	PATHS_LOG=$work/calls-plain "$program" "$@" >"$work/plain.txt" 2>&1 || plain=$?
	[ $plain -eq 77 ] && skip "$(tail -n 1 "$work/plain.txt")"
	PATHS_LOG=$work/calls-with traced "$program" "$@" >"$work/with.txt" 2>&1 || with=$?
	[ $plain -eq $with ] || fail "exit code $with under the shim, $plain without: $*"
	[ -s "$work/plain.txt" ] || fail "the program called nothing"
	cmp -s "$work/plain.txt" "$work/with.txt" || {
		diff "$work/plain.txt" "$work/with.txt" | head -20 >&2
		fail "results or errno differ: $*"
	}
	cmp -s "$work/calls-plain" "$work/calls-with" || {
		diff "$work/calls-plain" "$work/calls-with" | head -20 >&2
		fail "other arguments arrived: $*"
	}
}

# The records are the calls of the log, one by one and in order: but the rows that record nothing,
# and what asks and is told that it is not ready (600).
records_equal_log() {
	dump >"$work/dump.txt"
	has_not "$work/dump.txt" 'UNNAMED|UNKNOWN' "every number has its name"
	# A collective's first call may also tell the rank that its communicator has.
	sed -nE '/^communicator\tapi=nccl[^C]/d; s/^[a-z_]+\tapi=([A-Za-z0-9_]+)\tstatus=(-?[0-9]+)\t.*/\1 \2/p' "$work/dump.txt" >"$work/records.txt"
	awk -F '\t' 'NR == FNR { if ($1 !~ /^#/) quiet[$1] = 1; next }
		{ sub(/_pt[ds][sz]$/, "", $1)
		  if (!($1 in quiet) && !($1 ~ /Query$/ && $3 == 600)) print $1, $3 }' \
		"$here/no_record.tsv" "$work/calls-with" >"$work/log.txt"
	cmp -s "$work/records.txt" "$work/log.txt" || {
		diff "$work/log.txt" "$work/records.txt" | head -30 >&2
		fail "records and calls differ (< call, > record)"
	}
}

# Failed calls whose pointers may not be touched, by every way and every major.
case_failed_calls_are_recorded_and_nothing_is_read() {
	for major in 11 12 13; do
		same_calls prog_paths_$major 1 linked guard main
		records_equal_log
		echo "CUDA $major: $(wc -l <"$work/log.txt") calls recorded"
	done
}

case_functions_by_dlsym_are_recorded() {
	for major in 11 12 13; do
		same_calls prog_paths_$major 1 dlsym guard main
		records_equal_log
	done
}

case_driver_functions_by_look_up_are_recorded() {
	same_calls prog_paths_13 1 lookup guard main
	records_equal_log
	[ "$(wc -l <"$work/log.txt")" -ge 270 ] || fail "only $(wc -l <"$work/log.txt") functions were looked up"
}

case_successful_calls_pass_and_are_recorded() {
	for major in 11 12 13; do
		same_calls prog_paths_$major 0 linked valid main
		records_equal_log
		has "$work/dump.txt" 'copy\tapi=cudaMemcpyAsync\tstatus=0\t.*bytes=65536\t' "sizes"
	done
}

case_null_everywhere_is_harmless() {
	for status in 0 1; do
		same_calls prog_paths_13 $status linked null main
		records_equal_log
	done
}

case_sizes_beyond_32_bits_are_exact() {
	same_calls prog_paths_13 1 linked huge main
	records_equal_log
	# 0x123456789abc
	for api in cuMemAlloc_v2 cudaMalloc cuMemcpyHtoD_v2 cudaMemcpy cudaMemsetAsync cuMemsetD8_v2; do
		has "$work/dump.txt" "\tapi=$api\tstatus=1\t.*bytes=20015998343868\t" "the size that $api was called with"
	done
}

case_results_that_are_waited_for_pass() {
	# Out of memory, a sticky error, not ready.
	for status in 2 700 600; do
		same_calls prog_paths_13 $status linked guard main
		records_equal_log
	done
}

case_calls_from_threads_are_recorded() {
	same_calls prog_paths_13 1 linked guard thread
	records_equal_log
}
case_calls_from_a_signal_handler_are_recorded() {
	same_calls prog_paths_13 1 linked guard signal
	records_equal_log
}
case_calls_from_thread_local_destructors_are_recorded() {
	same_calls prog_paths_13 1 linked guard thread_exit
	records_equal_log
}
case_calls_from_constructors_are_recorded() {
	PATHS_CONSTRUCTOR=guard same_calls prog_paths_13 1 linked guard constructor
	records_equal_log
}
# After exit began nothing new is opened; what the program gets is the same.
case_calls_after_exit_began_pass() {
	same_calls prog_paths_13 1 linked guard exit
	same_calls prog_paths_13 0 linked valid exit
}

# The loader's lock is taken once per library. Sites ask for modules at the first calls of a kind.
case_no_call_but_the_first_asks_the_loader() {
	for status in 0 1; do
		same_calls prog_paths_13 $status linked null loading
		has "$work/with.txt" '^no call waited for the loader' "calls go on while another thread loads a library"
	done
}

case_switched_off_every_function_is_forwarded() {
	export GPUTRACE=off
	for way in linked dlsym lookup; do
		same_calls prog_paths_13 1 $way guard main
		same_calls prog_paths_13 0 $way valid main
	done
	[ -z "$(ls "$out")" ] || fail "something was written"
}

shim_main "$@"
