#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: resting_link.sh BUILD NAME VARIANT: a whole link that sleeps most of the time, and shows
# generation 1 then, is not called degraded; trace and log agree.
variant=$3
. "$(dirname "$0")/cli.sh" "$1" "$2"
row="downgraded_link --pause-ms"
program=$(program_of downgraded_link "$variant")
need_program "$program"
make_machine light-sleeper
record traces env SIMCUDA_LOG="$work/log.tsv" "$program" --pause-ms 40 --steps 30 >out.txt ||
	fail "the sample failed: $(cat out.txt)"
trace=$(trace_in traces) || exit 1
log_compare log.tsv "$trace" "$program" "$variant"
live_compare log.tsv "$trace" --freed
flags_say "$row" log "$compared"
flags_say "$row" live "$states"

# What the collector saw of the link, look by look: without generation 1 nothing would be shown here.
looks=$(awk -F'\t' '$NF == "link_gen"' dump.tsv | wc -l)
asleep=$(awk -F'\t' '$NF == "link_gen" && $3 == 1' dump.tsv | wc -l)
[ "$asleep" -gt 0 ] || fail "in $looks looks the link was never seen asleep"
"$gputrace" report --json "$trace" >report.json || fail "report gave $?"
python3 - report.json <<'PYTHON' || fail "a link that rests is called degraded"
import json
import sys

device = json.load(open(sys.argv[1], encoding="utf-8"))["runs"][0]["devices"][0]
sys.exit("GT106" in [f["id"] for f in device["findings"]] or not device["ledger"]["step_ms"])
PYTHON
flags_say "$row" finding "silent, gen 1 in $asleep of $looks looks"
