/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a device's copies.
 */
#include "copy_stats.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "map.h"

#define ASYNC_LARGE_BYTES (64u * 1024)

bool copy_lane_is_pageable(enum copy_lane lane)
{
	return lane == COPY_LANE_H2D_PAGEABLE || lane == COPY_LANE_D2H_PAGEABLE;
}

enum copy_lane copy_lane_pinned(enum copy_lane lane)
{
	return lane == COPY_LANE_H2D_PAGEABLE || lane == COPY_LANE_H2D_OTHER ? COPY_LANE_H2D_OTHER
									     : COPY_LANE_D2H_OTHER;
}

double copy_rate_gbs(uint64_t bytes, int64_t busy_ns)
{
	return busy_ns > 0 ? (double)bytes / (double)busy_ns : 0;
}

static bool lane_of_transfer(const struct transfer *transfer, enum copy_lane *lane)
{
	if (transfer->direction == COPY_H2D)
		*lane = transfer->source_kind == MEMORY_PAGEABLE ? COPY_LANE_H2D_PAGEABLE
								 : COPY_LANE_H2D_OTHER;
	else if (transfer->direction == COPY_D2H)
		*lane = transfer->destination_kind == MEMORY_PAGEABLE ? COPY_LANE_D2H_PAGEABLE
								      : COPY_LANE_D2H_OTHER;
	else
		return false;
	return true;
}

struct group_list {
	struct map known;
	size_t capacity;
};

static struct copy_group *group_of(const struct model *model, struct copy_stats *stats,
				   struct group_list *list, uint32_t call, enum copy_lane lane,
				   bool is_async)
{
	uint64_t key, *slot;
	bool is_new;
	uint64_t what = (uint64_t)lane << 1 | is_async;

	if (call == MODEL_NONE)
		key = map_mix(UINT64_MAX, what);
	else
		key = map_mix(model_call_site(model, call),
			      (uint64_t)model->calls[call].api << 8 | what);
	slot = map_slot(&list->known, key, &is_new);
	if (is_new) {
		if (stats->group_count == list->capacity)
			stats->groups =
				array_grow(stats->groups, &list->capacity, sizeof(*stats->groups));
		*slot = stats->group_count;
		stats->groups[stats->group_count++] = (struct copy_group){
			.call = call,
			.lane = lane,
			.is_async = is_async,
			.smallest_bytes = UINT64_MAX,
		};
	}
	return &stats->groups[*slot];
}

static int compare_groups(const void *left, const void *right)
{
	const struct copy_group *a = left, *b = right;

	if (a->busy_ns != b->busy_ns)
		return a->busy_ns < b->busy_ns ? 1 : -1;
	return (a->call > b->call) - (a->call < b->call);
}

static void count_copy(const struct model *model, struct copy_stats *stats, struct group_list *list,
		       const struct gpu_op *op)
{
	const struct transfer *transfer = &model->transfers[op->detail];
	int64_t busy_ns = op->end_ns - op->begin_ns;
	struct copy_group *group;
	enum copy_lane lane;

	if (!lane_of_transfer(transfer, &lane))
		return;
	stats->lanes[lane].copies++;
	stats->lanes[lane].bytes += transfer->size_bytes;
	stats->lanes[lane].busy_ns += busy_ns;
	group = group_of(model, stats, list, op->call, lane, transfer->is_async);
	group->copies++;
	group->bytes += transfer->size_bytes;
	group->busy_ns += busy_ns;
	if (transfer->size_bytes >= ASYNC_LARGE_BYTES) {
		group->large_copies++;
		group->large_bytes += transfer->size_bytes;
		group->large_busy_ns += busy_ns;
	}
	if (transfer->size_bytes < group->smallest_bytes)
		group->smallest_bytes = transfer->size_bytes;
	if (transfer->size_bytes > group->largest_bytes)
		group->largest_bytes = transfer->size_bytes;
}

static void find_best_rates(const struct model *model, const struct model_device *device,
			    struct copy_stats *stats)
{
	for (size_t i = 0; i < device->op_count; i++) {
		const struct gpu_op *op = &model->ops[device->first_op + i];
		enum copy_lane lane;
		double rate;

		if (op->type != GPU_OP_COPY ||
		    !lane_of_transfer(&model->transfers[op->detail], &lane) ||
		    model->transfers[op->detail].size_bytes < COPY_LARGE_BYTES)
			continue;
		rate = copy_rate_gbs(model->transfers[op->detail].size_bytes,
				     op->end_ns - op->begin_ns);
		if (rate > stats->lanes[lane].best_gbs)
			stats->lanes[lane].best_gbs = rate;
	}
}

void copy_stats_build(const struct model *model, size_t device, struct copy_stats *stats)
{
	const struct model_device *of = &model->devices[device];
	struct group_list list = {.capacity = 0};

	memset(stats, 0, sizeof(*stats));
	map_init(&list.known);
	for (size_t s = 0; of->ledger.windows && s < model->steps.count; s++) {
		const struct step_window *window = &of->ledger.windows[s];
		size_t first, limit;

		if (model->steps.items[s].kind != STEP_STEADY || window->end_ns <= window->begin_ns)
			continue;
		model_ops_between(model, device, window->begin_ns, window->end_ns, &first, &limit);
		for (size_t i = first; i < limit; i++) {
			if (model->ops[i].type == GPU_OP_COPY)
				count_copy(model, stats, &list, &model->ops[i]);
		}
	}
	find_best_rates(model, of, stats);
	if (stats->group_count)
		qsort(stats->groups, stats->group_count, sizeof(*stats->groups), compare_groups);
	map_fini(&list.known);
}

void copy_stats_free(struct copy_stats *stats)
{
	free(stats->groups);
	memset(stats, 0, sizeof(*stats));
}
