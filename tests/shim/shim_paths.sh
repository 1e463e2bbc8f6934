#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every way to reach CUDA ends in the trace, and the program does not notice.
. "$(dirname "$0")/shim_lib.sh"

driver_way() { # MODE
	export SIMCUDA_LOG=$work/log.%p
	same_with_and_without "$progs/prog_driver" "$1"
	dump >"$work/dump.txt"
	matches_log "$work/dump.txt" "$(ls -t "$work"/log.[0-9]* | head -1)"
	has_not "$work/dump.txt" 'UNNAMED|UNKNOWN|ns=BAD' "every number has its name, every time is a time"
	has "$work/dump.txt" 'cuMemcpyHtoD_v2.*bytes=1048576.*source=pageable\tdestination=device' "pageable is seen"
	has "$work/dump.txt" 'cuMemcpyHtoDAsync_v2.*bytes=1000.*source=pinned' "pinned is seen"
	has "$work/dump.txt" 'cuMemcpyHtoDAsync_v2.*bytes=2000.*source=pinned' "registered memory is pinned"
	has "$work/dump.txt" 'cuMemcpyHtoD_v2.*bytes=7000.*source=pageable' "unregistered memory is pageable again"
	has "$work/dump.txt" 'cuMemcpyDtoD_v2.*bytes=600\t.*source=managed' "managed memory is seen"
	has "$work/dump.txt" 'cuMemcpy\t.*bytes=5000\tdirection=h2d' "the direction follows from the addresses"
	has "$work/dump.txt" 'cuMemcpyDtoDAsync_v2.*bytes=3000\tdirection=d2d' "d2d"
}

case_driver_by_dlsym_is_recorded() { driver_way dlsym; }
case_driver_by_get_proc_address_alone_is_recorded() { driver_way gpa; }
case_driver_by_get_proc_address_v1_is_recorded() { driver_way gpa1; }

case_wrong_arguments_give_the_same_errors() {
	for mode in dlsym gpa; do
		rm -f "$out"/*
		same_with_and_without "$progs/prog_driver" $mode wrong
	done
	dump >"$work/dump.txt"
	has "$work/dump.txt" 'memory\tapi=cuMemAlloc_v2\tstatus=2\t.*address=0x0' "a failed allocation is recorded as failed"
	rm -f "$out"/*
	same_with_and_without "$progs/prog_runtime" fail
	dump >"$work/dump.txt"
	has "$work/dump.txt" 'memory\tapi=cudaMalloc\tstatus=2\t' "also the runtime's"
}

case_runtime_calls_and_their_driver_calls_are_one_operation() {
	export SIMCUDA_LOG=$work/log.%p
	same_with_and_without "$progs/prog_runtime" copy 3
	dump >"$work/dump.txt"
	matches_log "$work/dump.txt" "$(ls -t "$work"/log.[0-9]* | head -1)"
	awk -F '\t' '
		{ delete f; for (i = 2; i <= NF; i++) { split($i, kv, "="); f[kv[1]] = kv[2] } }
		$1 == "copy" && f["api"] ~ /^cuda/ { if (f["parent"] != 0) bad++; outer[f["id"]] = f["correlation"] }
		$1 == "copy" && f["api"] !~ /^cuda/ { inner[f["parent"]] = f["correlation"]; n++ }
		END {
			for (id in inner) if (!(id in outer) || inner[id] != outer[id] || !inner[id]) bad++
			exit bad || n != 9
		}' "$work/dump.txt" || fail "driver copies have their runtime call as parent and its correlation id"
	awk -F '\t' '
		function get(key,   i) { for (i = 2; i <= NF; i++) if (index($i, key "=") == 1) return substr($i, length(key) + 2) }
		$1 == "copy" && get("parent") == 0 { call[get("correlation")] = get("bytes") }
		$1 == "gpu_copy" { n++; if (call[get("correlation")] != get("bytes")) bad++ }
		END { exit bad || n != 9 }' "$work/dump.txt" || fail "GPU copies carry the id of their call"
}

case_static_runtime_is_recorded_at_the_driver() {
	[ -x "$progs/prog_kernels_static" ] || skip "nvcc not found"
	export SIMCUDA_LOG=$work/log.%p
	for kind in static ptds; do
		rm -f "$out"/* "$work"/log.*
		same_with_and_without "$progs/prog_kernels_$kind"
		dump >"$work/dump.txt"
		grep -v '^rt' "$(ls -t "$work"/log.[0-9]* | head -1)" >"$work/log-driver"
		matches_log "$work/dump.txt" "$work/log-driver"
		has "$work/dump.txt" 'launch\tapi=cuLaunchKernel\t.*kernel=_Z4axpyIfEvPT_S0_i\tgrid=4,1,1\tblock=256,1,1' "kernels have names"
	done
}

case_shared_runtime_launches_have_names() {
	[ -x "$progs/prog_kernels_shared" ] || skip "nvcc not found"
	export SIMCUDA_LOG=$work/log.%p
	same_with_and_without "$progs/prog_kernels_shared"
	dump >"$work/dump.txt"
	matches_log "$work/dump.txt" "$(ls -t "$work"/log.[0-9]* | head -1)"
	has "$work/dump.txt" 'launch\tapi=__cudaLaunchKernel\t.*parent=0\t.*kernel=_Z4axpyIfEvPT_S0_i' "the outer launch too"
	has "$work/dump.txt" 'launch\tapi=cudaLaunchKernel\t.*kernel=_Z4axpyIfEvPT_S0_i\tgrid=3,1,1\tblock=32,1,1' "launches by host stub"
	has "$work/dump.txt" 'launch\tapi=cudaLaunchKernelExC\t.*grid=2,1,1\tblock=64,1,1' "launches with a configuration"
}

# The real runtime stops at an export table that the simulated driver does not offer; until then it
# uses the public look-ups, and it must stop in the same way under the shim.
real_runtime() { # PROGRAM
	[ -x "$progs/$1" ] || skip "nvcc not found"
	mkdir "$work/driver"
	ln -s "$sim/libcuda.so.1" "$work/driver/"
	export LD_LIBRARY_PATH=$work/driver:$(cat "$progs/toolkit_lib")
	same_with_and_without "$progs/$1"
	grep -q '^malloc 0' "$work/plain.txt" && skip "a real driver is there"
	traced env GPUTRACE_LOG=debug "$progs/$1" >/dev/null 2>"$work/look-ups.txt" || true
	local asked=$(count "$work/look-ups.txt" 'look-up: cuGetProcAddress')
	[ "$asked" -ge 300 ] || fail "only $asked look-ups went through the hook"
	has "$work/look-ups.txt" 'look-up: cuGetProcAddress.*cuMemAlloc, .* -> wrapper' "wrapped functions are handed out"
}
case_real_shared_runtime_looks_up_through_the_hook() { real_runtime prog_kernels_real_shared; }
case_real_static_runtime_looks_up_through_the_hook() { real_runtime prog_kernels_real_static; }

# A loop that asks until the GPU is ready would drown everything else: only the answer that ends it
# is recorded.
case_polling_leaves_one_record_for_each_answer() {
	export SIMCUDA_TIME_SCALE=20
	same_with_and_without "$progs/prog_runtime" poll 5
	has "$work/with.txt" '^polled: yes' "that the GPU was not ready at once"
	dump >"$work/dump.txt"
	for name in cudaEventQuery cudaStreamQuery; do
		[ "$(count "$work/dump.txt" "call\tapi=$name\t")" -eq 5 ] || fail "five answers of $name"
		has "$work/dump.txt" "call\tapi=$name\t.*status=0" "the answer of $name"
	done
	has_not "$work/dump.txt" 'status=600' "an answer that the GPU is not ready"
}

case_switched_off_forwards_only() {
	export GPUTRACE=off
	same_with_and_without "$progs/prog_runtime" copy 2
	same_with_and_without "$progs/prog_driver" gpa
	[ -z "$(ls "$out")" ] || fail "something was written"
}

case_gemm_shapes_are_recorded() {
	[ -x "$progs/prog_gemm" ] || skip "no simulated cuBLAS"
	export SIMCUDA_LOG=$work/log.%p
	same_with_and_without "$progs/prog_gemm"
	dump >"$work/dump.txt"
	has "$work/dump.txt" 'gemm\tapi=cublasGemmEx\t.*parent=0\t.*m=50257\tn=128\tk=768\tlda=768\tldb=768\tldc=50257\tbatch=1\top=TN\ttypes=4,4,4\tcompute=2\tmath=0' "GemmEx"
	has "$work/dump.txt" 'gemm\tapi=cublasSgemm_v2\t.*m=64\tn=32\tk=16\t.*types=2,2,2\tcompute=2\tmath=1\t' "Sgemm with TF32 allowed"
	has "$work/dump.txt" 'gemm\tapi=cublasGemmStridedBatchedEx\t.*batch=5' "batches"
	has "$work/dump.txt" 'gemm\tapi=cublasSgemm_v2_64\t.*m=64' "_64 twins"
	awk -F '\t' '
		function get(key,   i) { for (i = 2; i <= NF; i++) if (index($i, key "=") == 1) return substr($i, length(key) + 2) }
		$1 == "gemm" { gemm[get("id")] = 1; n++ }
		$1 == "launch" { parent[++launches] = get("parent") }
		END { for (i = 1; i <= launches; i++) if (!(parent[i] in gemm)) bad++; exit bad || launches < n || !n }
	' "$work/dump.txt" || fail "kernels of a product have it as parent"
}

shim_main "$@"
