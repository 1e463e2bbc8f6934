#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A real Python that loads CUDA by ctypes is recorded whole, however it loads it.
# usage: python.sh BUILD CASE PYTHON [HOW...]     local, global, path, main: see paths_ctypes.py
. "$(dirname "$0")/paths_lib.sh"
python=$3
hows=${*:4}

# Every wrapped function, in libraries that only say what arrived, by every way of ctypes.
case_every_function_by_ctypes_is_recorded() {
	"$paths/prog_paths_13" rows >"$work/rows.tsv"
	way=ctypes
	for how in ${hows:-local global path main}; do
		# All majors where nothing is global: the version node alone says whose a call is.
		for major in $([ $how = local ] && echo 11 12) 13; do
			same_calls_of 1 "$python" "$here/paths_ctypes.py" $how $major "$work/rows.tsv" "$paths/lib"
			records_equal_log
			[ "$(wc -l <"$work/plain.txt")" = "$(wc -l <"$work/rows.tsv")" ] || fail "not every function was called"
			exercised "${python//\//_}.$how"
		done
	done
}

# A program on the simulated stack: names, sizes, results and lines of all that it called.
case_a_program_by_ctypes_is_recorded_with_its_lines() {
	[ -e "$sim/libcublas.so.13" ] && [ -e "$sim/libnccl.so.2" ] || skip "no simulated libraries"
	[ -x "$build/bin/gputrace" ] || skip "no viewer"
	export LD_LIBRARY_PATH=$sim SIMCUDA_NCCL_DIRECTORY=$work/node
	mkdir "$work/node"
	for how in local global path; do
		rm -f "$out"/*
		"$python" "$here/paths_program.py" $how "$sim" "$work/plain.json"
		GPUTRACE_COLLECTOR=$build/bin/gputrace-collector \
			traced "$python" "$here/paths_program.py" $how "$sim" "$work/calls.json"
		cmp -s "$work/plain.json" "$work/calls.json" || fail "results differ under the shim ($how)"
		"$build/bin/gputrace" dump --json "$out"/*.gtrace >"$work/trace.json" || fail "no trace ($how)"
		"$python" "$here/paths_check.py" "$work/calls.json" "$work/trace.json" || fail "calls and records differ ($how)"
	done
}

shim_main "$@"
