#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs sites_train.py under the shim on the simulated stack and checks every line in the trace.
# usage: sites_shim.sh PYTHON SOURCE_DIR SHIM GPUTRACE SIMCUDA_DIR HELPER
set -eu
python=$1 source=$2 shim=$3 viewer=$4 simcuda=$5 helper=$6
for needed in "$shim" "$viewer" "$simcuda/libcudart.so.13"; do
	if [ ! -e "$needed" ]; then
		echo "skipped: $needed was not built"
		exit 77
	fi
done
if ! "$python" -c 'import sys; sys.exit(not (3, 8) <= sys.version_info[:2] <= (3, 13))'; then
	echo "skipped: frames of this version of Python are not read"
	exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
LD_LIBRARY_PATH=$simcuda GPUTRACE_OUT=$out LD_PRELOAD=$shim \
	"$python" "$source/sites_train.py" "$helper" "$out/expected.json"
"$viewer" dump --json --kind copy "$out"/*.gtrace >"$out/copies.json"
"$viewer" dump --json --kind site "$out"/*.gtrace >"$out/sites.json"
"$python" "$source/sites_check.py" "$out/expected.json" "$out/copies.json" "$out/sites.json"
