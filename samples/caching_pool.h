/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small caching allocator in the manner of the frameworks': it takes segments of 20 MiB and more,
 * cuts blocks from them, never moves a block, and gives a segment back only when all of it is free.
 */
#ifndef GPUTRACE_SAMPLES_CACHING_POOL_H
#define GPUTRACE_SAMPLES_CACHING_POOL_H

#include <stdbool.h>

#include "allocator_report.h"
#include "gpu.h"

enum { POOL_SEGMENT = 20 << 20, POOL_GRAIN = 2 << 20, POOL_BLOCK_GRAIN = 512 };

struct pool_block {
	struct pool_block *next; /* by address, within its segment */
	char *address;
	size_t bytes;
	bool is_used;
};

struct pool_segment {
	struct pool_segment *next;
	struct pool_block *blocks;
	void *memory;
	size_t bytes;
};

struct caching_pool {
	struct pool_segment *segments;
	size_t allocated, reserved;
};

static inline struct pool_block *pool_new_block(struct pool_block *next, char *address,
						size_t bytes)
{
	struct pool_block *block = (struct pool_block *)malloc(sizeof(*block));

	if (!block) {
		fprintf(stderr, "caching_pool: out of host memory\n");
		exit(1);
	}
	block->next = next;
	block->address = address;
	block->bytes = bytes;
	block->is_used = false;
	return block;
}

/* The smallest free block that fits, or NULL. */
static inline struct pool_block *pool_find(const struct caching_pool *pool, size_t bytes)
{
	struct pool_block *best = NULL;

	for (struct pool_segment *s = pool->segments; s; s = s->next) {
		for (struct pool_block *b = s->blocks; b; b = b->next) {
			if (!b->is_used && b->bytes >= bytes && (!best || b->bytes < best->bytes))
				best = b;
		}
	}
	return best;
}

/* Gives back every segment that holds no block in use. */
static inline bool pool_empty_cache(struct caching_pool *pool)
{
	struct pool_segment **link = &pool->segments;
	bool any = false;

	while (*link) {
		struct pool_segment *segment = *link;

		if (segment->blocks->is_used || segment->blocks->next) {
			link = &segment->next;
			continue;
		}
		*link = segment->next;
		GPU_TRY(gpu_free(segment->memory));
		pool->reserved -= segment->bytes;
		free(segment->blocks);
		free(segment);
		any = true;
	}
	return any;
}

static inline bool pool_grow(struct caching_pool *pool, size_t bytes)
{
	size_t size = bytes < (size_t)POOL_SEGMENT / 2
			      ? (size_t)POOL_SEGMENT
			      : (bytes + POOL_GRAIN - 1) / POOL_GRAIN * POOL_GRAIN;
	struct pool_segment *segment;
	void *memory;

	if (gpu_alloc(&memory, size)) {
		/* What lies unused goes back, and then the same once more. */
		if (!pool_empty_cache(pool) || gpu_alloc(&memory, size)) {
			gpu_forget_error();
			return false;
		}
		gpu_forget_error();
	}
	segment = (struct pool_segment *)malloc(sizeof(*segment));
	if (!segment) {
		fprintf(stderr, "caching_pool: out of host memory\n");
		exit(1);
	}
	segment->memory = memory;
	segment->bytes = size;
	segment->blocks = pool_new_block(NULL, (char *)memory, size);
	segment->next = pool->segments;
	pool->segments = segment;
	pool->reserved += size;
	return true;
}

/* NULL: out of memory, which has been reported. */
static inline void *pool_take(struct caching_pool *pool, size_t bytes)
{
	size_t size = (bytes + POOL_BLOCK_GRAIN - 1) / POOL_BLOCK_GRAIN * POOL_BLOCK_GRAIN;
	struct pool_block *block = pool_find(pool, size);

	if (!block && pool_grow(pool, size))
		block = pool_find(pool, size);
	if (!block) {
		allocator_report_failure(size, pool->allocated, pool->reserved);
		return NULL;
	}
	if (block->bytes - size > (1 << 20)) {
		block->next =
			pool_new_block(block->next, block->address + size, block->bytes - size);
		block->bytes = size;
	}
	block->is_used = true;
	pool->allocated += block->bytes;
	allocator_report(block->address, (int64_t)block->bytes, pool->allocated, pool->reserved);
	return block->address;
}

static inline void pool_join_free(struct pool_segment *segment)
{
	struct pool_block *block = segment->blocks;

	while (block && block->next) {
		struct pool_block *next = block->next;

		if (block->is_used || next->is_used) {
			block = next;
			continue;
		}
		block->bytes += next->bytes;
		block->next = next->next;
		free(next);
	}
}

static inline void pool_give(struct caching_pool *pool, void *address)
{
	for (struct pool_segment *s = pool->segments; s; s = s->next) {
		for (struct pool_block *b = s->blocks; b; b = b->next) {
			if (b->address != address || !b->is_used)
				continue;
			b->is_used = false;
			pool->allocated -= b->bytes;
			allocator_report(address, -(int64_t)b->bytes, pool->allocated,
					 pool->reserved);
			pool_join_free(s);
			return;
		}
	}
}

#endif
