#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# CUPTI is shared with the program's own profiler: it gets the same as without us, and we come back.
. "$(dirname "$0")/shim_lib.sh"
[ -e "$sim/libcupti.so.13" ] || skip "no simulated CUPTI"
profiler=$progs/prog_profiler

# The program's output is the same; GPU records are there for what ran outside of its sessions.
shared() { # MODE COPIES PAUSES
	local how
	for how in plt dlsym; do
		rm -f "$out"/*
		same_with_and_without "$profiler" $how "$1"
		grep -q "profiled: copies=20 sets=20 others=0 strange=0" "$work/with.txt" ||
			fail "the program's profiler saw its work and nothing else"
		dump >"$work/dump.txt"
		[ "$(count "$work/dump.txt" '^gpu_copy')" -eq "$2" ] ||
			fail "$(count "$work/dump.txt" '^gpu_copy') GPU copies recorded, not $2 ($how)"
		has "$work/dump.txt" "^info\tgpu_times.paused=the program's own profiler had CUPTI $3 time" \
			"how often it had to be left"
	done
}

case_a_profiler_that_registers_buffers_gets_cupti_and_gives_it_back() {
	shared again 60 2
}

case_a_profiler_that_subscribes_gets_cupti_and_gives_it_back() {
	shared subscribe 60 1
	# Host calls keep their ids through the program's subscription, and after it.
	[ "$(grep -P '^copy\tapi=cudaMemcpy\t' "$work/dump.txt" | grep -vcP '\tcorrelation=0\b')" -eq 85 ] ||
		fail "correlation ids are lost while CUPTI is shared"
}

case_a_profiler_that_wants_every_callback_gets_them_and_no_more() {
	shared all-domains 60 1
	[ "$(grep -P '^copy\tapi=cudaMemcpy\t' "$work/dump.txt" | grep -vcP '\tcorrelation=0\b')" -eq 85 ] ||
		fail "correlation ids are lost while CUPTI is shared"
}

case_a_subscriber_of_the_second_kind_gets_cupti_whole() {
	shared second-kind 40 1
}

case_a_profiler_that_finalizes_cupti_is_survived() {
	shared finalize 60 2
}

case_a_profiler_that_was_there_first_is_left_alone() {
	shared early 40 2
}

case_gputrace_off_leaves_cupti_to_the_program() {
	export GPUTRACE=off
	same_with_and_without "$profiler" plt subscribe
	dumps 0
}

case_gpu_off_leaves_cupti_to_the_program() {
	export GPUTRACE_GPU=off
	same_with_and_without "$profiler" plt subscribe
	dump >"$work/dump.txt"
	has_not "$work/dump.txt" '^gpu_' "no GPU records"
}

case_the_other_tool_is_named_where_cupti_tells() {
	export SIMCUDA_CUPTI_FAULT=busy
	traced "$progs/prog_runtime" copy >/dev/null
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^info\tgpu_times.reason=another tool in this process uses CUPTI \(error 39\): CUPTI for a simulated profiler' "its name"
	rm -f "$out"/*
	export SIMCUDA_CUPTI_VERSION=22
	traced "$progs/prog_runtime" copy >/dev/null
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^info\tgpu_times.reason=another tool in this process uses CUPTI \(error 39\); no module shows that it does, so it has perhaps a static copy of CUPTI$' "no name"
}

case_nsight_systems_is_left_alone() {
	export NSYS_PROFILING_SESSION_ID=7
	traced "$progs/prog_runtime" copy >/dev/null
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^info\tgpu_times.reason=Nsight Systems is at work' "why"
	has "$work/dump.txt" '^copy' "the host trace goes on"
}

# Each shows itself by a variable, or by a library that it loads into the process.
case_nvidias_other_tools_are_left_alone() {
	while IFS='|' read -r variable library reason; do
		rm -f "$out"/*
		if [ "$variable" ]; then
			env "$variable" GPUTRACE_COLLECTOR="$progs/ring_dump" GPUTRACE_OUT="$out" \
				LD_PRELOAD="$shim" "$progs/prog_runtime" copy >/dev/null
		else
			cp "$progs/libshim_hook.so" "$work/$library"
			preload="$shim:$work/$library" traced "$progs/prog_runtime" copy >/dev/null
		fi
		dump >"$work/dump.txt"
		has "$work/dump.txt" "^info\\tgpu_times.reason=$reason is at work" "why: $variable$library"
		has "$work/dump.txt" '^copy' "the host trace goes on"
		has_not "$work/dump.txt" '^gpu_' "CUPTI is not touched"
	done <<-'END'
		CUDA_INJECTION64_PATH=/opt/nsight-systems/libToolsInjection64.so||Nsight Systems
		CUDA_INJECTION64_PATH=/opt/ncu/libcuda-injection.so||Nsight Compute
		CUDA_INJECTION64_PATH=/opt/libsanitizer-collection.so||compute-sanitizer
		CUDBG_USE_LEGACY_DEBUGGER=1||a CUDA debugger
		|libToolsInjection64.so|Nsight Systems
		|libcuda-injection.so|Nsight Compute
		|libsanitizer-collection.so|compute-sanitizer
		|libcudadebugger.so.1|a CUDA debugger
	END
}

case_a_forked_child_never_touches_cupti() {
	SIMCUDA_LOG=$work/log.%p traced "$progs/prog_runtime" fork-cuda >/dev/null || true
	for file in "$out"/ring.*.txt; do
		grep -q 'gpu_times.source=cupti' "$file" || has "$file" 'gpu_times.reason=forked from' "why a child has none"
	done
}

shim_main "$@"
