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

# Work from before the session's first stamp: of 200 kernels none is gone without a word.
case_records_from_before_the_start_are_kept_and_counted() {
	[ -x "$build/bin/gputrace" ] && [ -x "$progs/prog_launches" ] || skip "not built"
	SIMCUDA_CUPTI_FAULT=early=3 GPUTRACE_COLLECTOR=$build/bin/gputrace-collector \
		traced "$progs/prog_launches" 200 1 >"$work/with.txt"
	local launched=$(sed -n 's/^launched=\([0-9]*\).*/\1/p' "$work/with.txt")
	"$build/bin/gputrace" dump --kind gpu_kernel --format tsv "$out"/*.gtrace >"$work/kernels.txt"
	"$build/bin/gputrace" dump --kind loss --format tsv "$out"/*.gtrace >"$work/loss.txt"
	"$build/bin/gputrace" report --json "$out"/*.gtrace >"$work/report.json" || true
	rm -f "$out"/*.gtrace
	local early=$(awk -F '\t' '$2 ~ /^-[0-9]/ { n++ } END { print n + 0 }' "$work/kernels.txt")
	local kept=$(awk -F '\t' '$2 ~ /^-?[0-9]/ { n++ } END { print n + 0 }' "$work/kernels.txt")
	local lost=$(awk -F '\t' '$4 == "gpu_kernel" { n += $3 } END { print n + 0 }' "$work/loss.txt")
	[ $((early + lost)) -eq 3 ] || fail "$early early kernels kept and $lost counted as lost: not 3"
	[ $((kept + lost)) -eq "$launched" ] || fail "$kept kernels and $lost lost of $launched"
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
	for fault in reorder null-buffer shuffle empty-buffer shuffle,empty-buffer; do
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

# Where wheels and toolkits have it, for a Python, which gets no other.
case_the_cupti_beside_the_runtime_is_taken() {
	command -v python3 >/dev/null || skip "no python3"
	mkdir "$work/lib"
	ln -s "$sim"/libcuda.so.1 "$work/lib/"
	export LD_LIBRARY_PATH=$work/lib
	while read -r runtime cupti; do
		rm -rf "$out"/* "$work/root"
		mkdir -p "$work/root/${runtime%/*}" "$work/root/${cupti%/*}"
		cp "$progs/majors/${runtime##*/}" "$work/root/$runtime"
		ln -s "$sim/libcupti.so.13" "$work/root/$cupti"
		traced python3 -c '
import ctypes, sys
print(ctypes.CDLL(sys.argv[1]).cudaMalloc(None, 100))' "$work/root/$runtime" >"$work/with.txt"
		dump >"$work/dump.txt"
		has "$work/dump.txt" "^info\tgpu_times.library=.*/${cupti##*/}\$" "$runtime: $cupti is found"
	done <<-'END'
		nvidia/cuda_runtime/lib/libcudart.so.11.0 nvidia/cuda_cupti/lib/libcupti.so.11.8
		nvidia/cuda_runtime/lib/libcudart.so.12 nvidia/cuda_cupti/lib/libcupti.so.12
		nvidia/cu13/lib/libcudart.so.13 nvidia/cu13/lib/libcupti.so.13
		cuda/lib64/libcudart.so.11.0 cuda/extras/CUPTI/lib64/libcupti.so.11.8
		cuda/lib64/libcudart.so.12 cuda/extras/CUPTI/lib64/libcupti.so.12
	END
}

# As many records as a second of a launch-bound job has: the launches go on, every record arrives.
case_a_burst_of_200_000_records_holds_up_no_launch() {
	[ -x "$progs/prog_launches" ] || skip "not built"
	local tries what slow before is_slow
	# No launch may take 1 ms because of us: neither on a CPU beyond what the same launches take
	# without us, nor blocked, in a lock or a system call. The rest of the wall clock is waiting for a
	# CPU that others have, the collector too. The one more is the first launch, which makes CUPTI's
	# first buffers. Who holds a lock may lose its CPU on a busy machine: three tries.
	for tries in 1 2 3; do
		rm -f "$out"/*
		"$progs/prog_launches" 200000 1 >"$work/without.txt"
		GPUTRACE_RING_KIB=4096 GPUTRACE_COLLECTOR=$build/bin/gputrace-collector traced "$progs/prog_launches" 200000 1 3 >"$work/plain.txt"
		is_slow=
		for what in over_1ms blocked_over_1ms; do
			slow=$(sed -n "s/.* $what=\([0-9]*\).*/\1/p" "$work/plain.txt")
			before=$(sed -n "s/.* $what=\([0-9]*\).*/\1/p" "$work/without.txt")
			[ "$slow" -le $((before + 1)) ] || is_slow="$what: $slow launches, $before without the shim"
		done
		[ -n "$is_slow" ] || break
		echo "$is_slow"
	done
	[ -z "$is_slow" ] || fail "$is_slow, three times"
	local launched=$(sed -n 's/^launched=\([0-9]*\).*/\1/p' "$work/plain.txt")
	for file in plain without; do
		echo "$file: $(grep -o 'wall_p999_us=.*' "$work/$file.txt")"
	done
	"$build/bin/gputrace" dump --format tsv "$out"/*.gtrace >"$work/trace.tsv"
	local kernels=$(awk -F '\t' '/^#/ { is_kernel = $0 ~ /^# gpu_kernel$/; next } is_kernel && $1 ~ /^[0-9]/ { n++ } END { print n + 0 }' "$work/trace.tsv")
	# On a machine that is busy with other things some may be lost, but none of them in silence.
	"$build/bin/gputrace" dump --kind loss --format tsv "$out"/*.gtrace >"$work/loss.txt"
	local lost=$(awk -F '\t' '$4 == "gpu_kernel" || $4 == "unknown" { n += $3 } END { print n + 0 }' "$work/loss.txt")
	rm -f "$out"/*.gtrace
	[ $((kernels + lost)) -ge $((launched * 99 / 100)) ] || fail "$kernels records and $lost lost of $launched launches"
	[ "$kernels" -gt $((launched / 4)) ] || fail "only $kernels records of $launched launches"
}

# What CUPTI says of its own cost is summed up, whatever the layout.
case_the_cost_of_cupti_is_summed_up() {
	export SIMCUDA_CUPTI_FAULT=overhead=250000
	for version in 18 21 26 130000; do
		rm -f "$out"/*
		SIMCUDA_CUPTI_VERSION=$version traced "$runtime" copy 3 >/dev/null
		dump >"$work/dump.txt"
		local cost=$(sed -n 's/^info\tgpu_times.overhead_ns=//p' "$work/dump.txt" | tail -n 1)
		[ "${cost:-0}" -ge 250000 ] && [ $((cost % 250000)) -eq 0 ] || fail "overhead is ${cost:-not told} with CUPTI $version"
	done
}

case_migrations_of_managed_memory_are_recorded_on_demand() {
	export SIMCUDA_CUPTI_FAULT=migrations=4
	for version in 18 22 26; do
		rm -f "$out"/*
		SIMCUDA_CUPTI_VERSION=$version GPUTRACE_MANAGED=on traced "$progs/prog_launches" 1000 1 >/dev/null
		dump >"$work/dump.txt"
		has "$work/dump.txt" '^info\tgpu_times.managed=migrations of managed memory are recorded' "said so"
		local there=$(count "$work/dump.txt" '^gpu_copy\t.*\tbytes=2097152\tdirection=h2d')
		local back=$(count "$work/dump.txt" '^gpu_copy\t.*\tbytes=2097152\tdirection=d2h')
		[ "$there" -gt 0 ] && [ "$there" -eq "$back" ] || fail "$there migrations to the GPU, $back back"
	done
	rm -f "$out"/*
	traced "$progs/prog_launches" 1000 1 >/dev/null
	dump >"$work/dump.txt"
	has_not "$work/dump.txt" '^gpu_copy' "none without being asked"
}

case_a_cupti_without_counters_of_managed_memory_says_so() {
	SIMCUDA_CUPTI_FAULT=no-counters GPUTRACE_MANAGED=on traced "$progs/prog_launches" 1000 1 >/dev/null
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^info\tgpu_times.managed=migrations of managed memory are not recorded: .*UM_PROFILING_NOT_SUPPORTED' "why"
}

# The clock of the GPU may be set; each clock record ties it anew.
case_a_clock_that_steps_is_followed() {
	export SIMCUDA_CUPTI_FAULT=clock-step=3000000000
	traced "$progs/prog_launches" 1000 2 >/dev/null
	dump >"$work/dump.txt"
	[ "$(count "$work/dump.txt" '^clock\tgpu=yes')" -ge 8 ] || fail "too few clock records"
	[ "$(count "$work/dump.txt" '^gpu_kernel')" -gt 1500 ] || fail "records are lost"
}

# Contexts, streams and memory come and go on four threads while ours flushes: the program's heap is
# watched by AddressSanitizer, then its locks and threads by ThreadSanitizer.
case_flushes_beside_contexts_that_come_and_go_harm_nothing() {
	local any=0
	for kind in asan tsan; do
		[ -x "$progs/prog_contexts_$kind" ] || continue
		any=1
		rm -f "$out"/*
		preload="$(ldd "$progs/prog_contexts_$kind" | awk '/lib[at]san/ { print $3 }') $shim"
		# TSan would end a threaded program that forks, which is how the collector is started.
		ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS="die_after_fork=0 exitcode=66" \
			traced "$progs/prog_contexts_$kind" 4 100 >"$work/with.txt" 2>"$work/err.txt" ||
			fail "$kind: $(head -40 "$work/err.txt")"
		[ "$(cat "$work/with.txt")" = "rounds=400 failed=0" ] || fail "$kind: $(cat "$work/with.txt")"
		has_not "$work/err.txt" 'ERROR: AddressSanitizer|WARNING: ThreadSanitizer' "no report of $kind"
		dump >"$work/dump.txt"
		has "$work/dump.txt" '^info\tgpu_times.source=cupti' "CUPTI is in use"
		[ "$(count "$work/dump.txt" '^gpu_copy')" -gt 1000 ] || fail "$kind: few GPU records"
	done
	[ $any = 1 ] || skip "no sanitizers"
}

# Every allocation and free that the records of the calls have, with the pools' own numbers.
case_allocations_and_pools_are_recorded_on_demand() {
	for version in 18 24 130000; do
		rm -f "$out"/*
		SIMCUDA_CUPTI_VERSION=$version GPUTRACE_ALLOCATIONS=on traced "$progs/prog_memory" all >/dev/null
		dump >"$work/dump.txt"
		has "$work/dump.txt" '^info\tgpu_times.memory=allocations and pools are recorded' "said so"
		for op in alloc free; do
			grep -P '^memory\tapi=cuMem(Alloc|HostAlloc|Free)\w*\tstatus=0\t.*op='$op "$work/dump.txt" |
				sed 's/.*\taddress=\(0x[0-9a-f]*\).*/\1/' | sort >"$work/by-call.txt"
			grep -P '^gpu_memory\t.*op='$op "$work/dump.txt" |
				sed 's/.*\taddress=\(0x[0-9a-f]*\).*/\1/' | sort >"$work/by-cupti.txt"
			[ "$(wc -l <"$work/by-call.txt")" -gt 8 ] || fail "too few: $op"
			cmp -s "$work/by-call.txt" "$work/by-cupti.txt" || fail "CUPTI $version: $op differs from the calls"
		done
		has "$work/dump.txt" '^gpu_memory\t.*kind=pool\tbytes=5242880\t.*pool=\d\treserved=6291456\tused=5242880' "a pool's numbers"
		has "$work/dump.txt" '^gpu_pool\t.*op=1\t' "a pool came"
		has "$work/dump.txt" '^gpu_pool\t.*op=3\treserved=6291456\tused=100\tthreshold=18446744073709551615' "was trimmed"
		has "$work/dump.txt" '^gpu_pool\t.*op=2\t' "and went"
	done
	rm -f "$out"/*
	traced "$progs/prog_memory" all >/dev/null
	dump >"$work/dump.txt"
	has_not "$work/dump.txt" '^gpu_(memory|pool)\t' "none without being asked: they cost a record each"
	has_not "$work/dump.txt" '^info\tgpu_times.memory' "nothing is said"
}

case_a_cupti_without_records_of_memory_says_so() {
	SIMCUDA_CUPTI_FAULT=no-memory GPUTRACE_ALLOCATIONS=on traced "$progs/prog_memory" all >/dev/null
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^info\tgpu_times.memory=allocations or pools are not recorded by CUPTI: .*NOT_COMPATIBLE' "why"
	has "$work/dump.txt" '^gpu_pool\t' "the other kind goes on"
}

# A library that reaches the driver past the wrappers: the report says how much it took.
case_memory_past_the_wrappers_is_reported() {
	[ -x "$build/bin/gputrace" ] || skip "not built"
	GPUTRACE_ALLOCATIONS=on GPUTRACE_COLLECTOR=$build/bin/gputrace-collector \
		traced "$progs/prog_deep" "$progs/libdeep.so" >"$work/with.txt"
	[ "$(cat "$work/with.txt")" = "$(printf 'seen 0\nunseen 0\nfree 0 0')" ] || fail "the program fails"
	"$build/bin/gputrace" report "$out"/*.gtrace >"$work/report.txt" || true
	"$build/bin/gputrace" report --json "$out"/*.gtrace >"$work/report.json" || true
	rm -f "$out"/*.gtrace
	has "$work/report.txt" '1 allocation that no recorded call made: 3.0+ MiB at most, 0 \w+ at the end' "3 MiB past the wrappers"
	has "$work/report.json" '"unseen_peak_bytes": 3145728' "also for programs"
}

shim_main "$@"
