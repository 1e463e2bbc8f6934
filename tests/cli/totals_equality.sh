#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: totals_equality.sh BUILD NAME SAMPLE VARIANT [MACHINE=NAME] [SIMCUDA_NAME=VALUE...] [OPTION...]
# The totals of a sample equal the simulated driver's exact log, in summary mode and beside sampled
# launches, in every one of its processes; what is recorded singly is what was asked for; live memory
# is exact in both; the sample itself prints and returns the same with and without the shim.
sample=$3 variant=$4
. "$(dirname "$0")/cli.sh" "$1" "$2"
shift 4
if [[ "${1-}" = MACHINE=* ]]; then
	make_machine "${1#MACHINE=}"
	shift
fi
while [[ "${1-}" = SIMCUDA_*=* ]]; do
	export "$1"
	shift
done
program=$(program_of "$sample" "$variant")
need_program "$program"
export SIMCUDA_TIME_SCALE=0
runtime=
[ "$variant" = shared ] && runtime=--runtime
if [[ " $* " = *" --ranks "* ]]; then
	export SIMCUDA_GPUS=4 SIMCUDA_NCCL_DIRECTORY=$work/node
	mkdir -p "$work/node"
fi

"$program" "$@" >plain.txt 2>plain_errors.txt || fail "exit code $?: $(cat plain_errors.txt)"
for mode in GPUTRACE_MODE=summary GPUTRACE_SAMPLE_LAUNCHES=5; do
	name=${mode#GPUTRACE_}
	record "$name" env SIMCUDA_LOG="$work/$name.%p.tsv" $mode "$program" "$@" >"$name.txt" \
		2>errors.txt || fail "exit code $? with the shim"
	cmp <(sort plain.txt) <(sort "$name.txt") || fail "standard output differs with the shim"
	cmp plain_errors.txt errors.txt || fail "standard error differs with the shim"
	sampled=
	[ "$name" = SAMPLE_LAUNCHES=5 ] && sampled="--sampled 5"
	traces=0
	for trace in "$name"/*.gtrace; do
		"$gputrace" check "$trace" >check.txt || fail "the trace is not whole: $(cat check.txt)"
		"$gputrace" dump --format tsv "$trace" >dump.tsv || fail "dump"
		pid=$("$gputrace" info "$trace" | awk '$1 == "process.pid" { print $2 }')
		python3 "$here/compare_totals.py" "$name.$pid.tsv" dump.tsv $runtime $sampled ||
			fail "$name: the totals are not those of the log"
		live_compare "$name.$pid.tsv" "$trace" --freed
		traces=$((traces + 1))
	done
	[ $traces = "$(ls "$name".*.tsv | wc -l)" ] || fail "$traces traces of $(ls "$name".*.tsv | wc -l) logs"
done
