#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Captures and graphs in the record: what is captured is marked, whatever stream it is captured on.
. "$(dirname "$0")/shim_lib.sh"

case_memory_captured_on_a_threads_own_stream_is_marked() {
	for program in prog_capture prog_capture_per_thread; do
		rm -f "$out"/*
		same_with_and_without "$progs/$program" thread
		grep -q '^3 nodes' "$work/with.txt" || fail "the simulated driver captured something else"
		dump >"$work/dump.txt"
		# The runtime's call and the driver's inside it; flag 2 is "captured".
		for call in cudaMallocAsync cuMemAllocAsync cudaFreeAsync cuMemFreeAsync; do
			awk -v call="$call" -F '\t' '$1 == "memory" && $2 == "api=" call {
					split($8, flags, "=")
					printf "%s", int(flags[2] / 2) % 2 ? "captured " : "executed "
				}' "$work/dump.txt" >"$work/order.txt"
			[ "$(cat "$work/order.txt")" = "captured executed " ] ||
				fail "$program: $call is $(cat "$work/order.txt")"
		done
		has "$work/dump.txt" '^graph\tapi=cudaGraphLaunch\t.*nodes=3\b' "all nodes are counted"
	done
}

shim_main "$@"
