#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: owner.sh BUILD NAME
# A segment that a pool's library took is named as that pool's, in every form of the report; what the
# program took itself stays without an owner.
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
