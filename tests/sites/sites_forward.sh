#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Backward calls of sites_autograd.py name the line of their forward operator in report and exports.
# usage: sites_forward.sh SOURCE_DIR SHIM GPUTRACE SIMCUDA_DIR HELPER PYTHON
set -eu
source=$1 shim=$2 viewer=$3 simcuda=$4 helper=$5 python=$6
if [ ! -e "$simcuda/libcudart.so.13" ]; then
	echo "skipped: the simulated stack was not built"
	exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# The machine decides which findings there are; one at a backward call is wanted.
for attempt in 1 2 3 4 5; do
	rm -f "$out"/*
	LD_LIBRARY_PATH=$simcuda GPUTRACE_OUT=$out LD_PRELOAD=$shim \
		"$python" "$source/sites_autograd.py" "$helper"
	"$viewer" report --json "$out"/*.gtrace >"$out/report.json"
	! grep -q '"site": ".*which waits for this thread' "$out/report.json" || break
done
"$viewer" report --by site "$out"/*.gtrace >"$out/sites.txt"
"$viewer" export --to collapsed "$out"/*.gtrace >"$out/stacks.txt"

must_have() { # FILE FIXED_TEXT
	grep -qF -- "$2" "$out/$1" || { cat "$out/$1"; echo "FAILED: no line of $1 has: $2"; exit 1; }
}

for mark in first second; do
	line=$(grep -n "# mark: $mark\$" "$source/sites_autograd.py" | cut -d: -f1)
	must_have sites.txt ", forward: $source/sites_autograd.py:$line in "
done
must_have sites.txt "which waits for this thread, forward: "
# Findings: the line of Python first, the native one second, wherever they are printed.
"$viewer" report --html "$out/report.html" "$out"/*.gtrace >"$out/report.txt"
native='sites_helper.c:[0-9]* in device_thread'
grep -A1 "^     at .*which waits for this thread" "$out/report.txt" | grep -q "^     from .*/$native\$" ||
	{ cat "$out/report.txt"; echo "FAILED: the native line in the text, attempt $attempt"; exit 1; }
grep -q "\"native\": \".*/$native\"" "$out/report.json" || { echo "FAILED: ... in JSON"; exit 1; }
grep -q "which waits for this thread[^<]*<br>from [^<]*/$native</div>" "$out/report.html" ||
	{ echo "FAILED: ... in the page"; exit 1; }

must_have stacks.txt ";[backward pass of this];"
# What has no forward operator shows none.
plain=$(grep "which waits for this thread" "$out/sites.txt" | grep -vc "forward: ")
[ "$plain" -ge 1 ] || { cat "$out/sites.txt"; echo "FAILED: AccumulateGrad has a forward line"; exit 1; }
