/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT605 names the first collective that is another one on another rank.
 */
#include "rank_bench.h"

static void another_size_is_raised_with_both_values(void **state)
{
	struct rank_bench bench;
	const struct finding *finding;

	(void)state;
	rank_bench_init(&bench, 2);
	rank_bench_collective(&bench, 1, 7)->size_bytes = 4 << 20;
	rank_bench_collective(&bench, 1, 8)->size_bytes = 4 << 20;
	rank_bench_run(&bench);
	finding = rank_bench_only(&bench, "GT605");
	assert_float_equal(rank_bench_number(finding, "sequence"), 7, 0.1);
	assert_float_equal(rank_bench_number(finding, "first_bytes"), 8388608, 0.5);
	assert_float_equal(rank_bench_number(finding, "second_bytes"), 4194304, 0.5);
	rank_bench_fini(&bench);
}

static void another_kind_is_raised(void **state)
{
	struct rank_bench bench;
	const struct finding *finding;

	(void)state;
	rank_bench_init(&bench, 4);
	rank_bench_collective(&bench, 2, 3)->kind = COLLECTIVE_BROADCAST;
	rank_bench_run(&bench);
	finding = rank_bench_only(&bench, "GT605");
	assert_string_equal(rank_bench_text(finding, "second_kind"), "broadcast");
	assert_true(finding->is_failure);
	rank_bench_fini(&bench);
}

static void equal_ranks_are_silent(void **state)
{
	struct rank_bench bench;

	(void)state;
	rank_bench_init(&bench, 4);
	rank_bench_run(&bench);
	assert_int_equal(rank_bench_status(&bench, "GT605"), JUDGED_SILENT);
	rank_bench_fini(&bench);
}

static void recordings_without_calls_are_not_judged(void **state)
{
	struct rank_bench bench;

	(void)state;
	rank_bench_init(&bench, 2);
	bench.items[0].is_from_kernels = bench.items[1].is_from_kernels = true;
	rank_bench_run(&bench);
	assert_true(bench.job.is_by_order);
	assert_int_equal(rank_bench_status(&bench, "GT605"), NOT_JUDGED);
	rank_bench_fini(&bench);
}

static void one_file_is_not_judged(void **state)
{
	(void)state;
	assert_int_equal(rank_bench_of_one_file("GT605", "4"), NOT_JUDGED);
}

static void a_job_of_one_rank_is_silent(void **state)
{
	(void)state;
	assert_int_equal(rank_bench_of_one_file("GT605", NULL), JUDGED_SILENT);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_size_is_raised_with_both_values),
		cmocka_unit_test(another_kind_is_raised),
		cmocka_unit_test(equal_ranks_are_silent),
		cmocka_unit_test(recordings_without_calls_are_not_judged),
		cmocka_unit_test(one_file_is_not_judged),
		cmocka_unit_test(a_job_of_one_rank_is_silent),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
