#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: cupti_layouts.sh BUILD NAME SAMPLE [MACHINE=NAME] [SIMCUDA_NAME=VALUE...] [OPTION...]
# The GPU intervals in the trace are those of the simulated driver's log, whatever version of CUPTI
# wrote the records: 11.8, 12.0, 12.4, 12.8, 13.0.
sample=$3 table=$1/tests/cupti-table/$2
. "$(dirname "$0")/cli.sh" "$1" "$2"
shift 3
if [[ "${1-}" = MACHINE=* ]]; then
	make_machine "${1#MACHINE=}"
	shift
fi
while [[ "${1-}" = SIMCUDA_*=* ]]; do
	export "$1"
	shift
done
program=$(program_of "$sample" shared)
need_program "$program"
export SIMCUDA_TIME_SCALE=0 SIMCUDA_NCCL_DIRECTORY=$work/node
mkdir -p "$SIMCUDA_NCCL_DIRECTORY"
mkdir -p "${table%/*}"
for version in 18 19 22 26 130000; do
	before=$compared
	export SIMCUDA_CUPTI_VERSION=$version
	record "traces-$version" env SIMCUDA_LOG="$work/log-$version.%p.tsv" "$program" "$@" >/dev/null ||
		fail "exit code $? of $sample with CUPTI $version"
	for trace in "traces-$version"/*.gtrace; do
		"$gputrace" info "$trace" >info.txt || fail "no trace of $sample with CUPTI $version"
		grep -q "cupti $version" info.txt || fail "the trace does not say CUPTI $version"
		pid=$(awk '$1 == "process.pid" { print $2 }' info.txt)
		log_compare "log-$version.$pid.tsv" "$trace" "$program" shared >compared.txt
	done
	printf '%s\t%s\t%s\n' "$sample $*" "$version" $((compared - before))
done >"$table"
