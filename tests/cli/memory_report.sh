#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: memory_report.sh BUILD NAME SAMPLE VARIANT: see check_memory.py.
sample=$3 variant=$4
. "$(dirname "$0")/cli.sh" "$1" "$2"
program=$(program_of "$sample" "$variant")
need_program "$program"
export GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13
python3 "$here/check_memory.py" "$gputrace" "$sample" "$program" "$work" ||
	fail "the report of $sample is not what was planted"
