#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: log_ranks.sh BUILD NAME VARIANT [OPTION...]: every rank's trace equals the exact log of its
# simulated driver and NCCL, and the ranks print and return the same with and without the shim.
variant=$3
. "$(dirname "$0")/cli.sh" "$1" "$2"
shift 3
program=$(program_of exposed_allreduce "$variant")
need_program "$program"
export SIMCUDA_TIME_SCALE=0 SIMCUDA_GPUS=4 SIMCUDA_NCCL_DIRECTORY=$work/node
mkdir -p "$work/node"

"$program" "$@" >plain.txt 2>plain_errors.txt || fail "exit code $? without the shim"
record traces env SIMCUDA_LOG="$work/log.%p.tsv" "$program" "$@" >traced.txt 2>traced_errors.txt ||
	fail "exit code $? with the shim"
cmp <(sort plain.txt) <(sort traced.txt) || fail "standard output differs with the shim"
cmp plain_errors.txt traced_errors.txt || fail "standard error differs with the shim"
[ -s plain.txt ] || fail "the ranks printed nothing"
[ -z "$(ls node)" ] || fail "the ranks left files behind: $(ls node)"

level=()
[ "$variant" = shared ] && readelf -d "$program" | grep -q libcudart && level=(--runtime)
for trace in traces/*.gtrace; do
	"$gputrace" dump --format tsv "$trace" >dump.tsv || fail "dump gave $?"
	pid=$("$gputrace" info "$trace" | awk '$1 == "process.pid" { print $2 }')
	python3 "$here/compare_log.py" "log.$pid.tsv" dump.tsv "${level[@]}" ||
		fail "trace and log of $pid differ, see $work"
	python3 "$here/compare_collectives.py" "log.$pid.tsv" dump.tsv ||
		fail "collectives of $pid differ, see $work"
	awk -F'\t' '/^# / { kind = $2 ? $2 : $0 } kind ~ /collective/ { print $13 }' dump.tsv |
		sort -u >"hashes.$pid"
done
ranks=$(ls traces/*.gtrace | wc -l)
[ "$ranks" = "$(wc -l <plain.txt)" ] || fail "$ranks traces of $(wc -l <plain.txt) ranks"
[ "$(cat hashes.* | grep 0x | sort -u | wc -l)" = 1 ] || fail "ranks name their communicator differently"
