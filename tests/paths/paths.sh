#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every wrapped function by every way: what arrives, what comes back and what is recorded.
. "$(dirname "$0")/paths_lib.sh"

# Failed calls whose pointers may not be touched, by every way and every major.
case_failed_calls_are_recorded_and_nothing_is_read() {
	for major in 11 12 13; do
		same_calls prog_paths_$major 1 linked guard main
		records_equal_log
		exercised failed
		echo "CUDA $major: $(wc -l <"$work/log.txt") calls recorded"
	done
}

case_functions_by_dlsym_are_recorded() {
	for major in 11 12 13; do
		same_calls prog_paths_$major 1 dlsym guard main
		records_equal_log
		exercised dlsym
	done
}

case_driver_functions_by_look_up_are_recorded() {
	same_calls prog_paths_13 1 lookup guard main
	records_equal_log
	exercised lookup
	[ "$(wc -l <"$work/log.txt")" -ge 270 ] || fail "only $(wc -l <"$work/log.txt") functions were looked up"
}

case_successful_calls_pass_and_are_recorded() {
	for major in 11 12 13; do
		same_calls prog_paths_$major 0 linked valid main
		records_equal_log
		exercised successful
		has "$work/dump.txt" 'copy\tapi=cudaMemcpyAsync\tstatus=0\t.*bytes=65536\t' "sizes"
	done
}

# Functions that have other parameters in another CUDA major, three majors in one process.
case_parameters_that_changed_between_majors_arrive_as_passed() {
	export LD_LIBRARY_PATH=$paths/signatures GPUTRACE_GPU=off
	same_with_and_without "$progs/prog_loader" plugins "$paths"/signatures/libsignature_plugin_{11,12,13}.so
	has_not "$work/with.txt" 'OTHER|look-up -1' "every argument arrives, found by dlsym too"
	[ "$(count "$work/with.txt" '^call 0 look-up 0$')" -eq 3 ] || fail "all calls succeed"
	[ "$(count "$work/with.txt" 'as passed$')" -eq 52 ] || fail "26 functions, by two ways"
	dump >"$work/dump.txt"
	for major in 11:0x7000000000b00001 12:0x7000000000c00001 13:0x7000000000d00001; do
		local stream=${major#*:}
		[ "$(count "$work/dump.txt" "call\tapi=cudaMemPrefetchAsync\tstatus=0\t.*object=$stream$")" -eq 2 ] ||
			fail "the stream of a prefetch in CUDA ${major%:*}"
		[ ${major%:*} = 11 ] || [ "$(count "$work/dump.txt" \
			"copy\tapi=cudaMemcpyBatchAsync\tstatus=0\t.*bytes=600\t.*stream=$stream\t")" -eq 4 ] ||
			fail "bytes and stream of a batch in CUDA ${major%:*}"
		[ ${major%:*} = 11 ] || [ "$(count "$work/dump.txt" \
			"copy\tapi=cudaMemcpy3DBatchAsync\tstatus=0\t.*stream=$stream\t")" -eq 2 ] ||
			fail "the stream of a batch of boxes in CUDA ${major%:*}"
	done
	[ "$(count "$work/dump.txt" 'graph\tapi=cudaGraphInstantiate\tstatus=0\t')" -eq 6 ] || fail "graphs"
	[ "$(count "$work/dump.txt" 'graph\tapi=cudaGraphExecUpdate\tstatus=0\t')" -eq 6 ] || fail "updates"
	[ "$(count "$work/dump.txt" 'call\tapi=cudaMemAdvise(_v2)?\tstatus=0\t')" -eq 8 ] || fail "advice"
}

# Frees count from their beginning and allocations from their end, whatever the threads' order.
case_an_address_that_comes_again_during_its_free_is_counted_once() {
	[ -x "$build/bin/gputrace" ] && [ -e "$sim/libcuda.so.1" ] || skip "no viewer or no simulated driver"
	export LD_LIBRARY_PATH=$paths/reuse:$sim GPUTRACE_GPU=off GPUTRACE_COLLECTOR=$build/bin/gputrace-collector
	same_with_and_without "$paths/prog_reuse"
	has "$work/with.txt" 'all calls succeeded, the address came again' "the same address"
	"$build/bin/gputrace" dump --json "$out"/*.gtrace >"$work/trace.json"
	"$build/bin/gputrace" export --to memory "$out"/*.gtrace >"$work/live.txt"
	python3 - "$work/trace.json" "$work/live.txt" <<-'END' || fail "the address is not counted once"
		import json, sys
		trace = json.load(open(sys.argv[1]))
		free = [m for m in trace["memory"] if m["op"] == "free"]
		second = [m for m in trace["memory"] if m["size_bytes"] == 200]
		assert len(free) == 2 and len(second) == 1 and len({m["address"] for m in free + second}) == 1
		slow = max(free, key=lambda m: m["end_ns"] - m["begin_ns"])
		assert slow["begin_ns"] < second[0]["end_ns"] < slow["end_ns"], "the free is over before"
		rows = [line.split("\t") for line in open(sys.argv[2]).read().splitlines()[1:]]
		plain = rows[0].index("plain_bytes")
		assert [int(row[plain]) for row in rows[1:]] == [100, 0, 200, 0], rows
		# The slow free must not make the new memory unknown: both copies go to the device.
		assert [(c["size_bytes"], c["destination_kind"]) for c in trace["copy"]] == [
			(10, "device"), (11, "device")], trace["copy"]
	END
}

# Without a session marks are only counted; that they are recorded stands in tests/frameworks.
case_marks_and_allocator_reports_pass() {
	for way in linked dlsym; do
		for words in null valid; do
			same_calls prog_paths_marks 1 $way $words main
			exercised marks
		done
	done
	[ -z "$(ls "$out")" ] || fail "a session was opened"
}

# Nobody has allocated the address that everything is called with: no kind of memory is guessed.
case_pointers_that_nobody_allocated_stay_unknown() {
	same_calls prog_paths_13 0 linked valid main
	dump >"$work/dump.txt"
	for api in cudaMemcpy cudaMemcpyAsync cuMemcpy cuMemcpyAsync; do
		has "$work/dump.txt" "copy\tapi=$api\tstatus=0\t.*direction=unknown\tsource=unknown\tdestination=unknown" "$api"
	done
	for api in cudaFree cudaFreeHost cuMemFree_v2; do
		has "$work/dump.txt" "memory\tapi=$api\tstatus=0\t.*op=free\tkind=unknown" "$api"
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

# With an array on a side the arguments of the runtime count elements. Seen inside, the driver's copy
# tells the bytes; else the driver tells the array's format, but never while a capture is open.
case_copies_with_arrays_have_exact_bytes() {
	export LD_LIBRARY_PATH=$paths/elements GPUTRACE_GPU=off
	bytes_of() { # API
		sed -nE "s/^copy\tapi=$1\tstatus=0\t.*bytes=([0-9]+)\t.*/\1/p" "$work/dump.txt" | tr '\n' ' '
	}
	same_with_and_without "$paths/prog_elements"
	has "$work/with.txt" '^asked in a capture: 0$' "no call of ours while a capture is open"
	dump >"$work/dump.txt"
	# 100003 * 307 * 11 elements of 16 bytes, of 2, of a format that is unknown; then captured.
	[ "$(bytes_of cudaMemcpy3D)" = "5403362096 675420262 0 0 " ] || fail "copies: $(bytes_of cudaMemcpy3D)"
	[ "$(bytes_of cudaMemcpy3DPeer)" = "675420262 " ] || fail "peer: $(bytes_of cudaMemcpy3DPeer)"
	[ "$(bytes_of cudaMemcpy3DBatchAsync)" = "15403362140 " ] || fail "batch: $(bytes_of cudaMemcpy3DBatchAsync)"
	[ "$(bytes_of cuMemcpy3DBatchAsync_v2)" = "15403362140 42 " ] || fail "driver's: $(bytes_of cuMemcpy3DBatchAsync_v2)"
	has "$work/dump.txt" 'copy\tapi=cudaMemcpy3D\tstatus=1\t.*bytes=0\t' "nothing is read for a refused copy"
	has "$work/dump.txt" 'copy\tapi=cudaMemcpy3DPeer\tstatus=0\t.*source=array\tdestination=array' "kinds of the ends"

	rm "$out"/*
	ELEMENTS_INSIDE=1 same_with_and_without "$paths/prog_elements"
	has "$work/with.txt" '^asked in a capture: 0$' "nor when the driver's copies are seen"
	dump >"$work/dump.txt"
	[ "$(bytes_of cudaMemcpy3D)" = "2701681048 2701681048 2701681048 27016000 " ] || fail "copies: $(bytes_of cudaMemcpy3D)"
	[ "$(bytes_of cuMemcpy3D_v2)" = "$(bytes_of cudaMemcpy3D)" ] || fail "the copy inside: $(bytes_of cuMemcpy3D_v2)"
	[ "$(bytes_of cudaMemcpy3DPeer)" = "2701681048 " ] || fail "peer: $(bytes_of cudaMemcpy3DPeer)"
	[ "$(bytes_of cudaMemcpy3DBatchAsync)" = "15403362140 " ] || fail "batch: $(bytes_of cudaMemcpy3DBatchAsync)"
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
