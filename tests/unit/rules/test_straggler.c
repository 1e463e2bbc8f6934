/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT604 names the ranks for which the others wait, and why they are late.
 */
#include "rank_bench.h"

#include <string.h>

static void a_rank_that_is_late_every_step_is_named(void **state)
{
	struct rank_bench bench;
	const struct finding *finding;

	(void)state;
	rank_bench_init(&bench, 4);
	rank_bench_delay(&bench, 2, 30000000);
	rank_bench_run(&bench);
	finding = rank_bench_only(&bench, "GT604");
	assert_string_equal(rank_bench_text(finding, "ranks"), "2");
	assert_float_equal(finding->cost_ms, 30, 0.01);
	assert_float_equal(rank_bench_number(finding, "entered_last"), RANK_BENCH_STEPS, 0.1);
	assert_string_equal(rank_bench_text(finding, "excess_part"), "idle_host_away");
	/* Each of the others waited that long, and the late one did not. */
	assert_float_equal(bench.job.items[0].waiting_ms, 30, 0.01);
	assert_float_equal(bench.job.items[2].waiting_ms, 0, 0.01);
	rank_bench_fini(&bench);
}

static void two_of_eight_ranks_are_named_together(void **state)
{
	struct rank_bench bench;
	const struct finding *finding;

	(void)state;
	rank_bench_init(&bench, 8);
	for (uint32_t i = 1; i <= RANK_BENCH_STEPS; i++) {
		for (size_t rank = 0; rank < 8; rank++) {
			if (rank == (i % 2 ? 1u : 6u))
				rank_bench_collective(&bench, rank, i)->begin_ns += 20000000;
			rank_bench_collective(&bench, rank, i)->end_ns += 20000000;
		}
	}
	rank_bench_run(&bench);
	finding = rank_bench_only(&bench, "GT604");
	assert_non_null(strstr(rank_bench_text(finding, "ranks"), "1"));
	assert_non_null(strstr(rank_bench_text(finding, "ranks"), "6"));
	assert_float_equal(finding->cost_ms, 20, 0.01);
	rank_bench_fini(&bench);
}

static void lateness_spread_over_all_ranks_is_silent(void **state)
{
	struct rank_bench bench;

	(void)state;
	rank_bench_init(&bench, 4);
	for (uint32_t i = 1; i <= RANK_BENCH_STEPS; i++) {
		for (size_t rank = 0; rank < 4; rank++) {
			if (rank == i % 4)
				rank_bench_collective(&bench, rank, i)->begin_ns += 20000000;
			rank_bench_collective(&bench, rank, i)->end_ns += 20000000;
		}
	}
	rank_bench_run(&bench);
	assert_int_equal(rank_bench_status(&bench, "GT604"), JUDGED_SILENT);
	/* All the same the waiting is there, and counted. */
	assert_float_equal(bench.job.items[0].waiting_ms, 15, 0.01);
	rank_bench_fini(&bench);
}

static void a_little_late_is_silent(void **state)
{
	struct rank_bench bench;

	(void)state;
	rank_bench_init(&bench, 4);
	rank_bench_delay(&bench, 1, 1000000);
	rank_bench_run(&bench);
	assert_int_equal(rank_bench_status(&bench, "GT604"), JUDGED_SILENT);
	rank_bench_fini(&bench);
}

static void clocks_that_differ_by_seconds_do_not_make_a_straggler(void **state)
{
	struct rank_bench bench;

	(void)state;
	rank_bench_init(&bench, 4);
	rank_bench_run(&bench);
	assert_int_equal(rank_bench_status(&bench, "GT604"), JUDGED_SILENT);
	assert_int_equal(bench.job.items[3].clock_offset_ns, -9000000000);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(bench.job.items[i].entered_last, 0);
	assert_int_equal(bench.job.matched, RANK_BENCH_STEPS);
	rank_bench_fini(&bench);
}

static void without_gpu_times_it_is_not_judged(void **state)
{
	struct rank_bench bench;

	(void)state;
	rank_bench_init(&bench, 2);
	for (uint32_t i = 1; i <= RANK_BENCH_STEPS; i++)
		rank_bench_collective(&bench, 1, i)->end_ns =
			rank_bench_collective(&bench, 1, i)->begin_ns;
	rank_bench_run(&bench);
	assert_int_equal(rank_bench_status(&bench, "GT604"), NOT_JUDGED);
	rank_bench_fini(&bench);
}

static void one_file_is_not_judged(void **state)
{
	(void)state;
	assert_int_equal(rank_bench_of_one_file("GT604", "4"), NOT_JUDGED);
}

static void a_job_of_one_rank_is_silent(void **state)
{
	(void)state;
	assert_int_equal(rank_bench_of_one_file("GT604", NULL), JUDGED_SILENT);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rank_that_is_late_every_step_is_named),
		cmocka_unit_test(two_of_eight_ranks_are_named_together),
		cmocka_unit_test(lateness_spread_over_all_ranks_is_silent),
		cmocka_unit_test(a_little_late_is_silent),
		cmocka_unit_test(clocks_that_differ_by_seconds_do_not_make_a_straggler),
		cmocka_unit_test(without_gpu_times_it_is_not_judged),
		cmocka_unit_test(one_file_is_not_judged),
		cmocka_unit_test(a_job_of_one_rank_is_silent),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
