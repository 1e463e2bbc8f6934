/* SPDX-License-Identifier: Apache-2.0 */
/* Uses CUDA from its constructor, that is with the loader's lock held. */
#include <stdio.h>

#include <cuda_runtime_api.h>

__attribute__((constructor)) static void use_cuda(void)
{
	void *device;
	printf("constructor: %d\n", cudaMalloc(&device, 333));
}
