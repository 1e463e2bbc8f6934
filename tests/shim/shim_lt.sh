#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Products of cuBLASLt have their shapes, wherever their descriptors lie, and are one operation.
. "$(dirname "$0")/shim_lib.sh"

case_products_have_the_shapes_of_their_descriptors() {
	[ -x "$progs/prog_lt" ] || skip "no simulated cuBLASLt"
	same_with_and_without "$progs/prog_lt"
	dump >"$work/dump.txt"
	has "$work/dump.txt" 'gemm\tapi=cublasLtMatmul\tstatus=0\t.*m=3072\tn=128\tk=768\tlda=768\tldb=768\tldc=3072\tbatch=1\top=TN\ttypes=5,5,5\tcompute=2' "column-major, on the heap"
	has "$work/dump.txt" 'gemm\tapi=cublasLtMatmul\tstatus=0\t.*m=100\tn=64\tk=32\tlda=100\tldb=32\tldc=100\tbatch=3\top=NN\ttypes=4,4,4' "row-major, on the stack, as columns"
	has "$work/dump.txt" 'gemm\tapi=cublasLtMatmul\tstatus=7\t.*m=0\tn=0\tk=0' "refused ones without a shape"
	[ "$(count "$work/dump.txt" 'gemm\tapi=cublasLtMatmul\t')" = 4 ] || fail "not every product is there"
}

case_a_product_inside_a_product_is_nested() {
	[ -x "$progs/prog_lt" ] || skip "no simulated cuBLASLt"
	export SIMCUDA_BLAS_BY_LT=1
	same_with_and_without "$progs/prog_lt"
	dump >"$work/dump.txt"
	awk -F '\t' '
		function get(key,   i) { for (i = 2; i <= NF; i++) if (index($i, key "=") == 1) return substr($i, length(key) + 2) }
		$1 == "gemm" && get("api") == "cublasGemmEx" { outer = get("id"); outer_parent = get("parent"); shape = get("m") get("n") get("k") }
		$1 == "gemm" && get("api") == "cublasLtMatmul" { inner[get("id")] = get("parent"); sizes[get("id")] = get("m") get("n") get("k") }
		$1 == "launch" { launch[++launches] = get("parent") }
		END {
			for (id in inner) if (inner[id] == outer) { nested++; within = id }
			for (i = 1; i <= launches; i++) if (launch[i] == within) found++
			exit !(outer && outer_parent == 0 && nested == 1 && found == 1 && sizes[within] == shape)
		}' "$work/dump.txt" || fail "cublasGemmEx -> cublasLtMatmul -> launch is not one nest"
}

shim_main "$@"
