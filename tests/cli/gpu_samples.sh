#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: gpu_samples.sh BUILD NAME: what the collector samples of a simulated GPU that is too hot and
# had memory errors reaches the report; without NVML the report says why it does not.
. "$(dirname "$0")/cli.sh" "$1" "$2"
program=$(program_of cross_numa driver)
need_program "$program"
tab=$'\t'
cat >hot.tsv <<END
machine${tab}hot${tab}driver=580.65.06${tab}peers=none
node${tab}0${tab}cpus=0-255${tab}memory_gib=64${tab}distances=10
port${tab}0000:15:01.0${tab}node=0${tab}gen=4${tab}width=4
gpu${tab}0000:16:00.0${tab}under=0000:15:01.0${tab}model=a100-pcie-80gb${tab}device=0x20b5${tab}throttle=72${tab}clock_share=0.7${tab}ecc_errors=3
END
"$build/simcuda/sim_machine" hot.tsv "$work/machine" || fail "the machine could not be made"
export SIMCUDA_MACHINE=$work/machine GPUTRACE_ROOT=$work/machine

# finding ID EXPRESSION WANTED, of the finding f in out.txt
finding() {
	local got
	got=$(python3 -c '
import json, sys
device = json.load(open("out.txt"))["runs"][0]["devices"][0]
f = next((f for f in device["findings"] if f["id"] == sys.argv[1]), None)
print(f and eval(sys.argv[2]))' "$1" "$2")
	[ "$got" = "$3" ] || fail "$1: $2 is $got, not $3"
}

# Samples come once a second; two under load are the least that GT701 speaks of. (About 5 s.)
GPUTRACE_NVML=$build/simcuda/libnvidia-ml.so.1 record hot "$program" --steps 8000 >/dev/null ||
	fail "the sample failed"
trace=$(trace_in hot) || exit 1
expect_exit 0 "$gputrace" report --json "$trace"
finding GT701 'f["evidence"]["held_percent"]' 100
finding GT701 '0.65 < f["evidence"]["held_mhz"] / f["evidence"]["free_mhz"] < 0.75' True
finding GT703 'f["evidence"]["ecc_errors"]' 3
finding GT704 'f' None
finding GT106 'f' None
"$gputrace" dump --format tsv --kind sample "$trace" >samples.tsv || fail "dump gave $?"
# The link under load, and not what it falls back to.
awk -F'\t' '$5 == "link_gen" && $3 == 4 { found = 1 } END { exit !found }' samples.tsv ||
	fail "the link was not seen under load"
for metric in link_width sm_clock_mhz power_mw temperature_c throttle_reasons memory_used_bytes \
	other_processes ecc_errors thread_cpu thread_node process_threads process_resident_bytes; do
	cut -f5 samples.tsv | grep -x "$metric" >/dev/null || fail "$metric was not sampled"
done
"$gputrace" info "$trace" >info.txt || fail "info gave $?"
grep -q 'nvml.simulated  *1' info.txt || fail "numbers of the simulated NVML are not labelled"

GPUTRACE_NVML=off record off "$program" --steps 50 >/dev/null || fail "the sample failed"
expect_exit 0 "$gputrace" report "$(trace_in off)"
tr -s ' \n' ' ' <out.txt >flat.txt
grep -q "GT701 not judged: the GPU's clocks were not sampled: GPUTRACE_NVML=off" flat.txt ||
	fail "the report does not say why clocks are unknown"
