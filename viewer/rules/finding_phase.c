/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time that a finding is about is what its place launched, and the gaps that its place answers
 * for or ends, in the ledger parts that it draws from; where that is less than half of its cost, it
 * is about all of these parts. The time of a gap belongs to the phase of the operation that ends
 * it.
 */
#include "finding_phase.h"

#include <stdlib.h>

#include "gap_walk.h"
#include "text.h"
#include "xmalloc.h"

/* A phase with less of the GPU's time is no phase of its own. */
#define PHASE_PERCENT 5.0
/* From this share on a finding is one of the phase. */
#define NAMED_PERCENT 80.0

struct phase_time {
	int64_t place_ns[PHASE_COUNT], part_ns[PHASE_COUNT];
};

struct phase_search {
	const struct rule_context *context;
	const struct finding_list *list;
	struct phase_time *times; /* by finding */
	uint32_t *sites;	  /* by finding, 0 none */
};

static void add_time(struct phase_search *search, int part, enum model_phase phase,
		     int64_t length_ns, uint32_t site, uint32_t other_site)
{
	for (size_t i = 0; i < search->list->count; i++) {
		uint32_t of = search->sites[i];

		if (!(search->list->items[i].draws_from >> part & 1))
			continue;
		search->times[i].part_ns[phase] += length_ns;
		if (of && (of == site || of == other_site))
			search->times[i].place_ns[phase] += length_ns;
	}
}

static uint32_t site_of(const struct model *model, uint32_t call)
{
	return call == MODEL_NONE ? 0 : model_call_site(model, call);
}

static void see_op(void *context, const struct gpu_op *op)
{
	struct phase_search *search = context;
	const struct model *model = search->context->model;

	add_time(search, (int)ledger_part_of_op(model, op), phase_of_operation(model, op),
		 op->end_ns - op->begin_ns, site_of(model, op->call), 0);
}

static void see_gap(void *context, const struct idle_gap *gap)
{
	struct phase_search *search = context;
	const struct model *model = search->context->model;
	const struct gpu_op *op = &model->ops[gap->op];

	if (gap->step == SIZE_MAX || model->steps.items[gap->step].kind != STEP_STEADY)
		return;
	add_time(search, gap->part, phase_of_operation(model, op), gap->end_ns - gap->begin_ns,
		 site_of(model, gap->call), site_of(model, op->call));
}

static bool has_phases(const struct rule_context *context)
{
	const struct phase_usage *phases = &context->model->devices[context->device].phases;
	double sum_ns = 0;
	int count = 0;

	for (int phase = 0; phase < PHASE_COUNT; phase++)
		sum_ns += (double)phases->gpu_ns[phase];
	for (int phase = PHASE_NONE + 1; phase < PHASE_COUNT; phase++)
		count +=
			sum_ns > 0 && (double)phases->gpu_ns[phase] >= PHASE_PERCENT / 100 * sum_ns;
	return count > 1;
}

static double sum_of(const int64_t *times_ns)
{
	double sum = 0;

	for (int phase = 0; phase < PHASE_COUNT; phase++)
		sum += (double)times_ns[phase];
	return sum;
}

static void name_phase(const struct rule_context *context, struct finding *finding,
		       const struct phase_time *time)
{
	double cost_ns = finding->cost_ms * context->steady_steps * 1e6;
	const int64_t *times_ns =
		sum_of(time->place_ns) >= cost_ns / 2 ? time->place_ns : time->part_ns;
	double sum_ns = sum_of(times_ns), percent;
	int most = PHASE_NONE + 1;
	struct text text;

	for (int phase = PHASE_NONE + 1; phase < PHASE_COUNT; phase++) {
		if (times_ns[phase] > times_ns[most])
			most = phase;
	}
	percent = sum_ns > 0 ? 100 * (double)times_ns[most] / sum_ns : 0;
	if (percent < NAMED_PERCENT)
		return;
	finding_text(finding, "phase", phase_key((enum model_phase)most));
	finding_number(finding, "phase_percent", percent);
	if (!finding->summary)
		return;
	text_init(&text);
	text_addf(&text, "%s Phase: %s (%.0f %% of this time).", finding->summary,
		  phase_label((enum model_phase)most), percent);
	free(finding->summary);
	finding->summary = text_take(&text);
}

void finding_phases_set(const struct rule_context *context, struct finding_list *list)
{
	const struct model *model = context->model;
	struct phase_search search = {.context = context, .list = list};

	if (!list->count || !has_phases(context))
		return;
	search.times = xcalloc(list->count, sizeof(*search.times));
	search.sites = xcalloc(list->count, sizeof(*search.sites));
	for (size_t i = 0; i < list->count; i++)
		search.sites[i] = list->items[i].call == MODEL_NONE
					  ? list->items[i].site
					  : site_of(model, list->items[i].call);
	work_visit_steady(model, context->device, see_op, &search);
	gap_walk(model, context->device, see_gap, &search);
	for (size_t i = 0; i < list->count; i++)
		name_phase(context, &list->items[i], &search.times[i]);
	free(search.times);
	free(search.sites);
}
