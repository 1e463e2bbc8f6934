#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: placement.sh BUILD NAME VARIANT: the sample on the wrong NUMA node of a simulated machine of
# two sockets is found with its numbers, its twin on the right one is silent.
variant=$3
. "$(dirname "$0")/cli.sh" "$1" "$2"
program=$(program_of cross_numa "$variant")
need_program "$program"
allowed=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
[[ " $allowed " == *" 0 "* && " $allowed " == *" 1 "* ]] || skip "this test runs on CPUs 0 and 1"
make_machine cross-numa
python3 "$here/check_placement.py" "$gputrace" "$program" "$work" "$shim" \
	"$build/simcuda/libcupti.so.13" || fail "the report is not what was planted"
