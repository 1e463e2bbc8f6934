/* SPDX-License-Identifier: Apache-2.0 */
/* The loss of copies is bounded by what the recorded link attains: nothing is assumed where the run
 * shows it. */
#include "placement_advice.h"

#include <stdio.h>
#include <stdlib.h>

#define MATTERS_PERCENT 2.0
/* Published for recent x86 machines: one stream from the other socket loses up to this. */
#define PUBLISHED_LOSS 0.3

bool placement_is_unknown(struct rule_context *context, const struct placement *placement)
{
	const struct model_source *source = &context->model->source;
	const char *nodes = source->info(source->context, "host.numa_nodes");

	if (nodes && atoi(nodes) == 1)
		rule_silent(context, "the machine has one NUMA node");
	else if (placement->unknown)
		rule_not_judged(context, "%s", placement->unknown);
	else
		return false;
	return true;
}

double placement_cost_ms(const struct rule_context *context)
{
	return ledger_part_ms(context->ledger, LEDGER_COPY) +
	       ledger_part_ms(context->ledger, LEDGER_IDLE_ISSUE);
}

bool placement_matters(const struct rule_context *context)
{
	return ledger_part_percent(context->ledger, LEDGER_COPY) >= MATTERS_PERCENT ||
	       ledger_part_percent(context->ledger, LEDGER_IDLE_ISSUE) >= MATTERS_PERCENT;
}

/* Time and bytes of pinned copies of at least 64 KiB: smaller ones say nothing about a rate. */
static double pinned_rate(const struct rule_context *context)
{
	uint64_t bytes = 0;
	int64_t busy_ns = 0;

	for (size_t i = 0; i < context->copies.group_count; i++) {
		const struct copy_group *group = &context->copies.groups[i];

		if (copy_lane_is_pageable(group->lane))
			continue;
		bytes += group->large_bytes;
		busy_ns += group->large_busy_ns;
	}
	return copy_rate_gbs(bytes, busy_ns);
}

struct copy_loss placement_copy_loss(const struct rule_context *context)
{
	double exposed_ms = ledger_part_ms(context->ledger, LEDGER_COPY);
	struct copy_loss loss = {.achieved_gbs = pinned_rate(context),
				 .attainable_gbs = context->link.attainable_gbs};

	if (loss.achieved_gbs > 0 && loss.attainable_gbs > 0) {
		double share = 1 - loss.achieved_gbs / loss.attainable_gbs;

		loss.high_ms = share > 0 ? exposed_ms * share : 0;
		snprintf(loss.text, sizeof(loss.text),
			 "Its large pinned copies reach %.1f GB/s of the %.1f GB/s that the link "
			 "attains.",
			 loss.achieved_gbs, loss.attainable_gbs);
	} else {
		loss.high_ms = exposed_ms * PUBLISHED_LOSS;
		snprintf(loss.text, sizeof(loss.text),
			 "What that costs was not measured; published: up to %.0f %% of a copy on "
			 "recent x86 machines, more on old ones.",
			 100 * PUBLISHED_LOSS);
	}
	return loss;
}

void placement_add_loss(struct finding *finding, const struct copy_loss *loss)
{
	if (loss->achieved_gbs > 0)
		finding_number(finding, "achieved_gbs", loss->achieved_gbs);
	if (loss->attainable_gbs > 0)
		finding_number(finding, "attainable_gbs", loss->attainable_gbs);
}

void placement_fix(struct finding *finding, const struct placement *placement)
{
	if (placement->can_bind)
		finding_fix(finding,
			    "Start the process on the GPU's node: `numactl --cpunodebind=%d "
			    "--membind=%d ...`, or `taskset -c %s ...` for the CPUs alone.",
			    placement->gpu_node, placement->gpu_node, placement->node_cpus);
	else if (placement->node_cpus)
		finding_fix(
			finding,
			"The job may not use the CPUs of node %d (%s): have the scheduler or the "
			"container give it CPUs near its GPU, or a GPU near its CPUs.",
			placement->gpu_node, placement->node_cpus);
	else
		finding_fix(finding, "Have the process bound to CPUs of node %d.",
			    placement->gpu_node);
}

uint32_t placement_first_launch(const struct rule_context *context)
{
	const struct model *model = context->model;
	const struct model_thread *thread = &model->threads[context->host.thread];

	for (size_t i = 0; i < thread->call_count; i++) {
		const struct host_call *call = &model->calls[thread->first_call + i];

		if (call->device == context->device && call->kind == RECORD_KIND_launch)
			return model_call_root(model, (uint32_t)(thread->first_call + i));
	}
	return MODEL_NONE;
}
