#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# GPU times: found where they may be, absent with a reason, and every loss counted.
. "$(dirname "$0")/shim_lib.sh"
[ -e "$sim/libcupti.so.13" ] || skip "no simulated CUPTI"

runtime=$progs/prog_runtime

case_another_subscriber_leaves_the_host_trace() {
	export SIMCUDA_CUPTI_FAULT=busy
	same_with_and_without "$runtime" copy 3
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^info\tgpu_times.source=none' "no GPU times"
	has "$work/dump.txt" '^info\tgpu_times.reason=another tool in this process uses CUPTI' "and why"
	[ "$(count "$work/dump.txt" '^copy\tapi=cudaMemcpyAsync')" -eq 6 ] || fail "the host trace is whole"
	has_not "$work/dump.txt" '^gpu_' "no GPU records"
}

case_switched_off_gpu_times_say_so() {
	export GPUTRACE_GPU=off
	same_with_and_without "$runtime" copy
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^info\tgpu_times.reason=switched off' "why"
}

case_a_missing_cupti_says_so() {
	mkdir "$work/lib"
	ln -s "$sim"/libcuda.so.1 "$sim"/libcudart.so.13 "$work/lib/"
	export LD_LIBRARY_PATH=$work/lib
	traced "$runtime" copy >/dev/null
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^info\tgpu_times.source=none' "no GPU times"
	has "$work/dump.txt" '^info\tgpu_times.reason=' "and why"
}

case_a_named_cupti_is_used() {
	mkdir "$work/lib"
	ln -s "$sim"/libcuda.so.1 "$sim"/libcudart.so.13 "$work/lib/"
	export LD_LIBRARY_PATH=$work/lib GPUTRACE_CUPTI=$sim/libcupti.so.13
	traced "$runtime" copy >/dev/null
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^gpu_copy' "GPU times"
}

case_one_missing_kind_leaves_the_others() {
	export SIMCUDA_CUPTI_FAULT=no-memset
	traced "$runtime" copy >/dev/null
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^info\tgpu_times.missing=sets' "named"
	has "$work/dump.txt" '^gpu_copy' "copies go on"
}

case_records_without_times_are_counted() {
	export SIMCUDA_CUPTI_FAULT=zero-times=2
	traced "$runtime" copy 10 >/dev/null
	dump >"$work/dump.txt"
	local records=$(count "$work/dump.txt" '^gpu_')
	local lost=$(awk -F '[\t=]' '$1 == "loss" && $5 == 4 { n += $7 } END { print n + 0 }' "$work/dump.txt")
	[ "$lost" -gt 0 ] || fail "no loss of reason 4"
	has_not "$work/dump.txt" 'duration_ns=0\b.*duration' "no record without times"
	unset SIMCUDA_CUPTI_FAULT
	rm -f "$out"/*
	traced "$runtime" copy 10 >/dev/null
	dump >"$work/whole.txt"
	[ $((records + lost)) -eq "$(count "$work/whole.txt" '^gpu_')" ] || fail "$records kept + $lost lost"
}

case_records_that_cupti_drops_are_counted() {
	export SIMCUDA_CUPTI_FAULT=drop=3
	traced "$runtime" copy 10 >/dev/null
	dump >"$work/dump.txt"
	local records=$(count "$work/dump.txt" '^gpu_')
	local lost=$(awk -F '[\t=]' '$1 == "loss" && $5 == 3 { n += $7 } END { print n + 0 }' "$work/dump.txt")
	unset SIMCUDA_CUPTI_FAULT
	rm -f "$out"/*
	traced "$runtime" copy 10 >/dev/null
	dump >"$work/whole.txt"
	[ "$lost" -gt 0 ] && [ $((records + lost)) -eq "$(count "$work/whole.txt" '^gpu_')" ] ||
		fail "$records kept + $lost lost"
}

case_every_record_version_is_read() {
	for version in 18 19 22 26 130000 130200; do
		rm -f "$out"/* "$work"/log.*
		export SIMCUDA_CUPTI_VERSION=$version SIMCUDA_LOG=$work/log.%p
		traced "$runtime" copy 3 >/dev/null
		dump >"$work/dump.txt"
		matches_log "$work/dump.txt" "$(ls "$work"/log.[0-9]*)"
	done
}

case_buffers_in_any_order_are_read() {
	for fault in reorder null-buffer; do
		rm -f "$out"/* "$work"/log.*
		export SIMCUDA_CUPTI_FAULT=$fault SIMCUDA_LOG=$work/log.%p
		traced "$runtime" copy 50 >/dev/null
		dump >"$work/dump.txt"
		matches_log "$work/dump.txt" "$(ls "$work"/log.[0-9]*)"
	done
}

case_clocks_are_tied() {
	traced "$runtime" copy >/dev/null
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^clock\tgpu=yes' "a clock record with the GPU's clock"
	has "$work/dump.txt" '^device\tordinal=0\tname=NVIDIA A100.*simulated=1\tmemory=85899345920\tsms=108\tcc=8.0' "the device"
}

case_python_processes_do_not_get_the_toolkits_cupti() {
	command -v python3 >/dev/null || skip "no python3"
	mkdir "$work/lib"
	ln -s "$sim"/libcuda.so.1 "$sim"/libcudart.so.13 "$work/lib/"
	export LD_LIBRARY_PATH=$work/lib CUDA_HOME=$work/toolkit
	mkdir -p "$work/toolkit/extras/CUPTI/lib64"
	ln -s "$sim"/libcupti.so.13 "$work/toolkit/extras/CUPTI/lib64/"
	traced python3 -c '
import ctypes
p = ctypes.c_void_p()
print(ctypes.CDLL("libcudart.so.13").cudaMalloc(ctypes.byref(p), 100))' >/dev/null
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^memory\tapi=cudaMalloc' "ctypes is seen"
	has "$work/dump.txt" '^info\tgpu_times.reason=no CUPTI beside' "no CUPTI from elsewhere"
	rm -f "$out"/*
	traced "$runtime" copy >/dev/null
	dump >"$work/dump.txt"
	has "$work/dump.txt" "^info\tgpu_times.library=$work/toolkit" "other programs get the toolkit's"
}

shim_main "$@"
