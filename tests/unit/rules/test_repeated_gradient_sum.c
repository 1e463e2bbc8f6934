/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT610 names gradients that are summed after every micro-batch, and no other repeated sums.
 */
#include "comm_bench.h"

static const struct comm_loop accumulating = {
	.sums = 3, .micro_batches = 4, .sum_bytes = 8 << 20, .sum_ns = 1500000, .has_calls = true};

static void a_sum_per_micro_batch_is_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	comm_bench_run(&bench, &accumulating);
	finding = bench_only(&bench, "GT610");
	assert_float_equal(bench_number(finding, "sums_per_step"), 4, 1e-9);
	assert_float_equal(bench_number(finding, "bytes_each_time"), 25165824, 0.5);
	/* Three of four times 3 x 1.5 ms. */
	assert_float_equal(finding->cost_ms, 13.5, 0.1);
	assert_float_equal(finding->gain_high_ms, 13.5, 0.1);
	bench_fini(&bench);
}

static void one_sum_per_step_is_silent(void **state)
{
	struct bench bench;
	struct comm_loop loop = accumulating;

	(void)state;
	loop.micro_batches = 1;
	bench_init(&bench);
	comm_bench_run(&bench, &loop);
	assert_int_equal(bench_status(&bench, "GT610"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void sums_inside_layers_are_silent(void **state)
{
	struct bench bench;
	struct comm_loop loop = accumulating;

	(void)state;
	loop.micro_batches = 1;
	loop.is_layered = true;
	bench_init(&bench);
	comm_bench_run(&bench, &loop);
	assert_int_equal(bench_status(&bench, "GT610"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_addresses_it_is_not_judged(void **state)
{
	struct bench bench;
	struct comm_loop loop = accumulating;

	(void)state;
	loop.has_calls = false;
	bench_init(&bench);
	comm_bench_run(&bench, &loop);
	assert_int_equal(bench_status(&bench, "GT610"), NOT_JUDGED);
	bench_fini(&bench);
}

static void summing_once_gains_what_the_range_says(void **state)
{
	struct bench bench;
	const struct finding *finding;
	double cured_ms = 4 * 16 + 1 + 3 * 1.5; /* the work of four micro-batches, one sum */

	(void)state;
	bench_init(&bench);
	comm_bench_run(&bench, &accumulating);
	finding = bench_only(&bench, "GT610");
	bench_assert_range_holds(finding, bench_step_ms(&bench) - cured_ms);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sum_per_micro_batch_is_raised),
		cmocka_unit_test(one_sum_per_step_is_silent),
		cmocka_unit_test(sums_inside_layers_are_silent),
		cmocka_unit_test(without_addresses_it_is_not_judged),
		cmocka_unit_test(summing_once_gains_what_the_range_says),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
