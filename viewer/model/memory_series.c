/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over the events in the order of time feeds the running total, which is sampled at the
 * end of every steady step; a straight line through the samples is the trend.
 */
#include "memory_series.h"

#include <stdlib.h>
#include <string.h>

#include "model_internal.h"
#include "xmalloc.h"

#define GROWTH_BYTES 1048576.0 /* less over all steps is noise */
#define GROWTH_FIT   0.7

/* One allocation or free of whichever series. */
struct change {
	int64_t time_ns;
	uint64_t address, size_bytes;
	uint64_t total_bytes; /* the allocator's own total; 0 unknown */
	uint32_t site;
	bool is_alloc;
};

static bool driver_change(const struct model *model, size_t index, size_t device, bool is_pinned,
			  struct change *change)
{
	const struct memory_event *event = &model->memory_events[index];
	const struct host_call *call = &model->calls[event->call];

	if (call->status || (call->flags & (CALL_REDUNDANT | CALL_CAPTURED)) || !event->address ||
	    (event->op != MEMORY_ALLOC && event->op != MEMORY_FREE) ||
	    event->kind == MEMORY_RESERVED || event->kind == MEMORY_IMPORTED)
		return false;
	if (is_pinned ? event->kind != MEMORY_PINNED || event->device != MODEL_NO_DEVICE
		      : event->device != device)
		return false;
	*change = (struct change){
		.time_ns = event->time_ns,
		.address = event->address,
		.size_bytes = event->size_bytes,
		.is_alloc = event->op == MEMORY_ALLOC,
	};
	return true;
}

static bool block_change(const struct model *model, size_t index, size_t device,
			 struct change *change)
{
	const struct block_event *block = &model->blocks[index];

	if (block->device != device || (block->op != BLOCK_ALLOC && block->op != BLOCK_FREE))
		return false;
	*change = (struct change){
		.time_ns = block->time_ns,
		.address = block->address,
		.size_bytes = block->size_bytes,
		.total_bytes = block->allocated_bytes,
		.site = block->site,
		.is_alloc = block->op == BLOCK_ALLOC,
	};
	return true;
}

static bool next_change(const struct model *model, size_t device, enum memory_series series,
			size_t *at, struct change *change)
{
	size_t count =
		series == MEMORY_SERIES_FRAMEWORK ? model->block_count : model->memory_event_count;

	while (*at < count) {
		size_t index = (*at)++;

		if (series == MEMORY_SERIES_FRAMEWORK
			    ? block_change(model, index, device, change)
			    : driver_change(model, index, device, series == MEMORY_SERIES_PINNED,
					    change))
			return true;
	}
	return false;
}

uint64_t memory_live_at(const struct model *model, size_t device, int64_t time_ns)
{
	struct change change;
	uint64_t live_bytes = 0;
	size_t at = 0;

	while (next_change(model, device, MEMORY_SERIES_DEVICE, &at, &change) &&
	       change.time_ns < time_ns)
		live_bytes += change.is_alloc ? change.size_bytes : 0 - change.size_bytes;
	return live_bytes;
}

/* Slope of the least-squares line; *fit: its coefficient of determination. */
static double slope_of(const double *values, size_t count, double *fit)
{
	double mean_x = ((double)count - 1) / 2, mean_y = 0, xx = 0, xy = 0, yy = 0;

	for (size_t i = 0; i < count; i++)
		mean_y += values[i] / (double)count;
	for (size_t i = 0; i < count; i++) {
		double x = (double)i - mean_x, y = values[i] - mean_y;

		xx += x * x;
		xy += x * y;
		yy += y * y;
	}
	*fit = xx > 0 && yy > 0 ? xy * xy / (xx * yy) : 0;
	return xx > 0 ? xy / xx : 0;
}

/* Live allocations that were made within the steps, by site: what the steps left behind. */
static void find_site(const struct model *model, size_t device, enum memory_series series,
		      int64_t begin_ns, int64_t end_ns, struct memory_trend *trend)
{
	struct map live, sizes, sites;
	struct change change;
	size_t at = 0;

	map_init(&live);  /* address -> site + 1 */
	map_init(&sizes); /* address -> bytes */
	map_init(&sites); /* site -> bytes */
	while (next_change(model, device, series, &at, &change) && change.time_ns <= end_ns) {
		size_t index = at - 1;

		if (change.time_ns < begin_ns)
			continue;
		if (!change.is_alloc) {
			map_remove(&live, change.address, NULL);
			continue;
		}
		if (series != MEMORY_SERIES_FRAMEWORK)
			change.site = model_call_site(model, model->memory_events[index].call);
		*map_slot(&live, change.address, NULL) = (uint64_t)change.site + 1;
		*map_slot(&sizes, change.address, NULL) = change.size_bytes;
	}
	for (size_t i = 0; i < live.capacity; i++) {
		if (live.entries[i].is_used)
			*map_slot(&sites, live.entries[i].value - 1, NULL) +=
				*map_find(&sizes, live.entries[i].key);
	}
	for (size_t i = 0; i < sites.capacity; i++) {
		const struct map_entry *entry = &sites.entries[i];

		if (entry->is_used &&
		    (entry->value > trend->site_bytes ||
		     (entry->value == trend->site_bytes && (uint32_t)entry->key < trend->site))) {
			trend->site = (uint32_t)entry->key;
			trend->site_bytes = entry->value;
		}
	}
	map_fini(&live);
	map_fini(&sizes);
	map_fini(&sites);
}

void memory_trend_of(const struct model *model, size_t device, enum memory_series series,
		     struct memory_trend *trend)
{
	double *samples = xcalloc(model->steps.count + 1, sizeof(*samples));
	double fit;
	int64_t begin_ns = 0, end_ns = 0;
	struct change change;
	uint64_t live_bytes = 0;
	size_t at = 0;
	bool has_change = next_change(model, device, series, &at, &change);

	memset(trend, 0, sizeof(*trend));
	for (size_t i = 0; model->steps.source != STEPS_NONE && i < model->steps.count; i++) {
		const struct step *step = &model->steps.items[i];

		for (; has_change && change.time_ns <= step->host_end_ns;
		     has_change = next_change(model, device, series, &at, &change)) {
			if (change.total_bytes)
				live_bytes = change.total_bytes;
			else
				live_bytes +=
					change.is_alloc ? change.size_bytes : 0 - change.size_bytes;
		}
		if (step->kind != STEP_STEADY)
			continue;
		if (!trend->steps)
			begin_ns = step->host_begin_ns;
		end_ns = step->host_end_ns;
		/* More frees than allocations: the recording began in the middle. */
		samples[trend->steps++] = (double)(int64_t)live_bytes;
		trend->last_bytes = (int64_t)live_bytes > 0 ? live_bytes : 0;
	}
	if (trend->steps >= 2) {
		size_t half = trend->steps / 2;

		trend->bytes_per_step = slope_of(samples, trend->steps, &trend->fit);
		trend->late_bytes_per_step = slope_of(samples + half, trend->steps - half, &fit);
		trend->growth_bytes = trend->bytes_per_step * (double)(trend->steps - 1);
	}
	trend->is_growing = trend->steps >= MEMORY_TREND_STEPS &&
			    trend->growth_bytes >= GROWTH_BYTES && trend->fit >= GROWTH_FIT &&
			    trend->late_bytes_per_step >= trend->bytes_per_step / 2;
	if (trend->is_growing)
		find_site(model, device, series, begin_ns, end_ns, trend);
	free(samples);
}
