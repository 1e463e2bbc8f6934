#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Launches of a graph name the line that launches it and the line that captured it.
# usage: sites_graph.sh SOURCE_DIR SHIM GPUTRACE SIMCUDA_DIR PYTHON
set -eu
source=$1 shim=$2 viewer=$3 simcuda=$4 python=$5
if [ ! -e "$simcuda/libcudart.so.13" ]; then
	echo "skipped: the simulated stack was not built"
	exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
LD_LIBRARY_PATH=$simcuda GPUTRACE_OUT=$out LD_PRELOAD=$shim "$python" "$source/sites_graph.py"
"$viewer" report --by site "$out"/*.gtrace >"$out/sites.txt"
"$viewer" export --to collapsed "$out"/*.gtrace >"$out/stacks.txt"

line_of() {
	grep -n "# mark: $1\$" "$source/sites_graph.py" | cut -d: -f1
}
captured="captured at $source/sites_graph.py:$(line_of captured) in record_step"
grep -qF "sites_graph.py:$(line_of replayed) in replay, $captured (cudaGraphLaunch)" "$out/sites.txt" ||
	{ cat "$out/sites.txt"; echo "FAILED: both lines in the table"; exit 1; }
grep -qF "replay ($source/sites_graph.py:$(line_of replayed));cudaGraphLaunch;[$captured];" "$out/stacks.txt" ||
	{ cat "$out/stacks.txt"; echo "FAILED: both lines in the stack"; exit 1; }
if grep -F "in <module>" "$out/sites.txt" | grep -q "captured at"; then
	cat "$out/sites.txt"
	echo "FAILED: a call that launches no graph was captured nowhere"
	exit 1
fi
