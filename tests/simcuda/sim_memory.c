/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All memory that the driver knows, by address, and the taking and giving back of device memory
 * with its count of live bytes. The functions of the API are in sim_memory_api.c.
 */
#include "sim_internal.h"

#include <stdlib.h>
#include <sys/mman.h>

#define SHOWN_BYTES ((size_t)1 << 20) /* smaller host memory is of no interest to the collector */

static struct sim_tree known;
static uint64_t last_buffer_id;

struct sim_range *sim_memory_find(uint64_t address)
{
	struct sim_tree_node *node = sim_tree_floor(&known, address);
	struct sim_range *range;

	if (!node)
		return NULL;
	range = SIM_TREE_ITEM(node, struct sim_range, by_address);
	return address - range->base < range->bytes ? range : NULL;
}

bool sim_memory_overlaps(uint64_t address, size_t bytes)
{
	struct sim_tree_node *next = sim_tree_ceiling(&known, address, 0);

	return sim_memory_find(address) || (next && next->key < address + bytes);
}

/* Mapped memory goes on in the next mapping of the same reservation, as long as it may be touched.
 */
static bool reaches(const struct sim_range *range, uint64_t address, size_t bytes)
{
	const ptrdiff_t backing = range->backing;
	uint64_t end = address + bytes;

	if (end < address || (range->kind == SIM_MAPPED && !range->access))
		return false;
	while (end > range->base + range->bytes) {
		if (range->kind != SIM_MAPPED)
			return false;
		range = sim_memory_find(range->base + range->bytes);
		if (!range || range->kind != SIM_MAPPED || !range->access ||
		    range->backing != backing)
			return false;
	}
	return true;
}

bool sim_memory_place(uint64_t address, size_t bytes, struct sim_place *place)
{
	const struct sim_range *range = sim_memory_find(address);

	if (!range) {
		place->bytes = (void *)(uintptr_t)address;
		place->kind = SIM_PAGEABLE;
		place->node = SIM_MACHINE_NONE;
		place->device = NULL;
		return true;
	}
	if (!reaches(range, address, bytes))
		return false;
	place->bytes = (void *)((intptr_t)address + range->backing);
	place->kind = range->kind;
	place->node = range->node;
	place->device = range->device;
	return true;
}

void sim_memory_know_free_standing(struct sim_range *range, struct sim_device *device,
				   enum sim_memory_kind kind)
{
	range->kind = kind;
	range->node = sim_link_is_described() ? sim_link_node_of_caller() : SIM_MACHINE_NONE;
	range->context = NULL;
	range->device = device;
	range->buffer_id = ++last_buffer_id;
	range->flags = 0;
	range->is_module_global = false;
	range->pool = NULL;
	range->physical = NULL;
	if (range->node != SIM_MACHINE_NONE && (kind == SIM_HOST || kind == SIM_REGISTERED) &&
	    range->bytes >= SHOWN_BYTES)
		sim_link_show_pages(range->base, range->bytes, range->node);
	sim_tree_insert(&known, &range->by_address, range->base, 0);
}

void sim_memory_know(struct sim_range *range, struct sim_context *context,
		     enum sim_memory_kind kind)
{
	sim_memory_know_free_standing(range, context->device, kind);
	range->context = context;
}

void sim_memory_forget(struct sim_range *range)
{
	sim_tree_remove(&known, &range->by_address);
}

CUresult sim_memory_take(struct sim_context *context, size_t bytes, struct sim_range **taken)
{
	struct sim_device *device = context->device;
	struct sim_range *range;

	/* What pools keep for later is given back before a request fails. */
	if (!sim_live_has_room(device, bytes) &&
	    !(sim_pool_memory_release(device, true) && sim_live_has_room(device, bytes)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	range = sim_heap_take(&device->heap, bytes);
	if (!range)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_memory_know(range, context, SIM_DEVICE);
	sim_live_add(device, SIM_LIVE_PLAIN, bytes);
	*taken = range;
	return CUDA_SUCCESS;
}

struct sim_range *sim_memory_take_global(struct sim_context *context, size_t bytes)
{
	struct sim_range *range = sim_heap_take(&context->device->heap, bytes);

	if (range) {
		sim_memory_know(range, context, SIM_DEVICE);
		range->is_module_global = true;
	}
	return range;
}

void sim_memory_give(struct sim_range *range)
{
	sim_memory_forget(range);
	if (!range->is_module_global)
		sim_live_sub(range->device, sim_live_kind_of(range), range->bytes);
	switch (range->kind) {
	case SIM_DEVICE:
		if (range->pool)
			sim_pool_memory_give(range);
		else
			sim_heap_give(&range->device->heap, range);
		return;
	case SIM_HOST:
	case SIM_MANAGED:
		munmap((void *)(uintptr_t)range->base, range->reserved_bytes);
		break;
	case SIM_MAPPED:
		sim_vmm_forget(range);
		break;
	case SIM_IMPORTED:
		sim_ipc_forget(range);
		break;
	default:
		break;
	}
	free(range);
}

struct drop {
	const struct sim_context *context;
	struct sim_range *found;
};

static void find_of_context(struct sim_tree_node *node, void *data)
{
	struct sim_range *range = SIM_TREE_ITEM(node, struct sim_range, by_address);
	struct drop *drop = data;

	if (range->context == drop->context) {
		range->next_dropped = drop->found;
		drop->found = range;
	}
}

void sim_memory_drop_context(const struct sim_context *context)
{
	struct drop drop = {.context = context};

	sim_array_drop_context(context);
	sim_tree_visit(&known, find_of_context, &drop);
	while (drop.found) {
		struct sim_range *range = drop.found;

		drop.found = range->next_dropped;
		sim_memory_give(range);
	}
}
