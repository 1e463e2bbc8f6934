/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT603 names steps with many collectives that cost their latency.
 */
#include "comm_bench.h"

#include <string.h>

static const struct comm_loop small = {
	.sums = 200, .sum_bytes = 64 << 10, .sum_ns = 40000, .has_calls = true};

static void many_small_sums_are_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	comm_bench_run(&bench, &small);
	finding = bench_only(&bench, "GT603");
	assert_float_equal(bench_number(finding, "collectives_per_step"), 200, 0.01);
	assert_float_equal(bench_number(finding, "median_bytes"), 65536, 0.5);
	assert_float_equal(finding->cost_ms, 8, 0.1);
	bench_fini(&bench);
}

static void as_many_large_sums_are_silent(void **state)
{
	struct bench bench;
	struct comm_loop loop = small;

	(void)state;
	loop.sum_bytes = 2 << 20;
	bench_init(&bench);
	comm_bench_run(&bench, &loop);
	assert_int_equal(bench_status(&bench, "GT603"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_few_small_sums_are_silent(void **state)
{
	struct bench bench;
	struct comm_loop loop = small;

	(void)state;
	loop.sums = 50;
	bench_init(&bench);
	comm_bench_run(&bench, &loop);
	assert_int_equal(bench_status(&bench, "GT603"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_sizes_it_is_not_judged(void **state)
{
	struct bench bench;
	struct comm_loop loop = small;

	(void)state;
	loop.has_calls = false;
	bench_init(&bench);
	comm_bench_run(&bench, &loop);
	assert_int_equal(bench_status(&bench, "GT603"), NOT_JUDGED);
	assert_non_null(strstr(bench_reason(&bench, "GT603"), "sizes"));
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_small_sums_are_raised),
		cmocka_unit_test(as_many_large_sums_are_silent),
		cmocka_unit_test(a_few_small_sums_are_silent),
		cmocka_unit_test(without_sizes_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
