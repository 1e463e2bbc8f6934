#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What frameworks say of themselves: NVTX marks, allocator reports. usage: frameworks.sh BUILD_DIR CASE
. "$(dirname "$0")/../shim/shim_lib.sh"
fw=$build/tests/framework-programs
unset NVTX_INJECTION64_PATH

needs() {
	[ -e "$fw/$1" ] || skip "$2"
}

no_files() {
	sleep 0.2
	[ -z "$(ls "$out")" ] || fail "a session was opened: $(ls "$out")"
}

mark() { # REGEX WHAT
	has "$work/dump.txt" "^mark\t$1" "$2"
}

case_nvtx3_events_are_recorded() {
	needs prog_nvtx "no NVTX v3 headers"
	same_with_and_without "$fw/prog_nvtx" marks
	dump >"$work/dump.txt"
	mark 'type=instant\tsource=1\tname=instant\t.*ns=ok' "an instant"
	mark 'type=instant\tsource=1\tname=wide instant 𝄞\t' "a wide text, as UTF-8"
	mark 'type=range\tsource=1\tname=outer\t.*ns=ok' "a range"
	mark 'type=range\tsource=1\tname=inner\t.*ns=ok' "a range in it"
	mark 'type=range\tsource=1\tname=registered text\tdomain=library\tvalue=-5\tcategory=7\t' \
		"domain, registered text, category, signed payload"
	mark 'type=instant\tsource=1\tname=registered text\tdomain=wït€\tvalue=99\t' \
		"unsigned payload"
	mark 'type=range\tsource=1\tname=in the default domain\tdomain=-\t.*ns=ok' \
		"ranges nest within their own domain"
	mark 'type=span\tsource=1\tname=first span\t' "start and end"
	mark 'type=range\tsource=1\tname=never closed\t.*ns=open' "what is open at the end"
	[ "$(count "$work/dump.txt" '^mark\t.*source=1\t')" -eq 12 ] || fail "12 NVTX marks"
	has_not "$work/dump.txt" 'UNNAMED|ns=BAD' "all have names and times"
}

case_payloads_are_read_by_their_schema() {
	needs prog_nvtx "no NVTX v3 headers"
	traced "$fw/prog_nvtx" marks >/dev/null
	dump >"$work/dump.txt"
	mark 'type=range\t.*name=ncclSend\tdomain=NCCL\tvalue=1048576\t.*communicator=0x1234567890abcdef\tpeer=3\t' \
		"communicator, bytes and peer"
}

case_c_programs_name_steps_and_phases() {
	needs prog_nvtx "no NVTX v3 headers"
	traced "$fw/prog_nvtx" marks >/dev/null
	dump >"$work/dump.txt"
	for step in 10 11 12; do
		mark "type=range\tsource=3\tname=step\tdomain=-\tvalue=$step\t.*ns=ok" "step $step"
	done
	[ "$(count "$work/dump.txt" '^mark\ttype=range\tsource=3\tname=phase\tdomain=gputrace')" -eq 3 ] || fail "3 phases"
	[ "$(count "$work/dump.txt" '^mark\ttype=instant\tsource=3\tname=a point\t')" -eq 3 ] || fail "3 instants"
}

case_marks_alone_open_no_session() {
	needs prog_nvtx "no NVTX v3 headers"
	same_with_and_without "$fw/prog_nvtx" quiet
	[ ! -s "$work/with.txt" ] && [ ! -s "$work/with-err.txt" ] || fail "something was printed"
	no_files
}

case_what_ended_before_the_session_is_counted() {
	needs prog_nvtx "no NVTX v3 headers"
	traced "$fw/prog_nvtx" threads
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^info\tmarks.before_session=2$' "two marks came too early"
	mark 'type=range\t.*name=open when the session begins\t.*ns=ok' "an open range begins with the session"
	has_not "$work/dump.txt" 'gone before|gone too' "they are not recorded"
	mark 'type=span\t.*name=handed over\t' "a span that another thread ends"
	awk -F '\t' '$1 == "mark" { split($10, t, "="); if (/on the other thread/) other = t[2]
		if (/handed over/) ended = t[2]; if (/open when/) main = t[2] }
		END { exit !(other && other == ended && other != main) }' "$work/dump.txt" ||
		fail "marks carry their thread"
}

case_ranges_nested_too_deep_are_counted() {
	needs prog_nvtx "no NVTX v3 headers"
	traced "$fw/prog_nvtx" nested
	dump >"$work/dump.txt"
	[ "$(count "$work/dump.txt" '^mark\t.*name=deep\t.*ns=ok')" -eq 31 ] || fail "31 levels and the outer one"
	has "$work/dump.txt" '^info\tmarks.not_kept=9$' "the other 9 are counted"
	mark 'type=range\t.*name=open when the session begins\t' "pops still match"
}

case_texts_without_end_keep_their_names() {
	needs prog_nvtx "no NVTX v3 headers"
	# More texts than there is room for; the test's collector looks names up slowly, so the real one.
	[ -x "$build/bin/gputrace" ] && [ -x "$build/bin/gputrace-collector" ] || skip "no viewer"
	GPUTRACE_COLLECTOR=$build/bin/gputrace-collector GPUTRACE_RING_KIB=8192 traced "$fw/prog_nvtx" many 20000
	"$build/bin/gputrace" dump "$out"/*.gtrace >"$work/dump.txt"
	[ "$(grep -o 'number [0-9]* of many' "$work/dump.txt" | sort -u | wc -l)" -eq 20000 ] ||
		fail "$(grep -o 'number [0-9]* of many' "$work/dump.txt" | sort -u | wc -l) names of 20000"
}

case_another_tool_keeps_its_injection() {
	needs prog_nvtx "no NVTX v3 headers"
	export NVTX_INJECTION64_PATH=/nonexistent/tool.so
	same_with_and_without "$fw/prog_nvtx" marks
	dump >"$work/dump.txt"
	has_not "$work/dump.txt" '^mark\t.*source=1\t' "NVTX is the other tool's"
	mark 'type=range\tsource=3\tname=step\t' "gputrace.h works all the same"
	[ "$(traced sh -c 'echo $NVTX_INJECTION64_PATH')" = "$NVTX_INJECTION64_PATH" ] || fail "the variable changed"
}

case_the_variable_names_the_shim() {
	[ "$(cd "$build/lib" && preload=./libgputrace.so traced bash -c 'echo $NVTX_INJECTION64_PATH')" = \
		"$(realpath "$shim")" ] || fail "a relative path, read by bash"
	[ "$(traced sh -c 'echo $NVTX_INJECTION64_PATH')" = "$(realpath "$shim")" ] || fail "read by sh"
	[ -z "$(GPUTRACE=off traced sh -c 'echo $NVTX_INJECTION64_PATH')" ] || fail "set although switched off"
	no_files
}

case_a_copy_that_only_nvtx_opens_is_inert() {
	needs prog_nvtx "no NVTX v3 headers"
	"$fw/prog_nvtx" marks >"$work/plain.txt" 2>&1
	GPUTRACE_COLLECTOR=$progs/ring_dump GPUTRACE_OUT=$out NVTX_INJECTION64_PATH=$shim \
		"$fw/prog_nvtx" marks >"$work/with.txt" 2>&1
	cmp -s "$work/plain.txt" "$work/with.txt" || fail "the output differs"
	no_files
}

case_forked_children_mark_into_their_own_session() {
	needs prog_nvtx "no NVTX v3 headers"
	same_with_and_without "$fw/prog_nvtx" fork
	dumps 2
	cat "$out"/ring.*.txt >"$work/dump.txt"
	[ "$(count "$work/dump.txt" '^mark\ttype=range\tsource=1\tname=open across the fork\t.*ns=ok')" -eq 2 ] ||
		fail "both processes close the range, each begins it in its own session"
	[ "$(count "$work/dump.txt" '^mark\t.*name=in the child\t')" -eq 1 ] || fail "one mark of the child"
	has_not "$work/dump.txt" 'UNNAMED|ns=BAD' "names are written to each session"
}

nvtx2_marks() {
	dump >"$work/dump.txt"
	mark 'type=range\tsource=1\tname=v2 range\t.*ns=ok' "a range"
	mark 'type=instant\tsource=1\tname=v2 wide\t' "a wide text"
	mark 'type=range\tsource=1\tname=v2 registered\tdomain=v2 domain\tvalue=123456789012\tcategory=4\t' "an event"
	mark 'type=span\tsource=1\tname=v2 first\t' "a span"
	mark 'type=span\tsource=1\tname=v2 second\t' "another one beside it"
	[ "$(count "$work/dump.txt" '^mark\t')" -eq 6 ] || fail "6 marks, each once"
}

case_nvtx2_functions_are_recorded() {
	export LD_LIBRARY_PATH=$fw:$LD_LIBRARY_PATH
	same_with_and_without "$fw/prog_nvtx2"
	nvtx2_marks
}

# Directory of a library that is installed with some Python, or nothing.
python_library() { # PATTERN
	python3 - "$1" <<-'END' 2>/dev/null
		import glob, os, site, sys
		roots = site.getsitepackages() + [site.getusersitepackages()]
		found = [f for r in roots for f in glob.glob(os.path.join(r, sys.argv[1]))]
		print(os.path.dirname(found[0]) if found else "")
	END
}

case_real_nvtx2_library_is_recorded_once() {
	local directory=${TEST_NVTX2_DIR:-$(python_library 'nvidia/nvtx/lib/libnvToolsExt.so.1')}
	[ -n "$directory" ] || skip "no libnvToolsExt.so.1; the wheel nvidia-nvtx-cu12 below 12.9 has it"
	export LD_LIBRARY_PATH=$directory:$LD_LIBRARY_PATH
	same_with_and_without "$fw/prog_nvtx2"
	nvtx2_marks
	rm "$out"/*
	export NVTX_INJECTION64_PATH=/nonexistent/tool.so
	same_with_and_without "$fw/prog_nvtx2"
	nvtx2_marks
}

find_nccl() {
	local directory
	for directory in $(cat "$progs/toolkit_lib" 2>/dev/null) /usr/lib/"$(uname -m)"-linux-gnu \
		"$(python_library 'nvidia/nccl/lib/libnccl.so.2')"; do
		[ -e "$directory/libnccl.so.2" ] && echo "$directory/libnccl.so.2" && return
	done
	skip "no libnccl.so.2"
}

case_real_nccl_names_its_collectives() {
	local nccl
	nccl=$(find_nccl)
	[ -e "$nccl" ] || skip "no libnccl.so.2"
	unset NCCL_DEBUG NCCL_NVTX_DISABLE
	same_with_and_without "$fw/prog_nccl" "$nccl" cuda
	dump >"$work/dump.txt"
	mark 'type=range\tsource=1\tname=ncclAllReduce\tdomain=NCCL\tvalue=64\t.*ns=ok' "bytes of an all-reduce"
	mark 'type=range\tsource=1\tname=ncclBroadcast\tdomain=NCCL\tvalue=64\t.*peer=3\t' "root of a broadcast"
	mark 'type=range\tsource=1\tname=ncclSend\tdomain=NCCL\tvalue=32\t.*peer=5\t' "peer of a send"
	mark 'type=range\tsource=1\tname=ncclGroupStart\tdomain=NCCL\t' "groups"
}

case_real_nccl_alone_opens_no_session() {
	local nccl
	nccl=$(find_nccl)
	[ -e "$nccl" ] || skip "no libnccl.so.2"
	unset NCCL_DEBUG NCCL_NVTX_DISABLE
	same_with_and_without "$fw/prog_nccl" "$nccl"
	no_files
}

# ---- what the report makes of it ----

# Runs a command with the real collector and prints its report as JSON.
report_of() { # COMMAND...
	[ -x "$build/bin/gputrace" ] && [ -x "$build/bin/gputrace-collector" ] || skip "no viewer"
	unset SIMCUDA_TIME_SCALE
	GPUTRACE_COLLECTOR=$build/bin/gputrace-collector traced "$@" >/dev/null
	"$build/bin/gputrace" report --json "$out"/*.gtrace >"$work/report.json"
	"$build/bin/gputrace" report "$out"/*.gtrace >"$work/report.txt"
	rm "$out"/*.gtrace
}

# The first device's figures against a Python expression over steps, device, phases (by name).
report_says() { # EXPRESSION
	python3 - "$work/report.json" "$1" <<-'END' || fail "the report disagrees: $1"
		import json, sys
		run = json.load(open(sys.argv[1]))["runs"][0]
		steps, device = run["steps"], run["devices"][0]
		memory = device["framework_memory"]
		phases = {row["phase"]: row for row in (device["phases"] or {}).get("rows", [])}
		sys.exit(0 if eval(sys.argv[2]) else 1)
	END
}

# 4, 8 and 2 memsets of 64 MiB: GPU times are as 2 to 4 to 1.
phases_are_right() {
	report_says 'device["phases"]["attributed_percent"] > 95'
	report_says '[phases[p]["operations"] for p in ("forward", "backward", "optimizer")] == [4, 8, 2]'
	report_says 'abs(phases["backward"]["gpu_ms"] / phases["forward"]["gpu_ms"] - 2) < 0.05'
	report_says 'abs(phases["forward"]["gpu_ms"] / phases["optimizer"]["gpu_ms"] - 2) < 0.05'
	for label in forward backward optimizer; do
		grep -qP "^  $label +[0-9.]+ ms on the GPU" "$work/report.txt" || fail "no line for $label"
	done
}

case_ranges_give_steps_and_phases() {
	needs prog_phases "no NVTX v3 headers"
	report_of "$fw/prog_phases" nvtx 20
	report_says 'steps["found_by"] == "marks" and steps["count"] == 20 and steps["marked_by"] == "ranges"'
	report_says 'device["phases"]["found_by"] == "ranges" and phases["forward"]["host_ms"] > 0'
	phases_are_right
}

case_steps_of_torch_profiler_are_known() {
	needs prog_phases "no NVTX v3 headers"
	report_of "$fw/prog_phases" torch 20
	report_says 'steps["count"] == 20 and steps["marked_by"] == "torch_profiler"'
	phases_are_right
}

case_gputrace_step_gives_steps() {
	needs prog_phases "no NVTX v3 headers"
	report_of "$fw/prog_phases" own 20
	report_says 'steps["count"] == 20 and steps["marked_by"] == "gputrace_step"'
	report_says 'steps["marked_time_percent"] > 99.9'
	phases_are_right
}

case_python_frames_give_phases() {
	local lib=$work/site-packages/torch
	mkdir -p "$lib/nn/modules" "$lib/optim"
	cat >"$lib/nn/modules/module.py" <<-'END'
		def _call_impl(work):
		    work(4)
	END
	cat >"$lib/_tensor.py" <<-'END'
		def backward(work):
		    work(8)
	END
	cat >"$lib/optim/sgd.py" <<-'END'
		def step(work):
		    work(2)
	END
	cat >"$work/train.py" <<-'END'
		import ctypes, sys
		sys.path.insert(0, sys.argv[1])
		from torch.nn.modules import module
		from torch.optim import sgd
		from torch import _tensor
		cuda = ctypes.CDLL("libcudart.so.13")
		memory, result = ctypes.c_void_p(), ctypes.c_int()
		if cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(1 << 26)):
		    sys.exit(1)
		def work(count):
		    for n in range(count):
		        cuda.cudaMemsetAsync(memory, n, ctypes.c_size_t(1 << 26), None)
		for step in range(20):
		    module._call_impl(work)
		    _tensor.backward(work)
		    sgd.step(work)
		    cuda.cudaMemcpy(ctypes.byref(result), memory, ctypes.c_size_t(4), 2)
	END
	report_of python3 "$work/train.py" "$work/site-packages"
	report_says 'device["phases"]["found_by"] == "python_frames"'
	report_says '"host_ms" not in phases["forward"]'
	phases_are_right
}

case_reserved_and_allocated_memory_are_reported() {
	needs fake_torch "no C++ compiler"
	report_of "$fw/fake_torch" 2 steps
	report_says 'memory["peak_allocated_bytes"] == 96 << 20 and memory["reserved_at_peak_bytes"] == 96 << 20'
	report_says 'memory["peak_reserved_bytes"] == 112 << 20 and memory["allocations"] == memory["frees"] == 9'
	report_says 'memory["out_of_memory"] == memory["allocator_retries"] == 0'
	grep -q "peak 96.0 MiB allocated of 96.0 MiB reserved (0 % idle); at most 112.0 MiB reserved" \
		"$work/report.txt" || fail "the text says something else"
}

case_memory_at_a_failure_is_reported() {
	needs fake_torch "no C++ compiler"
	report_of "$fw/fake_torch" 2 oom
	report_says 'memory["out_of_memory"] == 1 and memory["allocator_retries"] == 0'
	report_says 'memory["out_of_memory_events"][0]["wanted_bytes"] == 1 << 50'
	report_says 'memory["out_of_memory_events"][0]["allocated_bytes"] == 48 << 20'
	report_says '"fake_torch" in memory["out_of_memory_events"][0]["site"]'
	# A petabyte is more than the card, whatever is in use.
	report_says '[f["id"] for f in device["findings"]] == ["GT402"]'
	report_says 'device["findings"][0]["evidence"]["requested_bytes"] == 1 << 50'
	report_says '"fake_torch" in device["findings"][0]["site"]'
	report_says 'device["memory_map"]["when"] == "at the last failed request"'
	report_says 'device["memory_map"]["pools"][-1]["allocated_bytes"] == 48 << 20'
	report_says 'device["memory_map"]["pools"][-1]["fragmented_bytes"] == 0'
	grep -q "out of memory at .*1073741824.0 MiB asked for, 48.0 MiB allocated of 48.0 MiB reserved; at .*fake_torch" \
		"$work/report.txt" || fail "the text says something else"
}

case_allocator_retries_are_reported() {
	needs fake_torch "no C++ compiler"
	SIMCUDA_OOM_AT=1000000000 report_of "$fw/fake_torch" 2 retry 1000000000
	report_says 'memory["allocator_retries"] == 1 and memory["out_of_memory"] == 0'
	report_says '[f["id"] for f in device["findings"]] == ["GT406"]'
	report_says 'device["findings"][0]["evidence"]["recovered_requests"] == 1'
	grep -q "1 allocator retry" "$work/report.txt" || fail "the text says something else"
}

# ---- allocator reports ----

case_blocks_carry_the_allocators_totals() {
	needs fake_torch "no C++ compiler"
	for release in 1.13 2; do
		rm -f "$out"/*
		same_with_and_without "$fw/fake_torch" $release steps
		dump >"$work/dump.txt"
		[ "$(count "$work/dump.txt" '^block\t')" -eq 18 ] || fail "18 reports of release $release"
		has "$work/dump.txt" '^block\top=1\tbytes=67108864\taddress=0x[0-9a-f]{4,}\tallocated=100663296\treserved=100663296\tdevice=0\tsite=known' "the peak"
		has "$work/dump.txt" '^block\top=2\tbytes=33554432\t.*allocated=0\treserved=117440512\tdevice=0\tsite=none' "the last free"
	done
}

case_releases_without_totals_are_added_up() {
	needs fake_torch "no C++ compiler"
	same_with_and_without "$fw/fake_torch" 1.9 steps
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^block\top=1\tbytes=67108864\t.*allocated=100663296\treserved=0\tdevice=0' "what is allocated"
	has "$work/dump.txt" '^block\top=2\tbytes=33554432\t.*allocated=0\treserved=0\t' "nothing at the end"
}

case_out_of_memory_is_recorded() {
	needs fake_torch "no C++ compiler"
	for release in 1.13 2; do
		rm -f "$out"/*
		same_with_and_without "$fw/fake_torch" $release oom
		dump >"$work/dump.txt"
		has "$work/dump.txt" '^block\top=8\tbytes=1125899906842624\taddress=0x0\tallocated=50331648\treserved=50331648\tdevice=0\tsite=known' "request and totals after the cache was given back"
	done
}

case_reports_open_no_session() {
	needs fake_torch "no C++ compiler"
	same_with_and_without "$fw/fake_torch" 2 cpu
	no_files
}

case_a_first_report_does_not_wait_for_the_loader() {
	needs prog_c10_late "no C++ compiler"
	cp "$progs/libshim_next.so" "$work"
	mkfifo "$work/libshim_next_dependency.so"
	same_with_and_without timeout 30 "$fw/prog_c10_late" "$fw/libc10_cuda.so" "$work/libshim_next.so" \
		"$work/libshim_next_dependency.so"
	grep -q '^allocated$' "$work/with.txt" || fail "$(cat "$work/with.txt")"
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^block\top=1\tbytes=1048576\t.*allocated=1048576\t' "the report"
}

# A real libc10 with its own profiler, which hears all that it hears without the shim.
real_c10() { # PROGRAM
	same_with_and_without "$fw/$1"
	[ "$(grep -c '^usage' "$work/with.txt")" -eq 3 ] && grep -q '^out of memory' "$work/with.txt" ||
		fail "the profiler heard: $(cat "$work/with.txt")"
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^block\top=1\tbytes=67108864\taddress=0x7000000000\tallocated=100663296\treserved=134217728\tdevice=0\tsite=known' "a block"
	has "$work/dump.txt" '^block\top=2\tbytes=67108864\t.*allocated=33554432\treserved=134217728\tdevice=0' "its free"
	has "$work/dump.txt" '^block\top=8\tbytes=1125899906842624\t.*allocated=33554432\treserved=134217728\tdevice=0' "the failure"
	[ "$(count "$work/dump.txt" '^block\t')" -eq 3 ] || fail "the CPU's block is none of the GPU's"
}

case_real_libc10_of_debian_reports_to_both() {
	needs real_c10_debian "no libtorch-dev"
	real_c10 real_c10_debian
}

case_real_libc10_of_a_wheel_reports_to_both() {
	needs wheel/real_c10_wheel "no PyTorch was named by GPUTRACE_TORCH"
	real_c10 wheel/real_c10_wheel
}

case_a_full_ring_is_not_waited_for_in_a_report() {
	needs fake_torch "no C++ compiler"
	export GPUTRACE_TEST_RING_DUMP=slow GPUTRACE_ON_FULL=wait GPUTRACE_RING_KIB=32 GPUTRACE_MEMORY_MIB=1
	command -v strace >/dev/null || skip "no strace"
	GPUTRACE_COLLECTOR=$progs/ring_dump GPUTRACE_OUT=$out strace -f -o "$work/calls.txt" \
		-e trace=nanosleep,clock_nanosleep,write -E LD_PRELOAD="$shim" "$fw/fake_torch" 2 flood >/dev/null
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^dropped\tkind=24\tcount=[1-9]' "what finds no room is counted"
	# Until all is reported; the session's end may wait for room.
	awk '/write\(1, .* reports/ { done = 1; exit }
		/nanosleep\(.*tv_nsec=50000\}/ { waits++ }
		END { exit !done || waits }' "$work/calls.txt" || fail "a report waited for room"
}

case_real_torch_profiles_the_same_memory() {
	python3 -c 'import torch' 2>/dev/null || skip "no torch for python3"
	cat >"$work/profile.py" <<-'END'
		import torch
		from torch.profiler import ProfilerActivity, profile
		with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
		    for n in (1000, 2000):
		        torch.ones(n, n).sum()
		print(sorted((e.key, e.count, getattr(e, "self_cpu_memory_usage", 0)) for e in seen.key_averages()
		             if "ones" in e.key or "memory" in e.key))
	END
	same_with_and_without python3 "$work/profile.py"
	grep -q ones "$work/with.txt" || fail "the profiler saw nothing"
	no_files
}

shim_main "$@"
