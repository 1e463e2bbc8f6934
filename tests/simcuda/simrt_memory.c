/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device, host and managed memory of the simulated runtime.
 */
#include "simrt_internal.h"

#include <string.h>

cudaError_t cudaMalloc(void **address, size_t size)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUdeviceptr found = 0;

	if (status == cudaSuccess && !address)
		status = cudaErrorInvalidValue;
	/* Nothing asked for is nothing given, and no error; the driver would refuse. */
	if (status == cudaSuccess && size)
		status = simrt_from_driver(simrt_driver.MemAlloc(&found, size));
	if (status == cudaSuccess)
		*address = (void *)(uintptr_t)found;
	return simrt_end(&call, status, "address=0x%llx\tbytes=%zu", (unsigned long long)found,
			 size);
}

cudaError_t cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUdeviceptr found = 0;
	size_t row_bytes = 0;

	if (status == cudaSuccess && (!address || !pitch))
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess && width && height)
		status = simrt_from_driver(
			simrt_driver.MemAllocPitch(&found, &row_bytes, width, height, 4));
	if (status == cudaSuccess) {
		*address = (void *)(uintptr_t)found;
		*pitch = row_bytes;
	}
	return simrt_end(&call, status, "address=0x%llx\tbytes=%zu", (unsigned long long)found,
			 row_bytes * height);
}

cudaError_t cudaMallocManaged(void **address, size_t size, unsigned flags)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUdeviceptr found = 0;

	if (status == cudaSuccess && (!address || !size))
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.MemAllocManaged(&found, size, flags));
	if (status == cudaSuccess)
		*address = (void *)(uintptr_t)found;
	return simrt_end(&call, status, "address=0x%llx\tbytes=%zu", (unsigned long long)found,
			 size);
}

cudaError_t simrt_cudaMallocAsync(const struct simrt_flavour *via, const char *function,
				  void **address, size_t size, cudaStream_t stream)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	CUdeviceptr found = 0;

	if (status == cudaSuccess && !address)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess && size)
		status = simrt_from_driver(via->MemAllocAsync(&found, size, stream));
	if (status == cudaSuccess)
		*address = (void *)(uintptr_t)found;
	return simrt_end(&call, status, "address=0x%llx\tbytes=%zu\tstream=0x%llx",
			 (unsigned long long)found, size, simrt_address(stream));
}

cudaError_t simrt_cudaFreeAsync(const struct simrt_flavour *via, const char *function,
				void *address, cudaStream_t stream)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);

	if (status == cudaSuccess && address)
		status =
			simrt_from_driver(via->MemFreeAsync(simrt_device_pointer(address), stream));
	return simrt_end(&call, status, "address=0x%llx\tstream=0x%llx", simrt_address(address),
			 simrt_address(stream));
}

cudaError_t cudaFree(void *address)
{
	struct simrt_call call;
	/* cudaFree(NULL) does nothing but create the context; programs use it for that. */
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess && address)
		status = simrt_from_driver(simrt_driver.MemFree(simrt_device_pointer(address)));
	return simrt_end(&call, status, "address=0x%llx", simrt_address(address));
}

static cudaError_t allocate_host(const char *function, void **address, size_t size, unsigned flags)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	void *found = NULL;

	if (status == cudaSuccess && !address)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess && size)
		status = simrt_from_driver(simrt_driver.MemHostAlloc(&found, size, flags));
	if (status == cudaSuccess)
		*address = found;
	return simrt_end(&call, status, "address=0x%llx\tbytes=%zu", simrt_address(found), size);
}

cudaError_t cudaMallocHost(void **address, size_t size)
{
	return allocate_host(__func__, address, size, 0);
}

/* cudaHostAlloc's flags have the values of CU_MEMHOSTALLOC_*. */
cudaError_t cudaHostAlloc(void **address, size_t size, unsigned flags)
{
	return allocate_host(__func__, address, size, flags);
}

cudaError_t cudaFreeHost(void *address)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess && address)
		status = simrt_from_driver(simrt_driver.MemFreeHost(address));
	return simrt_end(&call, status, "address=0x%llx", simrt_address(address));
}

cudaError_t cudaHostRegister(void *address, size_t size, unsigned flags)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.MemHostRegister(address, size, flags));
	return simrt_end(&call, status, "address=0x%llx\tbytes=%zu", simrt_address(address), size);
}

cudaError_t cudaHostUnregister(void *address)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.MemHostUnregister(address));
	return simrt_end(&call, status, "address=0x%llx", simrt_address(address));
}

cudaError_t cudaHostGetDevicePointer(void **address, void *host, unsigned flags)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUdeviceptr found = 0;

	if (status == cudaSuccess && !address)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = simrt_from_driver(
			simrt_driver.MemHostGetDevicePointer(&found, host, flags));
	if (status == cudaSuccess)
		*address = (void *)(uintptr_t)found;
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.MemGetInfo(free_bytes, total_bytes));
	return simrt_end(&call, status, NULL);
}

static bool ask(void *data, CUpointer_attribute attribute, const void *pointer)
{
	return simrt_driver.PointerGetAttribute(data, attribute, simrt_device_pointer(pointer)) ==
	       CUDA_SUCCESS;
}

/* A pointer that CUDA does not know is plain host memory: no error since CUDA 11. */
static void read_attributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
	unsigned type = 0, is_managed = 0;
	CUdeviceptr device_pointer = 0;
	void *host_pointer = NULL;
	int device = 0;

	memset(attributes, 0, sizeof(*attributes));
	attributes->type = cudaMemoryTypeUnregistered;
	attributes->device = cudaInvalidDeviceId;
	attributes->hostPointer = (void *)(uintptr_t)pointer;
	if (!ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer))
		return;
	if (ask(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer) && is_managed)
		attributes->type = cudaMemoryTypeManaged;
	else
		attributes->type =
			type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
	if (ask(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer))
		attributes->device = device;
	attributes->hostPointer = NULL;
	if (ask(&device_pointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, pointer))
		attributes->devicePointer = (void *)(uintptr_t)device_pointer;
	if (attributes->type != cudaMemoryTypeDevice &&
	    ask(&host_pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER, pointer))
		attributes->hostPointer = host_pointer;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess && !attributes)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		read_attributes(attributes, pointer);
	return simrt_end(&call, status, NULL);
}
