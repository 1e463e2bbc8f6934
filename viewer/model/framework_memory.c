/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block records carry the totals after each event, so peaks need no replay and the records may come
 * in any order. Retries are read off the driver's allocations.
 */
#include "framework_memory.h"

#include "big_array.h"
#include "event_time.h"
#include "model_internal.h"
#include "run_sort.h"

#define RETRY_LIMIT_NS 2000000000 /* giving back a cache waits for the GPU */
#define PENDING	       16

static void add_oom(struct model_builder *builder, struct framework_memory *memory,
		    const struct record_block *block)
{
	if (memory->out_of_memory < FRAMEWORK_OOMS)
		memory->oom[memory->out_of_memory] = (struct framework_oom){
			.time_ns = event_time_host(builder->model, block->ticks),
			.wanted_bytes = block->size_bytes,
			.allocated_bytes = block->allocated_bytes,
			.reserved_bytes = block->reserved_bytes,
			.site = collect_site(builder, block->site),
		};
	memory->out_of_memory++;
}

static void keep_block(struct model_builder *builder, const struct record_block *block,
		       uint16_t device)
{
	struct model *model = builder->model;

	if (model->block_count == builder->block_capacity)
		model->blocks = big_array_grow(model->blocks, &builder->block_capacity,
					       sizeof(*model->blocks));
	model->blocks[model->block_count++] = (struct block_event){
		.time_ns = event_time_host(model, block->ticks),
		.address = block->address,
		.size_bytes = block->size_bytes,
		.allocated_bytes = block->allocated_bytes,
		.reserved_bytes = block->reserved_bytes,
		.site = collect_site(builder, block->site),
		.device = device,
		.op = block->op,
		.flags = block->flags,
	};
}

static int compare_blocks(const void *left, const void *right)
{
	const struct block_event *a = left, *b = right;

	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* Stable, so that records of one instant keep the order of the file. */
void framework_memory_sort(struct model *model)
{
	if (model->block_count)
		run_sort(model->blocks, model->block_count, sizeof(*model->blocks), compare_blocks);
}

static void add_block(struct model_builder *builder, const struct record_block *block)
{
	struct model *model = builder->model;
	uint16_t device = collect_device(builder, block->device);
	struct framework_memory *memory;

	if (device == MODEL_NO_DEVICE)
		return;
	keep_block(builder, block, device);
	memory = &model->devices[device].framework;
	switch (block->op) {
	case BLOCK_ALLOC:
		memory->allocations++;
		break;
	case BLOCK_FREE:
		memory->frees++;
		break;
	case BLOCK_OUT_OF_MEMORY:
		add_oom(builder, memory, block);
		break;
	default:
		break;
	}
	if (block->reserved_bytes > memory->peak_reserved_bytes)
		memory->peak_reserved_bytes = block->reserved_bytes;
	if (block->allocated_bytes > memory->peak_allocated_bytes) {
		memory->peak_allocated_bytes = block->allocated_bytes;
		memory->reserved_at_peak_bytes = block->reserved_bytes;
		memory->peak_ns = event_time_host(model, block->ticks);
	}
}

void collect_blocks(struct model_builder *builder, const struct trace_batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++)
		add_block(builder,
			  (const void *)((const char *)batch->rows + (size_t)i * batch->row_bytes));
}

struct pending {
	int64_t time_ns;
	uint64_t size_bytes;
	uint16_t thread, device;
};

void framework_memory_count_retries(struct model *model)
{
	struct pending pending[PENDING];
	size_t count = 0;

	for (size_t i = 0; i < model->memory_event_count; i++) {
		const struct memory_event *event = &model->memory_events[i];
		const struct host_call *call = &model->calls[event->call];
		size_t at = 0;

		if (event->op != MEMORY_ALLOC || (call->flags & CALL_REDUNDANT) ||
		    event->device == MODEL_NO_DEVICE)
			continue;
		while (at < count &&
		       (pending[at].thread != call->thread || pending[at].device != event->device ||
			pending[at].size_bytes != event->size_bytes))
			at++;
		if (call->status) {
			if (at == count)
				count += count < PENDING;
			/* With too many open ones the last place is used over and over. */
			pending[at < PENDING ? at : PENDING - 1] = (struct pending){
				event->time_ns, event->size_bytes, call->thread, event->device};
		} else if (at < count) {
			if (event->time_ns - pending[at].time_ns <= RETRY_LIMIT_NS)
				model->devices[event->device].framework.retries++;
			pending[at] = pending[--count];
		}
	}
}
