/* SPDX-License-Identifier: Apache-2.0 */
/* One segment of a pool's library, one allocation of its own. */
#include <stdio.h>

#include <cuda_runtime_api.h>

int pool_take_segment(void **segment, size_t bytes);

int main(void)
{
	void *segment, *own;
	int failed = pool_take_segment(&segment, (size_t)512 << 20) ||
		     cudaMalloc(&own, (size_t)1 << 20) || cudaMemset(own, 0, 100) ||
		     cudaDeviceSynchronize() || cudaFree(segment) || cudaFree(own);

	puts(failed ? "failed" : "ok");
	return failed;
}
