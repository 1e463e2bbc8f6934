/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Medians over the steady steps, of at most 64 Ki samples evenly taken.
 */
#include "host_stats.h"

#include <stdlib.h>
#include <string.h>

#include "number_select.h"
#include "xmalloc.h"

struct sample {
	int64_t *values;
	size_t count, seen, stride;
};

enum { SAMPLE_LIMIT = 65536 };

static void sample_init(struct sample *sample, size_t expected)
{
	sample->values = xmalloc(SAMPLE_LIMIT * sizeof(*sample->values));
	sample->count = 0;
	sample->seen = 0;
	sample->stride = expected / SAMPLE_LIMIT + 1;
}

static void sample_add(struct sample *sample, int64_t value)
{
	if (sample->seen++ % sample->stride == 0 && sample->count < SAMPLE_LIMIT)
		sample->values[sample->count++] = value;
}

static int64_t sample_take_median(struct sample *sample)
{
	int64_t median = 0;

	if (sample->count)
		median = number_select(sample->values, sample->count, sample->count / 2);
	free(sample->values);
	return median;
}

static uint16_t launching_thread(const struct model *model, const struct model_device *device,
				 bool *is_known)
{
	uint64_t *launches = xcalloc(model->thread_count + 1, sizeof(*launches));
	uint16_t best = 0;

	for (size_t i = 0; i < device->op_count; i++) {
		uint32_t call = model->ops[device->first_op + i].call;

		if (call != MODEL_NONE)
			launches[model->calls[call].thread]++;
	}
	for (size_t t = 0; t < model->thread_count; t++) {
		if (launches[t] > launches[best])
			best = (uint16_t)t;
	}
	*is_known = launches[best] > 0;
	free(launches);
	return best;
}

static void measure_gpu(const struct model *model, size_t device, struct host_stats *stats)
{
	const struct model_device *of = &model->devices[device];
	struct sample lengths, queues;

	sample_init(&lengths, of->op_count);
	sample_init(&queues, of->op_count);
	for (size_t s = 0; s < model->steps.count; s++) {
		const struct step_window *window = &of->ledger.windows[s];
		size_t first, limit;

		if (model->steps.items[s].kind != STEP_STEADY)
			continue;
		model_ops_between(model, device, window->begin_ns, window->end_ns, &first, &limit);
		for (size_t i = first; i < limit; i++) {
			const struct gpu_op *op = &model->ops[i];

			if (!model_op_has_kernel(op))
				continue;
			if (op->type == GPU_OP_GRAPH)
				stats->graphs++;
			else
				stats->kernels++;
			sample_add(&lengths, op->end_ns - op->begin_ns);
			if (op->call != MODEL_NONE)
				sample_add(&queues, op->begin_ns - model->calls[op->call].end_ns);
		}
	}
	stats->median_kernel_ns = sample_take_median(&lengths);
	stats->median_queue_ns = sample_take_median(&queues);
}

static void measure_host(const struct model *model, struct host_stats *stats)
{
	const struct model_thread *thread = &model->threads[stats->thread];
	struct sample intervals;
	int64_t wait_ns = 0, host_ns = 0;
	size_t at = thread->first_call, limit = thread->first_call + thread->call_count;

	sample_init(&intervals, thread->call_count);
	for (size_t s = 0; s < model->steps.count; s++) {
		const struct step *step = &model->steps.items[s];
		int64_t last_ns = 0;
		bool has_last = false;

		if (step->kind != STEP_STEADY)
			continue;
		host_ns += step->host_end_ns - step->host_begin_ns;
		while (at < limit && model->calls[at].begin_ns < step->host_begin_ns)
			at++;
		for (; at < limit && model->calls[at].begin_ns < step->host_end_ns; at++) {
			const struct host_call *call = &model->calls[at];

			if (call->parent == MODEL_NONE && (call->flags & CALL_BLOCKS))
				wait_ns += call->end_ns - call->begin_ns;
			if (call->kind != RECORD_KIND_launch || (call->flags & CALL_REDUNDANT))
				continue;
			if (has_last)
				sample_add(&intervals, call->begin_ns - last_ns);
			has_last = true;
			last_ns = call->begin_ns;
		}
	}
	stats->median_launch_interval_ns = sample_take_median(&intervals);
	stats->wait_ms = (double)wait_ns / 1e6 / (double)model_steady_count(model);
	stats->step_ms = (double)host_ns / 1e6 / (double)model_steady_count(model);
}

void host_stats_build(const struct model *model, size_t device, struct host_stats *stats)
{
	const struct model_device *of = &model->devices[device];

	memset(stats, 0, sizeof(*stats));
	if (!of->op_count)
		return;
	stats->thread = launching_thread(model, of, &stats->has_thread);
	measure_gpu(model, device, stats);
	if (stats->has_thread)
		measure_host(model, stats);
}
