/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a model stage by stage, frees it, and answers the small questions about it.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "big_array.h"
#include "error.h"
#include "model_internal.h"
#include "xmalloc.h"

static void builder_fini(struct model_builder *builder)
{
	map_fini(&builder->kernels);
	map_fini(&builder->sites);
	free(builder->apis);
	free(builder->places.threads);
	free(builder->templates);
	map_fini(&builder->transfers);
	map_fini(&builder->gemms);
	map_fini(&builder->convs);
	map_fini(&builder->threads);
	map_fini(&builder->sequence_names);
	free(builder->autograd_ranges);
	map_fini(&builder->devices);
	map_fini(&builder->mark_names);
	map_fini(&builder->series);
	map_fini(&builder->totals);
	graph_links_fini(&builder->graphs);
}

static int64_t model_rank(const struct model_source *source)
{
	static const char *const keys[] = {"rank", "env.RANK", "env.OMPI_COMM_WORLD_RANK",
					   "env.SLURM_PROCID", "env.PMI_RANK"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *text = source->info(source->context, keys[i]);
		char *end;
		long rank;

		if (!text || !*text)
			continue;
		rank = strtol(text, &end, 10);
		if (!*end && rank >= 0)
			return rank;
	}
	return -1;
}

int model_build(const struct model_source *source, struct model **out, struct error *err)
{
	struct model_builder builder;
	struct model *model = xcalloc(1, sizeof(*model));
	int rc;

	memset(&builder, 0, sizeof(builder));
	builder.model = model;
	model->source = *source;
	model->rank = model_rank(source);
	model->sites = array_grow(NULL, &builder.site_capacity, sizeof(*model->sites));
	model->sites[model->site_count++] = (struct model_site){.id = 0};
	model->apis = array_grow(NULL, &builder.api_capacity, sizeof(*model->apis));
	model->apis[model->api_count++] = "unknown call";
	call_totals_learn_recording(model);
	rc = model_collect(&builder, err);
	if (rc) {
		builder_fini(&builder);
		model_free(model);
		return rc;
	}
	model->calls = big_array_trim(model->calls, &builder.call_capacity, model->call_count,
				      sizeof(*model->calls));
	model->ops = big_array_trim(model->ops, &builder.op_capacity, model->op_count,
				    sizeof(*model->ops));
	sample_series_sort(model);
	model_link(&builder);
	forward_link(&builder);
	builder_fini(&builder);
	if (communicator_largest(model))
		model->rank = communicator_largest(model)->rank;
	memory_live_build(model);
	memory_owners_build(model);
	blind_spans_merge(model);
	driver_memory_build(model);
	step_detect(model);
	ledger_build(model);
	phases_build(model);
	framework_memory_sort(model);
	framework_memory_count_retries(model);
	*out = model;
	return 0;
}

void model_free(struct model *model)
{
	if (!model)
		return;
	for (size_t i = 0; i < model->device_count; i++)
		ledger_free(&model->devices[i].ledger);
	for (size_t i = 0; i < model->kernel_count; i++)
		free(model->kernels[i].short_name);
	free(model->devices);
	free(model->threads);
	big_array_free(model->ops);
	big_array_free(model->calls);
	free(model->kernels);
	free(model->transfers);
	free(model->gemms);
	free(model->convs);
	free(model->sites);
	for (size_t i = 0; i < model->forward_site_count; i++)
		free(model->forward_sites[i]);
	free(model->forward_sites);
	free(model->apis);
	big_array_free(model->memory_events);
	big_array_free(model->live_changes);
	free(model->driver_events);
	big_array_free(model->blocks);
	collectives_free(model);
	free(model->step_marks);
	big_array_free(model->phase_marks);
	free(model->site_phases);
	free(model->blinds);
	free(model->totals);
	sample_series_free(model);
	free(model->steps.items);
	free(model);
}

uint32_t model_call_root(const struct model *model, uint32_t call)
{
	while (model->calls[call].parent != MODEL_NONE)
		call = model->calls[call].parent;
	return call;
}

uint32_t model_op_call(const struct gpu_op *op)
{
	return op->origin != MODEL_NONE ? op->origin : op->call;
}

bool model_op_has_kernel(const struct gpu_op *op)
{
	return op->type == GPU_OP_KERNEL || op->type == GPU_OP_GRAPH;
}

uint32_t model_call_site(const struct model *model, uint32_t call)
{
	uint32_t site = 0;

	/* The outermost call is the one that the program itself made. */
	for (; call != MODEL_NONE; call = model->calls[call].parent) {
		if (model->calls[call].site)
			site = model->calls[call].site;
	}
	return site;
}

const char *model_api_name(const struct model *model, uint32_t call)
{
	return call == MODEL_NONE ? model->apis[0] : model->apis[model->calls[call].api];
}

/* The first of ops[low, high) that begins at or after the time. Work is spread over a recording
 * evenly enough that guessing finds its neighbourhood; halving would look at far-off memory. */
static size_t find_begin(const struct gpu_op *ops, size_t low, size_t high, int64_t time_ns)
{
	for (int round = 0; round < 3 && high - low > 64; round++) {
		int64_t first_ns = ops[low].begin_ns, last_ns = ops[high - 1].begin_ns;
		size_t guess, left, right, reach = (high - low) / 64 + 8;

		if (time_ns <= first_ns || time_ns > last_ns)
			return time_ns <= first_ns ? low : high;
		guess = low + (size_t)((double)(time_ns - first_ns) / (double)(last_ns - first_ns) *
				       (double)(high - 1 - low));
		left = guess - low > reach ? guess - reach : low;
		right = high - guess > reach ? guess + reach : high;
		if ((left > low && ops[left].begin_ns >= time_ns) ||
		    (right < high && ops[right].begin_ns < time_ns))
			break;
		low = left;
		high = right;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ops[middle].begin_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The range that is a window of a step; NULL none is. */
static const struct op_range *find_range(const struct device_ledger *ledger, int64_t begin_ns,
					 int64_t end_ns)
{
	size_t low = 0, high = ledger->range_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ledger->ranges[middle].begin_ns < begin_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ledger->range_count && ledger->ranges[low].begin_ns == begin_ns &&
			       ledger->ranges[low].end_ns == end_ns
		       ? &ledger->ranges[low]
		       : NULL;
}

void model_ops_between(const struct model *model, size_t device, int64_t begin_ns, int64_t end_ns,
		       size_t *first, size_t *limit)
{
	const struct model_device *of = &model->devices[device];
	const struct op_range *range = find_range(&of->ledger, begin_ns, end_ns);
	size_t behind = of->first_op + of->op_count;

	big_array_jump(); /* who asks walks them, and windows are many */
	if (range) {
		*first = range->first;
		*limit = range->limit;
		return;
	}
	*first = find_begin(model->ops, of->first_op, behind, begin_ns);
	*limit = find_begin(model->ops, of->first_op, behind, end_ns);
}

size_t model_steady_count(const struct model *model)
{
	return model->steps.steady_count ? model->steps.steady_count : 1;
}

size_t model_first_steady(const struct model *model, size_t device)
{
	const struct device_ledger *ledger = &model->devices[device].ledger;

	for (size_t i = 0; i < model->steps.count; i++) {
		if (model->steps.items[i].kind == STEP_STEADY && ledger->windows &&
		    ledger->windows[i].end_ns > ledger->windows[i].begin_ns)
			return i;
	}
	return SIZE_MAX;
}
