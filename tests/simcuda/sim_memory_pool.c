/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory pools of stream-ordered allocation, as far as they can be seen: which pool is current, its
 * settings and its counts. Nothing is held back, so reserved bytes equal used bytes.
 */
#include "sim_api.h"

static struct sim_memory_pool *find_pool(CUmemoryPool handle)
{
	return sim_pool_holds(POOL_MEMORY, handle) ? (struct sim_memory_pool *)handle : NULL;
}

CUresult sim_memory_pool_of_device(CUmemoryPool *pool, CUdevice ordinal, bool is_default)
{
	const struct sim_device *device = sim_device_get(ordinal);

	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*pool = (CUmemoryPool)(is_default ? device->default_pool : device->current_pool);
	return CUDA_SUCCESS;
}

CUresult sim_memory_pool_set(CUdevice ordinal, CUmemoryPool handle)
{
	struct sim_device *device = sim_device_get(ordinal);
	struct sim_memory_pool *pool = find_pool(handle);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!pool || pool->device != device)
		return CUDA_ERROR_INVALID_VALUE;
	device->current_pool = pool;
	return CUDA_SUCCESS;
}

CUresult sim_memory_pool_create(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
	struct sim_memory_pool *created;
	struct sim_device *device;

	if (!pool || !properties || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	device = sim_device_get(properties->location.id);
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	created = sim_pool_new(POOL_MEMORY);
	if (!created)
		return CUDA_ERROR_OUT_OF_MEMORY;
	created->device = device;
	*pool = (CUmemoryPool)created;
	return CUDA_SUCCESS;
}

CUresult sim_memory_pool_destroy(CUmemoryPool handle)
{
	struct sim_memory_pool *pool = find_pool(handle);

	if (!pool || pool == pool->device->default_pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (pool->device->current_pool == pool)
		pool->device->current_pool = pool->device->default_pool;
	sim_pool_free(POOL_MEMORY, pool);
	return CUDA_SUCCESS;
}

CUresult sim_memory_pool_trim(CUmemoryPool handle)
{
	return find_pool(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_memory_pool_attribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value,
				   bool is_set)
{
	struct sim_memory_pool *pool = find_pool(handle);
	int *flag = NULL;
	uint64_t *number = NULL;

	if (!pool || !value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
		flag = &pool->follow_event;
		break;
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
		flag = &pool->allow_opportunistic;
		break;
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		flag = &pool->allow_internal;
		break;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		number = &pool->release_threshold;
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		if (is_set)
			return CUDA_ERROR_INVALID_VALUE;
		number = &pool->used;
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		/* Setting a high-water mark means setting it back, to the present use. */
		if (is_set) {
			if (*(uint64_t *)value != 0)
				return CUDA_ERROR_INVALID_VALUE;
			pool->used_high = pool->used;
			return CUDA_SUCCESS;
		}
		number = &pool->used_high;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (flag && is_set)
		*flag = *(int *)value != 0;
	else if (flag)
		*(int *)value = *flag;
	else if (is_set)
		*number = *(uint64_t *)value;
	else
		*(uint64_t *)value = *number;
	return CUDA_SUCCESS;
}
