/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT303 counts how often launching threads change their node.
 */
#include "machine_bench.h"

/* The node changes `moves` times, evenly over the run; launches take longer on node 0. */
static void run_with_moves(struct bench *bench, int moves, int64_t far_launch_ns)
{
	const int steps = 24;

	bench_init(bench);
	bench_two_nodes(bench, "0-3");
	for (int step = 0; step < steps; step++) {
		int64_t node = moves ? (step * (moves + 1) / steps) & 1 : 1;

		bench_sample(bench, SAMPLE_thread_node, bench->machine.host_ns, node);
		bench->machine.launch_ns = node ? 5000 : far_launch_ns;
		bench->machine.site = 5;
		for (int i = 0; i < 200; i++)
			machine_kernel(&bench->machine, "ampere_sgemm_128x128_nn", 2000);
		bench->machine.site = 6;
		machine_kernel(&bench->machine, "adam_step", 50000);
	}
	bench_run(bench);
}

static void moves_with_slower_launches_are_raised_with_the_difference(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	run_with_moves(&bench, 11, 8000);
	finding = bench_only(&bench, "GT303");
	assert_float_equal(bench_number(finding, "moves"), 11, 0);
	assert_true(bench_number(finding, "far_launch_us") >
		    bench_number(finding, "near_launch_us") + 2);
	assert_true(finding->gain_high_ms > 0);
	bench_fini(&bench);
}

static void moves_that_change_nothing_are_an_information(void **state)
{
	struct bench bench;

	(void)state;
	run_with_moves(&bench, 11, 5000);
	assert_int_equal(bench_only(&bench, "GT303")->severity, SEVERITY_INFO);
	bench_fini(&bench);
}

static void two_moves_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	run_with_moves(&bench, 2, 8000);
	assert_int_equal(bench_status(&bench, "GT303"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_thread_that_stays_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	run_with_moves(&bench, 0, 5000);
	assert_int_equal(bench_status(&bench, "GT303"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_samples_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_two_nodes(&bench, "0-3");
	bench_copy_steps(&bench, 1 << 20);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT303"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves_with_slower_launches_are_raised_with_the_difference),
		cmocka_unit_test(moves_that_change_nothing_are_an_information),
		cmocka_unit_test(two_moves_are_silent),
		cmocka_unit_test(a_thread_that_stays_is_silent),
		cmocka_unit_test(without_samples_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
