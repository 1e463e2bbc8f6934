/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brings order into what was collected: calls by thread and time, operations by device and time,
 * calls linked to the calls around them, operations to the calls that launched them.
 *
 * Nested calls: cudaMemcpy that calls cuMemcpyHtoD_v2 is one copy, so a call inside one of the same
 * kind is redundant. cublasGemmEx that calls cuLaunchKernelEx is a product that owns a launch; both
 * stay. Many GPU operations may have one correlation number (graphs), so the link goes from the
 * operation to the call.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "big_array.h"
#include "model_internal.h"
#include "number_select.h"
#include "run_sort.h"
#include "xmalloc.h"

static int compare_i64(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

/* By thread, then begin; at the same nanosecond the call that was entered first. */
static int compare_calls(const void *left, const void *right)
{
	const struct host_call *a = left, *b = right;
	int order = compare_u32(a->thread, b->thread);

	if (!order)
		order = compare_i64(a->begin_ns, b->begin_ns);
	return order ? order : compare_u32(a->call_id, b->call_id);
}

static int compare_ops(const void *left, const void *right)
{
	const struct gpu_op *a = left, *b = right;
	int order = compare_u32(a->device, b->device);

	if (!order)
		order = compare_i64(a->begin_ns, b->begin_ns);
	if (!order)
		order = compare_i64(a->end_ns, b->end_ns);
	if (!order)
		order = compare_u32(a->stream, b->stream);
	return order ? order : compare_u32(a->call, b->call);
}

static bool transfer_is_pageable(const struct transfer *transfer)
{
	return (transfer->direction == COPY_H2D && transfer->source_kind == MEMORY_PAGEABLE) ||
	       (transfer->direction == COPY_D2H && transfer->destination_kind == MEMORY_PAGEABLE);
}

/* Calls that hold the thread until the GPU got somewhere: what drains the queue (RULES.md, part 5).
 * An asynchronous copy of pageable memory is one in fact, whatever its name says. */
static bool call_blocks(const struct model *model, const struct host_call *call)
{
	if (call->flags & CALL_CAPTURED)
		return false;
	switch (call->kind) {
	case RECORD_KIND_sync:
		return true;
	case RECORD_KIND_copy:
		return !(call->flags & CALL_ASYNC) ||
		       transfer_is_pageable(&model->transfers[call->detail]);
	case RECORD_KIND_memory:
		return !(call->flags & CALL_ASYNC) &&
		       model->memory_events[call->detail].op == MEMORY_FREE;
	default:
		return false;
	}
}

static void flag_call(struct model *model, struct host_call *call)
{
	if (call->status)
		model->failed_calls++;
	if (call_blocks(model, call))
		call->flags |= CALL_BLOCKS;
	/* A product keeps its shape for the nodes that were captured inside. */
	if ((call->flags & CALL_CAPTURED) && call->kind != RECORD_KIND_gemm &&
	    call->kind != RECORD_KIND_conv)
		call->flags |= CALL_REDUNDANT;
	for (uint32_t up = call->parent; up != MODEL_NONE; up = model->calls[up].parent) {
		if ((model->calls[up].kind == call->kind && call->kind != RECORD_KIND_call) ||
		    (model->calls[up].kind == RECORD_KIND_conv && call->kind == RECORD_KIND_gemm))
			call->flags |= CALL_REDUNDANT;
		/* Whoever encloses a blocking call comes back when it does. */
		if (call->flags & CALL_BLOCKS)
			model->calls[up].flags |= CALL_BLOCKS;
	}
}

/* Calls that are open at an instant of the thread at hand. */
struct open_calls {
	uint32_t *items;
	size_t count, capacity;
};

/*
 * Replaces a parent's id by its index. Calls of a thread come in the order in which they were
 * entered, so the open ones form a stack: the parent is on it, unless its record was lost.
 */
static void link_parent(struct model *model, uint32_t index, struct open_calls *open)
{
	struct host_call *call = &model->calls[index];
	uint32_t parent_id = call->parent;

	call->parent = MODEL_NONE;
	if (!parent_id)
		open->count = 0;
	while (open->count && model->calls[open->items[open->count - 1]].call_id != parent_id)
		open->count--;
	if (open->count)
		call->parent = open->items[open->count - 1];
	if (open->count == open->capacity)
		open->items = array_grow(open->items, &open->capacity, sizeof(*open->items));
	open->items[open->count++] = index;
}

/* In one pass, since the calls of a long recording are far more than a cache holds. */
static void link_calls(struct model *model)
{
	struct open_calls open = {NULL, 0, 0};
	struct model_thread *thread = NULL;

	calls_gather(model);
	run_sort(model->calls, model->call_count, sizeof(*model->calls), compare_calls);
	for (uint32_t i = 0; i < model->call_count; i++) {
		struct host_call *call = &model->calls[i];

		if (thread != &model->threads[call->thread]) {
			thread = &model->threads[call->thread];
			thread->first_call = i;
			open.count = 0;
		}
		thread->call_count++;
		if (call->kind == RECORD_KIND_memory)
			model->memory_events[call->detail].call = i;
		link_parent(model, i, &open);
		flag_call(model, call);
		if (i == 0 || call->begin_ns < model->begin_ns)
			model->begin_ns = call->begin_ns;
		if (i == 0 || call->end_ns > model->end_ns)
			model->end_ns = call->end_ns;
	}
	free(open.items);
}

/* Of two calls with one correlation number the one that is the operation itself, then the outer. */
static bool is_better_launch(const struct model *model, uint32_t candidate, uint32_t known)
{
	const struct host_call *new = &model->calls[candidate], *old = &model->calls[known];
	bool new_launches = new->kind == RECORD_KIND_launch || new->kind == RECORD_KIND_copy ||
			    new->kind == RECORD_KIND_set;
	bool old_launches = old->kind == RECORD_KIND_launch || old->kind == RECORD_KIND_copy ||
			    old->kind == RECORD_KIND_set;

	return new_launches && !old_launches;
}

/* CUPTI counts correlations up from 1, so a plain table serves; a map where a file has others. */
struct correlation_index {
	uint32_t *table;
	size_t limit;
	struct map map;
};

static uint32_t correlation_find(const struct correlation_index *index, uint32_t correlation)
{
	const uint64_t *found;

	if (index->table)
		return correlation < index->limit ? index->table[correlation] : MODEL_NONE;
	found = map_find(&index->map, correlation);
	return found ? (uint32_t)*found : MODEL_NONE;
}

static void correlation_build(const struct model *model, struct correlation_index *index)
{
	uint32_t highest = 0;

	memset(index, 0, sizeof(*index));
	for (size_t i = 0; i < model->call_count; i++) {
		if (model->calls[i].correlation > highest)
			highest = model->calls[i].correlation;
	}
	if (highest < 8 * model->call_count + 65536) {
		index->limit = (size_t)highest + 1;
		index->table = big_array_take(index->limit, sizeof(*index->table));
		memset(index->table, 0xff, index->limit * sizeof(*index->table));
	}
	for (uint32_t i = 0; i < model->call_count; i++) {
		uint32_t correlation = model->calls[i].correlation;
		uint32_t known;

		if (!correlation)
			continue;
		known = correlation_find(index, correlation);
		if (known != MODEL_NONE && !is_better_launch(model, i, known))
			continue;
		if (index->table)
			index->table[correlation] = i;
		else
			*map_slot(&index->map, correlation, NULL) = i;
	}
}

/* The copy record of the GPU knows the memory kinds best, the call knows what the GPU does not say.
 */
static void link_transfer(struct model_builder *builder, struct gpu_op *op)
{
	struct model *model = builder->model;
	const struct host_call *call = &model->calls[op->call];
	const struct transfer *asked;
	struct transfer merged;

	if (op->type != GPU_OP_COPY || call->kind != RECORD_KIND_copy)
		return;
	merged = model->transfers[op->detail];
	asked = &model->transfers[call->detail];
	if (merged.direction == COPY_UNKNOWN)
		merged.direction = asked->direction;
	if (merged.source_kind == MEMORY_UNKNOWN)
		merged.source_kind = asked->source_kind;
	if (merged.destination_kind == MEMORY_UNKNOWN)
		merged.destination_kind = asked->destination_kind;
	if (merged.peer == MODEL_NO_DEVICE)
		merged.peer = asked->peer;
	merged.is_async = asked->is_async;
	merged.is_default_stream = asked->is_default_stream;
	op->detail = collect_transfer(builder, &merged);
}

/* Other tools' recordings name the kernel only where it ran. */
static void link_kernel(struct model *model, struct gpu_op *op)
{
	struct host_call *call = &model->calls[op->call];

	if (op->type == GPU_OP_KERNEL && call->kind == RECORD_KIND_launch &&
	    !model->kernels[call->detail].id)
		call->detail = op->detail;
	if (op->type == GPU_OP_GRAPH && call->kind == RECORD_KIND_launch &&
	    model->kernels[call->detail].executable)
		op->detail = call->detail;
}

static void add_event_kernel(struct model *model, const struct gpu_op *op)
{
	struct event_times *times = &model->event_times;

	if (model->kernels[op->detail].traits.kernel_class == KERNEL_COMMUNICATION) {
		times->collectives++;
		times->collective_ns += op->end_ns - op->begin_ns;
	} else {
		times->launches++;
		times->launch_ns += op->end_ns - op->begin_ns;
	}
}

/* Pairs of events time some operations, with the waiting around them: sums of copies can be told of
 * them, and nothing that needs all operations. Without CUPTI the model has no operations. */
static void set_apart_events(struct model *model)
{
	const char *source = model->source.info(model->source.context, "gpu_times.source");

	if (!source || strcmp(source, "events") != 0)
		return;
	model->event_times.count = model->op_count;
	for (size_t i = 0; i < model->op_count; i++) {
		const struct gpu_op *op = &model->ops[i];
		const struct transfer *transfer = &model->transfers[op->detail];
		bool is_back;

		if (op->type == GPU_OP_KERNEL)
			add_event_kernel(model, op);
		if (op->type != GPU_OP_COPY ||
		    (transfer->direction != COPY_H2D && transfer->direction != COPY_D2H))
			continue;
		is_back = transfer->direction == COPY_D2H;
		model->event_times.bytes[is_back] += transfer->size_bytes;
		model->event_times.busy_ns[is_back] += op->end_ns - op->begin_ns;
	}
	model->op_count = 0;
}

static void link_ops(struct model_builder *builder)
{
	struct model *model = builder->model;
	struct correlation_index index;

	set_apart_events(model);
	run_sort(model->ops, model->op_count, sizeof(*model->ops), compare_ops);
	correlation_build(model, &index);
	for (size_t i = 0; i < model->op_count; i++) {
		struct gpu_op *op = &model->ops[i];
		struct model_device *device = &model->devices[op->device];

		op->call = op->call ? correlation_find(&index, op->call) : MODEL_NONE;
		if (op->call == MODEL_NONE) {
			device->unlinked_ops++;
		} else {
			link_transfer(builder, op);
			link_kernel(model, op);
		}
		if (!device->op_count) {
			device->first_op = i;
			device->begin_ns = op->begin_ns;
			device->end_ns = op->end_ns;
		}
		if (op->end_ns > device->end_ns)
			device->end_ns = op->end_ns;
		device->op_count++;
	}
	model->has_gpu_times = model->op_count > 0;
	big_array_free(index.table);
	map_fini(&index.map);
}

/* Operations may begin before the first call and end behind the last. */
static void link_range(struct model *model)
{
	bool is_first = model->call_count == 0;

	for (size_t i = 0; i < model->device_count; i++) {
		const struct model_device *device = &model->devices[i];

		if (!device->op_count)
			continue;
		if (is_first || device->begin_ns < model->begin_ns)
			model->begin_ns = device->begin_ns;
		if (is_first || device->end_ns > model->end_ns)
			model->end_ns = device->end_ns;
		is_first = false;
	}
}

static void see_first_launch(struct model *model, uint32_t index)
{
	const struct host_call *call = &model->calls[index];
	uint32_t *first;

	if (call->detail >= model->kernel_count)
		return;
	first = &model->kernels[call->detail].first_launch;
	if (*first == MODEL_NONE || call->begin_ns < model->calls[*first].begin_ns)
		*first = index;
}

/* The first launch of every kernel, and the median time from one launch of a thread to its next; of
 * at most 64 Ki intervals, evenly taken. */
static void link_launches(struct model *model)
{
	enum { SAMPLES = 65536, LEAST_INTERVALS = 10 };
	int64_t *intervals = xmalloc(SAMPLES * sizeof(*intervals));

	for (size_t i = 0; i < model->kernel_count; i++)
		model->kernels[i].first_launch = MODEL_NONE;
	for (size_t t = 0; t < model->thread_count; t++) {
		struct model_thread *thread = &model->threads[t];
		size_t stride = thread->call_count / SAMPLES + 1, seen = 0, count = 0;
		int64_t last_ns = 0;

		for (size_t i = 0; i < thread->call_count; i++) {
			uint32_t index = (uint32_t)(thread->first_call + i);
			const struct host_call *call = &model->calls[index];

			if (call->kind != RECORD_KIND_launch)
				continue;
			see_first_launch(model, index);
			if (call->flags & CALL_REDUNDANT)
				continue;
			if (seen && seen % stride == 0 && count < SAMPLES)
				intervals[count++] = call->begin_ns - last_ns;
			last_ns = call->begin_ns;
			seen++;
		}
		/* The median of a few is one of the gaps that it is to judge. */
		if (count >= LEAST_INTERVALS)
			thread->median_launch_interval_ns =
				number_select(intervals, count, count / 2);
	}
	free(intervals);
}

static int compare_marks(const void *left, const void *right)
{
	const struct step_mark *a = left, *b = right;

	return compare_i64(a->begin_ns, b->begin_ns);
}

static int compare_memory_events(const void *left, const void *right)
{
	const struct memory_event *a = left, *b = right;
	int order = compare_i64(a->time_ns, b->time_ns);

	/* At the same instant an address is free before it is handed out again. */
	if (!order)
		order = (b->op == MEMORY_FREE) - (a->op == MEMORY_FREE);
	return order ? order : compare_u32(a->call, b->call);
}

static void link_memory_events(struct model *model)
{
	struct memory_event *events = model->memory_events;

	qsort(events, model->memory_event_count, sizeof(*events), compare_memory_events);
	for (uint32_t i = 0; i < model->memory_event_count; i++)
		model->calls[events[i].call].detail = i;
}

void model_link(struct model_builder *builder)
{
	struct model *model = builder->model;

	link_calls(model);
	collectives_sort(model);
	link_ops(builder);
	collectives_link(model);
	model_link_graphs(builder);
	link_range(model);
	link_launches(model);
	if (model->memory_event_count)
		link_memory_events(model);
	if (model->step_mark_count)
		qsort(model->step_marks, model->step_mark_count, sizeof(*model->step_marks),
		      compare_marks);
}
