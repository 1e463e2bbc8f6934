/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's records come in any order, so they are sorted first. A pool's numbers are those of its
 * last record. An allocation belongs to a call when one in the file returned the same address; each
 * call stands for one, since addresses come again.
 */
#include "driver_memory.h"

#include <stdlib.h>

#include "array.h"
#include "event_time.h"
#include "model_internal.h"

void driver_memory_collect(struct model_builder *builder, const struct trace_batch *batch)
{
	struct model *model = builder->model;

	for (uint32_t i = 0; i < batch->count; i++) {
		const void *row = (const char *)batch->rows + (size_t)i * batch->row_bytes;
		const struct gpu_part *part = row;
		const struct record_gpu_memory *memory = row;
		const struct record_gpu_pool *pool = row;
		struct driver_event event = {
			.time_ns = event_time_gpu(model, part->begin_ns),
			.device = collect_device(builder, part->device),
		};

		if (event.device == MODEL_NO_DEVICE)
			continue;
		if (batch->kind == RECORD_KIND_gpu_memory) {
			event.address = memory->address;
			event.size_bytes = memory->size_bytes;
			event.pool = memory->pool;
			event.reserved_bytes = memory->pool_reserved_bytes;
			event.used_bytes = memory->pool_used_bytes;
			event.op = memory->op;
			event.kind = memory->memory_kind;
		} else {
			event.pool = pool->pool;
			event.reserved_bytes = pool->reserved_bytes;
			event.used_bytes = pool->used_bytes;
			event.op = pool->op == GPU_POOL_DESTROY ? MEMORY_FREE : 0;
			event.kind = MEMORY_POOL;
		}
		if (model->driver_event_count == builder->driver_event_capacity)
			model->driver_events =
				array_grow(model->driver_events, &builder->driver_event_capacity,
					   sizeof(*model->driver_events));
		model->driver_events[model->driver_event_count++] = event;
	}
}

static int compare_times(const void *one, const void *two)
{
	const struct driver_event *left = one, *right = two;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	/* Of one instant: what goes makes room for what comes. */
	return (left->op == MEMORY_ALLOC) - (right->op == MEMORY_ALLOC);
}

/* The numbers of one pool before: its parts of the sums. */
struct pool_numbers {
	uint64_t reserved_bytes, used_bytes;
};

struct driver_walk {
	struct map pools;  /* device and pool -> index of numbers + 1 */
	struct map calls;  /* address -> allocations by calls that are not matched yet */
	struct map unseen; /* address -> size of a live allocation of nobody */
	struct pool_numbers *numbers;
	size_t number_count, number_capacity;
};

static void walk_pool(struct driver_walk *walk, const struct driver_event *event,
		      struct driver_memory *memory)
{
	bool is_new;
	uint64_t *slot = map_slot(&walk->pools, map_mix(event->device, event->pool), &is_new);
	struct pool_numbers now = {event->reserved_bytes, event->used_bytes};

	if (is_new) {
		if (walk->number_count == walk->number_capacity)
			walk->numbers = array_grow(walk->numbers, &walk->number_capacity,
						   sizeof(*walk->numbers));
		walk->numbers[walk->number_count++] = (struct pool_numbers){0};
		*slot = walk->number_count;
	}
	if (!event->address && event->op == MEMORY_FREE)
		now = (struct pool_numbers){0};
	memory->has_pools = true;
	memory->reserved_bytes += now.reserved_bytes - walk->numbers[*slot - 1].reserved_bytes;
	memory->used_bytes += now.used_bytes - walk->numbers[*slot - 1].used_bytes;
	walk->numbers[*slot - 1] = now;
	if (memory->reserved_bytes > memory->reserved_peak_bytes)
		memory->reserved_peak_bytes = memory->reserved_bytes;
	if (memory->used_bytes > memory->used_peak_bytes)
		memory->used_peak_bytes = memory->used_bytes;
}

static void walk_memory(struct driver_walk *walk, const struct driver_event *event,
			struct driver_memory *memory)
{
	uint64_t *by_call, size_bytes;
	bool is_new;

	if (event->op == MEMORY_FREE) {
		memory->frees++;
		if (map_remove(&walk->unseen, event->address, &size_bytes))
			memory->unseen_bytes -= size_bytes;
		return;
	}
	memory->allocations++;
	by_call = map_slot(&walk->calls, event->address, &is_new);
	if (*by_call > 0) {
		--*by_call;
		return;
	}
	memory->unseen++;
	by_call = map_slot(&walk->unseen, event->address, &is_new);
	memory->unseen_bytes += event->size_bytes - *by_call;
	*by_call = event->size_bytes;
	if (memory->unseen_bytes > memory->unseen_peak_bytes)
		memory->unseen_peak_bytes = memory->unseen_bytes;
}

/* Whether calls about memory are missing in the file; then what they asked for is nobody's. */
static bool has_lost_calls(const struct model *model)
{
	const struct trace_health *health = model->source.health;

	return health->lost[RECORD_KIND_memory] || health->lost[0] || model->blind_count > 0;
}

static void count_calls(const struct model *model, struct map *calls)
{
	bool is_new;

	for (size_t i = 0; i < model->memory_event_count; i++) {
		const struct memory_event *event = &model->memory_events[i];
		const struct host_call *call = &model->calls[event->call];

		if (event->op == MEMORY_ALLOC && !call->status &&
		    !(call->flags & (CALL_REDUNDANT | CALL_CAPTURED)) && event->address)
			++*map_slot(calls, event->address, &is_new);
	}
}

void driver_memory_build(struct model *model)
{
	struct driver_walk walk = {0};
	bool is_judged = !has_lost_calls(model);

	if (model->driver_event_count == 0)
		return;
	qsort(model->driver_events, model->driver_event_count, sizeof(*model->driver_events),
	      compare_times);
	map_init(&walk.pools);
	map_init(&walk.calls);
	map_init(&walk.unseen);
	count_calls(model, &walk.calls);
	for (size_t i = 0; i < model->driver_event_count; i++) {
		const struct driver_event *event = &model->driver_events[i];
		struct driver_memory *memory = &model->devices[event->device].driver_memory;

		memory->is_unseen_judged = is_judged;
		if (event->pool)
			walk_pool(&walk, event, memory);
		if (event->address && (event->kind == MEMORY_DEVICE ||
				       event->kind == MEMORY_MANAGED || event->kind == MEMORY_POOL))
			walk_memory(&walk, event, memory);
	}
	map_fini(&walk.pools);
	map_fini(&walk.calls);
	map_fini(&walk.unseen);
	free(walk.numbers);
}
