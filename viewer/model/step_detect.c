/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides the run into steps: by ranges that the program named, else by the period of the launch
 * sequence, else not at all (the whole run then stands for one step, and every report says so).
 *
 * Warm-up ends after the last module load, at least one step; module loads after the first third
 * are something that a running loop does, not warm-up.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "model_internal.h"
#include "xmalloc.h"

static void steps_none(struct model *model)
{
	struct step_list *steps = &model->steps;

	free(steps->items);
	memset(steps, 0, sizeof(*steps));
	steps->items = xcalloc(1, sizeof(*steps->items));
	steps->count = 1;
	steps->steady_count = 1;
	steps->items[0] = (struct step){
		.host_begin_ns = model->begin_ns,
		.host_end_ns = model->end_ns + 1,
		.kind = STEP_STEADY,
	};
}

/* The surest kind of mark that there are enough of; 0: all kinds together. */
static enum step_mark_kind choose_mark_kind(const struct model *model)
{
	size_t counts[STEP_MARK_API + 1] = {0};

	for (size_t i = 0; i < model->step_mark_count; i++)
		counts[model->step_marks[i].kind]++;
	for (int kind = STEP_MARK_API; kind >= STEP_MARK_RANGE; kind--) {
		if (counts[kind] >= 3)
			return (enum step_mark_kind)kind;
	}
	return (enum step_mark_kind)0;
}

/* A range that is only a part of its step (DeepSpeed's "step" is the optimizer's) still marks the
 * period: steps then run from begin to begin. */
static void close_gaps(struct step_list *steps, int64_t marked_ns)
{
	int64_t span_ns =
		steps->items[steps->count - 1].host_end_ns - steps->items[0].host_begin_ns;
	bool is_sparse = steps->count >= 3 && marked_ns < span_ns / 2;

	steps->marked_share = span_ns > 0 ? (double)marked_ns / (double)span_ns : 0;
	for (size_t i = 0; i + 1 < steps->count; i++) {
		struct step *step = &steps->items[i];
		int64_t seam_ns = steps->items[i + 1].host_begin_ns - step->host_end_ns;

		/* Ranges that follow each other closely are one loop: a short seam belongs to the
		 * step. */
		if (is_sparse || seam_ns < (step->host_end_ns - step->host_begin_ns) / 10)
			step->host_end_ns = steps->items[i + 1].host_begin_ns;
	}
}

/* Ranges nested in others of the kind ("iter" in "epoch step") are dropped: the outer ones count.
 */
static bool steps_from_marks(struct model *model)
{
	struct step_list *steps = &model->steps;
	enum step_mark_kind kind = choose_mark_kind(model);
	int64_t covered_ns = INT64_MIN, marked_ns = 0;

	if (!model->step_mark_count)
		return false;
	steps->items = xcalloc(model->step_mark_count, sizeof(*steps->items));
	for (size_t i = 0; i < model->step_mark_count; i++) {
		const struct step_mark *mark = &model->step_marks[i];

		if ((kind && mark->kind != kind) || mark->begin_ns < covered_ns ||
		    mark->end_ns <= mark->begin_ns)
			continue;
		covered_ns = mark->end_ns;
		marked_ns += mark->end_ns - mark->begin_ns;
		steps->mark_kind = (enum step_mark_kind)mark->kind;
		steps->items[steps->count++] = (struct step){
			.host_begin_ns = mark->begin_ns,
			.host_end_ns = mark->end_ns,
			.kind = STEP_STEADY,
		};
	}
	if (!steps->count)
		return false;
	close_gaps(steps, marked_ns);
	steps->source = STEPS_MARKS;
	steps->coverage = 1;
	/* One or two ranges count when they are what the recording is about. */
	return steps->count >= 3 || marked_ns > (model->end_ns - model->begin_ns) / 4;
}

static size_t step_of(const struct step_list *steps, int64_t host_ns, size_t hint)
{
	if (hint < steps->count && host_ns >= steps->items[hint].host_begin_ns) {
		while (hint + 1 < steps->count && host_ns >= steps->items[hint + 1].host_begin_ns)
			hint++;
	} else {
		size_t low = 0, high = steps->count;

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (steps->items[middle].host_begin_ns <= host_ns)
				low = middle + 1;
			else
				high = middle;
		}
		if (!low)
			return SIZE_MAX;
		hint = low - 1;
	}
	return host_ns < steps->items[hint].host_end_ns ? hint : SIZE_MAX;
}

static int compare_times(const void *a, const void *b)
{
	const int64_t *first = a, *second = b;

	return (*first > *second) - (*first < *second);
}

/*
 * A period repeats best where little happens: an inner loop between long stretches of other work
 * has one too. So the steps with ordinary GPU work must hold at least half of all GPU work between
 * the first and the last; what lies between two runs of an inner loop shows as a step with far
 * more than the median. Stalls do not count here: they are no work.
 */
static bool period_holds_the_work(const struct model *model)
{
	const struct step_list *steps = &model->steps;
	int64_t *work_ns = xcalloc(steps->count, sizeof(*work_ns));
	int64_t total_ns = 0, ordinary_ns = 0;
	size_t hint = 0;

	for (size_t i = 0; i < model->op_count; i++) {
		const struct gpu_op *op = &model->ops[i];
		size_t at = op->call == MODEL_NONE
				    ? SIZE_MAX
				    : step_of(steps, model->calls[op->call].begin_ns, hint);

		if (at == SIZE_MAX || steps->items[at].kind == STEP_PARTIAL)
			continue;
		hint = at;
		work_ns[at] += op->end_ns - op->begin_ns;
		total_ns += op->end_ns - op->begin_ns;
	}
	qsort(work_ns, steps->count, sizeof(*work_ns), compare_times);
	for (size_t i = 0; i < steps->count && work_ns[i] <= 3 * work_ns[steps->count / 2]; i++)
		ordinary_ns += work_ns[i];
	free(work_ns);
	return ordinary_ns >= total_ns / 2;
}

static bool steps_from_period(struct model *model)
{
	struct step_list *steps = &model->steps;
	struct step_tokens tokens;
	struct step_period period;

	step_tokens_build(model, &tokens);
	step_period_find(&tokens, &period);
	if (period.source != STEPS_NONE) {
		steps->source = period.source;
		steps->coverage = period.coverage;
		steps->items = xcalloc(period.count, sizeof(*steps->items));
		steps->count = period.count;
		for (size_t i = 0; i < period.count; i++) {
			struct step *step = &steps->items[i];

			step->kind = STEP_STEADY;
			step->host_begin_ns = step_token_time(model, &tokens, period.starts[i]);
			if (i)
				steps->items[i - 1].host_end_ns = step->host_begin_ns;
		}
		/* Where the last one ends is not known: the loop may have been left in the middle.
		 */
		steps->items[period.count - 1].host_end_ns = model->end_ns + 1;
		steps->items[period.count - 1].kind = STEP_PARTIAL;
	}
	free(period.starts);
	step_tokens_free(&tokens);
	return period.source != STEPS_NONE && period_holds_the_work(model);
}

static bool is_module_load(const char *api)
{
	return strstr(api, "ModuleLoad") || strstr(api, "LibraryLoad") ||
	       strstr(api, "ModuleGetFunction") || strstr(api, "LibraryGetKernel");
}

/* Begin of the last module load in the first third of the steps. */
static void mark_warm_up(struct model *model)
{
	struct step_list *steps = &model->steps;
	bool *loads = xcalloc(model->api_count, sizeof(*loads));
	size_t warm_up = 1, limit = steps->count / 3;

	if (steps->count < 4)
		warm_up = steps->count > 2 ? 1 : 0;
	for (size_t i = 0; i < model->api_count; i++)
		loads[i] = is_module_load(model->apis[i]);
	for (size_t i = 0; i < model->call_count; i++) {
		const struct host_call *call = &model->calls[i];

		if (call->kind != RECORD_KIND_call || !loads[call->api])
			continue;
		while (warm_up < limit && call->begin_ns >= steps->items[warm_up].host_begin_ns &&
		       call->begin_ns < steps->items[limit].host_begin_ns)
			warm_up++;
	}
	for (size_t i = 0; i < warm_up; i++)
		steps->items[i].kind = STEP_WARM_UP;
	free(loads);
}

static void count_copy(const struct transfer *transfer, struct step *step)
{
	step->copies++;
	if (transfer->direction == COPY_H2D)
		step->h2d_bytes += transfer->size_bytes;
	else if (transfer->direction == COPY_D2H)
		step->d2h_bytes += transfer->size_bytes;
	else
		step->other_bytes += transfer->size_bytes;
}

static void count_calls(struct model *model)
{
	struct step_list *steps = &model->steps;
	size_t hint = 0;

	for (size_t i = 0; i < model->call_count; i++) {
		const struct host_call *call = &model->calls[i];
		size_t at;

		if (call->flags & (CALL_REDUNDANT | CALL_CAPTURED))
			continue;
		at = step_of(steps, call->begin_ns, hint);
		if (at == SIZE_MAX)
			continue;
		hint = at;
		switch (call->kind) {
		case RECORD_KIND_launch:
			steps->items[at].launches++;
			break;
		case RECORD_KIND_copy:
			count_copy(&model->transfers[call->detail], &steps->items[at]);
			break;
		case RECORD_KIND_set:
			steps->items[at].sets++;
			break;
		case RECORD_KIND_sync:
			if (call->parent == MODEL_NONE)
				steps->items[at].syncs++;
			break;
		default:
			break;
		}
	}
	/* A recording without host calls still tells what the GPU did. */
	for (size_t i = 0; !model->call_count && i < model->op_count; i++) {
		const struct gpu_op *op = &model->ops[i];
		size_t at = step_of(steps, op->begin_ns, hint);

		if (at == SIZE_MAX)
			continue;
		hint = at;
		if (model_op_has_kernel(op))
			steps->items[at].launches++;
		else if (op->type == GPU_OP_COPY)
			count_copy(&model->transfers[op->detail], &steps->items[at]);
		else
			steps->items[at].sets++;
	}
}

void step_detect(struct model *model)
{
	struct step_list *steps = &model->steps;

	bool is_found = steps_from_marks(model);

	if (!is_found) {
		free(steps->items);
		memset(steps, 0, sizeof(*steps));
		is_found = steps_from_period(model);
	}
	if (is_found)
		mark_warm_up(model);
	else
		steps_none(model);
	count_calls(model);
	steps->steady_count = 0;
	for (size_t i = 0; i < steps->count; i++) {
		switch (steps->items[i].kind) {
		case STEP_WARM_UP:
			steps->warm_up_count++;
			break;
		case STEP_PARTIAL:
			steps->partial_count++;
			break;
		default:
			steps->steady_count++;
		}
	}
}
