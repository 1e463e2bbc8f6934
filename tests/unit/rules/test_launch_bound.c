/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT501 speaks of kernels that are shorter than their launches.
 */
#include "rule_bench.h"

static void run_loop(struct bench *bench, int64_t kernel_ns, int64_t launch_ns)
{
	bench_init(bench);
	bench->machine.launch_ns = launch_ns;
	for (int step = 0; step < 15; step++) {
		for (int i = 0; i < 200; i++)
			machine_kernel(&bench->machine, "elementwise_kernel", kernel_ns);
		machine_kernel(&bench->machine, "adam_step", kernel_ns);
	}
	bench_run(bench);
}

static void tiny_kernels_are_raised_with_intervals(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	run_loop(&bench, 3000, 6000);
	finding = bench_only(&bench, "GT501");
	assert_float_equal(bench_number(finding, "kernels_per_step"), 201, 0.5);
	assert_float_equal(bench_number(finding, "median_launch_interval_us"), 6, 0.01);
	assert_float_equal(bench_number(finding, "median_kernel_us"), 3, 0.01);
	bench_fini(&bench);
}

static void faster_launches_gain_what_the_range_says(void **state)
{
	struct bench slow, graph;

	(void)state;
	run_loop(&slow, 3000, 6000);
	run_loop(&graph, 3000, 1000); /* as from a graph: the kernels follow each other */
	bench_assert_range_holds(bench_only(&slow, "GT501"),
				 bench_step_ms(&slow) - bench_step_ms(&graph));
	assert_int_equal(bench_status(&graph, "GT501"), JUDGED_SILENT);
	bench_fini(&slow);
	bench_fini(&graph);
}

static void long_kernels_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	run_loop(&bench, 50000, 6000);
	assert_int_equal(bench_status(&bench, "GT501"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void gaps_between_long_kernels_are_no_launch_problem(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		/* Every fourth interval is long, the median one is not. */
		for (int i = 0; i < 8; i++) {
			machine_kernel(&bench.machine, "elementwise_kernel", 100000);
			if (i % 4 == 3)
				machine_work(&bench.machine, 700000);
		}
		machine_kernel(&bench.machine, "adam_step", 100000);
	}
	bench_run(&bench);
	assert_true(ledger_part_percent(&bench.model->devices[0].ledger, LEDGER_IDLE_ISSUE) > 10);
	assert_int_equal(bench_status(&bench, "GT501"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void calls_other_than_launches_are_no_launch_problem(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		for (int i = 0; i < 30; i++)
			machine_kernel(&bench.machine, "elementwise_kernel", 3000);
		struct script_call call = {.begin_ns = bench.machine.host_ns,
					   .end_ns = bench.machine.host_ns + 20000000,
					   .thread = 1,
					   .api = "cudaMalloc"};

		script_add_memory(bench.script, &call, MEMORY_ALLOC, MEMORY_DEVICE,
				  0x1000000 * (uint64_t)(step + 1), 1 << 20);
		machine_work(&bench.machine, 20000000);
		machine_kernel(&bench.machine, "adam_step", 3000);
	}
	bench_run(&bench);
	assert_true(ledger_part_percent(&bench.model->devices[0].ledger, LEDGER_IDLE_ISSUE) > 10);
	assert_int_equal(bench_status(&bench, "GT501"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_handful_of_kernels_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int i = 0; i < 4; i++) {
		machine_kernel(&bench.machine, "vector_add", 3000);
		machine_work(&bench.machine, 20000);
	}
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT501"), NOT_JUDGED);
	bench_fini(&bench);
}

static void without_gpu_times_it_is_not_judged(void **state)
{
	struct bench bench;
	struct script_call call = {.begin_ns = 0, .end_ns = 10, .thread = 1};

	(void)state;
	bench_init(&bench);
	script_add_launch(bench.script, &call, "k");
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT501"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tiny_kernels_are_raised_with_intervals),
		cmocka_unit_test(faster_launches_gain_what_the_range_says),
		cmocka_unit_test(long_kernels_are_silent),
		cmocka_unit_test(gaps_between_long_kernels_are_no_launch_problem),
		cmocka_unit_test(calls_other_than_launches_are_no_launch_problem),
		cmocka_unit_test(a_handful_of_kernels_is_not_judged),
		cmocka_unit_test(without_gpu_times_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
