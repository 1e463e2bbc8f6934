#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The loader's rules under the shim: who asks, which library, which version; other preloads.
. "$(dirname "$0")/shim_lib.sh"

loader=$progs/prog_loader
runtime=$progs/prog_runtime

case_next_and_default_mean_the_caller() {
	same_with_and_without "$loader" next "$progs/libshim_next.so" "$progs/libshim_next.so"
	grep -q 'next 22 default 1' "$work/plain.txt" || fail "the test itself: $(cat "$work/plain.txt")"
}

case_a_handle_means_its_library() {
	same_with_and_without "$loader" handles "$progs/libshim_named_a.so" "$progs/libshim_named_b.so" libcuda.so.1
	grep -q '^77$' "$work/with.txt" && grep -q '^78$' "$work/with.txt" || fail "$(cat "$work/with.txt")"
}

case_look_ups_without_a_driver_find_nothing() {
	export LD_LIBRARY_PATH=$work
	traced "$loader" nothing >"$work/with.txt"
	"$loader" nothing >"$work/plain.txt"
	# The error may name another object that does not have the symbol; whether there is one must agree.
	for file in plain with; do
		sed 's/error: .*undefined symbol: /error: undefined symbol: /' "$work/$file.txt" >"$work/$file-cut.txt"
	done
	cmp -s "$work/plain-cut.txt" "$work/with-cut.txt" ||
		fail "$(diff "$work/plain-cut.txt" "$work/with-cut.txt" | head)"
}

case_a_weak_caller_without_a_driver_is_told_not_supported() {
	export LD_LIBRARY_PATH=$work
	[ "$(traced "$loader" weak 2>"$work/err.txt")" = 801 ] || fail "not 801"
	[ ! -s "$work/err.txt" ] || fail "the shim is not silent"
	[ -z "$(ls "$out")" ] || fail "something was written"
}

case_three_majors_in_one_process_keep_their_own() {
	local plugins=("$progs/libshim_plugin_11.so" "$progs/libshim_plugin_12.so" "$progs/libshim_plugin_13.so")
	export LD_LIBRARY_PATH=$progs/majors GPUTRACE_GPU=off
	same_with_and_without "$loader" plugins "${plugins[@]}"
	for major in 11 12 13; do
		grep -q "call 10$major look-up 10$major" "$work/with.txt" || fail "$(cat "$work/with.txt")"
	done
	dump >"$work/dump.txt"
	[ "$(count "$work/dump.txt" 'memory\tapi=cudaMalloc\tstatus=101[123]\t')" -eq 6 ] || fail "six calls"
}

# What a forked child calls, while in its parent another thread was inside the loader.
fork_in_loader() { # ARGUMENTS
	export LD_LIBRARY_PATH=$progs/majors GPUTRACE_GPU=off
	same_with_and_without timeout 30 "$progs/prog_fork_loader" "$progs/libshim_plugin_13.so" "$@"
	grep -q '^call 1013$' "$work/with.txt" || fail "$(cat "$work/with.txt")"
}

# A library that cannot be opened before somebody writes into the FIFO that it needs.
slow_library() {
	cp "$progs/libshim_next.so" "$work"
	mkfifo "$work/libshim_next_dependency.so"
}

case_a_child_forked_while_modules_are_listed_records() {
	fork_in_loader
	dump >"$work/dump.txt"
	has "$work/dump.txt" 'memory\tapi=cudaMalloc\tstatus=1013\t' "the child's call"
}

case_a_child_forked_while_a_library_is_opened_records() {
	slow_library
	fork_in_loader "$work/libshim_next.so" "$work/libshim_next_dependency.so"
	dump >"$work/dump.txt"
	has "$work/dump.txt" 'memory\tapi=cudaMalloc\tstatus=1013\t' "the child's call"
}

case_such_a_child_of_a_recorded_parent_reaches_functions_that_the_parent_never_called() {
	slow_library
	fork_in_loader "$work/libshim_next.so" "$work/libshim_next_dependency.so" \
		"$progs/libshim_plugin_12.so"
	dumps 2
	cat "$out"/ring.*.txt >"$work/dump.txt"
	has "$work/dump.txt" 'memory\tapi=cudaMalloc\tstatus=1012\t' "the parent's call"
	has "$work/dump.txt" 'memory\tapi=cudaMalloc\tstatus=1013\t' "the child's call"
}

case_a_constructor_may_use_cuda() {
	[ -e "$progs/libshim_constructor.so" ] || skip "no simulated runtime"
	same_with_and_without timeout 20 "$loader" open "$progs/libshim_constructor.so"
	dump >"$work/dump.txt"
	has "$work/dump.txt" 'memory\tapi=cudaMalloc\t.*bytes=333' "the constructor's call"
	has "$work/dump.txt" 'memory\tapi=cudaMalloc\t.*bytes=444' "the later call"
}

case_an_allocator_may_call_cuda() {
	same_with_and_without timeout 20 "$progs/prog_allocator"
	grep -q 'more than two calls: 1' "$work/with.txt" || fail "$(cat "$work/with.txt")"
	dump >"$work/dump.txt"
	has "$work/dump.txt" 'memory\tapi=cudaMalloc\t.*parent=0\t.*bytes=100' "the first call"
}

case_an_opened_copy_is_inert() {
	"$loader" open >"$work/plain.txt"
	GPUTRACE_COLLECTOR=$progs/ring_dump GPUTRACE_OUT=$out "$loader" open "$shim" >"$work/with.txt"
	grep -q 'cudaMalloc 0' "$work/with.txt" || fail "$(cat "$work/with.txt")"
	[ -z "$(ls "$out")" ] || fail "something was written"
}

case_two_copies_make_one_trace() {
	cp "$shim" "$work/libgputrace-copy.so"
	preload="$shim $work/libgputrace-copy.so"
	same_with_and_without "$runtime" copy 3
	dump >"$work/dump.txt"
	[ "$(count "$work/dump.txt" 'copy\tapi=cudaMemcpyAsync')" -eq 6 ] || fail "each call once"
	[ "$(count "$work/dump.txt" 'copy\tapi=cuMemcpyHtoDAsync_v2')" -eq 3 ] || fail "each driver call once"
	rm -f "$out"/*
	same_with_and_without "$progs/prog_driver" gpa
	dump >"$work/dump.txt"
	[ "$(count "$work/dump.txt" 'memory\tapi=cuMemAlloc_v2')" -eq 2 ] || fail "each driver call once"
}

case_other_hooks_before_and_after_work() {
	for order in before after; do
		rm -f "$out"/*
		[ $order = before ] && preload="$progs/libshim_hook.so:$shim" || preload="$shim:$progs/libshim_hook.so"
		LD_PRELOAD=$progs/libshim_hook.so "$runtime" copy 1 >"$work/plain.txt"
		traced "$runtime" copy 1 >"$work/with.txt"
		cmp -s "$work/plain.txt" "$work/with.txt" || fail "the output differs, hook $order the shim"
		dump >"$work/dump.txt"
		[ "$(count "$work/dump.txt" 'memory\tapi=cuMemAlloc_v2\t.*bytes=65536')" -eq 1 ] || fail "the allocation once"
	done
}

case_sanitized_programs_run() {
	local any=0
	for kind in asan tsan; do
		[ -x "$progs/prog_driver_$kind" ] || continue
		any=1
		rm -f "$out"/*
		# The sanitizer's own runtime must come first.
		runtime_library=$(ldd "$progs/prog_driver_$kind" | awk '/lib[at]san/ { print $3 }')
		preload="$runtime_library $shim"
		ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=report_bugs=0 traced "$progs/prog_driver_$kind" gpa >"$work/with.txt" 2>"$work/err.txt" ||
			fail "$kind: $(cat "$work/err.txt")"
		"$progs/prog_driver" gpa | cmp -s - "$work/with.txt" || fail "$kind: the output differs"
		dump >"$work/dump.txt"
	done
	[ $any = 1 ] || skip "no sanitizers"
}

shim_main "$@"
