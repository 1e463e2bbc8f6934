#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: link.sh BUILD NAME SAMPLE VARIANT: a sample that suffers from its machine's links is found
# with the numbers of the machine's description, its cured twin is silent, and both traces equal the
# driver's log and its count of live memory.
sample=$3 variant=$4
. "$(dirname "$0")/cli.sh" "$1" "$2"
program=$(program_of "$sample" "$variant")
need_program "$program"
case $sample in
downgraded_link) description=worn-slot ;;
peer_staged | shared_uplink) description=small-switch ;;
*) fail "no machine for $sample" ;;
esac
make_machine $description

for twin in "" --cured; do
	record "log$twin" env SIMCUDA_TIME_SCALE=0 SIMCUDA_LOG="$work/log$twin.tsv" "$program" \
		--steps 6 $twin >"out$twin.txt" || fail "the sample failed: $(cat "out$twin.txt")"
	trace=$(trace_in "log$twin") || exit 1
	compared=0 states=0
	log_compare "log$twin.tsv" "$trace" "$program" "$variant"
	live_compare "log$twin.tsv" "$trace" --freed
	flags_say "$sample" "log${twin:+_twin}" "$compared"
	flags_say "$sample" "live${twin:+_twin}" "$states"
done
python3 "$here/check_link.py" "$gputrace" "$sample" "$program" "$work" "$shim" \
	"$build/simcuda/libcupti.so.13" || fail "the report is not what was planted"
