#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Memory in every kind: the program does not notice, and refused calls are recorded as refused.
. "$(dirname "$0")/shim_lib.sh"

case_every_kind_behaves_as_without_the_shim() {
	same_with_and_without "$progs/prog_memory" all
	dump >"$work/dump.txt"
	has "$work/dump.txt" 'memory\tapi=cudaMallocFromPoolAsync\t.*bytes=5242880' "pool memory"
	has "$work/dump.txt" 'memory\tapi=cuMemMap\t' "mappings"
	has "$work/dump.txt" 'memory\tapi=cuMemUnmap\t' "and their end"
	has "$work/dump.txt" 'memory\tapi=cudaMalloc3DArray\t.*bytes=32768' "arrays with the size of their elements"
	has "$work/dump.txt" 'memory\tapi=cuMemAlloc_v2\t.*bytes=3221225472' "sizes beyond 32 bits"
	has "$work/dump.txt" 'copy\tapi=cuMemcpyHtoD_v2\t.*destination=device' "mapped memory is the device's"
	has_not "$work/dump.txt" 'UNNAMED|UNKNOWN' "every number has its name"
}

case_refused_calls_are_recorded_without_their_results() {
	same_with_and_without "$progs/prog_memory" wrong
	dump >"$work/dump.txt"
	for call in cudaMalloc:2 cudaMallocPitch:1 cudaMallocAsync:2 cudaMallocFromPoolAsync:1 \
		cuMemCreate:1 cuMemAddressReserve:1 cuMemRetainAllocationHandle:1 cudaIpcOpenMemHandle:1 \
		cuMulticastCreate:1 cuMemImportFromShareableHandle:1 cudaMallocArray:1; do
		has "$work/dump.txt" "memory\tapi=${call%:*}\tstatus=${call#*:}\t.*address=0x0" "${call%:*} as refused"
	done
	has "$work/dump.txt" 'memory\tapi=cudaMalloc\tstatus=2\t.*bytes=4611686018427387904' "with what was asked for"
}

case_memory_that_is_never_freed_does_no_harm() {
	same_with_and_without "$progs/prog_memory" leave
}

case_memory_of_another_process_is_imported() {
	same_with_and_without "$progs/prog_memory" share
	dumps 2
	cat "$out"/ring.*.txt >"$work/dump.txt"
	has "$work/dump.txt" 'memory\tapi=cudaIpcOpenMemHandle\tstatus=0\t.*bytes=3145728' "with its size"
	has "$work/dump.txt" 'memory\tapi=cudaIpcCloseMemHandle\tstatus=0' "and given back"
}

shim_main "$@"
