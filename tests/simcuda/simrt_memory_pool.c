/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory pools of the simulated runtime and memory of other processes. The runtime's structures and
 * numbers are the driver's under other names.
 */
#include "simrt_internal.h"

#include <string.h>

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "one layout");
_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc), "one layout");
_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation), "one layout");
_Static_assert(sizeof(struct cudaMemPoolPtrExportData) == sizeof(CUmemPoolPtrExportData),
	       "one layout");

cudaError_t simrt_cudaMallocFromPoolAsync(const struct simrt_flavour *via, const char *function,
					  void **address, size_t size, cudaMemPool_t pool,
					  cudaStream_t stream)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	CUdeviceptr found = 0;

	if (status == cudaSuccess && !address)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess && size)
		status = simrt_from_driver(via->MemAllocFromPoolAsync(&found, size, pool, stream));
	if (status == cudaSuccess)
		*address = (void *)(uintptr_t)found;
	return simrt_end(&call, status, "address=0x%llx\tbytes=%zu\tpool=0x%llx\tstream=0x%llx",
			 (unsigned long long)found, size, simrt_address(pool),
			 simrt_address(stream));
}

/* Functions that only pass their arguments on: CALL is the driver's, NEED what must be there. */
#define PASS_ON(NEED, CALL)                                                                        \
	struct simrt_call call;                                                                    \
	cudaError_t status = simrt_begin(&call, __func__, NEED);                                   \
                                                                                                   \
	if (status == cudaSuccess)                                                                 \
		status = simrt_from_driver(simrt_driver.CALL);                                     \
	return simrt_end(&call, status, NULL)

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
	PASS_ON(SIMRT_INIT, MemPoolCreate(pool, (const void *)properties));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
	PASS_ON(SIMRT_INIT, MemPoolDestroy(pool));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep_bytes)
{
	PASS_ON(SIMRT_INIT, MemPoolTrimTo(pool, keep_bytes));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	PASS_ON(SIMRT_INIT, MemPoolSetAttribute(pool, (CUmemPool_attribute)attribute, value));
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	PASS_ON(SIMRT_INIT, MemPoolGetAttribute(pool, (CUmemPool_attribute)attribute, value));
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *access,
				 size_t count)
{
	PASS_ON(SIMRT_INIT, MemPoolSetAccess(pool, (const void *)access, count));
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool,
				 struct cudaMemLocation *location)
{
	PASS_ON(SIMRT_INIT, MemPoolGetAccess((void *)flags, pool, (void *)location));
}

cudaError_t cudaMemPoolExportToShareableHandle(void *handle, cudaMemPool_t pool,
					       enum cudaMemAllocationHandleType type,
					       unsigned flags)
{
	PASS_ON(SIMRT_INIT, MemPoolExportToShareableHandle(handle, pool,
							   (CUmemAllocationHandleType)type, flags));
}

cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t *pool, void *handle,
						 enum cudaMemAllocationHandleType type,
						 unsigned flags)
{
	PASS_ON(SIMRT_INIT, MemPoolImportFromShareableHandle(
				    pool, handle, (CUmemAllocationHandleType)type, flags));
}

cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *data, void *pointer)
{
	PASS_ON(SIMRT_INIT, MemPoolExportPointer((void *)data, simrt_device_pointer(pointer)));
}

cudaError_t cudaMemPoolImportPointer(void **pointer, cudaMemPool_t pool,
				     struct cudaMemPoolPtrExportData *data)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUdeviceptr found = 0;

	if (status == cudaSuccess && !pointer)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = simrt_from_driver(
			simrt_driver.MemPoolImportPointer(&found, pool, (void *)data));
	if (status == cudaSuccess)
		*pointer = (void *)(uintptr_t)found;
	return simrt_end(&call, status, "address=0x%llx", (unsigned long long)found);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
	PASS_ON(SIMRT_INIT, DeviceGetDefaultMemPool(pool, device));
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
	PASS_ON(SIMRT_INIT, DeviceGetMemPool(pool, device));
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
	PASS_ON(SIMRT_INIT, DeviceSetMemPool(device, pool));
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location,
				     enum cudaMemAllocationType type)
{
	PASS_ON(SIMRT_INIT,
		MemGetDefaultMemPool(pool, (void *)location, (CUmemAllocationType)type));
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location,
			      enum cudaMemAllocationType type)
{
	PASS_ON(SIMRT_INIT, MemGetMemPool(pool, (void *)location, (CUmemAllocationType)type));
}

cudaError_t cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
			      cudaMemPool_t pool)
{
	PASS_ON(SIMRT_INIT, MemSetMemPool((void *)location, (CUmemAllocationType)type, pool));
}

/* ---- memory of other processes ---- */

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer)
{
	PASS_ON(SIMRT_CONTEXT, IpcGetMemHandle((void *)handle, simrt_device_pointer(pointer)));
}

cudaError_t cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t handle, unsigned flags)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUdeviceptr found = 0;
	CUipcMemHandle same;

	memcpy(&same, &handle, sizeof(same));
	if (status == cudaSuccess && !pointer)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.IpcOpenMemHandle(&found, same, flags));
	if (status == cudaSuccess)
		*pointer = (void *)(uintptr_t)found;
	return simrt_end(&call, status, "address=0x%llx", (unsigned long long)found);
}

cudaError_t cudaIpcCloseMemHandle(void *pointer)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(
			simrt_driver.IpcCloseMemHandle(simrt_device_pointer(pointer)));
	return simrt_end(&call, status, "address=0x%llx", simrt_address(pointer));
}
