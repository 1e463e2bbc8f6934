/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTA's tables per stream: the idle split, queue lengths; and the bandwidth of copies.
 */
#include "big_array.h"
#include "map.h"
#include "run_sort.h"
#include "hta_tables.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "array_len.h"

#define KERNEL_WAIT_NS 30000

static int compare_streams(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* Counts each stream's operations, then says where the first one of each goes. */
static void place_streams(const struct hta_scope *scope, struct map *places)
{
	const struct model_device *device = &scope->model->devices[scope->device];
	uint32_t *streams = NULL;
	size_t stream_count = 0, capacity = 0;
	uint64_t sum = 0;

	for (size_t i = device->first_op; i < device->first_op + device->op_count; i++) {
		const struct gpu_op *op = &scope->model->ops[i];
		uint64_t *slot;
		bool is_new;

		if (!hta_scope_has(scope, op))
			continue;
		slot = map_slot(places, op->stream, &is_new);
		++*slot;
		if (!is_new)
			continue;
		if (stream_count == capacity)
			streams = array_grow(streams, &capacity, sizeof(*streams));
		streams[stream_count++] = op->stream;
	}
	if (stream_count)
		qsort(streams, stream_count, sizeof(*streams), compare_streams);
	for (size_t i = 0; i < stream_count; i++) {
		uint64_t *slot = map_slot(places, streams[i], NULL), count = *slot;

		*slot = sum;
		sum += count;
	}
	free(streams);
}

/* Operations by stream, then in the order in which they began, as the model has them. */
static const struct gpu_op **ops_by_stream(const struct hta_scope *scope, size_t *count)
{
	const struct model_device *device = &scope->model->devices[scope->device];
	const struct gpu_op **ops = big_array_take(device->op_count + 1, sizeof(*ops));
	struct map places;

	*count = 0;
	map_init(&places);
	place_streams(scope, &places);
	for (size_t i = device->first_op; i < device->first_op + device->op_count; i++) {
		const struct gpu_op *op = &scope->model->ops[i];

		if (!hta_scope_has(scope, op))
			continue;
		ops[(*map_slot(&places, op->stream, NULL))++] = op;
		++*count;
	}
	map_fini(&places);
	return ops;
}

static void split_idle(const struct model *model, const struct gpu_op *const *ops, size_t count,
		       struct hta_stream *stream)
{
	for (size_t i = 1; i < count; i++) {
		int64_t gap_ns = ops[i]->begin_ns - ops[i - 1]->end_ns;

		if (ops[i]->call != MODEL_NONE &&
		    model->calls[ops[i]->call].begin_ns > ops[i - 1]->end_ns)
			stream->host_wait_ns += gap_ns;
		else if (gap_ns < KERNEL_WAIT_NS)
			stream->kernel_wait_ns += gap_ns;
		else
			stream->other_ns += gap_ns;
	}
}

/* The calls that HTA knows to enqueue something. */
static bool enqueues(const char *api)
{
	static const char *const names[] = {
		"cudaLaunchKernel",	    "cudaLaunchKernelExC", "cuLaunchKernel",
		"cudaMemcpyAsync",	    "cudaMemsetAsync",	   "hipLaunchKernel",
		"hipExtModuleLaunchKernel", "hipMemcpyAsync",	   "hipMemsetAsync",
		"hipMemcpyWithStream",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (!strcmp(names[i], api))
			return true;
	}
	return false;
}

static int compare_times(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

/* The queue after each launch and each begin; at one instant the launch comes first. */
static struct value_stats queue_length(const struct model *model, const struct gpu_op *const *ops,
				       size_t count)
{
	int64_t *launches_ns = big_array_take(count + 1, sizeof(*launches_ns));
	int64_t *begins_ns = big_array_take(count + 1, sizeof(*begins_ns));
	struct value_list lengths = {0};
	struct value_stats stats;
	size_t used = 0, launched = 0, begun = 0;

	for (size_t i = 0; i < count; i++) {
		const struct host_call *call;

		if (ops[i]->call == MODEL_NONE)
			continue;
		call = &model->calls[ops[i]->call];
		if (!enqueues(model->apis[call->api]))
			continue;
		launches_ns[used] = call->begin_ns;
		begins_ns[used++] = ops[i]->begin_ns;
	}
	run_sort(launches_ns, used, sizeof(*launches_ns), compare_times);
	while (begun < used) {
		if (launched < used && launches_ns[launched] <= begins_ns[begun])
			launched++;
		else
			begun++;
		value_list_add(&lengths, (double)launched - (double)begun);
	}
	for (; launched < used; launched++)
		value_list_add(&lengths, (double)launched + 1 - (double)begun);
	stats = value_stats_of(&lengths);
	value_list_free(&lengths);
	big_array_free(launches_ns);
	big_array_free(begins_ns);
	return stats;
}

void hta_streams_build(const struct hta_scope *scope, struct hta_tables *tables)
{
	size_t count, capacity = 0;
	const struct gpu_op **ops = ops_by_stream(scope, &count);

	for (size_t first = 0, limit; first < count; first = limit) {
		struct hta_stream stream = {.stream = ops[first]->stream};

		for (limit = first; limit < count && ops[limit]->stream == stream.stream;)
			limit++;
		split_idle(scope->model, ops + first, limit - first, &stream);
		stream.queue_length = queue_length(scope->model, ops + first, limit - first);
		if (tables->stream_count == capacity)
			tables->streams =
				array_grow(tables->streams, &capacity, sizeof(*tables->streams));
		tables->streams[tables->stream_count++] = stream;
	}
	big_array_free(ops);
}

static enum hta_copy copy_of(const struct transfer *transfer)
{
	switch (transfer->direction) {
	case COPY_H2D:
		return HTA_COPY_H2D;
	case COPY_D2H:
		return HTA_COPY_D2H;
	case COPY_D2D:
		return HTA_COPY_D2D;
	case COPY_PEER:
		return HTA_COPY_PEER;
	case TRANSFER_SET:
		return HTA_COPY_SET;
	default:
		return HTA_COPY_COUNT;
	}
}

struct rate_change {
	int64_t time_ns;
	double gbs;
};

static int compare_rates(const void *left, const void *right)
{
	const struct rate_change *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->gbs < b->gbs) - (a->gbs > b->gbs);
}

static struct value_stats bandwidth_of(struct rate_change *changes, size_t count)
{
	struct value_list rates = {0};
	struct value_stats stats;
	double now = 0;

	if (count)
		qsort(changes, count, sizeof(*changes), compare_rates);
	for (size_t i = 0; i < count; i++) {
		now += changes[i].gbs;
		/* What is left of a sum of rates that all have ended is rounding. */
		if (now < 1e-6)
			now = 0;
		else
			value_list_add(&rates, now);
	}
	stats = value_stats_of(&rates);
	value_list_free(&rates);
	return stats;
}

void hta_bandwidth_build(const struct hta_scope *scope, struct hta_tables *tables)
{
	const struct model *model = scope->model;
	const struct model_device *device = &model->devices[scope->device];
	struct rate_change *changes = big_array_take(2 * device->op_count + 1, sizeof(*changes));

	for (int copy = 0; copy < HTA_COPY_COUNT; copy++) {
		size_t count = 0;

		for (size_t i = device->first_op; i < device->first_op + device->op_count; i++) {
			const struct gpu_op *op = &model->ops[i];
			int64_t length_ns = op->end_ns - op->begin_ns;
			double gbs;

			if (model_op_has_kernel(op) || !hta_scope_has(scope, op) ||
			    (int)copy_of(&model->transfers[op->detail]) != copy)
				continue;
			if (length_ns <= 0)
				length_ns = 1000;
			gbs = (double)model->transfers[op->detail].size_bytes / (double)length_ns;
			changes[count++] = (struct rate_change){op->begin_ns, gbs};
			changes[count++] = (struct rate_change){op->begin_ns + length_ns, -gbs};
		}
		tables->bandwidth_gbs[copy] = bandwidth_of(changes, count);
	}
	big_array_free(changes);
}
