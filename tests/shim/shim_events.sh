#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# GPUTRACE_GPU=events: copies and launches are measured by pairs of events, in bounded numbers, and
# the program notices nothing.
. "$(dirname "$0")/shim_lib.sh"
export GPUTRACE_GPU=events
runtime=$progs/prog_runtime

case_copies_to_streams_are_measured() {
	same_with_and_without "$runtime" copy 20
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^info\tgpu_times.source=events' "where the times come from"
	has "$work/dump.txt" '^info\tgpu_times.events=60 copies and 0 launches measured, 0 not' "how many"
	[ "$(count "$work/dump.txt" '^gpu_copy')" -eq 60 ] || fail "not 60 copies"
	# Each is tied to a copy that the host recorded, and is of that size and direction.
	awk -F '\t' '
		function get(key,   i) {
			for (i = 1; i <= NF; i++)
				if (index($i, key "=") == 1)
					return substr($i, length(key) + 2)
		}
		$1 == "copy" && get("correlation") != 0 {
			host[get("correlation")] = get("bytes") get("direction")
		}
		$1 == "gpu_copy" { gpu[get("correlation")] = get("bytes") get("direction"); n++ }
		END {
			for (id in gpu)
				if (host[id] == gpu[id]) same++
			exit !(n == 60 && same == 60)
		}' "$work/dump.txt" || fail "copies of host and GPU do not match"
}

case_no_event_is_recorded_while_a_capture_is_open() {
	[ -x "$build/samples/train_loop" ] || skip "no nvcc"
	export SIMCUDA_LOG=$work/log.%p SIMCUDA_KERNEL_COSTS=$build/samples/costs.tsv
	traced "$build/samples/train_loop" --steps 4 --graph >/dev/null
	local log=$(ls "$work"/log.*)
	[ "$(grep -c 'cuStreamBeginCapture' "$log")" -gt 0 ] || fail "the sample captured nothing"
	awk -F '\t' '
		$4 ~ /cuStreamBeginCapture/ { is_open = 1 }
		$4 ~ /cuStreamEndCapture/ { is_open = 0 }
		is_open && $4 ~ /cuEvent(Record|Create)/ { bad++ }
		END { exit bad > 0 }' "$log" || fail "an event was recorded during a capture"
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^info\tgpu_times.events=\d+ copies and \d+ launches measured, [1-9]' "the rest is counted"
}

case_launches_are_sampled() {
	SIMCUDA_LOG=$work/log.%p traced "$progs/prog_launches" 20000 1 >/dev/null
	dump >"$work/dump.txt"
	local measured=$(count "$work/dump.txt" '^gpu_kernel')
	[ "$measured" -gt 100 ] && [ "$measured" -le 5500 ] || fail "$measured of 20000 launches measured"
}

case_a_context_that_goes_takes_its_events_along() {
	same_with_and_without "$progs/prog_memory" reset
	dumps 1
}


shim_main "$@"
