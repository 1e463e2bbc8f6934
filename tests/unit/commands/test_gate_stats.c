/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Noise passes, regressions fail, and what is in between is not claimed.
 */
#include "unit_test.h"

#include <stdlib.h>

#include "gate_stats.h"

enum { STEPS = 60, RUNS = 60, SETS = 20 };

static uint64_t random_state = 88172645463325252ull;

static double next_uniform(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / 9007199254740992.0;
}

/* About normal: the sum of twelve uniforms. */
static double next_normal(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += next_uniform();
	return sum;
}

static struct step_values make_sample(double mean, double noise_share, size_t count)
{
	struct step_values sample = {malloc(count * sizeof(double)), count};

	for (size_t i = 0; i < count; i++) {
		sample.values[i] = mean * (1 + noise_share * next_normal());
		if (next_uniform() < 0.02)
			sample.values[i] *= 1.4; /* now and then a slow step */
	}
	return sample;
}

/* Verdicts over many pairs of runs. */
static void count_verdicts(double noise_share, double growth, size_t counts[4])
{
	for (int i = 0; i < 4; i++)
		counts[i] = 0;
	for (int run = 0; run < RUNS; run++) {
		struct step_values baseline = make_sample(100, noise_share, STEPS);
		struct step_values current = make_sample(100 * (1 + growth), noise_share, STEPS);
		struct gate_estimate change = gate_change(&baseline, 1, &current, false);

		assert_true(change.low <= change.value && change.value <= change.high);
		counts[gate_judge_change(&change, 5)]++;
		step_values_free(&baseline);
		step_values_free(&current);
	}
}

static void noise_of_five_percent_passes(void **state)
{
	size_t counts[4];

	(void)state;
	count_verdicts(0.05, 0, counts);
	assert_int_equal(counts[GATE_PASS], RUNS);
}

static void noise_of_twenty_percent_never_fails_and_nearly_always_passes(void **state)
{
	size_t counts[4];

	(void)state;
	count_verdicts(0.20, 0, counts);
	assert_int_equal(counts[GATE_FAIL], 0);
	assert_true(counts[GATE_PASS] >= RUNS - 2);
}

static void a_regression_of_twelve_percent_fails_at_five_percent_noise(void **state)
{
	size_t counts[4];

	(void)state;
	count_verdicts(0.05, 0.12, counts);
	assert_true(counts[GATE_FAIL] >= RUNS - 3);
	assert_int_equal(counts[GATE_PASS], 0);
}

static void a_regression_of_thirty_percent_fails_at_twenty_percent_noise(void **state)
{
	size_t counts[4];

	(void)state;
	count_verdicts(0.20, 0.30, counts);
	assert_true(counts[GATE_FAIL] >= RUNS - 3);
	assert_int_equal(counts[GATE_PASS], 0);
}

static void an_improvement_passes(void **state)
{
	size_t counts[4];

	(void)state;
	count_verdicts(0.05, -0.20, counts);
	assert_int_equal(counts[GATE_PASS], RUNS);
}

static void growth_near_the_tolerance_is_not_claimed(void **state)
{
	struct gate_estimate change = {6, 2, 10};

	(void)state;
	assert_int_equal(gate_judge_change(&change, 5), GATE_INCONCLUSIVE);
	change.low = -1; /* may be nothing at all */
	assert_int_equal(gate_judge_change(&change, 5), GATE_PASS);
	change.low = 5.5;
	assert_int_equal(gate_judge_change(&change, 5), GATE_FAIL);
}

static void exact_figures_need_no_interval(void **state)
{
	double before[] = {259, 259, 259, 259, 259}, after[] = {263, 263, 263, 263, 263};
	struct step_values baseline = {before, 5}, current = {after, 5};
	struct gate_estimate change = gate_change(&baseline, 1, &current, false);

	(void)state;
	assert_float_equal(change.low, change.value, 1e-9);
	assert_float_equal(change.value, 100.0 * 4 / 259, 1e-9);
	assert_int_equal(gate_judge_change(&change, 1), GATE_FAIL);
}

static void limits_fail_only_when_the_interval_is_above(void **state)
{
	struct gate_estimate median = {50, 48, 52};

	(void)state;
	assert_int_equal(gate_judge_limit(&median, 51), GATE_PASS);
	assert_int_equal(gate_judge_limit(&median, 50), GATE_PASS);
	assert_int_equal(gate_judge_limit(&median, 49), GATE_INCONCLUSIVE);
	assert_int_equal(gate_judge_limit(&median, 47), GATE_FAIL);
}

static void the_same_samples_give_the_same_verdict(void **state)
{
	struct step_values baseline = make_sample(100, 0.1, 40),
			   current = make_sample(104, 0.1, 40);
	struct gate_estimate first = gate_change(&baseline, 1, &current, false);
	struct gate_estimate second = gate_change(&baseline, 1, &current, false);

	(void)state;
	assert_memory_equal(&first, &second, sizeof(first));
	step_values_free(&baseline);
	step_values_free(&current);
}

static void something_from_nothing_is_growth(void **state)
{
	double before[] = {0, 0, 0}, after[] = {3, 3, 3};
	struct step_values baseline = {before, 3}, current = {after, 3};

	(void)state;
	assert_float_equal(gate_change(&baseline, 1, &current, false).value, 100, 0);
	assert_float_equal(gate_change(&baseline, 1, &baseline, false).value, 0, 0);
	assert_float_equal(gate_change(&baseline, 1, &current, true).value, 3, 0);
}

/* Verdicts over many sets of runs; every run is faster or slower than its like by run_share. */
static void count_run_verdicts(double run_share, double growth, double tolerance, size_t counts[4])
{
	enum { BASELINE_RUNS = 5, RUN_STEPS = 20 };

	for (int i = 0; i < 4; i++)
		counts[i] = 0;
	for (int run = 0; run < SETS; run++) {
		struct step_values baseline[BASELINE_RUNS], current;
		struct gate_estimate change;

		for (int i = 0; i < BASELINE_RUNS; i++)
			baseline[i] = make_sample(100 * (1 + run_share * next_normal()), 0.005,
						  RUN_STEPS);
		current = make_sample(100 * (1 + growth) * (1 + run_share * next_normal()), 0.005,
				      RUN_STEPS);
		change = gate_change(baseline, BASELINE_RUNS, &current, false);
		counts[gate_judge_change(&change, tolerance)]++;
		for (int i = 0; i < BASELINE_RUNS; i++)
			step_values_free(&baseline[i]);
		step_values_free(&current);
	}
}

static void five_runs_tell_three_percent_from_noise(void **state)
{
	size_t counts[4];

	(void)state;
	count_run_verdicts(0.002, 0.03, 1, counts);
	assert_int_equal(counts[GATE_FAIL], SETS);
	count_run_verdicts(0.002, 0, 1, counts);
	assert_int_equal(counts[GATE_PASS], SETS);
}

/* Against one such run every fifth comparison or so fails: its steps do not know of other runs. */
static void runs_that_differ_by_themselves_do_not_fail(void **state)
{
	size_t counts[4];

	(void)state;
	count_run_verdicts(0.015, 0, 1, counts);
	assert_true(counts[GATE_FAIL] <= SETS / 10);
}

/* One figure per run, as peak memory is. */
static void a_single_figure_spreads_between_runs(void **state)
{
	double values[] = {100, 103, 97, 101, 99}, now = 102;
	struct step_values runs[5], current = {&now, 1};
	struct gate_estimate change;

	(void)state;
	for (int i = 0; i < 5; i++)
		runs[i] = (struct step_values){&values[i], 1};
	change = gate_change(runs, 5, &current, false);
	assert_float_equal(change.value, 2, 1e-9);
	assert_true(change.low < 0 && change.high > 2);
	assert_int_equal(gate_judge_change(&change, 1), GATE_PASS);
	change = gate_change(runs, 1, &current, false);
	assert_float_equal(change.low, 2, 1e-9);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(noise_of_five_percent_passes),
		cmocka_unit_test(noise_of_twenty_percent_never_fails_and_nearly_always_passes),
		cmocka_unit_test(a_regression_of_twelve_percent_fails_at_five_percent_noise),
		cmocka_unit_test(a_regression_of_thirty_percent_fails_at_twenty_percent_noise),
		cmocka_unit_test(an_improvement_passes),
		cmocka_unit_test(growth_near_the_tolerance_is_not_claimed),
		cmocka_unit_test(exact_figures_need_no_interval),
		cmocka_unit_test(limits_fail_only_when_the_interval_is_above),
		cmocka_unit_test(the_same_samples_give_the_same_verdict),
		cmocka_unit_test(five_runs_tell_three_percent_from_noise),
		cmocka_unit_test(runs_that_differ_by_themselves_do_not_fail),
		cmocka_unit_test(a_single_figure_spreads_between_runs),
		cmocka_unit_test(something_from_nothing_is_growth),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
