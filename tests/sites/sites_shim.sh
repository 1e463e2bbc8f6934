#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs sites_train.py under the shim on the simulated stack and checks every line in the trace.
# usage: sites_shim.sh SOURCE_DIR SHIM GPUTRACE SIMCUDA_DIR HELPER PYTHON [ARGUMENTS OF IT...]
set -eu
source=$1 shim=$2 viewer=$3 simcuda=$4 helper=$5
shift 5
for needed in "$shim" "$viewer" "$simcuda/libcudart.so.13"; do
	if [ ! -e "$needed" ]; then
		echo "skipped: $needed was not built"
		exit 77
	fi
done
is_read='import sys; sys.exit("free-threading" in sys.version or not (3, 8) <= sys.version_info[:2] <= (3, 14))'
if ! "$@" -c "$is_read"; then
	echo "skipped: frames of this Python are not read"
	exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
LD_LIBRARY_PATH=$simcuda GPUTRACE_OUT=$out LD_PRELOAD=$shim \
	"$@" "$source/sites_train.py" "$helper" "$out/expected.json"
"$viewer" dump --json "$out"/*.gtrace >"$out/trace.json"
"$@" "$source/sites_check.py" "$out/expected.json" "$out/trace.json"
