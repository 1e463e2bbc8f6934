#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: cupti_report.sh BUILD NAME
# The report says where GPU times come from and what cannot be judged with them: events, a profiler of
# the program's that had CUPTI for a while, CUPTI's own cost, what CUPTI refused.
. "$(dirname "$0")/cli.sh" "$1" "$2"
program=$(program_of train_loop shared)
need_program "$program"
export SIMCUDA_TIME_SCALE=0

says() { # REGEX WHAT
	grep -qE -- "$1" report.txt || { cat report.txt >&2; fail "the report does not say $2"; }
}

GPUTRACE_GPU=events record events "$program" --steps 6 >/dev/null || fail "exit code $?"
"$gputrace" report "$(trace_in events)" >report.txt || fail "report gave $?"
says 'GT902 GPU times absent: GPU times come from pairs of events: 19 copies and [0-9]+ launches measured' "what was measured"
says 'Copies to the GPU: [0-9.]+ MiB in' "how long copies took"
says '[0-9]+ of [0-9]+ launches have no time' "how many launches were not"
says 'No GPU times in steady steps: no ledger' "that there is no ledger"
says 'GT101 .*' "what is not judged"

record shared "$build/tests/shim-programs/prog_profiler" plt again >/dev/null || fail "exit code $?"
"$gputrace" report "$(trace_in shared)" >report.txt || fail "report gave $?"
says "GT902 .*the program's own profiler had CUPTI 2 times" "that CUPTI was lent"
says 'GT908' "when nothing was recorded"

record whole "$program" --steps 6 >/dev/null || fail "exit code $?"
"$gputrace" report "$(trace_in whole)" >report.txt || fail "report gave $?"
! grep -qE 'GT902|GT908|GT91[567]|CUPTI itself' report.txt || fail "a whole recording is doubted"

SIMCUDA_CUPTI_FAULT=overhead=200000000 record costly "$build/tests/shim-programs/prog_launches" 2000 2 >/dev/null ||
	fail "exit code $?"
"$gputrace" report "$(trace_in costly)" >report.txt || fail "report gave $?"
says 'GT906 .*CUPTI itself took' "what CUPTI cost"

SIMCUDA_CUPTI_FAULT=no-memset,fail=cuptiActivityEnableAllSyncRecords record partial "$program" --steps 6 >/dev/null ||
	fail "exit code $?"
"$gputrace" report "$(trace_in partial)" >report.txt || fail "report gave $?"
says 'GT915 .*refused these kinds of records: sets \(error [0-9]+\)' "which kind is missing"
says 'GT915 .*Calls of CUPTI failed: cuptiActivityEnableAllSyncRecords.*\(27\), 1 time' "which call failed"
