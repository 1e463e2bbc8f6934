/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device address space. Addresses given to the application lie in a stretch that no one can touch,
 * as on a real GPU; the bytes are at a fixed distance, reserved without being committed, so that an
 * 80 GB device costs only what is written to it. Best fit, lowest address first, neighbours joined:
 * a freed address comes back soon, which is the hard case for a tool that follows allocations.
 */
#include "sim_internal.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { ALIGNMENT = 512, GIVE_BACK_BYTES = 2 << 20 };

static struct sim_range *new_block(uint64_t base, size_t bytes, ptrdiff_t backing)
{
	struct sim_range *block = calloc(1, sizeof(*block));

	if (block) {
		block->base = base;
		block->reserved_bytes = bytes;
		block->backing = backing;
	}
	return block;
}

bool sim_heap_reserve(struct sim_heap *heap, size_t bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	const size_t huge = (size_t)2 << 20;
	struct sim_range *block;
	void *shown, *real;

	if (heap->base)
		return true;
	shown = mmap(NULL, bytes + huge, PROT_NONE, flags, -1, 0);
	if (shown == MAP_FAILED)
		return false;
	real = mmap(NULL, bytes + huge, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (real == MAP_FAILED) {
		munmap(shown, bytes + huge);
		return false;
	}
	madvise(real, bytes + huge, MADV_HUGEPAGE);
	madvise(real, bytes + huge, MADV_DONTDUMP);
	heap->base = ((uintptr_t)shown + huge - 1) / huge * huge;
	heap->backing = (ptrdiff_t)(((uintptr_t)real + huge - 1) / huge * huge - heap->base);
	heap->bytes = bytes;
	block = new_block(heap->base, bytes, heap->backing);
	if (!block)
		return false;
	sim_tree_insert(&heap->free_blocks, &block->by_size, bytes, block->base);
	return true;
}

struct sim_range *sim_heap_take(struct sim_heap *heap, size_t bytes)
{
	size_t size = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	struct sim_tree_node *node = sim_tree_ceiling(&heap->free_blocks, size, 0);
	struct sim_range *block, *rest;

	if (!node || size < bytes)
		return NULL;
	block = SIM_TREE_ITEM(node, struct sim_range, by_size);
	if (block->reserved_bytes > size) {
		rest = new_block(block->base + size, block->reserved_bytes - size, heap->backing);
		if (!rest)
			return NULL;
		rest->before = block;
		rest->after = block->after;
		if (rest->after)
			rest->after->before = rest;
		block->after = rest;
		sim_tree_insert(&heap->free_blocks, &rest->by_size, rest->reserved_bytes,
				rest->base);
	}
	sim_tree_remove(&heap->free_blocks, &block->by_size);
	block->reserved_bytes = size;
	block->bytes = bytes;
	return block;
}

/* Joins `second` into `first`; neither is in the tree of free blocks. */
static void join_blocks(struct sim_range *first, struct sim_range *second)
{
	first->reserved_bytes += second->reserved_bytes;
	first->after = second->after;
	if (first->after)
		first->after->before = first;
	free(second);
}

/* A block is free exactly when it asks for nothing: bytes is 0. */
void sim_heap_give(struct sim_heap *heap, struct sim_range *block)
{
	struct sim_range *before = block->before, *after = block->after;

	if (block->reserved_bytes >= GIVE_BACK_BYTES && sim_worker_is_idle()) {
		uintptr_t real = (uintptr_t)((ptrdiff_t)block->base + heap->backing);
		uintptr_t first = (real + 4095) / 4096 * 4096;

		madvise((void *)first, (real + block->reserved_bytes) / 4096 * 4096 - first,
			MADV_DONTNEED);
	}
	block->bytes = 0;
	if (after && after->bytes == 0) {
		sim_tree_remove(&heap->free_blocks, &after->by_size);
		join_blocks(block, after);
	}
	if (before && before->bytes == 0) {
		sim_tree_remove(&heap->free_blocks, &before->by_size);
		join_blocks(before, block);
		block = before;
	}
	sim_tree_insert(&heap->free_blocks, &block->by_size, block->reserved_bytes, block->base);
}
