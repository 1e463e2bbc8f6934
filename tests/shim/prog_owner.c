/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One segment of a pool's library, one allocation of its own. prog_owner leave: both are still
 * there at the end, and a framework's allocator says that the small one is its own; claim: it says
 * so of both.
 */
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "../../samples/allocator_report.h"

int pool_take_segment(void **segment, size_t bytes);

int main(int argc, char **argv)
{
	const size_t large = (size_t)512 << 20, little = (size_t)1 << 20;
	int is_claimed = argc > 1 && !strcmp(argv[1], "claim");
	int is_left = is_claimed || (argc > 1 && !strcmp(argv[1], "leave"));
	void *segment, *own;
	int failed = pool_take_segment(&segment, large) || cudaMalloc(&own, little) ||
		     cudaMemset(own, 0, 100) || cudaDeviceSynchronize();

	if (!failed && is_left)
		allocator_report(own, (int64_t)little, little, little);
	if (!failed && is_claimed)
		allocator_report(segment, (int64_t)large, little + large, little + large);
	if (!failed && !is_left)
		failed = cudaFree(segment) || cudaFree(own);

	puts(failed ? "failed" : "ok");
	return failed;
}
