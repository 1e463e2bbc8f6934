#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Convolutions of cuDNN have their shapes, by descriptors or by plans, and are one operation.
. "$(dirname "$0")/shim_lib.sh"

record_convolutions() {
	[ -x "$progs/prog_conv" ] || skip "no simulated cuDNN"
	same_with_and_without "$progs/prog_conv"
	dump >"$work/dump.txt"
}

case_convolutions_have_the_shapes_of_their_descriptors() {
	local shape='n=16\tc=34\tk=128\tgroups=1\tin=1,56,48\tfilter=1,3,5\tout=1,56,48\tstride=1,1,1\tdilation=1,1,1\tpad=0,1,2\tdimensions=2'
	record_convolutions
	has "$work/dump.txt" "conv\tapi=cudnnConvolutionForward\tstatus=0\t.*parent=0\t.*op=1\t$shape\tlayouts=2,2,2\ttypes=4,4,4\tcompute=2\tmath=0\toperations=1" "forward, channels last, fp16"
	has "$work/dump.txt" "conv\tapi=cudnnConvolutionBackwardData\tstatus=0\t.*op=2\t$shape" "backward data"
	has "$work/dump.txt" "conv\tapi=cudnnConvolutionBackwardFilter\tstatus=0\t.*op=3\t$shape" "backward filter"
	has "$work/dump.txt" "conv\tapi=cudnnConvolutionForward\tstatus=0\t.*op=1\t$shape\tlayouts=1,1,1\ttypes=2,2,2\tcompute=2\tmath=1" "channels first, TF32 allowed"
	has "$work/dump.txt" "conv\tapi=cudnnConvolutionForward\tstatus=0\t.*op=1\t$shape\tlayouts=1,1,1\ttypes=2,2,2\tcompute=2\tmath=2" "exact math"
	has "$work/dump.txt" 'conv\tapi=cudnnConvolutionForward\tstatus=2000\t.*n=0\tc=0\t.*dimensions=0' "refused ones without a shape"
	has "$work/dump.txt" 'call\tapi=cudnnSoftmaxForward\tstatus=0\t' "other layers as calls"
}

case_plans_have_the_shapes_of_what_they_were_made_of() {
	local shape='n=8\tc=20\tk=64\tgroups=1\tin=1,32,32\tfilter=1,3,3\tout=1,16,16\tstride=1,2,2\tdilation=1,1,1\tpad=0,1,1\tdimensions=2\tlayouts=2,2,2\ttypes=4,4,4\tcompute=2'
	record_convolutions
	[ "$(count "$work/dump.txt" "conv\tapi=cudnnBackendExecute\tstatus=0\t.*op=1\t$shape")" = 2 ] || fail "not both executions have the shape"
	has "$work/dump.txt" 'conv\tapi=cudnnBackendExecute\t.*x=0x[0-9a-f]*1000\tw=0x[0-9a-f]*2000\ty=0x[0-9a-f]*3000\tstream=0x[1-9a-f]' "addresses and the stream"
	has "$work/dump.txt" 'call\tapi=cudnnBackendExecute\tstatus=2000\t' "a plan that is none"
	has_not "$work/dump.txt" 'api=cudnnBackend(Create|Set|Get|Destroy)' "descriptors make no records"
}

case_a_convolution_owns_its_kernels() {
	record_convolutions
	awk -F '\t' '
		function get(key,   i) { for (i = 2; i <= NF; i++) if (index($i, key "=") == 1) return substr($i, length(key) + 2) }
		($1 == "conv" || $1 == "call") && get("api") ~ /^cudnn(Conv|Backend|Soft)/ && get("status") == 0 { owner[get("thread") " " get("id")] = 1; owners++ }
		$1 == "launch" { parent[get("thread") " " get("parent")]++; launches++ }
		END {
			for (p in parent) if (!(p in owner)) orphans++
			for (o in owner) if (!(o in parent)) idle++
			exit !(owners >= 8 && launches > owners && !orphans && !idle)
		}' "$work/dump.txt" || fail "kernels and convolutions do not belong together"
}

shim_main "$@"
