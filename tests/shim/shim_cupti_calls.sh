#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every call of CUPTI that fails is named, other users of CUPTI are, and some calls are never made.
. "$(dirname "$0")/shim_lib.sh"
[ -e "$sim/libcupti.so.13" ] || skip "no simulated CUPTI"

runtime=$progs/prog_runtime

case_failed_calls_are_named_and_the_rest_goes_on() {
	while IFS='|' read -r function told times; do
		rm -f "$out"/*
		SIMCUDA_CUPTI_FAULT=fail=$function same_with_and_without "$runtime" copy 3
		dump >"$work/dump.txt"
		has "$work/dump.txt" '^gpu_copy\t' "$function: copies go on"
		has "$work/dump.txt" "^info\tgpu_times.failed=$told: .*NOT_SUPPORTED \(27\), $times\$" "$function is named"
	done <<-'END'
		cuptiSetThreadIdType|cuptiSetThreadIdType|1 time
		cuptiActivitySetAttribute|cuptiActivitySetAttribute \(buffers per thread\): .*; cuptiActivitySetAttribute \(zeroed buffers\)|1 time
		cuptiActivityEnableAllSyncRecords|cuptiActivityEnableAllSyncRecords|1 time
		cuptiEnableCallback|cuptiEnableCallback|\d\d+ times
		cuptiActivityGetNumDroppedRecords|cuptiActivityGetNumDroppedRecords|\d+ times?
		cuptiGetTimestamp|cuptiGetTimestamp|\d+ times?
	END
}

case_records_that_cannot_be_read_are_named() {
	SIMCUDA_CUPTI_FAULT=fail=cuptiActivityGetNextRecord same_with_and_without "$runtime" copy 3
	dump >"$work/dump.txt"
	has_not "$work/dump.txt" '^gpu_copy\t' "there is none"
	has "$work/dump.txt" '^info\tgpu_times.failed=cuptiActivityGetNextRecord: .*NOT_SUPPORTED \(27\), \d+ times?$' "why"
}

# CUPTI's own answers without a driver: 13.5 cannot tell its version then, older ones cannot be subscribed to.
case_a_cupti_that_cannot_start_says_why() {
	while IFS='|' read -r fault reason; do
		rm -f "$out"/*
		SIMCUDA_CUPTI_FAULT=fail=$fault same_with_and_without "$runtime" copy 3
		dump >"$work/dump.txt"
		has "$work/dump.txt" '^copy\t' "$fault: the host trace is whole"
		has "$work/dump.txt" '^info\tgpu_times.source=none$' "$fault: no source"
		has "$work/dump.txt" "^info\tgpu_times.reason=$reason\$" "$fault: the reason"
	done <<-'END'
		cuptiGetVersion:999|CUPTI finds no usable driver \(999\)
		cuptiGetVersion|cuptiGetVersion failed
		cuptiSubscribe:15|CUPTI finds no usable driver: CUPTI_ERROR_NOT_INITIALIZED \(15\)
		cuptiSubscribe:999|CUPTI finds no usable driver: CUPTI_ERROR_UNKNOWN \(999\)
		cuptiSubscribe:35|cuptiSubscribe failed: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES \(35\)
	END
}

case_nothing_is_said_when_no_call_fails() {
	for version in 18 19 22 26 130000 130200; do
		rm -f "$out"/*
		SIMCUDA_CUPTI_VERSION=$version same_with_and_without "$runtime" copy 3
		dump >"$work/dump.txt"
		has "$work/dump.txt" "^info\tgpu_times.source=cupti $version" "CUPTI is in use"
		has_not "$work/dump.txt" '^info\tgpu_times.(failed|second_cupti)' "$version: nothing failed, and CUPTI is there once"
	done
}

# Kinds that cannot be switched off when the program's own profiler takes over.
case_what_cannot_be_switched_for_the_profiler_is_named() {
	[ -x "$progs/prog_profiler" ] || skip "not built"
	SIMCUDA_CUPTI_FAULT=fail=cuptiActivityDisable traced "$progs/prog_profiler" new >/dev/null || true
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^info\tgpu_times.failed=cuptiActivityDisable: .*NOT_SUPPORTED \(27\), \d+ times?' "named"
}

tool() { # LIBRARY MODE: a job whose tool subscribes before the first call of CUDA
	command -v python3 >/dev/null || skip "no python3"
	traced python3 - "$1" "$2" >"$work/tool.txt" <<-'END'
		import ctypes, os, sys
		tool = ctypes.CDLL(sys.argv[1], mode=getattr(os, sys.argv[2]))
		print(tool.tool_subscribe())
		p = ctypes.c_void_p()
		cudart = ctypes.CDLL("libcudart.so.13")
		print(cudart.cudaMalloc(ctypes.byref(p), 4096), cudart.cudaFree(p))
	END
	[ "$(cat "$work/tool.txt")" = "$(printf '0\n0 0')" ] || fail "the tool or the program fails"
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^memory\tapi=cudaMalloc' "the host trace is whole"
}

case_a_copy_of_cupti_in_a_library_is_named() {
	tool "$progs/libtool_copy.so" RTLD_DEEPBIND
	has "$work/dump.txt" "^info\tgpu_times.second_cupti=$progs/libtool_copy.so has CUPTI's functions of its own" "the module"
	rm -f "$out"/*
	SIMCUDA_CUPTI_FAULT=busy GPUTRACE_CUPTI=$sim/libcupti.so.13 tool "$progs/libtool_copy.so" RTLD_DEEPBIND
	has "$work/dump.txt" "^info\tgpu_times.reason=another tool in this process uses CUPTI \(error 39\).*; $progs/libtool_copy.so has CUPTI's functions" "why CUPTI refuses us"
}

case_a_second_libcupti_is_named() {
	mkdir "$work/other"
	cp "$sim/libcupti.so.13" "$work/other/libcupti.so.12"
	preload="$shim $sim/libcupti.so.13 $work/other/libcupti.so.12"
	traced "$runtime" copy >/dev/null
	dump >"$work/dump.txt"
	local used=$(sed -n 's/^info\tgpu_times.library=//p' "$work/dump.txt")
	local second=$(sed -n 's/^info\tgpu_times.second_cupti=a second CUPTI is loaded, \(.*\): what uses it.*/\1/p' "$work/dump.txt")
	[ "$(printf '%s\n' "$used" "$second" | sort)" = "$(printf '%s\n' "$sim/libcupti.so.13" "$work/other/libcupti.so.12" | sort)" ] ||
		fail "of the two $used is used and $second named"
}

case_a_tool_past_the_wrappers_is_named() {
	tool "$progs/libtool_user.so" RTLD_DEEPBIND
	has "$work/dump.txt" "^info\tgpu_times.reason=another tool in this process uses CUPTI \(error 39\).*; $progs/libtool_user.so is linked against libcupti.*RTLD_DEEPBIND" "which and how"
	has_not "$work/dump.txt" '^info\tgpu_times.second_cupti' "CUPTI is there once"
}

case_a_tool_that_the_wrappers_see_is_no_reason() {
	tool "$progs/libtool_user.so" RTLD_NOW
	has "$work/dump.txt" '^info\tgpu_times.source=cupti' "its subscription is shared"
	has_not "$work/dump.txt" '^info\tgpu_times.(reason|second_cupti)' "nothing is in the way"
}

# A record may be under way when a process ends: CUPTI is asked for it, and left as it is.
case_cupti_is_not_taken_down_at_exit() {
	for mode in copy _exit abort; do
		rm -f "$out"/* "$work/calls"
		SIMCUDA_CUPTI_LOG=$work/calls traced "$runtime" $mode 3 >/dev/null 2>&1 || true
		[ $mode != copy ] || grep -q ' cuptiActivityFlushAll$' "$work/calls" || fail "what CUPTI holds is not asked for"
		grep -q ' cuptiSubscribe$' "$work/calls" || fail "$mode: the log has no calls"
		has_not "$work/calls" ' cupti(Finalize|Unsubscribe|ActivityDisable)$' "$mode: CUPTI is left as it is"
	done
}

# A whole domain would call back for every call, some of its ids for every launch; a function for time stamps
# for every record.
case_callbacks_are_enabled_one_by_one() {
	SIMCUDA_CUPTI_LOG=$work/calls traced "$runtime" copy 3 >/dev/null
	local enabled=$(count "$work/calls" ' cuptiEnableCallback$')
	[ "$enabled" -ge 20 ] && [ "$enabled" -le 400 ] || fail "$enabled callbacks are enabled"
	has_not "$work/calls" ' cupti(EnableDomain|EnableAllDomains|ActivityRegisterTimestampCallback)$' "nothing whole"
	has "$work/calls" ' cuptiGetTimestamp$' "the clock is read in pairs"
}

case_no_child_of_a_fork_calls_cupti() {
	for mode in fork fork-cuda clone; do
		rm -f "$out"/* "$work/calls"
		SIMCUDA_CUPTI_LOG=$work/calls traced "$runtime" $mode >/dev/null 2>&1 || true
		[ "$(wc -l <"$work/calls")" -gt 10 ] || fail "$mode: the log has no calls"
		[ "$(cut -d ' ' -f 1 "$work/calls" | sort -u | wc -l)" -eq 1 ] || fail "$mode: calls of several processes"
	done
}

shim_main "$@"
