/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of the simulated driver. Each type has a reserved stretch of address space in which its
 * objects lie side by side, so whether a pointer from the application is a live handle is
 * arithmetic: no garbage is ever dereferenced. Freed slots are reused oldest first, so that a
 * destroyed handle stays recognisable for long. The caller holds sim_lock.
 */
#include "sim_internal.h"
#include "sim_vmm.h"
#include "sim_graph.h"

#include <string.h>
#include <sys/mman.h>

struct pool {
	size_t object_bytes, used, shown_bytes;
	char *base;
	struct sim_object *oldest_free, *newest_free;
	size_t free_count;
};

enum { POOL_BYTES = 256 << 20, KEEP_FREE = 256, CHUNK_BYTES = 64 << 10 };

/* A leak checker in the application does not look into mapped memory unless it is told to. */
extern void __lsan_register_root_region(const void *begin, size_t bytes) __attribute__((weak));

static struct pool pools[POOL_TYPES] = {
	[POOL_CONTEXT] = {.object_bytes = sizeof(struct sim_context)},
	[POOL_STREAM] = {.object_bytes = sizeof(struct sim_stream)},
	[POOL_EVENT] = {.object_bytes = sizeof(struct sim_event)},
	[POOL_MODULE] = {.object_bytes = sizeof(struct sim_module)},
	[POOL_FUNCTION] = {.object_bytes = sizeof(struct sim_function)},
	[POOL_MEMORY] = {.object_bytes = sizeof(struct sim_memory_pool)},
	[POOL_PHYSICAL] = {.object_bytes = sizeof(struct sim_physical)},
	[POOL_ARRAY] = {.object_bytes = sizeof(struct sim_array)},
	[POOL_GRAPH] = {.object_bytes = sizeof(struct sim_graph)},
	[POOL_GRAPH_NODE] = {.object_bytes = sizeof(struct sim_graph_node)},
	[POOL_GRAPH_EXEC] = {.object_bytes = sizeof(struct sim_graph_exec)},
};

static void show_to_leak_checker(struct pool *pool)
{
	if (pool->used * pool->object_bytes <= pool->shown_bytes)
		return;
	if (__lsan_register_root_region)
		__lsan_register_root_region(pool->base + pool->shown_bytes, CHUNK_BYTES);
	pool->shown_bytes += CHUNK_BYTES;
}

void *sim_pool_new(enum sim_pool_type type)
{
	struct pool *pool = &pools[type];
	struct sim_object *object;

	if (!pool->base) {
		void *base = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (base == MAP_FAILED)
			return NULL;
		pool->base = base;
	}
	if (pool->free_count > KEEP_FREE) {
		object = pool->oldest_free;
		pool->oldest_free = object->next_free;
		pool->free_count--;
	} else if ((pool->used + 1) * pool->object_bytes <= POOL_BYTES) {
		object = (void *)(pool->base + pool->used * pool->object_bytes);
		pool->used++;
		show_to_leak_checker(pool);
	} else {
		return NULL;
	}
	memset(object, 0, pool->object_bytes);
	object->is_live = 1;
	return object;
}

void sim_pool_free(enum sim_pool_type type, void *freed)
{
	struct pool *pool = &pools[type];
	struct sim_object *object = freed;

	object->is_live = 0;
	object->next_free = NULL;
	if (pool->free_count++ == 0)
		pool->oldest_free = object;
	else
		pool->newest_free->next_free = object;
	pool->newest_free = object;
}

bool sim_pool_holds(enum sim_pool_type type, const void *handle)
{
	const struct pool *pool = &pools[type];
	uintptr_t offset = (uintptr_t)handle - (uintptr_t)pool->base;

	return pool->base && offset < pool->used * pool->object_bytes &&
	       offset % pool->object_bytes == 0 && ((const struct sim_object *)handle)->is_live;
}
