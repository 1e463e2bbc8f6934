#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs sites_storm without and with the shim, stacks on: same output, no hang, nothing on stderr.
# usage: sites_storm.sh PROGRAM LIBRARY SHIM SIMCUDA_DIR
set -eu
program=$1 library=$2 shim=$3 simcuda=$4
for needed in "$shim" "$simcuda/libcudart.so.13"; do
	if [ ! -e "$needed" ]; then
		echo "skipped: $needed was not built"
		exit 77
	fi
done
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
LD_LIBRARY_PATH=$simcuda "$program" "$library" >"$out/plain"
# The simulated CUPTI uses the heap for its own records, so the heap is compared without it.
for gpu in off cupti; do
	LD_LIBRARY_PATH=$simcuda GPUTRACE_OUT=$out GPUTRACE_STACKS=all GPUTRACE_GPU=$gpu \
		LD_PRELOAD=$shim "$program" "$library" >"$out/traced" 2>"$out/stderr"
	if [ $gpu = cupti ]; then
		sed -i 's/^heap .*/heap 0/' "$out/plain" "$out/traced"
	fi
	if ! diff "$out/plain" "$out/traced"; then
		echo "the program behaves otherwise under the shim"
		exit 1
	fi
	if [ -s "$out/stderr" ]; then
		echo "the shim is not silent:"
		cat "$out/stderr"
		exit 1
	fi
done
ls "$out"/*.gtrace >/dev/null
