#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: report.sh BUILD NAME SAMPLE VARIANT [--twin-only]: see check_report.py.
sample=$3 variant=$4
. "$(dirname "$0")/cli.sh" "$1" "$2"
program=$(program_of "$sample" "$variant")
need_program "$program"
export GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13
python3 "$here/check_report.py" "$gputrace" "$sample" "$program" "$work" "${@:5}" ||
	fail "the report of $sample is not what was planted"
