/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver knows of a pointer.
 */
#include "sim_api.h"

static CUmemorytype memory_type(const struct sim_range *range)
{
	return range->kind == SIM_DEVICE || range->kind == SIM_MANAGED ? CU_MEMORYTYPE_DEVICE
								       : CU_MEMORYTYPE_HOST;
}

static bool is_reachable_by_host(const struct sim_range *range)
{
	return range->kind != SIM_DEVICE;
}

/* Writes the attribute, or its "unknown pointer" value when range is NULL. */
static CUresult write_attribute(void *data, CUpointer_attribute attribute,
				const struct sim_range *range, uint64_t pointer)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = range ? (CUcontext)range->context : NULL;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)data = range ? memory_type(range) : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)data = range ? pointer : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (range && !is_reachable_by_host(range))
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)data = range ? (void *)(uintptr_t)pointer : NULL;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*(unsigned long long *)data = range ? range->buffer_id : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(int *)data = range && range->kind == SIM_MANAGED;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = range ? range->device->ordinal : -2;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = range ? range->base : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = range ? range->bytes : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(int *)data = range != NULL;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(unsigned *)data = range ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)data = range ? (CUmemoryPool)range->pool : NULL;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		*(int *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(unsigned long long *)data = 0;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult sim_pointer_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer)
{
	const struct sim_range *range = sim_memory_find(pointer);

	if (!data || !range)
		return CUDA_ERROR_INVALID_VALUE;
	return write_attribute(data, attribute, range, pointer);
}

/* Unlike the function for one attribute this takes pointers that the driver does not know. */
CUresult sim_pointer_attributes(unsigned count, CUpointer_attribute *attributes, void **data,
				CUdeviceptr pointer)
{
	const struct sim_range *range = sim_memory_find(pointer);

	if (count == 0 || !attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++) {
		if (!data[i])
			return CUDA_ERROR_INVALID_VALUE;
		if (write_attribute(data[i], attributes[i], range, pointer)) {
			if (attributes[i] != CU_POINTER_ATTRIBUTE_HOST_POINTER)
				return CUDA_ERROR_INVALID_VALUE;
			*(void **)data[i] = NULL;
		}
	}
	return CUDA_SUCCESS;
}

/* SYNC_MEMOPS is the one attribute that can be set; every blocking copy here is synchronous. */
CUresult sim_pointer_set_attribute(const void *value, CUpointer_attribute attribute,
				   CUdeviceptr pointer)
{
	const struct sim_range *range = sim_memory_find(pointer);

	return value && range && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}
