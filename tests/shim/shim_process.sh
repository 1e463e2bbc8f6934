#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Processes: who gets a session, how it ends, and what nobody must notice.
. "$(dirname "$0")/shim_lib.sh"

runtime=$progs/prog_runtime

case_programs_without_cuda_leave_nothing() {
	for command in "bash -c true" "sh -c :" "env -i /bin/true" "git --version" "ls /" "awk BEGIN{}"; do
		command -v "${command%% *}" >/dev/null || continue
		same_with_and_without $command
	done
	same_with_and_without bash -c 'for i in 1 2 3; do (echo $i | cat); done; wait'
	[ -z "$(ls "$out")" ] || fail "litter: $(ls "$out")"
}

case_an_empty_environment_is_enough() {
	cd "$work"
	env -i LD_PRELOAD="$shim" LD_LIBRARY_PATH="$sim" GPUTRACE_COLLECTOR="$progs/ring_dump" \
		"$runtime" copy >"$work/a.txt"
	"$runtime" copy | cmp -s - "$work/a.txt" || fail "the output differs"
	[ "$(ls "$work"/ring.*.txt | wc -l)" -eq 1 ] || fail "one session in the current directory"
}

case_queries_open_no_session() {
	same_with_and_without "$runtime" idle
	[ -z "$(ls "$out")" ] || fail "something was written"
}

case_registering_and_cuinit_open_no_session() {
	[ -x "$progs/prog_register" ] || skip "nvcc not found"
	same_with_and_without "$progs/prog_register"
	[ -z "$(ls "$out")" ] || fail "something was written"
}

case_children_and_signals_are_not_seen() {
	same_with_and_without "$runtime" children
	grep -q 'waitpid(-1) = -1 ECHILD, SIGCHLD seen = 0' "$work/with.txt" ||
		fail "the program sees a child"
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^end\tended\tdescriptors=4\t' "the collector holds nothing of the program's"
}

case_a_pipe_ends_with_the_program() {
	# A collector that kept the descriptor would keep the reader waiting.
	timeout 20 sh -c "GPUTRACE_COLLECTOR='$progs/ring_dump' GPUTRACE_OUT='$out' \
		LD_PRELOAD='$shim' '$runtime' _exit 1 | cat >/dev/null" || fail "the pipe stayed open"
}

case_idle_forked_workers_leave_nothing() {
	same_with_and_without "$runtime" fork
	dumps 1
	[ "$(pgrep -f "$progs/ring_dump.*--out $out" | wc -l)" -eq 0 ] || fail "a collector stayed"
}

case_forked_workers_that_use_cuda_get_their_own_session() {
	export GPUTRACE_GPU=off
	same_with_and_without "$runtime" fork-cuda
	dumps 5
	[ "$(cat "$out"/*.txt | grep -c 'api=cudaMalloc.*bytes=4242')" -eq 4 ] || fail "each child's call once"
	for file in "$out"/*.txt; do
		has "$file" '^end\tended.*bad=0' "a clean end"
		has_not "$file" 'UNNAMED|UNKNOWN' "names are complete in every session"
	done
}

case_a_child_without_fork_handlers_is_separate_too() {
	same_with_and_without "$runtime" clone
	dumps 2
	local child=$(grep -l 'api=cudaMalloc.*bytes=4242' "$out"/*.txt)
	[ "$(wc -w <<<"$child")" -eq 1 ] || fail "the child's call once"
	has_not "$child" 'bytes=65536' "the child has a session of its own"
	! grep -h 'api=cudaDeviceSynchronize' "$out"/*.txt || fail "a call that opens nothing was recorded"
}

case_exec_starts_anew() {
	same_with_and_without "$runtime" exec
	# The stand-in collector of the first program waits for the process, which lives on.
	for i in 1 2 3 4 5 6 7 8 9 10; do
		[ "$(ls "$out"/*.txt 2>/dev/null | wc -l)" -ge 1 ] && break
		sleep 0.1
	done
	dumps 2
}

ends_as() { # MODE END RECORDS
	same_with_and_without "$runtime" "$1" 20
	dump >"$work/dump.txt"
	has "$work/dump.txt" "^end\t$2\t" "how the session ended"
	has "$work/dump.txt" '\tbad=0\t' "no broken record"
	[ "$(count "$work/dump.txt" 'copy\tapi=cudaMemcpyAsync')" -eq 40 ] || fail "every copy is there"
}
case_normal_exit_is_complete() { ends_as copy ended; }
case_underscore_exit_is_complete() { ends_as _exit dead; }
case_kill_is_complete() { ends_as kill dead; }
case_abort_is_complete() { ends_as abort dead; }

case_threads_of_the_shim_do_not_keep_a_process_alive() {
	# Without CUPTI, since its own threads (and CUDA's) do keep a process alive.
	export GPUTRACE_GPU=off
	same_with_and_without timeout 20 "$runtime" pthread_exit
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^end\tended' "a normal end"
	[ -x "$build/bin/gputrace-collector" ] || return 0
	GPUTRACE_COLLECTOR=none thread_collects timeout 20 "$runtime" pthread_exit >"$work/with.txt" ||
		fail "the collecting thread kept the process alive"
	one_trace
}

case_a_failed_allocation_is_written_before_the_end() {
	export GPUTRACE_TEST_RING_DUMP=slow
	same_with_and_without "$runtime" oom-kill
	dump >"$work/dump.txt"
	has "$work/dump.txt" 'memory\tapi=cudaMalloc\tstatus=2\t.*parent=0' "the failed call"
	has "$work/dump.txt" '^end.*\tflushes=1\t' "the collector was asked to write once"
	rm -f "$out"/*
	unset GPUTRACE_TEST_RING_DUMP
	same_with_and_without "$runtime" fail
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^end.*\tflushes=1\t' "at most once a second"
	rm -f "$out"/*
	same_with_and_without "$runtime" copy
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^end.*\tflushes=0\t' "not without a reason"
}

case_threads_are_recorded_and_rings_are_reused() {
	same_with_and_without "$runtime" threads 40
	dump >"$work/dump.txt"
	[ "$(count "$work/dump.txt" 'set\tapi=cudaMemset\t')" -eq 16000 ] || fail "every call of 320 threads"
	has "$work/dump.txt" 'unrecorded=0' "no thread without a ring"
	has_not "$work/dump.txt" '^dropped' "nothing dropped"
	awk -F '\t' '$1 == "set" { for (i = 2; i <= NF; i++) { split($i, kv, "="); f[kv[1]] = kv[2] }
		if (f["parent"] == 0) n[f["thread"]]++ } END { for (t in n) c++; exit c < 100 }' "$work/dump.txt" ||
		fail "threads are told apart"
}

# 800 threads, one after the other, while nothing is drained; there is memory for 200 rings.
case_a_ring_goes_to_the_next_thread_before_it_is_drained() {
	export GPUTRACE_TEST_RING_DUMP=slow GPUTRACE_GPU=off
	same_with_and_without "$runtime" threads 100
	dump >"$work/dump.txt"
	has "$work/dump.txt" 'unrecorded=0' "no thread without a ring"
	has_not "$work/dump.txt" '^dropped' "nothing dropped"
	awk -F '\t' '$1 == "set" { for (i = 2; i <= NF; i++) { split($i, kv, "="); f[kv[1]] = kv[2] }
		if (f["api"] == "cudaMemset") n[f["thread"]]++ }
		END { for (t in n) { c++; if (n[t] != 50) bad++ } print c, bad; exit c != 800 || bad }' "$work/dump.txt" ||
		fail "800 threads with 50 calls each"
	# A collector that does not know of this gets rings as before, and what has none is counted.
	rm -f "$out"/*
	GPUTRACE_TEST_RING_DUMP="slow old" same_with_and_without "$runtime" threads 100
	dump >"$work/dump.txt"
	has "$work/dump.txt" 'unrecorded=[1-9]' "calls without a ring are counted"
	has "$work/dump.txt" '^end.*bad=0' "no broken record"
}

case_calls_from_thread_destructors_are_recorded() {
	same_with_and_without "$runtime" destructor
	dump >"$work/dump.txt"
	has "$work/dump.txt" 'set\tapi=cudaMemset\t.*bytes=77' "the call of the destructor"
}

# ---- where no collector process can be ----

thread_collects() { # command
	GPUTRACE_COLLECTOR=${GPUTRACE_COLLECTOR-} GPUTRACE_OUT=$out LD_PRELOAD=$shim "$@"
}

one_trace() {
	[ "$(ls "$out"/*.gtrace 2>/dev/null | wc -l)" -eq 1 ] || fail "one trace file, found: $(ls "$out")"
	[ "$(stat -c %s "$out"/*.gtrace)" -gt 1000 ] || fail "the trace is empty"
}

case_a_subreaper_is_recorded_by_a_thread() {
	[ -x "$build/bin/gputrace-collector" ] || skip "the collector is not built"
	same_with_and_without "$runtime" subreaper
	rm -f "$out"/*
	thread_collects "$runtime" subreaper 5 >"$work/with.txt"
	grep -q 'waitpid(-1) = -1' "$work/with.txt" || fail "the program adopted the collector"
	one_trace
}

case_process_one_is_recorded_by_a_thread() {
	[ -x "$build/bin/gputrace-collector" ] || skip "the collector is not built"
	unshare -pf true 2>/dev/null || skip "unshare -pf is not permitted here"
	thread_collects unshare -pf "$runtime" copy 5 >/dev/null
	one_trace
}

case_a_missing_collector_is_replaced_by_a_thread() {
	[ -x "$build/bin/gputrace-collector" ] || skip "the collector is not built"
	GPUTRACE_COLLECTOR=/nonexistent/collector thread_collects "$runtime" copy 5 >/dev/null
	one_trace
}

# On one CPU the thread has often not run yet when the program is over.
case_a_program_that_ends_at_once_is_recorded_by_a_thread() {
	[ -x "$build/bin/gputrace-collector" ] || skip "the collector is not built"
	export GPUTRACE_GPU=off GPUTRACE_STACKS=off
	local cpu
	cpu=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
	for _ in $(seq 20); do
		rm -f "$out"/*
		GPUTRACE_COLLECTOR=none thread_collects taskset -c "$cpu" "$runtime" once >/dev/null
		one_trace
	done
}

case_a_silent_collector_is_replaced_by_a_thread() {
	[ -x "$build/bin/gputrace-collector" ] || skip "the collector is not built"
	for word in silent refuse; do
		rm -f "$out"/*
		GPUTRACE_START_MS=200 GPUTRACE_TEST_RING_DUMP=$word GPUTRACE_COLLECTOR=$progs/ring_dump \
			thread_collects "$runtime" copy 5 >/dev/null
		one_trace
	done
}

case_the_real_collector_writes_a_trace() {
	[ -x "$build/bin/gputrace-collector" ] || skip "the collector is not built"
	thread_collects "$runtime" copy 5 >/dev/null
	one_trace
}

case_capture_switched_off_records_nothing() {
	export GPUTRACE_TEST_RING_DUMP=paused GPUTRACE_GPU=off
	same_with_and_without "$runtime" copy 50
	dump >"$work/dump.txt"
	[ "$(count "$work/dump.txt" '^copy\t')" -eq 0 ] || fail "copies were recorded"
}

case_an_abandoned_call_does_not_adopt_later_calls() {
	export LD_LIBRARY_PATH=$progs/majors GPUTRACE_GPU=off
	same_with_and_without "$progs/prog_loader" leave
	grep -q left "$work/with.txt" || fail "the test itself: $(cat "$work/with.txt")"
	dump >"$work/dump.txt"
	has "$work/dump.txt" 'memory\tapi=cudaFree\tstatus=2013\t.*\tparent=0\t' "the later call is outermost"
}

case_visible_devices_may_be_set_late() {
	export SIMCUDA_GPUS=3
	same_with_and_without "$runtime" visible
	grep -q 'devices 1' "$work/plain.txt" || fail "the test itself: $(cat "$work/plain.txt")"
	dump >"$work/dump.txt"
	[ "$(count "$work/dump.txt" '^device\t')" -eq 1 ] || fail "one device"
}

case_relative_preload_paths_work() {
	mkdir -p "$work/lib" "$work/bin"
	cp "$shim" "$work/lib/"
	cp "$progs/ring_dump" "$work/bin/gputrace-collector"
	cd "$work"
	GPUTRACE_OUT=$out LD_PRELOAD=lib/libgputrace.so "$runtime" chdir >/dev/null
	dumps 1
}

shim_main "$@"
