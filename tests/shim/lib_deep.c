/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose calls of the driver no preload sees: it is opened with RTLD_DEEPBIND. */
#include <cuda.h>

int deep_allocate(CUdeviceptr *address, size_t bytes);
int deep_free(CUdeviceptr address);

int deep_allocate(CUdeviceptr *address, size_t bytes)
{
	return (int)cuMemAlloc(address, bytes);
}

int deep_free(CUdeviceptr address)
{
	return (int)cuMemFree(address);
}
