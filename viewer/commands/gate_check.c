/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the checks and finds out what changed.
 */
#include "gate_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "array_len.h"
#include "text.h"

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

/* Facts that must agree for times to be comparable, where both files have them. */
static char *compare_facts(const struct model *current, const struct model *baseline)
{
	static const char *const keys[][2] = {
		{"driver.version", "the driver"},
		{"cuda.driver_version", "the CUDA driver"},
		{"host.cpu", "the CPU"},
		{"cuda.runtime_version", "the CUDA runtime"},
		{"env.WORLD_SIZE", "the number of ranks"},
		{"gpu_times.source", "the source of GPU times"},
	};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *now = current->source.info(current->source.context, keys[i][0]);
		const char *then = baseline->source.info(baseline->source.context, keys[i][0]);

		if (now && then && strcmp(now, then) != 0)
			return text_format("%s differs: \"%s\" now, \"%s\" in the baseline",
					   keys[i][1], now, then);
	}
	return NULL;
}

static char *compare_devices(const struct model *current, const struct model *baseline)
{
	if (current->device_count != baseline->device_count)
		return text_format("the number of GPUs differs: %zu now, %zu in the baseline",
				   current->device_count, baseline->device_count);
	for (size_t d = 0; d < current->device_count; d++) {
		const struct model_device *now = &current->devices[d];
		const struct model_device *then = &baseline->devices[d];

		if (now->is_simulated != then->is_simulated)
			return text_format("one of them is simulated and the other is not (GPU %u)",
					   now->ordinal);
		if (strcmp(now->name, then->name) != 0)
			return text_format("GPU %u differs: \"%s\" now, \"%s\" in the baseline",
					   now->ordinal, now->name, then->name);
		if (now->record && then->record && now->record->sm_count != then->record->sm_count)
			return text_format("GPU %u differs: %u SMs now, %u in the baseline",
					   now->ordinal, now->record->sm_count,
					   then->record->sm_count);
	}
	return NULL;
}

static char *find_mismatch(const struct model *const *current, size_t current_count,
			   const struct model *const *baseline, size_t baseline_count)
{
	char *mismatch = NULL;

	if (current_count != baseline_count)
		return text_format("the number of traces differs: %zu now, %zu in the baseline",
				   current_count, baseline_count);
	for (size_t i = 0; i < current_count && !mismatch; i++) {
		mismatch = compare_devices(current[i], baseline[i]);
		if (!mismatch)
			mismatch = compare_facts(current[i], baseline[i]);
	}
	return mismatch;
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

static void check_change(const struct gate_options *options, struct gate_result *result,
			 const struct model *current, const struct model *baseline, size_t run,
			 size_t device, enum step_metric metric)
{
	struct gate_check *check;
	struct step_values now, then;

	step_values_build(current, device, metric, &now);
	step_values_build(baseline, device, metric, &then);
	/* Neither run allocated on this device through calls that were seen: nothing to compare. */
	if (metric == METRIC_PEAK_MEMORY && !now.count && !then.count)
		goto out;
	check = add_check(result);
	check->metric = metric;
	check->is_change = true;
	check->run = run;
	check->device = device;
	check->limit = options->tolerance[metric];
	check->current_count = now.count;
	check->baseline_count = then.count;
	check->current = gate_median(&now);
	check->baseline_value = gate_median(&then).value;
	check->change = gate_change(&then, &now, gate_metric_is_points(metric));
	if (!has_enough(options, metric, current, now.count) ||
	    !has_enough(options, metric, baseline, then.count))
		check->status = GATE_TOO_FEW;
	else
		check->status = gate_judge_change(&check->change, check->limit);
out:
	step_values_free(&now);
	step_values_free(&then);
}

static int compare_by_weight(const void *left, const void *right)
{
	const struct profile_change *a = left, *b = right;

	return (a->weight < b->weight) - (a->weight > b->weight);
}

/* The most telling changes over all devices. */
static void find_changes(struct gate_result *result, const struct model *const *current,
			 const struct model *const *baseline, size_t count)
{
	for (size_t r = 0; r < count; r++) {
		for (size_t d = 0; d < current[r]->device_count; d++) {
			struct profile_change found[2 * GATE_CHANGE_LIMIT];
			struct symbols *now_symbols = symbols_new(current[r]->source.trace);
			struct symbols *then_symbols = symbols_new(baseline[r]->source.trace);
			struct profile now, then;
			size_t total = result->change_count;

			profile_build(current[r], d, now_symbols, &now);
			profile_build(baseline[r], d, then_symbols, &then);
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
	bool is_comparable = baseline_count > 0;

	memset(result, 0, sizeof(*result));
	result->summed = find_summed(current, current_count);
	if (!result->summed)
		result->summed = find_summed(baseline, baseline_count);
	if (baseline_count) {
		result->mismatch = find_mismatch(current, current_count, baseline, baseline_count);
		is_comparable = !result->mismatch ||
				(options->allows_mismatch && current_count == baseline_count);
	}
	for (size_t r = 0; r < current_count; r++) {
		for (size_t d = 0; d < current[r]->device_count; d++) {
			for (int metric = 0; metric < STEP_METRIC_COUNT; metric++) {
				if (!isnan(options->limit[metric]))
					check_limit(options, result, current[r], r, d,
						    (enum step_metric)metric);
				if (is_comparable && d < baseline[r]->device_count)
					check_change(options, result, current[r], baseline[r], r, d,
						     (enum step_metric)metric);
			}
		}
	}
	if (is_comparable)
		find_changes(result, current, baseline, current_count);
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
	free(result->mismatch);
	memset(result, 0, sizeof(*result));
}
