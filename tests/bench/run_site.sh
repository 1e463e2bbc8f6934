#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ns per event for each policy of GPUTRACE_STACKS: without Python, then with every interpreter of the
# machine that is read. Ratios within one table count; the machine should be quiet.
# usage: run_site.sh [BUILD_DIR]
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
probe=$build/tests/libsite_probe.so
[ -e "$probe" ] || { echo "run_site.sh: $probe was not built" >&2; exit 1; }
"$build/bench/bench_site"
for python in "$HOME"/.pyenv/versions/*/bin/python3 /usr/bin/python3 "$build"/wheel-cp314/bin/python3.14; do
	[ -x "$python" ] || continue
	"$python" -c 'import sys; sys.exit(not (3, 8) <= sys.version_info[:2] <= (3, 14))' || continue
	echo
	"$python" "$here/bench_site.py" "$probe"
done
