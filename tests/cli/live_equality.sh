#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: live_equality.sh BUILD NAME COMPARE_OPTIONS -- [SIMCUDA_NAME=VALUE...] PROGRAM ARGUMENTS...
# What the trace says is live equals the simulated driver's own count after every single call.
. "$(dirname "$0")/cli.sh" "$1" "$2"
shift 2
options=()
while [ "$1" != -- ]; do
	options+=("$1")
	shift
done
shift
while [[ "$1" = SIMCUDA_*=* ]]; do
	export "$1"
	shift
done
program=$build/$1
shift
need_program "$program"
export SIMCUDA_TIME_SCALE=0
"$program" "$@" >plain.txt || fail "the program failed without the shim"
SIMCUDA_LOG=$work/log.%p record traces "$program" "$@" >program.txt || fail "the program failed with the shim"
cmp plain.txt program.txt || fail "results differ with the shim"
compared=0
for trace in traces/*.gtrace; do
	pid=$("$gputrace" info --json "$trace" | python3 -c '
import json, sys
print(json.load(sys.stdin)["traces"][0]["session"]["process.pid"])') || fail "no pid in $trace"
	"$gputrace" export --to memory "$trace" >"live.$pid.tsv" || fail "cannot export $trace"
	echo "process $pid:"
	python3 "$here/compare_live.py" "log.$pid" "live.$pid.tsv" "${options[@]}" || fail "not what the driver counted"
	compared=$((compared + 1))
done
[ $compared -gt 0 ] || fail "no trace"
