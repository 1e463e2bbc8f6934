#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: log_ranks.sh BUILD NAME SAMPLE VARIANT [OPTION...]: every rank's trace equals the exact log of
# its simulated driver and NCCL and the driver's count of live memory, and the ranks print and return
# the same with and without the shim.
sample=$3 variant=$4
. "$(dirname "$0")/cli.sh" "$1" "$2"
shift 4
program=$(program_of "$sample" "$variant")
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

for trace in traces/*.gtrace; do
	pid=$("$gputrace" info "$trace" | awk '$1 == "process.pid" { print $2 }')
	log_compare "log.$pid.tsv" "$trace" "$program" "$variant"
	live_compare "log.$pid.tsv" "$trace" --freed
	python3 "$here/compare_collectives.py" "log.$pid.tsv" dump.tsv ||
		fail "collectives of $pid differ, see $work"
	awk -F'\t' '/^# / { kind = $2 ? $2 : $0 } kind ~ /collective/ { print $13 }' dump.tsv |
		sort -u >"hashes.$pid"
done
ranks=$(ls traces/*.gtrace | wc -l)
[ "$ranks" = "$(wc -l <plain.txt)" ] || fail "$ranks traces of $(wc -l <plain.txt) ranks"
[ "$(cat hashes.* | grep 0x | sort -u | wc -l)" = 1 ] || fail "ranks name their communicator differently"
twin=
[[ " $* " = *" --cured "* ]] && twin=_twin
flags_say "${FLAGS_ROW-}" "log$twin" "$compared"
flags_say "${FLAGS_ROW-}" "live$twin" "$states"
