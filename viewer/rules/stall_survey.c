/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares each step's time without compute and communication with the median of all. Steps that
 * differ by their work (longer sequences) are no stalls: their waste is as ever.
 */
#include "stall_survey.h"

#include <stdlib.h>
#include <string.h>

#include "gap_walk.h"
#include "xmalloc.h"

#define LEAST_EXCESS_NS	 1000000
#define EXCESS_SHARE	 0.2 /* of the median step */
#define LEAST_STALLS	 3   /* two equal distances make a period */
#define PERIOD_TOLERANCE 0.1
#define PERIODIC_SHARE	 0.8 /* of the distances */
#define CHECKPOINT_SHARE 0.1 /* of the memory in use */

struct judged_step {
	size_t step;
	int64_t length_ns, waste_ns;
	uint64_t d2h_bytes;
};

static int compare_i64(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

static int64_t median_of(int64_t *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare_i64);
	return values[count / 2];
}

static int64_t waste_of(const struct ledger *ledger)
{
	int64_t sum = 0;

	for (int part = LEDGER_COPY; part < LEDGER_PART_COUNT; part++)
		sum += ledger->part[part];
	return sum / LEDGER_UNITS_PER_NS;
}

static size_t collect_steps(const struct model *model, const struct device_ledger *ledger,
			    struct judged_step *out)
{
	size_t count = 0;

	for (size_t i = 0; i < model->steps.count; i++) {
		const struct step *step = &model->steps.items[i];

		if ((step->kind != STEP_STEADY && step->kind != STEP_OUTLIER) ||
		    !ledger->steps[i].length_ns)
			continue;
		out[count++] = (struct judged_step){i, ledger->steps[i].length_ns,
						    waste_of(&ledger->steps[i]), step->d2h_bytes};
	}
	return count;
}

static uint64_t memory_in_use(const struct model_device *device)
{
	uint64_t framework = device->framework.peak_allocated_bytes;

	return device->memory.peak_bytes > framework ? device->memory.peak_bytes : framework;
}

static void find_stalls(const struct model *model, size_t device, const struct judged_step *steps,
			size_t count, struct stall_survey *survey)
{
	int64_t *values = xmalloc(count * sizeof(*values));
	uint64_t in_use = memory_in_use(&model->devices[device]);
	int64_t median_waste_ns, usual_d2h, limit_ns;

	for (size_t i = 0; i < count; i++)
		values[i] = steps[i].waste_ns;
	median_waste_ns = median_of(values, count);
	for (size_t i = 0; i < count; i++)
		values[i] = (int64_t)(steps[i].d2h_bytes & INT64_MAX);
	usual_d2h = median_of(values, count);
	for (size_t i = 0; i < count; i++)
		values[i] = steps[i].length_ns;
	survey->median_ns = median_of(values, count);
	free(values);
	limit_ns = (int64_t)(EXCESS_SHARE * (double)survey->median_ns);
	if (limit_ns < LEAST_EXCESS_NS)
		limit_ns = LEAST_EXCESS_NS;
	survey->items = xcalloc(count, sizeof(*survey->items));
	for (size_t i = 0; i < count; i++) {
		struct stall stall = {.step = steps[i].step,
				      .excess_ns = steps[i].waste_ns - median_waste_ns,
				      .call = MODEL_NONE};

		if (stall.excess_ns < limit_ns)
			continue;
		stall.is_checkpoint = in_use && (double)steps[i].d2h_bytes - (double)usual_d2h >=
							CHECKPOINT_SHARE * (double)in_use;
		survey->checkpoints += stall.is_checkpoint;
		survey->excess_ns += stall.excess_ns;
		survey->items[survey->count++] = stall;
	}
}

static void find_period(struct stall_survey *survey)
{
	int64_t *values = xmalloc((survey->count + 1) * sizeof(*values)), median_ns, median;
	size_t distances = 0, equal = 0, last = SIZE_MAX;

	for (size_t i = 0; i < survey->count; i++)
		values[i] = survey->items[i].excess_ns;
	median_ns = median_of(values, survey->count);
	for (size_t i = 0; i < survey->count; i++) {
		const struct stall *stall = &survey->items[i];

		if (2 * stall->excess_ns < median_ns)
			continue;
		if (last != SIZE_MAX)
			values[distances++] = (int64_t)(stall->step - last);
		last = stall->step;
		survey->periodic_count++;
		survey->periodic_ns += stall->excess_ns;
	}
	/* What happens in every other step is no exception. */
	if (survey->periodic_count >= LEAST_STALLS &&
	    3 * survey->periodic_count <= survey->judged_steps) {
		median = median_of(values, distances);
		for (size_t i = 0; i < distances; i++) {
			double off = (double)llabs(values[i] - median);

			equal += off <= 1 || off <= PERIOD_TOLERANCE * (double)median;
		}
		survey->period_steps = (double)median;
		survey->shortest_period = (size_t)values[0];
		survey->longest_period = (size_t)values[distances - 1];
		/* A distance of 2 that is off by one is no period. */
		survey->is_periodic =
			median >= 3 && (double)equal >= PERIODIC_SHARE * (double)distances;
	}
	free(values);
}

struct gap_search {
	const struct model *model;
	struct stall_survey *survey;
	size_t at; /* in survey->items */
};

/* The longest gap of each stalled step. */
static void see_gap(void *context, const struct idle_gap *gap)
{
	struct gap_search *state = context;
	struct stall_survey *survey = state->survey;

	while (state->at < survey->count && gap->step != SIZE_MAX &&
	       survey->items[state->at].step < gap->step)
		state->at++;
	if (state->at == survey->count || survey->items[state->at].step != gap->step ||
	    gap->end_ns - gap->begin_ns <= survey->items[state->at].gap_ns)
		return;
	survey->items[state->at].gap_ns = gap->end_ns - gap->begin_ns;
	survey->items[state->at].call =
		gap->call != MODEL_NONE ? gap->call : state->model->ops[gap->op].call;
}

void stall_survey_build(const struct model *model, size_t device, struct stall_survey *survey)
{
	const struct device_ledger *ledger = &model->devices[device].ledger;
	struct judged_step *steps;
	struct gap_search state = {model, survey, 0};

	memset(survey, 0, sizeof(*survey));
	if (!ledger->steps || model->steps.source == STEPS_NONE)
		return;
	steps = xmalloc((model->steps.count + 1) * sizeof(*steps));
	survey->judged_steps = collect_steps(model, ledger, steps);
	for (size_t i = 0; i < survey->judged_steps; i++)
		survey->judged_ns += steps[i].length_ns;
	if (survey->judged_steps >= STALL_LEAST_STEPS) {
		find_stalls(model, device, steps, survey->judged_steps, survey);
		find_period(survey);
	}
	free(steps);
	if (survey->count)
		gap_walk(model, device, see_gap, &state);
}

void stall_survey_free(struct stall_survey *survey)
{
	free(survey->items);
	memset(survey, 0, sizeof(*survey));
}
