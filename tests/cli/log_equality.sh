#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: log_equality.sh BUILD NAME SAMPLE VARIANT [MACHINE=NAME] [SIMCUDA_NAME=VALUE...] [OPTION...]
# The trace of a sample equals the simulated driver's exact log, what it says is live equals the
# driver's count after every call, and the sample itself prints and returns the same with and without
# the shim.
sample=$3 variant=$4
. "$(dirname "$0")/cli.sh" "$1" "$2"
shift 4
if [[ "${1-}" = MACHINE=* ]]; then
	make_machine "${1#MACHINE=}"
	shift
fi
while [[ "${1-}" = SIMCUDA_*=* ]]; do
	export "$1"
	shift
done
program=$(program_of "$sample" "$variant")
need_program "$program"
export SIMCUDA_TIME_SCALE=0

"$program" "$@" >plain.txt 2>plain_errors.txt
plain=$?
record traces env SIMCUDA_LOG="$work/log.tsv" "$program" "$@" >traced.txt 2>traced_errors.txt
traced=$?
[ $plain = $traced ] || fail "exit code $traced with the shim, $plain without"
[ $plain = 0 ] || fail "exit code $plain: $(cat plain_errors.txt)"
cmp plain.txt traced.txt || fail "standard output differs with the shim"
cmp plain_errors.txt traced_errors.txt || fail "standard error differs with the shim"
[ -s plain.txt ] || fail "the sample printed nothing"
[[ $sample-$variant != *per[_-]thread* ]] || grep -qE '_pt(sz|ds)\s' log.tsv ||
	fail "no twin for per-thread default streams was called"

trace=$(trace_in traces) || exit 1
log_compare log.tsv "$trace" "$program" "$variant"
live_compare log.tsv "$trace" --freed
twin=
[[ " $* " = *" --cured "* ]] && twin=_twin
flags_say "${FLAGS_ROW-}" "log$twin" "$compared"
flags_say "${FLAGS_ROW-}" "live$twin" "$states"
