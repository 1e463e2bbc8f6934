/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the marks by which shim and collector say what they did not record, and finds the steps
 * that lack something for it. A kernel that was in flight when its kind was switched off has no
 * record either, although it was launched before: the steps of such launches lack something too.
 */
#include "blind_span.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "big_array.h"
#include "event_time.h"
#include "model_internal.h"
#include "xmalloc.h"

void collect_blind_span(struct model_builder *builder, const struct record_mark *mark)
{
	struct model *model = builder->model;
	int64_t begin_ns = event_time_host(model, mark->begin_ticks);
	int64_t end_ns = event_time_host(model, mark->end_ticks);

	if (end_ns <= begin_ns)
		return;
	if (model->blind_count == builder->blind_capacity)
		model->blinds =
			array_grow(model->blinds, &builder->blind_capacity, sizeof(*model->blinds));
	model->blinds[model->blind_count++] = (struct blind_span){begin_ns, end_ns};
}

static int compare_begins(const void *left, const void *right)
{
	const struct blind_span *a = left, *b = right;

	return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

void blind_spans_merge(struct model *model)
{
	size_t kept = 0;

	if (!model->blind_count)
		return;
	qsort(model->blinds, model->blind_count, sizeof(*model->blinds), compare_begins);
	for (size_t i = 1; i < model->blind_count; i++) {
		struct blind_span *last = &model->blinds[kept];

		if (model->blinds[i].begin_ns > last->end_ns)
			model->blinds[++kept] = model->blinds[i];
		else if (model->blinds[i].end_ns > last->end_ns)
			last->end_ns = model->blinds[i].end_ns;
	}
	model->blind_count = kept + 1;
}

bool blind_span_touches(const struct model *model, int64_t begin_ns, int64_t end_ns)
{
	size_t low = 0, high = model->blind_count;

	/* The first one that ends behind the begin. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (model->blinds[middle].end_ns <= begin_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < model->blind_count && model->blinds[low].begin_ns < end_ns;
}

int64_t blind_span_total_ns(const struct model *model)
{
	int64_t total_ns = 0;

	for (size_t i = 0; i < model->blind_count; i++) {
		const struct blind_span *span = &model->blinds[i];
		int64_t begin_ns =
			span->begin_ns > model->begin_ns ? span->begin_ns : model->begin_ns;
		int64_t end_ns = span->end_ns < model->end_ns ? span->end_ns : model->end_ns;

		if (end_ns > begin_ns)
			total_ns += end_ns - begin_ns;
	}
	return total_ns;
}

double blind_span_percent(const struct model *model)
{
	int64_t length_ns = model->end_ns - model->begin_ns;

	return length_ns > 0 ? 100.0 * (double)blind_span_total_ns(model) / (double)length_ns : 0;
}

/* ---- steps ---- */

/* Calls whose work has a time, themselves and those around them. */
static bool *calls_with_times(const struct model *model)
{
	bool *timed = big_array_new(model->call_count + 1, sizeof(*timed));

	for (size_t i = 0; i < model->op_count; i++) {
		for (uint32_t at = model->ops[i].call; at != MODEL_NONE && !timed[at];
		     at = model->calls[at].parent)
			timed[at] = true;
	}
	return timed;
}

/* A launch that a GPU must have executed. */
static bool launches_work(const struct model *model, const struct host_call *call)
{
	return call->kind == RECORD_KIND_launch && !call->status &&
	       !(call->flags & (CALL_REDUNDANT | CALL_CAPTURED)) &&
	       call->detail < model->kernel_count && model->kernels[call->detail].id != 0;
}

/* lacks[i]: 1 a launch of the step has no time, 2 already its first one. */
static uint8_t *find_untimed(const struct model *model)
{
	const struct step_list *steps = &model->steps;
	bool *timed = calls_with_times(model);
	uint8_t *lacks = xcalloc(steps->count, sizeof(*lacks));
	int64_t *first_ns = xcalloc(steps->count, sizeof(*first_ns));

	for (size_t i = 0; i < steps->count; i++)
		first_ns[i] = INT64_MAX;
	for (size_t i = 0; i < model->call_count; i++) {
		const struct host_call *call = &model->calls[i];
		size_t at = launches_work(model, call) ? step_at(steps, call->begin_ns) : SIZE_MAX;

		if (at == SIZE_MAX)
			continue;
		if (call->begin_ns < first_ns[at]) {
			first_ns[at] = call->begin_ns;
			lacks[at] = timed[i] ? lacks[at] & 1 : 2;
		}
		if (!timed[i])
			lacks[at] |= 1;
	}
	free(first_ns);
	big_array_free(timed);
	return lacks;
}

static void make_partial(struct step_list *steps, size_t at)
{
	size_t *count = steps->items[at].kind == STEP_STEADY	? &steps->steady_count
			: steps->items[at].kind == STEP_WARM_UP ? &steps->warm_up_count
								: &steps->outlier_count;

	if (steps->items[at].kind == STEP_PARTIAL)
		return;
	--*count;
	steps->partial_count++;
	steps->items[at].kind = STEP_PARTIAL;
}

static bool is_blind_on_a_device(const struct model *model, size_t step)
{
	for (size_t d = 0; d < model->device_count; d++) {
		const struct step_window *windows = model->devices[d].ledger.windows;

		if (windows && windows[step].end_ns > windows[step].begin_ns &&
		    blind_span_touches(model, windows[step].begin_ns, windows[step].end_ns))
			return true;
	}
	return false;
}

void blind_spans_mark_steps(struct model *model)
{
	struct step_list *steps = &model->steps;
	uint8_t *lacks;

	if (!model->blind_count)
		return;
	lacks = find_untimed(model);
	for (size_t i = 0; i < steps->count; i++) {
		const struct step *step = &steps->items[i];
		/* Where its window ends is told by the first kernel of the next one. */
		bool is_open = i + 1 < steps->count && lacks[i + 1] & 2 &&
			       step->host_end_ns == steps->items[i + 1].host_begin_ns;

		if (lacks[i] || is_open || is_blind_on_a_device(model, i) ||
		    blind_span_touches(model, step->host_begin_ns, step->host_end_ns))
			make_partial(steps, i);
	}
	free(lacks);
}
