/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the checks and finds out what changed.
 */
#include "gate_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "xmalloc.h"

void gate_options_init(struct gate_options *options)
{
	static const double tolerances[STEP_METRIC_COUNT] = {
		[METRIC_STEP_TIME] = 5, [METRIC_EXPOSED_COPY] = 2, [METRIC_LAUNCHES] = 1,
		[METRIC_BYTES] = 1,	[METRIC_PEAK_MEMORY] = 2,
	};

	memset(options, 0, sizeof(*options));
	options->min_steps = 5;
	for (int i = 0; i < STEP_METRIC_COUNT; i++) {
		options->limit[i] = NAN;
		options->tolerance[i] = tolerances[i];
	}
}

bool gate_metric_is_points(enum step_metric metric)
{
	return metric == METRIC_EXPOSED_COPY;
}

static struct gate_check *add_check(struct gate_result *result)
{
	if (result->count == result->capacity)
		result->checks =
			array_grow(result->checks, &result->capacity, sizeof(*result->checks));
	memset(&result->checks[result->count], 0, sizeof(*result->checks));
	return &result->checks[result->count++];
}

static bool has_enough(const struct gate_options *options, enum step_metric metric,
		       const struct model *model, size_t count)
{
	if (metric == METRIC_PEAK_MEMORY)
		return count > 0;
	return model->steps.source != STEPS_NONE && count >= options->min_steps;
}

static void check_limit(const struct gate_options *options, struct gate_result *result,
			const struct model *model, size_t run, size_t device,
			enum step_metric metric)
{
	struct gate_check *check = add_check(result);
	struct step_values values;

	step_values_build(model, device, metric, &values);
	check->metric = metric;
	check->run = run;
	check->device = device;
	check->limit = options->limit[metric];
	check->current_count = values.count;
	check->current = gate_median(&values);
	check->status = has_enough(options, metric, model, values.count)
				? gate_judge_limit(&check->current, check->limit)
				: GATE_TOO_FEW;
	step_values_free(&values);
}

static double step_ms(const struct model *model, size_t device)
{
	struct step_values values;
	double median;

	step_values_build(model, device, METRIC_STEP_TIME, &values);
	median = gate_median(&values).value;
	step_values_free(&values);
	return median;
}

static void check_change(const struct gate_options *options, struct gate_result *result,
			 const struct model *current, const struct model *const *baseline,
			 size_t run, size_t device, enum step_metric metric)
{
	size_t runs = result->baseline.runs, then_count = 0;
	struct step_values now, *then = xcalloc(runs, sizeof(*then));
	struct gate_check *check;
	bool is_enough;

	step_values_build(current, device, metric, &now);
	is_enough = has_enough(options, metric, current, now.count);
	for (size_t i = 0; i < runs; i++) {
		step_values_build(baseline[i], device, metric, &then[i]);
		then_count += then[i].count;
		is_enough = is_enough && has_enough(options, metric, baseline[i], then[i].count);
	}
	/* No run allocated on this device through calls that were seen: nothing to compare. */
	if (metric == METRIC_PEAK_MEMORY && !now.count && !then_count)
		goto out;
	check = add_check(result);
	check->metric = metric;
	check->is_change = true;
	check->run = run;
	check->device = device;
	check->limit = options->tolerance[metric];
	check->current_count = now.count;
	check->baseline_count = then_count;
	check->current = gate_median(&now);
	check->baseline_value = gate_runs_median(then, runs);
	check->change = gate_change(then, runs, &now, gate_metric_is_points(metric));
	check->status = is_enough ? gate_judge_change(&check->change, check->limit) : GATE_TOO_FEW;
out:
	for (size_t i = 0; i < runs; i++)
		step_values_free(&then[i]);
	step_values_free(&now);
	free(then);
}

/* Of several runs the one in the middle, by its time per step on this device. */
static const struct model *usual_run(const struct model *const *baseline, size_t runs,
				     size_t device)
{
	for (size_t i = 0; i < runs; i++) {
		size_t faster = 0;

		for (size_t j = 0; j < runs; j++) {
			double one = step_ms(baseline[j], device),
			       other = step_ms(baseline[i], device);

			faster += one < other || (one == other && j < i);
		}
		if (faster == (runs - 1) / 2)
			return baseline[i];
	}
	return baseline[0];
}

static int compare_by_weight(const void *left, const void *right)
{
	const struct profile_change *a = left, *b = right;

	return (a->weight < b->weight) - (a->weight > b->weight);
}

/* Every run of the baseline has this device; only a mismatch that is allowed lets one lack it. */
static bool have_device(const struct gate_baseline *baseline, size_t at, size_t device)
{
	for (size_t i = 0; i < baseline->runs; i++) {
		if (device >= baseline->models[at * baseline->runs + i]->device_count)
			return false;
	}
	return true;
}

/* The most telling changes over all devices. */
static void find_changes(struct gate_result *result, const struct model *const *current,
			 size_t count)
{
	for (size_t r = 0; r < count; r++) {
		for (size_t d = 0;
		     d < current[r]->device_count && have_device(&result->baseline, r, d); d++) {
			struct profile_change found[2 * GATE_CHANGE_LIMIT];
			struct symbols *now_symbols = symbols_new(current[r]->source.trace);
			const struct model *usual =
				usual_run(&result->baseline.models[r * result->baseline.runs],
					  result->baseline.runs, d);
			struct symbols *then_symbols = symbols_new(usual->source.trace);
			struct profile now, then;
			size_t total = result->change_count;

			profile_build(current[r], d, now_symbols, &now);
			profile_build(usual, d, then_symbols, &then);
			if (total)
				memcpy(found, result->changes, total * sizeof(*found));
			total += profile_compare(&then, &now, found + total, GATE_CHANGE_LIMIT);
			qsort(found, total, sizeof(*found), compare_by_weight);
			for (size_t i = GATE_CHANGE_LIMIT; i < total; i++)
				free(found[i].text);
			result->change_count =
				total < GATE_CHANGE_LIMIT ? total : GATE_CHANGE_LIMIT;
			if (result->change_count)
				memcpy(result->changes, found,
				       result->change_count * sizeof(*found));
			profile_free(&now);
			profile_free(&then);
			symbols_free(now_symbols);
			symbols_free(then_symbols);
		}
	}
}

static int rank_of(enum gate_status status)
{
	static const int ranks[] = {
		[GATE_PASS] = 0, [GATE_INCONCLUSIVE] = 2, [GATE_TOO_FEW] = 1, [GATE_FAIL] = 3};

	return ranks[status];
}

/* Why there are no steps in one of these; NULL. */
static const char *find_summed(const struct model *const *models, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (call_totals_replace_calls(models[i]))
			return call_totals_reason(models[i]);
	}
	return NULL;
}

void gate_run(const struct gate_options *options, const struct model *const *current,
	      size_t current_count, const struct model *const *baseline, size_t baseline_count,
	      struct gate_result *result)
{
	const struct gate_baseline *then = &result->baseline;
	bool is_comparable;

	memset(result, 0, sizeof(*result));
	result->summed = find_summed(current, current_count);
	if (!result->summed)
		result->summed = find_summed(baseline, baseline_count);
	if (baseline_count)
		gate_baseline_build(current, current_count, baseline, baseline_count,
				    &result->baseline);
	is_comparable = then->runs && (!then->mismatch || options->allows_mismatch);
	for (size_t r = 0; r < current_count; r++) {
		for (size_t d = 0; d < current[r]->device_count; d++) {
			for (int metric = 0; metric < STEP_METRIC_COUNT; metric++) {
				if (!isnan(options->limit[metric]))
					check_limit(options, result, current[r], r, d,
						    (enum step_metric)metric);
				if (is_comparable && have_device(then, r, d))
					check_change(options, result, current[r],
						     &then->models[r * then->runs], r, d,
						     (enum step_metric)metric);
			}
		}
	}
	if (is_comparable)
		find_changes(result, current, current_count);
	for (size_t i = 0; i < result->count; i++) {
		if (rank_of(result->checks[i].status) > rank_of(result->status))
			result->status = result->checks[i].status;
	}
	if (baseline_count && !is_comparable && result->status != GATE_FAIL)
		result->status = GATE_INCONCLUSIVE;
	else if (!result->count)
		result->status = GATE_TOO_FEW; /* there is no GPU in the traces */
}

void gate_result_free(struct gate_result *result)
{
	for (size_t i = 0; i < result->change_count; i++)
		free(result->changes[i].text);
	free(result->checks);
	gate_baseline_free(&result->baseline);
	memset(result, 0, sizeof(*result));
}
