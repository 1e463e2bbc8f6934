#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints what the shim adds to a call, as a ratio to what two clock reads cost in the same run.
# usage: run_call.sh BUILD_DIR [PAIRS]
set -eu
build=$1
pairs=${2:-5}
bench=$build/bench/bench_call
shim=$build/lib/libgputrace.so
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

one() { # MODE -> "clock copy sync"
	case $1 in
	plain) "$bench" ;;
	off) GPUTRACE=off LD_PRELOAD=$shim "$bench" ;;
	stacks) GPUTRACE_OUT=$out GPUTRACE_GPU=off GPUTRACE_RING_KIB=4096 LD_PRELOAD=$shim "$bench" ;;
	on) GPUTRACE_STACKS=off GPUTRACE_OUT=$out GPUTRACE_GPU=off GPUTRACE_RING_KIB=4096 LD_PRELOAD=$shim "$bench" ;;
	paused) # the median of the faster half of its rounds is taken, so a few before the switch do no harm
		GPUTRACE_STACKS=off GPUTRACE_OUT=$out GPUTRACE_GPU=off LD_PRELOAD=$shim "$bench" &
		until "$build/bin/gputrace" capture off $! >/dev/null 2>&1; do
			kill -0 $! || break
		done
		wait $! ;;
	esac
}

i=0
while [ "$i" -lt "$pairs" ]; do
	for mode in plain off on paused stacks; do
		echo "$mode $(one "$mode")"
	done
	i=$((i + 1))
done | awk '
	{ n[$1]++; clock[$1, n[$1]] = $2; copy[$1, n[$1]] = $3; sync[$1, n[$1]] = $4 }
	function median(a, mode, k,   i, j, v, t) {
		for (i = 1; i <= k; i++) v[i] = a[mode, i]
		for (i = 1; i <= k; i++) for (j = i + 1; j <= k; j++)
			if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t }
		return v[int((k + 1) / 2)]
	}
	END {
		k = n["plain"]
		c = median(clock, "on", k)
		base = median(copy, "plain", k); sbase = median(sync, "plain", k)
		printf "clock read                %6.1f ns\n", c
		printf "call, shim off            %+6.1f ns\n", median(copy, "off", k) - base
		printf "call, capture off         %+6.1f ns\n", median(copy, "paused", k) - base
		added = median(copy, "on", k) - base; sadded = median(sync, "on", k) - sbase
		budget = 2 * c + 12
		printf "copy recorded             %+6.1f ns  (%.2f of 2 clock reads + 12 ns = %.1f ns)\n", added, added / budget, budget
		printf "wait recorded             %+6.1f ns  (%.2f)\n", sadded, sadded / budget
		printf "copy with its stack       %+6.1f ns\n", median(copy, "stacks", k) - base
		if (added > 1.5 * budget) { print "over the alarm of 1.5 times the budget"; exit 1 }
	}'
