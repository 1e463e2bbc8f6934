/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bootstrap of medians: resample the steps, take the median, look at the spread. Medians do not
 * care about the odd slow step, and no distribution is assumed. The generator has a fixed seed.
 */
#include "gate_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xmalloc.h"

enum { RESAMPLES = 2000 };
#define INTERVAL_TAIL 0.005

const char *gate_status_word(enum gate_status status)
{
	static const char *const words[] = {"pass", "fail", "inconclusive", "too_few_samples"};

	return words[status];
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x;
}

static int compare_values(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median_of(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_values);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double resampled_median(const struct step_values *sample, double *scratch, uint64_t *state)
{
	for (size_t i = 0; i < sample->count; i++)
		scratch[i] = sample->values[next_random(state) % sample->count];
	return median_of(scratch, sample->count);
}

static double plain_median(const struct step_values *sample)
{
	double *copy = xmalloc((sample->count + 1) * sizeof(*copy));
	double median;

	memcpy(copy, sample->values, sample->count * sizeof(*copy));
	median = sample->count ? median_of(copy, sample->count) : 0;
	free(copy);
	return median;
}

static void set_interval(struct gate_estimate *estimate, double *draws)
{
	qsort(draws, RESAMPLES, sizeof(*draws), compare_values);
	estimate->low = draws[(size_t)(INTERVAL_TAIL * RESAMPLES)];
	estimate->high = draws[RESAMPLES - 1 - (size_t)(INTERVAL_TAIL * RESAMPLES)];
}

struct gate_estimate gate_median(const struct step_values *sample)
{
	struct gate_estimate estimate = {plain_median(sample), 0, 0};
	double *draws, *scratch;
	uint64_t state = 0x9e3779b97f4a7c15ull;

	estimate.low = estimate.high = estimate.value;
	if (sample->count < 2)
		return estimate;
	draws = xmalloc(RESAMPLES * sizeof(*draws));
	scratch = xmalloc(sample->count * sizeof(*scratch));
	for (int i = 0; i < RESAMPLES; i++)
		draws[i] = resampled_median(sample, scratch, &state);
	set_interval(&estimate, draws);
	free(draws);
	free(scratch);
	return estimate;
}

static double change_of(double baseline, double current, bool is_difference)
{
	if (is_difference)
		return current - baseline;
	if (baseline == 0)
		return current == 0 ? 0 : 100; /* from nothing to something */
	return 100 * (current - baseline) / baseline;
}

double gate_runs_median(const struct step_values *runs, size_t count)
{
	double *medians = xmalloc((count + 1) * sizeof(*medians)), median;

	for (size_t i = 0; i < count; i++)
		medians[i] = plain_median(&runs[i]);
	median = count ? median_of(medians, count) : 0;
	free(medians);
	return median;
}

/* What a run may differ by from the usual one, as the runs of the baseline do. Their spread is seen
 * from their own centre, so it is a little too small by a factor that statistics knows. */
static double draw_run_effect(const double *medians, size_t runs, double usual, uint64_t *state)
{
	double effect;

	if (runs < 2)
		return 0;
	effect = medians[next_random(state) % runs] - usual;
	return effect * sqrt((double)runs / (double)(runs - 1));
}

/* The median of as many runs, taken at random, each of as many steps, taken at random. */
static double resampled_runs(const struct step_values *baseline, size_t runs, double *scratch,
			     double *medians, uint64_t *state)
{
	for (size_t i = 0; i < runs; i++)
		medians[i] = resampled_median(&baseline[runs > 1 ? next_random(state) % runs : 0],
					      scratch, state);
	return median_of(medians, runs);
}

struct gate_estimate gate_change(const struct step_values *baseline, size_t runs,
				 const struct step_values *current, bool is_difference)
{
	struct gate_estimate estimate = {0, 0, 0};
	double usual = gate_runs_median(baseline, runs), *draws, *scratch, *medians, *drawn;
	size_t longest = current->count, fewest = current->count;
	uint64_t state = 0xd1b54a32d192ed03ull;

	for (size_t i = 0; i < runs; i++) {
		longest = baseline[i].count > longest ? baseline[i].count : longest;
		fewest = baseline[i].count < fewest ? baseline[i].count : fewest;
	}
	estimate.value = change_of(usual, plain_median(current), is_difference);
	estimate.low = estimate.high = estimate.value;
	/* One value per run, such as a peak, spreads between runs only. */
	if (!fewest || (fewest < 2 && runs < 2))
		return estimate;
	draws = xmalloc(RESAMPLES * sizeof(*draws));
	scratch = xmalloc(longest * sizeof(*scratch));
	medians = xmalloc(runs * sizeof(*medians));
	drawn = xmalloc(runs * sizeof(*drawn));
	for (size_t i = 0; i < runs; i++)
		medians[i] = plain_median(&baseline[i]);
	for (int i = 0; i < RESAMPLES; i++) {
		double before = resampled_runs(baseline, runs, scratch, drawn, &state);
		double after = resampled_median(current, scratch, &state);

		draws[i] = change_of(before, after + draw_run_effect(medians, runs, usual, &state),
				     is_difference);
	}
	set_interval(&estimate, draws);
	free(draws);
	free(scratch);
	free(medians);
	free(drawn);
	return estimate;
}

enum gate_status gate_judge_limit(const struct gate_estimate *median, double limit)
{
	if (median->value <= limit)
		return GATE_PASS;
	return median->low > limit ? GATE_FAIL : GATE_INCONCLUSIVE;
}

enum gate_status gate_judge_change(const struct gate_estimate *change, double tolerance)
{
	if (change->value <= tolerance)
		return GATE_PASS;
	if (change->low > tolerance)
		return GATE_FAIL;
	return change->low > 0 ? GATE_INCONCLUSIVE : GATE_PASS;
}
