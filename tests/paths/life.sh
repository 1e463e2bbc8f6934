#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Processes that end, fork, become other programs and let go of libraries: each one that uses CUDA
# leaves one whole trace with all of its calls, and nobody notices. With the real collector.
. "$(dirname "$0")/../shim/shim_lib.sh"

life=$build/tests/path-programs/prog_life
opened=$build/tests/path-programs/prog_opened
gputrace=$build/bin/gputrace
export GPUTRACE_COLLECTOR=$build/bin/gputrace-collector

[ -x "$life" ] && [ -x "$gputrace" ] && [ -x "$GPUTRACE_COLLECTOR" ] || skip "no simulated runtime or no viewer"

# The files of that many sessions, each complete and nothing lost.
traces() { # COUNT
	local tries=0 file
	# A process that was replaced or has left its parent ends its file a little later.
	while [ $tries -lt 100 ]; do
		files=("$out"/*.gtrace)
		[ -e "${files[0]}" ] && [ ${#files[@]} -ge "$1" ] && ! pgrep -f "gputrace-collector .*--out $out" >/dev/null && break
		sleep 0.05
		tries=$((tries + 1))
	done
	[ -e "${files[0]}" ] && [ ${#files[@]} -eq "$1" ] || fail "expected $1 traces: $(ls "$out")"
	for file in "${files[@]}"; do
		"$gputrace" check "$file" >"$work/check.txt" 2>&1 || fail "$(cat "$work/check.txt")"
		has "$work/check.txt" ': whole\.' "a whole file"
		"$gputrace" info --json "$file" >"$work/info.txt"
		has "$work/info.txt" '"lost_events": *0\b' "nothing is lost"
	done
}

# The numbers of bytes that calls of a kind set, sorted, in one line.
sizes() { # KIND FILE
	"$gputrace" dump --format tsv --kind "$1" "$2" | awk -F '\t' '
		$1 == "thread" { for (i = 1; i <= NF; i++) column[$i] = i; next }
		!/^#/ && NF > 5 && (!("api" in column) || $column["api"] == "cudaMemset") { print $column["size_bytes"] }' |
		sort -n | tr '\n' ' '
}

# One of the traces has these calls, each once, and as many pieces of GPU work. Sets `file`.
has_calls() { # RANGE...
	local wanted=$(for range in "$@"; do seq ${range//-/ }; done | sort -n | tr '\n' ' ') found=""
	for file in "${files[@]}"; do
		[ "$(sizes set "$file")" != "$wanted" ] || { found=$file; break; }
	done
	[ -n "$found" ] || fail "no trace with the calls $*: $(for file in "${files[@]}"; do sizes set "$file"; echo; done)"
	file=$found
	[ "${GPUTRACE_GPU-}" = off ] || [ "$(sizes gpu_set "$file")" = "$wanted" ] ||
		fail "GPU work of $*: $(sizes gpu_set "$file")"
}

ended() { # HOW
	"$gputrace" info --json "$file" >"$work/info.txt"
	has "$work/info.txt" "\"ending\": *\"$1\"" "how it ended"
}

# C17
case_children_that_exit_end_at_once_and_flush_nothing_of_their_parents() {
	same_with_and_without timeout 20 "$life" exiting-children
	has "$work/with.txt" '^within a second: 1$' "children end at once"
	traces 1
	has_calls 100-104 200-204
	ended exited
}

# C18
case_workers_of_a_loader_start_no_cuda_and_spoil_nothing() {
	export SIMCUDA_LOG=$work/log.%p
	same_with_and_without "$life" idle-workers
	[ "$(ls "$work"/log.* | wc -l)" -eq 2 ] || fail "CUDA was started in a worker: $(ls "$work")"
	traces 1
	has_calls 100-104 200-204
}

# C21
case_spawned_ranks_have_a_whole_trace_each() {
	same_with_and_without "$life" spawn
	[ "$(count "$work/with.txt" '^[12]000: 0 failed$')" -eq 2 ] || fail "the ranks' own words: $(cat "$work/with.txt")"
	traces 3
	has_calls 100-104 200-204
	for first in 1000 2000; do
		has_calls $first-$((first + 4))
		ended exited
	done
}

case_a_vforked_child_borrows_no_session() {
	same_with_and_without "$life" vfork
	traces 1
	has_calls 100-104 $(for i in $(seq 0 19); do echo $((200 + 10 * i))-$((204 + 10 * i)); done)
}

# CUPTI is not ours in a child of a process that used it (and CUDA would not work there).
case_a_daemon_is_recorded_to_its_end() {
	export GPUTRACE_GPU=off
	same_with_and_without "$life" daemon "$work/done"
	for _ in $(seq 100); do
		[ -e "$work/done" ] && break
		sleep 0.02
	done
	traces 2
	has_calls 100-104
	ended exited
	has_calls 300-304
	ended exited
}

leave_main() { # MS
	same_with_and_without timeout 30 "$life" leave-main $1
	traces 1
	has_calls 100-104 300-304 400-449
	ended exited
}
# Without CUPTI, since its own threads (and CUDA's) do keep a process alive.
case_threads_are_recorded_when_the_main_one_has_gone() {
	export GPUTRACE_GPU=off
	leave_main 300
	rm -f "$out"/*
	GPUTRACE_COLLECTOR=none leave_main 300
}
# Longer than the collector leaves alone what it looks at once a second.
case_a_main_thread_that_has_gone_for_long_is_no_dead_process() {
	export GPUTRACE_GPU=off
	leave_main 2500
}

case_a_thread_may_become_another_program() {
	export GPUTRACE_GPU=off
	local rc=0
	traced timeout 20 "$life" exec-from-thread >"$work/with.txt" 2>&1 || rc=$?
	[ $rc -eq 0 ] || fail "exit code $rc: $(cat "$work/with.txt")"
	has "$work/with.txt" '^1000: 0 failed$' "the other program's words"
	local tries=0
	while [ "$(ls "$out" | wc -l)" -lt 2 ] && [ $tries -lt 100 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
	traces 2
	has_calls 1000-1004
	ended exited
	for file in "${files[@]}"; do
		[ "$(sizes set "$file")" = "1000 1001 1002 1003 1004 " ] && continue
		ended execed
		local set=$(sizes set "$file" | tr ' ' '\n' | grep -vx 7 | tr '\n' ' ')
		[ "$(echo $set)" = "100 101 102 103 104 300 301 302 303 304" ] || fail "what came before: $set"
	done
}

case_libraries_may_be_closed_and_opened_again() {
	same_with_and_without "$opened" close
	traces 1
	has_calls 100-104 200-204 300-304
	ended exited
}

# C25
fork_inside() { # MODE [thread]
	export LD_LIBRARY_PATH=$progs/majors GPUTRACE_GPU=off
	same_with_and_without timeout 20 "$opened" "$@"
	traces 2
	local parent=0 child=0
	for file in "${files[@]}"; do
		"$gputrace" dump --format tsv --kind memory "$file" >"$work/memory.txt"
		case $(grep -c cudaMalloc "$work/memory.txt") in
		6) parent=$((parent + $(grep -c cudaFree "$work/memory.txt"))) ;;
		3) child=$((child + 1)) ;;
		esac
		# What was made after the fork is nobody's inner call.
		awk -F '\t' '$1 == "thread" { for (i = 1; i <= NF; i++) c[$i] = i; next }
			/cudaMalloc/ && $c["parent_id"] != 0 { bad++ } END { exit bad > 0 }' "$work/memory.txt" ||
			fail "a call has a parent: $(cat "$work/memory.txt")"
	done
	[ $parent -eq 1 ] && [ $child -eq 1 ] || fail "the calls of both: $parent $child"
}
case_a_child_forked_inside_a_call_makes_calls() { fork_inside fork-leave; }
case_a_child_may_return_through_the_call_it_was_forked_in() { fork_inside fork-return; }
case_a_child_forked_inside_a_call_of_a_thread_makes_calls() { fork_inside fork-leave thread; }
case_a_child_of_a_thread_may_return_through_its_call() { fork_inside fork-return thread; }

# C24: the collector dies as hard as can be; whoever comes next is as quick as ever.
case_the_next_process_starts_at_once_after_a_collector_was_killed() {
	export GPUTRACE_GPU=off
	traced "$life" leave-main 2000 >/dev/null &
	local job=$! collector="" begin
	for _ in $(seq 200); do
		collector=$(pgrep -f "gputrace-collector .*--out $out" || true)
		[ -z "$collector" ] || break
		sleep 0.01
	done
	[ -n "$collector" ] || fail "no collector"
	kill -STOP $collector
	kill -KILL $collector
	mkdir "$work/next"
	begin=$(date +%s%N)
	GPUTRACE_OUT=$work/next LD_PRELOAD=$shim "$life" set 500 >/dev/null
	[ $((($(date +%s%N) - begin) / 1000000)) -lt 1000 ] || fail "took a second and more"
	wait $job || fail "exit code $? of the job that lost its collector"
	files=("$work/next"/*.gtrace)
	has_calls 500-504
}

# Sets `job`, `process` and `collector`; the job goes on until $work/stop is there.
start_job() {
	rm -f "$work/stop" "$out"/*
	traced "$life" go-on "$work/stop" >"$work/with.txt" 2>&1 &
	job=$!
	collector=""
	for _ in $(seq 400); do
		collector=$(pgrep -f "gputrace-collector .*--out $out" || true)
		[ -n "$collector" ] && [ -n "$(ls "$out")" ] && break
		sleep 0.01
	done
	[ -n "$collector" ] || fail "no collector"
	# $! is that of the shell around it.
	process=$(tr '\0' ' ' </proc/$collector/cmdline | sed 's/.*--pid \([0-9]*\) .*/\1/')
}

# Whether calls of the job are recorded: a word of the memory that it shares (FORMAT.md 5.1).
is_capturing() {
	python3 - "$process" <<-END
		import glob, os, struct, sys
		for name in glob.glob(f"/proc/{sys.argv[1]}/fd/*"):
		    if os.readlink(name).startswith("/memfd:gputrace"):
		        with open(name, "rb") as memory:
		            sys.exit(0 if struct.unpack_from("<I", memory.read(0x104), 0x100)[0] else 1)
		sys.exit(2)
	END
}

loses_collector() {
	local rc=0 begin state
	start_job
	is_capturing || fail "nothing is recorded at first"
	kill -KILL $collector
	for _ in $(seq 200); do
		state=0
		is_capturing || state=$?
		[ $state -ne 1 ] || break
		sleep 0.05
	done
	[ $state -eq 1 ] || fail "the job goes on recording for nobody: $state"
	begin=$(date +%s%N)
	touch "$work/stop"
	wait $job || rc=$?
	[ $rc -eq 0 ] && [ "$(cat "$work/with.txt")" = "went on: 0 failed" ] || fail "exit code $rc: $(cat "$work/with.txt")"
	waited_ms=$((($(date +%s%N) - begin) / 1000000))
	files=("$out"/*.gtrace)
	file=${files[0]}
	ended cut_short
}
# Nor does its end wait for the dead, which would be a second; on a busy machine all takes longer: some tries.
case_a_program_whose_collector_dies_stops_recording() {
	for try in 1 2 3 4 5; do
		loses_collector
		[ $waited_ms -ge 900 ] || return 0
	done
	fail "it waited $waited_ms ms for a collector that is dead"
}
# Without CUPTI nobody looks until a ring is full.
case_a_full_ring_notices_that_its_collector_has_died() {
	export GPUTRACE_GPU=off GPUTRACE_RING_KIB=32 GPUTRACE_MEMORY_MIB=1
	loses_collector
}
case_a_collector_that_is_only_slow_is_waited_for() {
	export GPUTRACE_GPU=off GPUTRACE_RING_KIB=32 GPUTRACE_MEMORY_MIB=1
	start_job
	kill -STOP $collector
	sleep 1.5
	is_capturing || fail "a collector that was stopped for a while is taken for dead"
	kill -CONT $collector
	touch "$work/stop"
	wait $job || fail "exit code $?"
	files=("$out"/*.gtrace)
	file=${files[0]}
	ended exited
	has "$work/info.txt" '"lost_events": *[1-9]' "what had no room is counted"
}

# As multiprocessing ends its children.
case_a_python_that_leaves_by_os_exit_is_whole() {
	command -v python3 >/dev/null || skip "no Python"
	cat >"$work/leave.py" <<-END
		import ctypes, os, sys
		runtime = ctypes.CDLL("libcudart.so.13")
		memory = ctypes.c_void_p()
		print(runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(4096)))
		for size in range(100, 105):
		    print(runtime.cudaMemset(memory, 0, ctypes.c_size_t(size)))
		child = os.fork()
		if child == 0:
		    for size in range(200, 205):
		        runtime.cudaMemset(memory, 0, ctypes.c_size_t(size))
		    os._exit(5)
		print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
		sys.stdout.flush()
		os._exit(6)
	END
	export GPUTRACE_GPU=off
	same_with_and_without python3 "$work/leave.py"
	traces 2
	has_calls 100-104
	has_calls 200-204
}

shim_main "$@"
