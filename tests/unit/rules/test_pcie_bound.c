/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT101 speaks of exposed copies and of nothing else.
 */
#include "rule_bench.h"

/* A loop of one pinned upload and one product. */
static void run_loop(struct bench *bench, uint64_t bytes, double gbs, int64_t compute_ns)
{
	bench_init(bench);
	bench->machine.pinned_gbs = gbs;
	bench->machine.site = 5;
	for (int step = 0; step < 20; step++) {
		machine_copy(&bench->machine, COPY_H2D, bytes, MEMORY_PINNED, false);
		machine_kernel(&bench->machine, "ampere_sgemm_128x128_nn", compute_ns);
		machine_kernel(&bench->machine, "adam_step", 50000);
	}
	bench_run(bench);
}

static void exposed_copies_are_raised_with_bytes_and_rates(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	run_loop(&bench, 100 << 20, 12.5, 20000000);
	finding = bench_only(&bench, "GT101");
	assert_float_equal(bench_number(finding, "h2d_bytes_per_step"), 104857600, 0.5);
	assert_float_equal(bench_number(finding, "h2d_achieved_gbs"), 12.5, 0.1);
	assert_float_equal(bench_number(finding, "link_attainable_gbs"), 25.8, 0.01);
	/* 8.4 ms exposed, all of which 20 ms of compute could hide. */
	assert_float_equal(finding->cost_ms, 8.39, 0.05);
	assert_float_equal(finding->gain_high_ms, 8.39, 0.05);
	bench_fini(&bench);
}

static void hiding_the_copies_gains_what_the_range_says(void **state)
{
	struct bench exposed, cured;

	(void)state;
	run_loop(&exposed, 100 << 20, 12.5, 20000000);
	run_loop(&cured, 1024, 12.5, 20000000); /* as if on another stream, behind compute */
	bench_assert_range_holds(bench_only(&exposed, "GT101"),
				 bench_step_ms(&exposed) - bench_step_ms(&cured));
	bench_fini(&exposed);
	bench_fini(&cured);
}

static void little_compute_hides_little(void **state)
{
	struct bench bench;

	(void)state;
	run_loop(&bench, 100 << 20, 25.8, 1000000);
	/* At the link's rate already; only 1.05 ms of compute to hide 4.1 ms behind. */
	assert_true(bench_only(&bench, "GT101")->gain_high_ms < 1.2);
	bench_fini(&bench);
}

static void a_hundred_megabytes_in_a_second_are_nothing(void **state)
{
	struct bench bench;

	(void)state;
	run_loop(&bench, 126000000, 14, 1000000000);
	assert_int_equal(bench_status(&bench, "GT101"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void copies_hidden_under_compute_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		int64_t begin_ns = bench.machine.stream_ns;

		machine_kernel(&bench.machine, "ampere_sgemm_128x128_nn", 20000000);
		machine_kernel(&bench.machine, "adam_step", 50000);
		/* On another stream, during the product. */
		script_add_gpu_copy(bench.script, 0, COPY_H2D, 100 << 20, MEMORY_PINNED,
				    MEMORY_DEVICE, 0, begin_ns + 1000000, begin_ns + 9000000);
	}
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT101"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_gpu_times_it_is_not_judged(void **state)
{
	struct bench bench;
	struct script_call call = {.begin_ns = 0, .end_ns = 10, .thread = 1};

	(void)state;
	bench_init(&bench);
	script_add_copy(bench.script, &call, COPY_H2D, 1 << 30, MEMORY_PINNED, MEMORY_DEVICE);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT101"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exposed_copies_are_raised_with_bytes_and_rates),
		cmocka_unit_test(hiding_the_copies_gains_what_the_range_says),
		cmocka_unit_test(little_compute_hides_little),
		cmocka_unit_test(a_hundred_megabytes_in_a_second_are_nothing),
		cmocka_unit_test(copies_hidden_under_compute_are_silent),
		cmocka_unit_test(without_gpu_times_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
