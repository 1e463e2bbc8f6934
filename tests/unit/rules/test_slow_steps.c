/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT508 tells slow steps without a period, and the part of them that grew.
 */
#include "rule_bench.h"

static bool is_alone; /* one slow step, not four */

static bool is_slow(int step)
{
	return step == 37 || (!is_alone && (step == 11 || step == 15 || step == 58));
}

static void run_loop(struct bench *bench, int steps, int64_t away_ns, int extra_kernels)
{
	bench_init(bench);
	for (int step = 0; step < steps; step++) {
		bench->machine.site = 8;
		/* The host runs ahead by no more than a step. */
		machine_sync(&bench->machine, "cudaDeviceSynchronize", SYNC_DEVICE);
		for (int i = 0; i < 10; i++)
			machine_kernel(&bench->machine, "elementwise_kernel", 400000);
		/* A long batch: the same launches, each with more to do. */
		for (int i = 0; i < 4; i++)
			machine_kernel(&bench->machine, "fused_norm_kernel",
				       is_slow(step) ? 100000 * (1 + extra_kernels) : 100000);
		machine_kernel(&bench->machine, "adam_step", 100000);
		bench->machine.site = 9;
		if (is_slow(step))
			machine_work(&bench->machine, away_ns);
	}
	bench_run(bench);
}

static void a_host_that_was_away_is_the_part_that_grew(void **state)
{
	const struct finding *finding;
	struct bench bench;

	(void)state;
	run_loop(&bench, 65, 50000000, 0);
	finding = bench_only(&bench, "GT508");
	assert_float_equal(bench_number(finding, "slow_steps"), 4, 0);
	assert_string_equal(bench_text(finding, "part"), "idle_host_away");
	assert_float_equal(bench_number(finding, "part_grew_ms"), 45.5, 1);
	assert_float_equal(bench_number(finding, "slowest_ms"), 50, 1);
	assert_int_not_equal(finding->call, MODEL_NONE);
	bench_fini(&bench);
}

static void more_work_is_the_part_that_grew(void **state)
{
	const struct finding *finding;
	struct bench bench;

	(void)state;
	run_loop(&bench, 65, 0, 20);
	finding = bench_only(&bench, "GT508");
	assert_string_equal(bench_text(finding, "part"), "memory_bound");
	assert_float_equal(bench_number(finding, "part_grew_ms"), 8, 0.5);
	bench_fini(&bench);
}

static void one_slow_step_counts_when_it_takes_a_tenth_of_the_time(void **state)
{
	static const int64_t away_ns[] = {20000000, 60000000};

	(void)state;
	is_alone = true;
	for (size_t i = 0; i < 2; i++) {
		struct bench bench;

		run_loop(&bench, 65, away_ns[i], 0);
		assert_int_equal(bench_count(&bench, "GT508"), i);
		bench_fini(&bench);
	}
	is_alone = false;
}

static void steps_that_are_alike_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	run_loop(&bench, 65, 0, 0);
	assert_int_equal(bench_status(&bench, "GT508"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void steps_a_third_longer_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	run_loop(&bench, 65, 0, 3);
	assert_int_equal(bench_status(&bench, "GT508"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void few_steps_are_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	run_loop(&bench, 7, 0, 0);
	assert_int_equal(bench_status(&bench, "GT508"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_that_was_away_is_the_part_that_grew),
		cmocka_unit_test(more_work_is_the_part_that_grew),
		cmocka_unit_test(one_slow_step_counts_when_it_takes_a_tenth_of_the_time),
		cmocka_unit_test(steps_that_are_alike_are_silent),
		cmocka_unit_test(steps_a_third_longer_are_silent),
		cmocka_unit_test(few_steps_are_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
