#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a job did past the recorder, and how its stacks were found, stands in the trace also when the job
# was killed: it never came to the end, at which all of it used to be told.
. "$(dirname "$0")/cli.sh" "$1" "$2"
program=$build/tests/shim-programs/prog_killed
plugin=$build/tests/shim-programs/libshim_plugin_12.so
need_program "$program"
export GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13 GPUTRACE_OUT=$work/traces
export LD_LIBRARY_PATH=$build/simcuda:$build/tests/shim-programs/majors

info_of_run() { # COMMAND...: info of the trace of a command
	rm -rf traces
	mkdir traces
	{ env LD_PRELOAD="$shim" "$@"; } >run.txt 2>&1
	expect_exit 0 "$gputrace" info --json "$(trace_in traces)"
	mv out.txt info.json
}

fact_is() { # KEY VALUE: an empty value is a fact that must not be there
	python3 - "$1" "$2" <<-'END' || fail "$1 is not \"$2\" in $work/info.json"
		import json, sys
		facts = json.load(open("info.json"))["traces"][0]["session"]
		sys.exit(str(facts.get(sys.argv[1], "")) != sys.argv[2])
	END
}

for end in "" end; do
	info_of_run "$program" "$plugin" 2.2 $end
	grep -qx "7 calls were refused, the library's gave 1012" run.txt || fail "the test itself: $(cat run.txt)"
	fact_is calls.not_supported 7
	fact_is calls.past "libshim_plugin_12.so: cudaMalloc"
	fact_is stacks.policy all
done

# Killed at once: numbers lie in shared memory, stacks are told as soon as they are known.
info_of_run "$program" "$plugin" 0
fact_is calls.not_supported 7
fact_is stacks.policy all
info_of_run env GPUTRACE_GPU=off GPUTRACE_STACKS=native "$program" "$plugin" 0
fact_is calls.not_supported 7
fact_is stacks.policy native
fact_is python.version ""

python=$(command -v /usr/bin/python3) || skip "no Python beside the rest"
cat >killed.py <<-'END'
	import ctypes, os, signal
	runtime = ctypes.PyDLL("libcudart.so.13") # holds the GIL meanwhile
	memory = ctypes.c_void_p()
	assert runtime.cudaMalloc(ctypes.byref(memory), 4096) == 0
	assert runtime.cudaMemset(memory, 0, 4096) == 0
	os.kill(os.getpid(), signal.SIGKILL)
END
info_of_run "$python" killed.py
fact_is calls.not_supported ""
fact_is calls.past ""
fact_is python.version "$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
fact_is python.frames "read and confirmed by the interpreter"
