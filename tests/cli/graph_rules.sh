#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: graph_rules.sh BUILD NAME: with the shim, captures are spoilt by the same calls with the same
# errors, and graphs do the same, as without: the driver's own tests pass under it. And a program
# that replays graphs takes no more memory the longer it runs.
. "$(dirname "$0")/cli.sh" "$1" "$2"

for test in test_sim_capture test_sim_graph; do
	program=$build/tests/$test
	[ -x "$program" ] || skip "$test is not built here"
	readelf -d "$program" | grep -q 'NEEDED.*libcuda\.so' ||
		skip "$test has a driver of its own in this build, which nothing can be loaded before"
	"$program" >plain.txt 2>&1 || fail "$test fails without the shim"
	record "$test" "$program" >traced.txt 2>&1 || fail "$test fails with the shim: $(cat traced.txt)"
	cmp <(grep -v '^\[=*\]' plain.txt) <(grep -v '^\[=*\]' traced.txt) || fail "$test prints something else"
	found=("$test"/*.gtrace)
	[ -f "${found[0]}" ] || fail "$test was not recorded"
done

# peak STEPS: the job's highest resident memory in KiB, without the tensors of the simulated GPU.
peak() {
	rm -rf replay
	mkdir replay
	SIMCUDA_TIME_SCALE=0 LD_PRELOAD="$shim" GPUTRACE_OUT=$work/replay GPUTRACE_STACKS=off \
		GPUTRACE_CUPTI="$build/simcuda/libcupti.so.13" python3 - "$@" <<'PYTHON'
import os
import subprocess
import sys

child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
assert status == 0, status
print(usage.ru_maxrss)
PYTHON
}

program=$(program_of launch_bound driver)
need_program "$program"
short=$(peak "$program" --cured --kernels 1 --steps 20000) || fail "the short replay failed"
long=$(peak "$program" --cured --kernels 1 --steps 200000) || fail "the long replay failed"
echo "peak resident memory: $short KiB after 20,000 replays, $long KiB after 200,000"
# Rings of a thread grow to 4 MiB, and CUPTI's buffers to what one period needs.
[ "$long" -le $((short + 24576)) ] || fail "memory grows with the number of replays"
