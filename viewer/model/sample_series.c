/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A series keeps at most SERIES_POINTS points: when it is full, every second one goes and from then
 * on every second new one stays out, and so on. Counters and slow values lose nothing by it.
 */
#include "sample_series.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "event_time.h"
#include "model_internal.h"

#define SERIES_POINTS 16384u
#define SERIES_LIMIT  4096u /* more subjects than that are not a machine */
#define PAGES_LIMIT   65536u
/* A sample shows the GPU at work when an operation ran this long before it or at it. */
#define LOADED_NS	 100000000
#define LOADED_LOOK_BACK 64

static struct sample_series *series_of(struct model_builder *builder, uint16_t metric,
				       uint32_t subject)
{
	struct model *model = builder->model;
	bool is_new;
	uint64_t *slot;

	if (model->series_count == SERIES_LIMIT)
		return NULL;
	slot = map_slot(&builder->series, (uint64_t)metric << 32 | subject, &is_new);
	if (is_new) {
		if (model->series_count == builder->series_capacity)
			model->series = array_grow(model->series, &builder->series_capacity,
						   sizeof(*model->series));
		*slot = model->series_count;
		model->series[model->series_count++] =
			(struct sample_series){.metric = metric, .subject = subject, .stride = 1};
	}
	return &model->series[*slot];
}

static void thin_out(struct sample_series *series)
{
	size_t kept = 0;

	for (size_t i = 0; i < series->count; i += 2)
		series->points[kept++] = series->points[i];
	series->count = kept;
	series->stride *= 2;
	series->skipped = 0;
}

void collect_samples(struct model_builder *builder, const struct trace_batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		const void *row = (const char *)batch->rows + (size_t)i * batch->row_bytes;
		const struct record_sample *sample = row;
		struct sample_series *series = series_of(builder, sample->metric, sample->subject);

		if (!series || series->skipped++ % series->stride)
			continue;
		if (series->count == SERIES_POINTS)
			thin_out(series);
		if (series->count == series->capacity)
			series->points = array_grow(series->points, &series->capacity,
						    sizeof(*series->points));
		series->points[series->count++] = (struct sample_point){
			event_time_host(builder->model, sample->ticks), sample->value};
	}
}

void collect_pages(struct model_builder *builder, const struct trace_batch *batch)
{
	struct model *model = builder->model;

	for (uint32_t i = 0; i < batch->count && model->page_sample_count < PAGES_LIMIT; i++) {
		const void *row = (const char *)batch->rows + (size_t)i * batch->row_bytes;
		const struct record_pages *pages = row;

		if (model->page_sample_count == builder->page_sample_capacity)
			model->page_samples =
				array_grow(model->page_samples, &builder->page_sample_capacity,
					   sizeof(*model->page_samples));
		model->page_samples[model->page_sample_count++] = (struct page_sample){
			.time_ns = event_time_host(model, pages->ticks),
			.address = pages->address,
			.size_bytes = pages->size_bytes,
			.sampled = pages->pages_sampled,
			.on_node = pages->pages_on_node <= pages->pages_sampled
					   ? pages->pages_on_node
					   : pages->pages_sampled,
			.node = pages->node,
			.device = pages->device,
		};
	}
}

static int compare_points(const void *left, const void *right)
{
	const struct sample_point *a = left, *b = right;

	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

void sample_series_sort(struct model *model)
{
	for (size_t i = 0; i < model->series_count; i++) {
		struct sample_series *series = &model->series[i];

		qsort(series->points, series->count, sizeof(*series->points), compare_points);
	}
}

void sample_series_free(struct model *model)
{
	for (size_t i = 0; i < model->series_count; i++)
		free(model->series[i].points);
	free(model->series);
	free(model->page_samples);
}

const struct sample_series *sample_series_find(const struct model *model, enum sample_metric metric,
					       uint32_t subject)
{
	for (size_t i = 0; i < model->series_count; i++) {
		if (model->series[i].metric == metric && model->series[i].subject == subject)
			return &model->series[i];
	}
	return NULL;
}

size_t sample_series_at(const struct sample_series *series, int64_t time_ns)
{
	size_t low = 0, high = series->count;

	if (!series->count)
		return SIZE_MAX;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (series->points[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : 0;
}

bool sample_series_growth(const struct sample_series *series, int64_t begin_ns, int64_t end_ns,
			  double *growth, double *covered_ns)
{
	size_t first, last;

	if (!series || series->count < 2 || end_ns <= begin_ns)
		return false;
	/* The samples around the window: what happened between them, part of it outside. */
	first = sample_series_at(series, begin_ns);
	last = sample_series_at(series, end_ns);
	if (last + 1 < series->count && series->points[last].time_ns < end_ns)
		last++;
	if (last <= first || series->points[last].time_ns <= series->points[first].time_ns)
		return false;
	*growth = (double)(series->points[last].value - series->points[first].value);
	*covered_ns = (double)(series->points[last].time_ns - series->points[first].time_ns);
	return *growth >= 0;
}

void sample_window(const struct model *model, int64_t *begin_ns, int64_t *end_ns)
{
	*begin_ns = model->begin_ns;
	*end_ns = model->end_ns;
	for (size_t i = 0; i < model->steps.count; i++) {
		if (model->steps.items[i].kind != STEP_STEADY)
			continue;
		*begin_ns = model->steps.items[i].host_begin_ns;
		break;
	}
	for (size_t i = model->steps.count; i-- > 0;) {
		if (model->steps.items[i].kind != STEP_STEADY)
			continue;
		*end_ns = model->steps.items[i].host_end_ns;
		break;
	}
}

bool sample_is_loaded(const struct model *model, size_t device, int64_t time_ns)
{
	const struct model_device *of = &model->devices[device];
	size_t first, limit;

	model_ops_between(model, device, time_ns - LOADED_NS, time_ns + 1, &first, &limit);
	if (limit > first)
		return true;
	/* One that began before and still runs; operations of other streams may lie between. */
	for (size_t i = 0; i < LOADED_LOOK_BACK && first > of->first_op; i++) {
		if (model->ops[--first].end_ns >= time_ns - LOADED_NS)
			return true;
	}
	return false;
}
