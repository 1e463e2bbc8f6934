#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Memory of the session: what happens when it is short, and that loss is never silent.
. "$(dirname "$0")/shim_lib.sh"

runtime=$progs/prog_runtime

case_drops_are_counted_when_the_ring_is_full() {
	export GPUTRACE_TEST_RING_DUMP=slow GPUTRACE_RING_KIB=32 GPUTRACE_MEMORY_MIB=1 GPUTRACE_GPU=off
	same_with_and_without "$runtime" copy 2000
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^dropped\tkind=18' "dropped copies are counted"
	# Rows of driver and runtime: three copies per turn, each with its nested call.
	local written=$(count "$work/dump.txt" '^copy\t')
	local lost=$(sed -n 's/^dropped\tkind=18\tcount=//p' "$work/dump.txt")
	[ $((written + lost)) -eq 12000 ] || fail "$written written + $lost dropped are not 12000"
	has "$work/dump.txt" 'bad=0' "no broken record"
}

case_a_ring_grows_before_anything_is_lost() {
	export GPUTRACE_RING_KIB=32 GPUTRACE_GPU=off GPUTRACE_TEST_RING_DUMP=slow
	same_with_and_without "$runtime" copy 700
	dump >"$work/dump.txt"
	has_not "$work/dump.txt" '^dropped' "nothing dropped"
	[ "$(count "$work/dump.txt" '^copy\t')" -eq 4200 ] || fail "every record once"
}

case_waiting_for_room_loses_nothing_while_the_collector_lives() {
	export GPUTRACE_ON_FULL=wait GPUTRACE_RING_KIB=32 GPUTRACE_MEMORY_MIB=1 GPUTRACE_GPU=off
	# On a busy machine the collector may not get its turn within the budget: some tries.
	for try in 1 2 3 4 5; do
		rm -f "$out"/*
		traced "$runtime" copy 2000 >/dev/null
		dump >"$work/dump.txt"
		has "$work/dump.txt" 'bad=0\tpads=[1-9]' "records never cross the end of a ring"
		grep -q '^dropped' "$work/dump.txt" || return 0
	done
	fail "records were dropped in every try"
}

case_waiting_has_a_budget() {
	export GPUTRACE_ON_FULL=wait GPUTRACE_RING_KIB=32 GPUTRACE_MEMORY_MIB=1 GPUTRACE_GPU=off
	export GPUTRACE_TEST_RING_DUMP=slow
	local begin=$(date +%s%N)
	traced "$runtime" copy 3000 >/dev/null
	local ms=$((($(date +%s%N) - begin) / 1000000))
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^dropped' "the budget is used up, the rest is dropped"
	[ $ms -lt 5000 ] || fail "waited $ms ms"
}

# 48 threads at a time, with memory for four rings of the usual size. What threads call while the session
# is being opened, which takes long on a busy machine, has no ring: their first calls.
case_rings_become_smaller_when_memory_is_short() {
	export GPUTRACE_MEMORY_MIB=4 GPUTRACE_RING_KIB=1024 GPUTRACE_GPU=off GPUTRACE_TEST_RING_DUMP=slow
	same_with_and_without "$runtime" threads 1 48
	dump >"$work/dump.txt"
	has_not "$work/dump.txt" '^dropped' "nothing dropped"
	[ "$(count "$work/dump.txt" 'set\tapi=cudaMemset\t')" -ge 2300 ] || fail "nearly every call of 48 threads"
}

case_threads_without_a_ring_are_counted() {
	export GPUTRACE_MEMORY_MIB=1 GPUTRACE_RING_KIB=256 GPUTRACE_GPU=off GPUTRACE_TEST_RING_DUMP=slow
	same_with_and_without "$runtime" threads 1 64
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^end.*bad=0' "a clean end"
	local written=$(count "$work/dump.txt" 'set\tapi=cudaMemset\t')
	# A ring with little room that is taken over may fill, which is counted as well.
	[ "$written" -eq 3200 ] || has "$work/dump.txt" 'unrecorded=[1-9]|^dropped\t' "what has no room is counted"
}

case_a_file_size_limit_does_not_kill_the_program() {
	(ulimit -f 16 && same_with_and_without "$runtime" copy 3) || fail "the program was killed"
	[ -z "$(ls "$out"/ring.* 2>/dev/null)" ] || fail "a session in 16 KiB"
	# Room for some rings only.
	rm -f "$out"/*
	(ulimit -f 1000 && GPUTRACE_GPU=off traced "$runtime" threads 2 >/dev/null) || fail "the program was killed"
}

case_few_descriptors_are_enough() {
	(ulimit -n 64 && same_with_and_without "$runtime" copy 3) || fail "the program failed"
	dumps 1
}

case_closed_descriptors_do_no_harm() {
	export GPUTRACE_GPU=off
	same_with_and_without "$runtime" close
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^end\tended.*bad=0' "what was recorded is whole"
}

case_an_unwritable_directory_does_no_harm() {
	export GPUTRACE_OUT=/nonexistent/directory GPUTRACE_START_MS=200
	for collector in "$build/bin/gputrace-collector" none; do
		LD_PRELOAD=$shim GPUTRACE_COLLECTOR=$collector "$runtime" copy 2 >"$work/with.txt" ||
			fail "the program failed"
		"$runtime" copy 2 | cmp -s - "$work/with.txt" || fail "the output differs"
	done
}

case_wrong_settings_are_ignored_and_said() {
	export GPUTRACE_RING_KIB=many
	same_with_and_without "$runtime" copy
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^info\toption.ignored=GPUTRACE_RING_KIB' "said in the trace"
}

case_calls_from_signal_handlers_do_not_break_records() {
	export LD_LIBRARY_PATH=$progs/majors GPUTRACE_GPU=off GPUTRACE_RING_KIB=4096
	traced timeout 60 "$progs/prog_loader" signals >"$work/with.txt" || fail "the program failed"
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^end\tended.*bad=0' "no broken record"
	has_not "$work/dump.txt" '^memory.*(UNNAMED|UNKNOWN|ns=BAD)' "every record is whole"
	local calls=$(sed 's/ calls//' "$work/with.txt")
	local written=$(count "$work/dump.txt" '^memory\t') lost=$(sed -n 's/^dropped\tkind=21\tcount=//p' "$work/dump.txt")
	[ $((written + ${lost:-0})) -eq "$calls" ] || fail "$written written, ${lost:-0} dropped of $calls calls"
}

shim_main "$@"
