#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: planted.sh BUILD NAME VARIANT: faults that need no sample of their own, each planted into one by
# its options or its environment: the finding is there with its numbers, and absent without the fault.
variant=$3
. "$(dirname "$0")/cli.sh" "$1" "$2"
need_program "$(program_of pageable_copy "$variant")"
export SIMCUDA_NCCL_DIRECTORY=$work/node SIMCUDA_NCCL_GBS=0.5 GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13
mkdir -p "$work/node"

# try FOLDER EXIT_CODE [NAME=VALUE...] SAMPLE [OPTION...]
try() {
	local folder=$1 wanted=$2 settings=() program
	shift 2
	while [[ "$1" = *=* ]]; do
		settings+=("$1")
		shift
	done
	program=$(program_of "$1" "$variant")
	shift
	env "${settings[@]}" "$gputrace" record -o "$folder" -- "$program" "$@" >"$folder.txt" 2>&1
	[ $? = "$wanted" ] || fail "$folder did not end with $wanted: $(cat "$folder.txt")"
	"$gputrace" report --json "$folder" >"$folder.json" || fail "report of $folder gave $?"
}

# plant ID "EVIDENCE=VALUE..." EXIT_CODE SETTINGS_SAMPLE_OPTIONS -- the same without the fault
plant() {
	local id=$1 evidence=$2 code=$3 with=()
	shift 3
	while [ "$1" != -- ]; do
		with+=("$1")
		shift
	done
	shift
	try "$id" "$code" "${with[@]}"
	try "$id.without" 0 "$@"
	python3 "$here/check_planted.py" "$id" "$evidence" "$id.json" "$id.without.json" ||
		fail "$id is not reported as planted, see $work"
}

plant GT603 "collectives_per_step=128 median_bytes=32768" 0 \
	SIMCUDA_GPUS=2 exposed_allreduce --ranks 2 --buckets 128 --steps 8 -- \
	SIMCUDA_GPUS=2 exposed_allreduce --ranks 2 --steps 8
plant GT705 "errors=1" 1 SIMCUDA_FAIL=cuLaunchKernel:100:719 pageable_copy --steps 12 -- \
	pageable_copy --steps 12
plant GT706 "variable=CUDA_LAUNCH_BLOCKING value=1" 0 CUDA_LAUNCH_BLOCKING=1 pageable_copy --steps 12 -- \
	pageable_copy --steps 12
plant GT408 "capacity_bytes=671088640 peak_allocated_bytes=643825664" 0 \
	SIMCUDA_MEMORY_MIB=640 pageable_copy --steps 12 -- pageable_copy --steps 12
# Pinned batches on the stream that computes; the twin copies them on one of their own.
plant GT108 "" 0 SIMCUDA_LINK_GBS=6.45 pageable_copy --mib 4 --pinned --steps 30 -- \
	SIMCUDA_LINK_GBS=6.45 pageable_copy --mib 4 --cured --steps 30
