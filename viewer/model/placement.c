/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call was made on the CPU that its thread was seen on last; the collector looks ten times a
 * second at threads that record, so a call is off by at most that.
 */
#include "placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_list.h"
#include "model.h"
#include "sample_series.h"

#define MAX_NODES 64

struct tally {
	uint64_t calls[MAX_NODES], pages[MAX_NODES];
	double near_ns, far_ns;
	uint64_t near_launches, far_launches;
};

static const char *info(const struct model *model, const char *format, int32_t number)
{
	char key[64];

	snprintf(key, sizeof(key), format, number);
	return model->source.info(model->source.context, key);
}

/* Distances stand in the order of the nodes' numbers, which may have gaps. */
static int node_index(const struct model *model, int32_t node)
{
	int index = 0;

	for (int32_t i = 0; i < node; i++)
		index += info(model, "numa.%d.distances", i) != NULL;
	return index;
}

uint16_t placement_distance(const struct model *model, int32_t from, int32_t to)
{
	const char *at = from < 0 || to < 0 || from >= MAX_NODES || to >= MAX_NODES
				 ? NULL
				 : info(model, "numa.%d.distances", from);
	int index = at ? node_index(model, to) : 0;

	for (int i = 0; at; i++) {
		char *end;
		long value = strtol(at, &end, 10);

		if (end == at || value < 0 || value > UINT16_MAX)
			return 0;
		if (i == index)
			return (uint16_t)value;
		at = end;
	}
	return 0;
}

static bool is_far(const struct model *model, int32_t node, int32_t gpu_node)
{
	return node != gpu_node &&
	       placement_distance(model, gpu_node, node) >= PLACEMENT_FAR_DISTANCE;
}

static void count_call(const struct host_call *call, const struct sample_series *nodes,
		       const bool *far, struct tally *tally)
{
	size_t at = sample_series_at(nodes, call->begin_ns);
	int64_t node = at == SIZE_MAX ? -1 : nodes->points[at].value;
	double length_ns = (double)(call->end_ns - call->begin_ns);

	if (node < 0 || node >= MAX_NODES)
		return;
	tally->calls[node]++;
	if (call->kind != RECORD_KIND_launch)
		return;
	if (far[node]) {
		tally->far_ns += length_ns;
		tally->far_launches++;
	} else {
		tally->near_ns += length_ns;
		tally->near_launches++;
	}
}

static void count_moves(const struct sample_series *nodes, struct placement *placement)
{
	for (size_t i = 1; i < nodes->count; i++)
		placement->moves += nodes->points[i].value != nodes->points[i - 1].value;
}

static void count_threads(const struct model *model, uint16_t device, const bool *far,
			  struct placement *placement, struct tally *tally)
{
	int64_t begin_ns, end_ns;

	sample_window(model, &begin_ns, &end_ns);
	for (size_t t = 0; t < model->thread_count; t++) {
		const struct model_thread *thread = &model->threads[t];
		const struct sample_series *nodes =
			sample_series_find(model, SAMPLE_thread_node, thread->thread_id);
		bool launches = false;

		for (size_t i = 0; nodes && i < thread->call_count; i++) {
			const struct host_call *call = &model->calls[thread->first_call + i];

			if (call->device != device || call->parent != MODEL_NONE ||
			    call->begin_ns < begin_ns || call->begin_ns >= end_ns)
				continue;
			launches |= call->kind == RECORD_KIND_launch;
			count_call(call, nodes, far, tally);
		}
		if (launches)
			count_moves(nodes, placement);
	}
	if (end_ns > begin_ns)
		placement->moves_per_s =
			(double)placement->moves * 1e9 / (double)(model->end_ns - model->begin_ns);
}

static void count_pages(const struct model *model, uint32_t ordinal, const bool *far,
			struct placement *placement, struct tally *tally)
{
	for (size_t i = 0; i < model->page_sample_count; i++) {
		const struct page_sample *sample = &model->page_samples[i];

		if (sample->device != ordinal)
			continue;
		placement->buffers++;
		if (sample->node < 0 || sample->node >= MAX_NODES)
			continue;
		placement->pages += sample->sampled;
		if (far[sample->node]) {
			placement->pages_far += sample->on_node;
			tally->pages[sample->node] += sample->on_node;
		}
	}
}

static int32_t most(const uint64_t *counts, const bool *of)
{
	int32_t best = -1;

	for (int32_t i = 0; i < MAX_NODES; i++) {
		if (of[i] && counts[i] && (best < 0 || counts[i] > counts[best]))
			best = i;
	}
	return best;
}

static void find_binding(const struct model *model, struct placement *placement)
{
	const char *cpus = model->source.info(model->source.context, "process.cpus_allowed");
	const char *memory =
		model->source.info(model->source.context, "process.numa_nodes_allowed");

	placement->node_cpus = info(model, "numa.%d.cpus", placement->gpu_node);
	placement->can_bind = placement->node_cpus && cpus &&
			      cpu_list_overlap(cpus, placement->node_cpus) &&
			      (!memory || cpu_list_has(memory, (uint32_t)placement->gpu_node));
}

static void finish(const struct model *model, const bool *far, const struct tally *tally,
		   struct placement *placement)
{
	uint64_t far_calls = 0;

	for (int32_t i = 0; i < MAX_NODES; i++) {
		placement->calls += tally->calls[i];
		far_calls += far[i] ? tally->calls[i] : 0;
	}
	if (placement->calls)
		placement->far_share = (double)far_calls / (double)placement->calls;
	placement->far_node = most(tally->calls, far);
	placement->pages_node = most(tally->pages, far);
	placement->distance = placement_distance(model, placement->gpu_node,
						 placement->far_node >= 0 ? placement->far_node
									  : placement->pages_node);
	if (tally->near_launches)
		placement->near_launch_ns = tally->near_ns / (double)tally->near_launches;
	if (tally->far_launches)
		placement->far_launch_ns = tally->far_ns / (double)tally->far_launches;
	placement->launches_far_per_step =
		(double)tally->far_launches / (double)model_steady_count(model);
}

void placement_build(const struct model *model, uint16_t device, struct placement *placement)
{
	const struct record_device *record = model->devices[device].record;
	struct tally tally;
	bool far[MAX_NODES];

	memset(placement, 0, sizeof(*placement));
	memset(&tally, 0, sizeof(tally));
	placement->gpu_node = record ? record->numa_node : -1;
	placement->far_node = placement->pages_node = -1;
	if (placement->gpu_node < 0 || placement->gpu_node >= MAX_NODES) {
		placement->unknown = "the NUMA node of the GPU is unknown";
		return;
	}
	if (!info(model, "numa.%d.distances", placement->gpu_node)) {
		placement->unknown = "the NUMA nodes of the machine were not recorded";
		return;
	}
	for (int32_t i = 0; i < MAX_NODES; i++)
		far[i] = is_far(model, i, placement->gpu_node);
	count_threads(model, device, far, placement, &tally);
	count_pages(model, model->devices[device].ordinal, far, placement, &tally);
	find_binding(model, placement);
	finish(model, far, &tally, placement);
	if (!placement->calls && !placement->buffers)
		placement->unknown = "the CPUs of the launching threads were not sampled";
}
