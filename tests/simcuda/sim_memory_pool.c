/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream-ordered memory. A pool takes chunks from the device and cuts blocks from them. A freed
 * block comes back to its own stream at once, to others when that stream is past the free; a chunk
 * goes back to the device when it is wholly free and the host waits for the device (down to the
 * release threshold), when the pool is trimmed, or when the device would be full otherwise.
 */
#include "sim_api.h"

#include <stdlib.h>

enum { CHUNK_GRAIN = 2 << 20, CHUNK_BYTES = 32 << 20 };

struct sim_chunk {
	struct sim_chunk *next;
	struct sim_range *memory; /* as taken from the device */
};

static struct sim_memory_pool *find_pool(CUmemoryPool handle)
{
	struct sim_memory_pool *pool = (struct sim_memory_pool *)handle;

	return sim_pool_holds(POOL_MEMORY, handle) && !pool->is_destroyed ? pool : NULL;
}

/* ---- blocks ---- */

static struct sim_range *whole_block(const struct sim_chunk *chunk)
{
	struct sim_range *block = calloc(1, sizeof(*block));

	if (block) {
		block->base = chunk->memory->base;
		block->reserved_bytes = chunk->memory->reserved_bytes;
		block->backing = chunk->memory->backing;
	}
	return block;
}

static bool add_chunk(struct sim_memory_pool *pool, size_t bytes)
{
	size_t size = (bytes + CHUNK_GRAIN - 1) / CHUNK_GRAIN * CHUNK_GRAIN;
	struct sim_device *device = pool->device;
	struct sim_chunk *chunk;
	struct sim_range *block;

	if (size < bytes)
		return false;
	if (size < CHUNK_BYTES && sim_live_has_room(device, CHUNK_BYTES) && pool->reserved > 0)
		size = CHUNK_BYTES;
	if (pool->max_bytes && pool->reserved + size > pool->max_bytes)
		return false;
	if (!sim_live_has_room(device, size) &&
	    !(sim_pool_memory_release(device, true) && sim_live_has_room(device, size)))
		return false;
	chunk = calloc(1, sizeof(*chunk));
	if (!chunk)
		return false;
	chunk->memory = sim_heap_take(&device->heap, size);
	block = chunk->memory ? whole_block(chunk) : NULL;
	if (!block) {
		if (chunk->memory)
			sim_heap_give(&device->heap, chunk->memory);
		free(chunk);
		return false;
	}
	pool->heap.backing = device->heap.backing;
	sim_tree_insert(&pool->heap.free_blocks, &block->by_size, block->reserved_bytes,
			block->base);
	chunk->next = pool->chunks;
	pool->chunks = chunk;
	pool->reserved += chunk->memory->reserved_bytes;
	if (pool->reserved > pool->reserved_high)
		pool->reserved_high = pool->reserved;
	sim_live_add(device, SIM_LIVE_POOL_RESERVED, chunk->memory->reserved_bytes);
	return true;
}

/* Blocks whose streams are past the free may be used by anybody. */
static void settle_freed(struct sim_memory_pool *pool)
{
	struct sim_range **link = &pool->freed;

	while (*link) {
		struct sim_range *block = *link;

		if (!sim_clock_is_over(block->ready_ns)) {
			link = &block->next_dropped;
			continue;
		}
		*link = block->next_dropped;
		sim_heap_give(&pool->heap, block);
	}
}

/* The smallest freed block that fits, of the stream or, where that is allowed, of any. */
static struct sim_range *take_freed(struct sim_memory_pool *pool, size_t bytes,
				    const struct sim_stream *stream, bool of_any)
{
	struct sim_range **best = NULL;
	struct sim_range *block;

	for (struct sim_range **link = &pool->freed; *link; link = &(*link)->next_dropped) {
		size_t size = (*link)->reserved_bytes;

		if (size >= bytes && size / 2 <= bytes && (of_any || (*link)->freed_on == stream) &&
		    (!best || size < (*best)->reserved_bytes))
			best = link;
	}
	if (!best)
		return NULL;
	block = *best;
	*best = block->next_dropped;
	block->bytes = bytes;
	return block;
}

static struct sim_range *take_block(struct sim_memory_pool *pool, size_t bytes,
				    struct sim_stream *stream)
{
	struct sim_range *block = take_freed(pool, bytes, stream, false);

	if (block)
		return block;
	settle_freed(pool);
	block = sim_heap_take(&pool->heap, bytes);
	if (!block && pool->allow_internal) {
		/* The driver makes the stream wait for the one that still uses the block. */
		block = take_freed(pool, bytes, stream, true);
		if (block)
			sim_stream_advance(stream, block->ready_ns, sim_stream_after(stream));
	}
	if (!block && add_chunk(pool, bytes))
		block = sim_heap_take(&pool->heap, bytes);
	return block;
}

/* ---- chunks go back ---- */

static struct sim_range *free_whole(const struct sim_memory_pool *pool,
				    const struct sim_chunk *chunk)
{
	struct sim_tree_node *node = sim_tree_ceiling(
		&pool->heap.free_blocks, chunk->memory->reserved_bytes, chunk->memory->base);
	struct sim_range *block = node ? SIM_TREE_ITEM(node, struct sim_range, by_size) : NULL;

	return block && block->base == chunk->memory->base &&
			       block->reserved_bytes == chunk->memory->reserved_bytes
		       ? block
		       : NULL;
}

static bool release_down_to(struct sim_memory_pool *pool, uint64_t keep_bytes)
{
	struct sim_chunk **link = &pool->chunks;
	bool any = false;

	settle_freed(pool);
	while (*link && pool->reserved > keep_bytes) {
		struct sim_chunk *chunk = *link;
		struct sim_range *block = free_whole(pool, chunk);

		if (!block) {
			link = &chunk->next;
			continue;
		}
		*link = chunk->next;
		sim_tree_remove(&pool->heap.free_blocks, &block->by_size);
		free(block);
		pool->reserved -= chunk->memory->reserved_bytes;
		sim_live_sub(pool->device, SIM_LIVE_POOL_RESERVED, chunk->memory->reserved_bytes);
		sim_heap_give(&pool->device->heap, chunk->memory);
		free(chunk);
		any = true;
	}
	return any;
}

static void end_pool(struct sim_memory_pool *pool)
{
	struct sim_memory_pool **link = &pool->device->pools;

	while (*link && *link != pool)
		link = &(*link)->next;
	if (*link)
		*link = pool->next;
	for (struct sim_range *block = pool->freed; block; block = block->next_dropped)
		block->ready_ns = 0;
	release_down_to(pool, 0);
	sim_pool_free(POOL_MEMORY, pool);
}

bool sim_pool_memory_release(struct sim_device *device, bool all)
{
	bool any = false;

	for (struct sim_memory_pool *pool = device->pools; pool; pool = pool->next)
		any |= release_down_to(pool, all ? 0 : pool->release_threshold);
	return any;
}

/* Not in stream order: by cuMemFree, or with its context. */
void sim_pool_memory_give(struct sim_range *range)
{
	struct sim_memory_pool *pool = range->pool;

	pool->used -= range->bytes;
	range->pool = NULL;
	sim_heap_give(&pool->heap, range);
	if (pool->is_destroyed && pool->used == 0)
		end_pool(pool);
}

/* ---- the API ---- */

CUresult sim_memory_alloc_async(struct sim_call *call, CUdeviceptr *address, size_t bytes,
				CUmemoryPool pool_handle, CUstream stream_handle)
{
	struct sim_context *owner = call->context;
	struct sim_memory_pool *pool =
		pool_handle ? find_pool(pool_handle) : owner->device->current_pool;
	struct sim_stream *stream = sim_stream_find(call, stream_handle);
	struct sim_range *range;

	SIM_NOTE(call, "bytes=%zu\tstream=0x%llx\tpool=0x%llx", bytes, sim_handle(stream_handle),
		 sim_handle(pool_handle));
	if (!address || bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!pool || pool->is_imported)
		return CUDA_ERROR_INVALID_VALUE;
	sim_call_wait_now(call, 0, pool->device->reuse_after);
	range = take_block(pool, bytes, stream);
	if (!range)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_memory_know(range, owner, SIM_DEVICE);
	range->device = pool->device;
	range->pool = pool;
	pool->used += bytes;
	if (pool->used > pool->used_high)
		pool->used_high = pool->used;
	sim_live_add(pool->device, SIM_LIVE_POOL, bytes);
	*address = range->base;
	SIM_NOTE(call, "address=0x%llx", (unsigned long long)range->base);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_memory_free_async(struct sim_call *call, CUdeviceptr address, CUstream handle)
{
	struct sim_range *range = sim_memory_find_start(address, SIM_DEVICE, SIM_IMPORTED);
	const struct sim_stream *stream = sim_stream_find(call, handle);
	struct sim_memory_pool *pool = range ? range->pool : NULL;

	SIM_NOTE(call, "address=0x%llx\tstream=0x%llx", (unsigned long long)address,
		 sim_handle(handle));
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	SIM_NOTE(call, "bytes=%zu", range->bytes);
	if (range->kind == SIM_IMPORTED) {
		sim_memory_give(range);
	} else {
		/* Bytes that are still to be moved hold up the next allocation, whoever makes it.
		 */
		pool->device->reuse_after =
			sim_worker_join(pool->device->reuse_after, sim_stream_after(stream));
		sim_memory_forget(range);
		sim_live_sub(pool->device, SIM_LIVE_POOL, range->bytes);
		pool->used -= range->bytes;
		range->pool = NULL;
		range->ready_ns = sim_stream_ready_ns(stream);
		range->freed_on = stream;
		range->next_dropped = pool->freed;
		pool->freed = range;
		if (pool->is_destroyed && pool->used == 0)
			end_pool(pool);
	}
	sim_note_live(call);
	return CUDA_SUCCESS;
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

CUresult sim_memory_pool_of_location(CUmemoryPool *pool, const CUmemLocation *location,
				     CUmemAllocationType type, bool is_default)
{
	if (!pool || !location)
		return CUDA_ERROR_INVALID_VALUE;
	if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_NOT_SUPPORTED;
	return sim_memory_pool_of_device(pool, location->id, is_default);
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

struct sim_memory_pool *sim_memory_pool_new(struct sim_device *device)
{
	struct sim_memory_pool *pool = sim_pool_new(POOL_MEMORY);

	if (!pool)
		return NULL;
	pool->device = device;
	pool->follow_event = pool->allow_opportunistic = pool->allow_internal = 1;
	pool->next = device->pools;
	device->pools = pool;
	return pool;
}

CUresult sim_memory_pool_create(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
	struct sim_memory_pool *created;
	struct sim_device *device;

	if (!pool || !properties || properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    (properties->handleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
		return CUDA_ERROR_NOT_SUPPORTED;
	device = sim_device_get(properties->location.id);
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	created = sim_memory_pool_new(device);
	if (!created)
		return CUDA_ERROR_OUT_OF_MEMORY;
	created->handle_types = (unsigned)properties->handleTypes;
	created->max_bytes = properties->maxSize;
	*pool = (CUmemoryPool)created;
	return CUDA_SUCCESS;
}

CUresult sim_memory_pool_destroy(struct sim_call *call, CUmemoryPool handle)
{
	struct sim_memory_pool *pool = find_pool(handle);

	SIM_NOTE(call, "pool=0x%llx", sim_handle(handle));
	if (!pool || pool == pool->device->default_pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (pool->device->current_pool == pool)
		pool->device->current_pool = pool->device->default_pool;
	pool->is_destroyed = true;
	if (pool->used == 0)
		end_pool(pool);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_memory_pool_trim(struct sim_call *call, CUmemoryPool handle, size_t keep_bytes)
{
	struct sim_memory_pool *pool = find_pool(handle);

	SIM_NOTE(call, "pool=0x%llx\tkeep=%zu", sim_handle(handle), keep_bytes);
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (release_down_to(pool, keep_bytes))
		sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_memory_pool_access(CUmemoryPool handle, const CUmemAccessDesc *access, size_t count)
{
	struct sim_memory_pool *pool = find_pool(handle);

	if (!pool || (!access && count))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
		    !sim_device_get(access[i].location.id))
			return CUDA_ERROR_INVALID_DEVICE;
		/* The device itself cannot be shut out. */
		if (sim_device_get(access[i].location.id) == pool->device &&
		    access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
			return CUDA_ERROR_INVALID_DEVICE;
	}
	return CUDA_SUCCESS;
}

/* Setting a high-water mark means setting it back, to the present use. */
static CUresult high_water(uint64_t *high, uint64_t now, void *value, bool is_set)
{
	if (!is_set)
		*(uint64_t *)value = *high;
	else if (*(uint64_t *)value != 0)
		return CUDA_ERROR_INVALID_VALUE;
	else
		*high = now;
	return CUDA_SUCCESS;
}

static CUresult present_use(uint64_t now, void *value, bool is_set)
{
	if (is_set)
		return CUDA_ERROR_INVALID_VALUE;
	*(uint64_t *)value = now;
	return CUDA_SUCCESS;
}

static CUresult choice(int *flag, void *value, bool is_set)
{
	if (is_set)
		*flag = *(int *)value != 0;
	else
		*(int *)value = *flag;
	return CUDA_SUCCESS;
}

CUresult sim_memory_pool_attribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value,
				   bool is_set)
{
	struct sim_memory_pool *pool = find_pool(handle);

	if (!pool || !value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
		return choice(&pool->follow_event, value, is_set);
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
		return choice(&pool->allow_opportunistic, value, is_set);
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		return choice(&pool->allow_internal, value, is_set);
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		if (is_set)
			pool->release_threshold = *(uint64_t *)value;
		else
			*(uint64_t *)value = pool->release_threshold;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		return present_use(pool->reserved, value, is_set);
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		return present_use(pool->used, value, is_set);
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		return high_water(&pool->reserved_high, pool->reserved, value, is_set);
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		return high_water(&pool->used_high, pool->used, value, is_set);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}
