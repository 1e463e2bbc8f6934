#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: owner.sh BUILD NAME
# A segment that a pool's library took is named as that pool's, in every form of the report; what the
# program took itself stays without an owner. Where a framework's allocator knows nothing of the segment
# GT405 says who has it, and not where that allocator has it.
. "$(dirname "$0")/cli.sh" "$1" "$2"
program=$build/tests/shim-programs/prog_owner
need_program "$program"
export SIMCUDA_TIME_SCALE=0 LD_LIBRARY_PATH=$build/tests/shim-programs/pool:$build/simcuda
record traces "$program" >/dev/null || fail "the program failed with the shim"
trace=$(trace_in traces) || exit 1
"$gputrace" report "$trace" >report.txt || fail "no report"
grep -q "allocated by RMM (a pool): 512.00 MiB in 1 allocation" report.txt || { cat report.txt >&2; fail "RMM is not named"; }
grep -q "allocated by the program itself, or not known: 1.00 MiB in 1 allocation" report.txt ||
	fail "what has no owner is not told apart"
"$gputrace" report --json "$trace" | python3 -c '
import json, sys
live = json.load(sys.stdin)["runs"][0]["devices"][0]["live_memory"]
owners = {o["owner"]: o for o in live["owners"]}
assert owners["RMM"]["owner_kind"] == "pool" and owners["RMM"]["bytes"] == 512 << 20, owners
assert [k for k in live["kinds"] if k["kind"] == "plain"][0]["end_bytes"] == 0, live' || fail "JSON differs"
"$gputrace" report --html page.html "$trace" >/dev/null && grep -q "allocated by RMM" page.html || fail "HTML lacks the owner"

# 512 of 2048 MiB: 25 % of the card.
for how in leave claim; do
	SIMCUDA_MEMORY_MIB=2048 record "$how" "$program" "$how" >/dev/null || fail "$how: the program failed with the shim"
	"$gputrace" report --json "$how" >"$how.json" || fail "$how: report gave $?"
done
python3 - <<'PYTHON' || fail "GT405 is not what was planted, see $work"
import json

def device(how):
    return json.load(open(how + ".json"))["runs"][0]["devices"][0]

(found,) = [f for f in device("leave")["findings"] if f["id"] == "GT405"]
evidence = found["evidence"]
assert evidence["outside_framework_bytes"] == 512 << 20, evidence
assert evidence["capacity_bytes"] == 2048 << 20 and evidence["private_pool_bytes"] == 0, evidence
assert evidence["asker_1"] == "RMM: 512.00 MiB in 1 allocations", evidence
assert "asker_2" not in evidence, evidence
assert not [f for f in device("claim")["findings"] if f["id"] == "GT405"], device("claim")["findings"]
judged = {j["id"]: j["status"] for j in device("claim")["judgements"]}
assert judged["GT405"] == "silent", judged["GT405"]
PYTHON
