/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes the GPU's operations in steady steps to phases, by the call that launched them.
 */
#include "phase.h"

#include <stdlib.h>
#include <string.h>

#include "model_internal.h"
#include "xmalloc.h"

#define LOOK_BACK 512 /* ranges that may lie between a call and the range around it */

static const char *const keys[] = {
#define PHASE(name, key, label) key,
	MODEL_PHASES(PHASE)
#undef PHASE
};

static const char *const labels[] = {
#define PHASE(name, key, label) label,
	MODEL_PHASES(PHASE)
#undef PHASE
};

const char *phase_key(enum model_phase phase)
{
	return keys[phase];
}

const char *phase_label(enum model_phase phase)
{
	return labels[phase];
}

bool phase_is_use(enum model_phase phase)
{
	return phase == PHASE_PREFILL || phase == PHASE_DECODE || phase == PHASE_VALIDATION;
}

static int compare_marks(const void *left, const void *right)
{
	const struct phase_mark *a = left, *b = right;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns); /* the outer one first */
}

/* Index behind the last range that begins at or before this time. */
static size_t marks_before(const struct model *model, int64_t host_ns)
{
	size_t low = 0, high = model->phase_mark_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (model->phase_marks[middle].begin_ns <= host_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static enum model_phase phase_by_marks(const struct model *model, int64_t host_ns)
{
	enum model_phase innermost = PHASE_NONE;
	size_t at = marks_before(model, host_ns);

	for (size_t looked = 0; at-- && looked < LOOK_BACK; looked++) {
		enum model_phase phase = (enum model_phase)model->phase_marks[at].phase;

		if (model->phase_marks[at].end_ns <= host_ns)
			continue;
		if (phase_is_use(phase))
			return phase;
		if (innermost == PHASE_NONE)
			innermost = phase;
		if (innermost != PHASE_FORWARD || !model->has_uses)
			break;
	}
	return innermost;
}

struct name_source {
	const struct model *model;
};

static const char *python_name(void *context, uint64_t number)
{
	const struct model *model = ((const struct name_source *)context)->model;

	return model->source.name(model->source.context, NAME_PYTHON, number);
}

static void find_phases_of_sites(struct model *model)
{
	struct name_source source = {model};

	model->site_phases = xcalloc(model->site_count + 1, sizeof(*model->site_phases));
	for (size_t i = 0; i < model->site_count; i++) {
		if (model->sites[i].record)
			model->site_phases[i] = (uint8_t)phase_of_site(model->sites[i].record,
								       python_name, &source);
	}
}

static enum model_phase phase_of_op(const struct model *model, const struct gpu_op *op,
				    bool *is_by_marks)
{
	enum model_phase phase;

	*is_by_marks = false;
	if (op->call == MODEL_NONE)
		return PHASE_NONE;
	phase = phase_by_marks(model, model->calls[model_call_root(model, op->call)].begin_ns);
	*is_by_marks = phase != PHASE_NONE;
	if (phase != PHASE_NONE)
		return phase;
	return (enum model_phase)model->site_phases[model_call_site(model, op->call)];
}

enum model_phase phase_of_operation(const struct model *model, const struct gpu_op *op)
{
	bool is_by_marks;

	return phase_of_op(model, op, &is_by_marks);
}

static void add_operations(const struct model *model, const struct step_window *window,
			   size_t device, struct phase_usage *usage)
{
	int64_t covered_ns[PHASE_COUNT];
	size_t first, limit;

	for (int phase = 0; phase < PHASE_COUNT; phase++)
		covered_ns[phase] = window->begin_ns;
	model_ops_between(model, device, window->begin_ns, window->end_ns, &first, &limit);
	for (size_t i = first; i < limit; i++) {
		const struct gpu_op *op = &model->ops[i];
		int64_t end_ns = op->end_ns < window->end_ns ? op->end_ns : window->end_ns;
		bool is_by_marks;
		enum model_phase phase = phase_of_op(model, op, &is_by_marks);
		int64_t begin_ns;

		usage->launches[phase]++;
		begin_ns = op->begin_ns > covered_ns[phase] ? op->begin_ns : covered_ns[phase];
		if (end_ns <= begin_ns)
			continue;
		usage->gpu_ns[phase] += end_ns - begin_ns;
		if (phase != PHASE_NONE)
			*(is_by_marks ? &usage->by_marks_ns : &usage->by_frames_ns) +=
				end_ns - begin_ns;
		covered_ns[phase] = end_ns;
	}
}

/* Host time within [begin, end) that ranges give to phases; inner ranges take from outer ones. */
static void add_host_time(const struct model *model, int64_t begin_ns, int64_t end_ns,
			  struct phase_usage *usage)
{
	int64_t covered_ns[PHASE_COUNT];

	for (int phase = 0; phase < PHASE_COUNT; phase++)
		covered_ns[phase] = begin_ns;
	for (size_t i = marks_before(model, begin_ns - 1); i < model->phase_mark_count; i++) {
		const struct phase_mark *mark = &model->phase_marks[i];
		int64_t from_ns = mark->begin_ns > covered_ns[mark->phase]
					  ? mark->begin_ns
					  : covered_ns[mark->phase];
		int64_t to_ns = mark->end_ns < end_ns ? mark->end_ns : end_ns;

		if (mark->begin_ns >= end_ns)
			break;
		if (to_ns <= from_ns)
			continue;
		usage->host_ns[mark->phase] += to_ns - from_ns;
		covered_ns[mark->phase] = to_ns;
	}
}

void phases_build(struct model *model)
{
	if (model->phase_mark_count)
		qsort(model->phase_marks, model->phase_mark_count, sizeof(*model->phase_marks),
		      compare_marks);
	for (size_t i = 0; i < model->phase_mark_count; i++)
		model->has_uses |= phase_is_use((enum model_phase)model->phase_marks[i].phase);
	find_phases_of_sites(model);
	for (size_t d = 0; d < model->device_count; d++) {
		struct model_device *device = &model->devices[d];

		for (size_t i = 0; device->ledger.windows && i < model->steps.count; i++) {
			const struct step *step = &model->steps.items[i];
			const struct step_window *window = &device->ledger.windows[i];

			if (step->kind != STEP_STEADY || window->end_ns <= window->begin_ns)
				continue;
			add_operations(model, window, d, &device->phases);
			add_host_time(model, step->host_begin_ns, step->host_end_ns,
				      &device->phases);
		}
	}
}
