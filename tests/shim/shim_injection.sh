#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The second way in: the driver loads the shim because CUDA_INJECTION64_PATH names it.
. "$(dirname "$0")/shim_lib.sh"
[ -e "$sim/libcupti.so.13" ] || skip "no simulated CUPTI"

runtime=$progs/prog_runtime

injected() {
	preload='' CUDA_INJECTION64_PATH=$shim traced "$@"
}

# Records against the driver's calls only: nothing else is seen this way.
matches_driver_log() {
	grep -Pv '^rt\t' "$(ls "$work"/log.[0-9]*)" >"$work/driver-log"
	matches_log "$1" "$work/driver-log"
}

same_when_injected() {
	"$@" >"$work/plain.txt" 2>"$work/plain-err.txt"
	SIMCUDA_LOG=$work/log.%p injected "$@" >"$work/with.txt" 2>"$work/with-err.txt"
	cmp -s "$work/plain.txt" "$work/with.txt" || fail "standard output differs: $*"
	cmp -s "$work/plain-err.txt" "$work/with-err.txt" || fail "standard error differs: $*"
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^info\tcalls.source=CUPTI' "the trace says what this way sees"
	has "$work/dump.txt" '^device\tordinal=0\tname=NVIDIA A100.*simulated=1\tmemory=85899345920' "the device"
	has_not "$work/dump.txt" 'UNNAMED|UNKNOWN|ns=BAD' "every number has its name, every time is a time"
	has_not "$work/dump.txt" 'api=cuda' "no call twice"
}

case_a_static_runtime_is_recorded_without_preload() {
	[ -x "$progs/prog_kernels_static" ] || skip "nvcc not found"
	same_when_injected "$progs/prog_kernels_static"
	matches_driver_log "$work/dump.txt"
	has "$work/dump.txt" '^launch\t.*kernel=_Z4axpyIfEvPT_S0_i' "the kernel has its name"
}

case_a_shared_runtime_is_recorded_without_preload() {
	same_when_injected "$runtime" copy 3
	matches_driver_log "$work/dump.txt"
	# Work of the GPU has the correlation of its call.
	awk -F '\t' '
		function get(key,   i) { for (i = 2; i <= NF; i++) if (index($i, key "=") == 1) return substr($i, length(key) + 2) }
		$1 == "copy" { call[get("correlation")] = get("bytes") }
		$1 == "gpu_copy" { n++; if (call[get("correlation")] != get("bytes")) bad++ }
		END { exit bad || n != 9 }' "$work/dump.txt" || fail "GPU copies carry the id of their call"
}

case_every_way_to_the_driver_is_recorded_without_preload() {
	for mode in dlsym gpa; do
		rm -f "$out"/* "$work"/log.*
		same_when_injected "$progs/prog_driver" $mode
		matches_driver_log "$work/dump.txt"
		has "$work/dump.txt" 'cuMemcpyHtoDAsync_v2.*bytes=1000.*source=pinned' "pinned is seen"
	done
}

case_failed_calls_are_recorded_as_failed() {
	injected "$runtime" fail >/dev/null
	dump >"$work/dump.txt"
	has "$work/dump.txt" 'memory\tapi=cuMemAlloc_v2\tstatus=2\t.*address=0x0' "a failed allocation has no address"
}

case_python_by_ctypes_is_recorded_without_preload() {
	command -v python3 >/dev/null || skip "no python3"
	cat >"$work/job.py" <<-'END'
		import ctypes
		cudart = ctypes.CDLL("libcudart.so.13")
		p = ctypes.c_void_p()
		def upload():
		    host = ctypes.create_string_buffer(1 << 16)
		    print(cudart.cudaMemcpy(p, host, 1 << 16, 1))
		print(cudart.cudaMalloc(ctypes.byref(p), 1 << 16))
		upload()
	END
	same_when_injected python3 "$work/job.py"
	has "$work/dump.txt" '^copy\tapi=cuMemcpyHtoD_v2.*bytes=65536\tdirection=h2d' "the copy"
	has "$work/dump.txt" '^gpu_copy\t.*bytes=65536' "and the GPU's"
}

case_threads_have_their_own_calls() {
	command -v python3 >/dev/null || skip "no python3"
	cat >"$work/job.py" <<-'END'
		import ctypes, threading
		cudart = ctypes.CDLL("libcudart.so.13")
		def work():
		    p = ctypes.c_void_p()
		    for i in range(200):
		        assert cudart.cudaMalloc(ctypes.byref(p), 4096) == 0
		        assert cudart.cudaFree(p) == 0
		threads = [threading.Thread(target=work) for i in range(8)]
		for t in threads: t.start()
		for t in threads: t.join()
	END
	injected python3 "$work/job.py"
	dump >"$work/dump.txt"
	[ "$(count "$work/dump.txt" '^memory\tapi=cuMemAlloc_v2\tstatus=0')" -eq 1600 ] || fail "not every allocation"
	[ "$(count "$work/dump.txt" '^memory\tapi=cuMemFree_v2\tstatus=0')" -eq 1600 ] || fail "not every free"
	[ "$(sed -n 's/^memory.*\tthread=\([0-9]*\).*/\1/p' "$work/dump.txt" | sort | uniq -c | awk '$1 == 400' | wc -l)" -eq 8 ] ||
		fail "eight threads with 400 calls each"
}

case_captures_and_graphs_are_recorded_without_preload() {
	same_when_injected "$progs/prog_capture" thread
	has "$work/dump.txt" '^graph\tapi=cuGraphLaunch\t.*nodes=3\b' "nodes of a graph are counted"
	has "$work/dump.txt" '^memory\tapi=cuMemAllocAsync\t.*flags=(2|3|6|7|10|11|14|15)\b' "captured"
}

# The wrappers record; the injection of the same file finds the session open.
case_preload_and_injection_are_one_session() {
	CUDA_INJECTION64_PATH=$shim SIMCUDA_LOG=$work/log.%p traced "$runtime" copy 3 >/dev/null
	dump >"$work/dump.txt"
	matches_log "$work/dump.txt" "$(ls "$work"/log.[0-9]*)"
	has_not "$work/dump.txt" '^info\tcalls.source' "by the wrappers"
	rm -f "$out"/* "$work"/log.*
	mkdir "$work/other"
	cp "$shim" "$work/other/"
	CUDA_INJECTION64_PATH=$work/other/libgputrace.so SIMCUDA_LOG=$work/log.%p traced "$runtime" copy 3 >/dev/null
	dump >"$work/dump.txt"
	matches_log "$work/dump.txt" "$(ls "$work"/log.[0-9]*)"
}

case_switched_off_nothing_is_recorded() {
	GPUTRACE=off injected "$runtime" copy >/dev/null
	dumps 0
}

case_without_cupti_the_trace_says_why_it_is_empty() {
	mkdir "$work/lib"
	ln -s "$sim"/libcuda.so.1 "$sim"/libcudart.so.13 "$work/lib/"
	LD_LIBRARY_PATH=$work/lib injected "$runtime" copy >/dev/null
	dump >"$work/dump.txt"
	has "$work/dump.txt" '^info\tgpu_times.reason=.*CUPTI' "the reason"
	has "$work/dump.txt" '^info\tcalls.missing=no call is recorded' "and what it means"
	has_not "$work/dump.txt" '^(copy|memory)\t' "nothing is recorded"
}

case_a_forked_child_leaves_cupti_alone() {
	command -v python3 >/dev/null || skip "no python3"
	cat >"$work/job.py" <<-'END'
		import ctypes, os
		cudart = ctypes.CDLL("libcudart.so.13")
		p = ctypes.c_void_p()
		print(cudart.cudaMalloc(ctypes.byref(p), 4096), flush=True)
		child = os.fork()
		status = cudart.cudaFree(p)
		if child == 0:
		    os._exit(0 if status else 3) # CUDA cannot be used here
		print(os.waitpid(child, 0)[1], status)
	END
	same_when_injected python3 "$work/job.py"
	[ "$(count "$work/dump.txt" '^memory\tapi=cuMemFree_v2')" -eq 1 ] || fail "the child's call is not the parent's"
}

# Here allocations of CUPTI are on: nothing else tells what pools hold.
case_pools_are_reported_without_preload() {
	[ -x "$build/bin/gputrace" ] || skip "not built"
	GPUTRACE_COLLECTOR=$build/bin/gputrace-collector injected "$progs/prog_memory" all >/dev/null
	"$build/bin/gputrace" report --json "$out"/*.gtrace >"$work/report.json" || true
	"$build/bin/gputrace" report "$out"/*.gtrace >"$work/report.txt" || true
	rm -f "$out"/*.gtrace
	has "$work/report.json" '"pool_reserved_bytes": 10485760' "two pools of 4 and 6 MiB"
	has "$work/report.json" '"unseen_allocations": 0' "every allocation has its call"
	has "$work/report.txt" 'stream-ordered pools, reserved +10.00 MiB' "also in the text"
}

case_the_report_of_an_injected_job_has_gpu_times_and_says_how() {
	[ -x "$build/bin/gputrace" ] && [ -x "$progs/prog_launches" ] || skip "not built"
	GPUTRACE_COLLECTOR=$build/bin/gputrace-collector injected "$progs/prog_launches" 5000 1 >/dev/null
	"$build/bin/gputrace" report "$out"/*.gtrace >"$work/report.txt" || true
	has "$work/report.txt" 'CUDA_INJECTION64_PATH' "how it was recorded"
	has_not "$work/report.txt" 'There are no GPU times' "GPU times"
	"$build/bin/gputrace" dump --kind gpu_kernel --format tsv "$out"/*.gtrace >"$work/kernels.txt"
	[ "$(wc -l <"$work/kernels.txt")" -gt 2000 ] || fail "too few kernels"
	rm -f "$out"/*.gtrace
}

shim_main "$@"
