/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT606 names the rank that did not join, and only when that is certain.
 */
#include "rank_bench.h"

static void the_rank_behind_is_named_not_the_ones_ahead(void **state)
{
	struct rank_bench bench;
	const struct finding *finding;

	(void)state;
	rank_bench_init(&bench, 4);
	rank_bench_cut(&bench, 2, 12);
	for (size_t rank = 0; rank < 4; rank++) {
		if (rank != 2)
			rank_bench_cut(&bench, rank, 14); /* they called 12 and 13, and wait */
	}
	rank_bench_run(&bench);
	finding = rank_bench_only(&bench, "GT606");
	assert_float_equal(rank_bench_number(finding, "missing_rank"), 2, 0.1);
	assert_float_equal(rank_bench_number(finding, "sequence"), 12, 0.1);
	assert_float_equal(rank_bench_number(finding, "ranks_that_joined"), 3, 0.1);
	rank_bench_fini(&bench);
}

static void a_file_that_ends_early_is_not_judged(void **state)
{
	struct rank_bench bench;

	(void)state;
	rank_bench_init(&bench, 4);
	rank_bench_cut(&bench, 2, 12);
	bench.items[2].last_ns = bench.items[2].collectives[10].end_ns + 1000000;
	rank_bench_run(&bench);
	assert_int_equal(rank_bench_status(&bench, "GT606"), NOT_JUDGED);
	rank_bench_fini(&bench);
}

static void a_rank_that_left_the_communicator_is_silent(void **state)
{
	struct rank_bench bench;

	(void)state;
	rank_bench_init(&bench, 4);
	rank_bench_cut(&bench, 2, 12);
	bench.items[2].communicators[0].end_ns = bench.items[2].collectives[10].end_ns;
	rank_bench_run(&bench);
	assert_int_equal(rank_bench_status(&bench, "GT606"), JUDGED_SILENT);
	rank_bench_fini(&bench);
}

static void equal_ranks_are_silent(void **state)
{
	struct rank_bench bench;

	(void)state;
	rank_bench_init(&bench, 4);
	rank_bench_run(&bench);
	assert_int_equal(rank_bench_status(&bench, "GT606"), JUDGED_SILENT);
	rank_bench_fini(&bench);
}

static void one_file_is_not_judged(void **state)
{
	(void)state;
	assert_int_equal(rank_bench_of_one_file("GT606", "4"), NOT_JUDGED);
}

static void a_job_of_one_rank_is_silent(void **state)
{
	(void)state;
	assert_int_equal(rank_bench_of_one_file("GT606", NULL), JUDGED_SILENT);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rank_behind_is_named_not_the_ones_ahead),
		cmocka_unit_test(a_file_that_ends_early_is_not_judged),
		cmocka_unit_test(a_rank_that_left_the_communicator_is_silent),
		cmocka_unit_test(equal_ranks_are_silent),
		cmocka_unit_test(one_file_is_not_judged),
		cmocka_unit_test(a_job_of_one_rank_is_silent),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
