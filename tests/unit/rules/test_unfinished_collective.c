/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT607 names a collective that all ranks called and that did not end.
 */
#include "rank_bench.h"

/* All four ranks joined all-reduce 8, the last thing that any of them did. */
static void init_stuck(struct rank_bench *bench)
{
	rank_bench_init(bench, 4);
	for (size_t rank = 0; rank < 4; rank++) {
		rank_bench_cut(bench, rank, 9);
		rank_bench_collective(bench, rank, 8)->end_ns =
			rank_bench_collective(bench, rank, 8)->begin_ns;
	}
}

static void a_collective_that_all_joined_and_none_left_is_raised(void **state)
{
	struct rank_bench bench;
	const struct finding *finding;

	(void)state;
	init_stuck(&bench);
	rank_bench_run(&bench);
	finding = rank_bench_only(&bench, "GT607");
	assert_float_equal(rank_bench_number(finding, "sequence"), 8, 0.1);
	assert_int_equal(rank_bench_status(&bench, "GT606"), JUDGED_SILENT);
	rank_bench_fini(&bench);
}

static void one_that_a_rank_left_is_silent(void **state)
{
	struct rank_bench bench;

	(void)state;
	init_stuck(&bench);
	rank_bench_collective(&bench, 3, 8)->end_ns += 10000000;
	rank_bench_run(&bench);
	assert_int_equal(rank_bench_status(&bench, "GT607"), JUDGED_SILENT);
	rank_bench_fini(&bench);
}

static void one_shortly_before_the_end_of_the_files_is_silent(void **state)
{
	struct rank_bench bench;

	(void)state;
	init_stuck(&bench);
	for (size_t rank = 0; rank < 4; rank++)
		bench.items[rank].last_ns =
			rank_bench_collective(&bench, rank, 8)->call_ns + 200000000;
	rank_bench_run(&bench);
	assert_int_equal(rank_bench_status(&bench, "GT607"), JUDGED_SILENT);
	rank_bench_fini(&bench);
}

static void a_missing_rank_is_not_this(void **state)
{
	struct rank_bench bench;

	(void)state;
	init_stuck(&bench);
	rank_bench_cut(&bench, 1, 8);
	rank_bench_run(&bench);
	assert_int_equal(rank_bench_status(&bench, "GT607"), JUDGED_SILENT);
	assert_int_equal(rank_bench_status(&bench, "GT606"), JUDGED_RAISED);
	rank_bench_fini(&bench);
}

static void one_file_is_not_judged(void **state)
{
	(void)state;
	assert_int_equal(rank_bench_of_one_file("GT607", "4"), NOT_JUDGED);
}

static void a_job_of_one_rank_is_silent(void **state)
{
	(void)state;
	assert_int_equal(rank_bench_of_one_file("GT607", NULL), JUDGED_SILENT);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_collective_that_all_joined_and_none_left_is_raised),
		cmocka_unit_test(one_that_a_rank_left_is_silent),
		cmocka_unit_test(one_shortly_before_the_end_of_the_files_is_silent),
		cmocka_unit_test(a_missing_rank_is_not_this),
		cmocka_unit_test(one_file_is_not_judged),
		cmocka_unit_test(a_job_of_one_rank_is_silent),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
