/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT601 names communication that nothing hides, and tells transfer from waiting.
 */
#include "comm_bench.h"

#include <string.h>

static const struct comm_loop exposed = {
	.sums = 4, .sum_bytes = 8 << 20, .sum_ns = 1500000, .has_calls = true};

static void sums_after_the_backward_pass_are_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	comm_bench_run(&bench, &exposed);
	finding = bench_only(&bench, "GT601");
	/* 17 ms of compute and 4 x 1.5 ms of sums. */
	assert_float_equal(finding->cost_ms, 6, 0.05);
	assert_float_equal(bench_number(finding, "exposed_percent"), 26.1F, 0.5);
	assert_float_equal(bench_number(finding, "kernels_per_step"), 4, 0.01);
	assert_float_equal(bench_number(finding, "bytes_per_step"), 4 * (8 << 20), 1);
	assert_float_equal(bench_number(finding, "waiting_ms_per_step"), 0, 0.05);
	assert_string_equal(bench_text(finding, "kind"), "all-reduce");
	assert_non_null(strstr(finding->fix, "backward pass"));
	assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id, 5);
	bench_fini(&bench);
}

static void waiting_for_a_late_rank_is_not_gained(void **state)
{
	struct bench bench;
	struct comm_loop loop = exposed;
	const struct finding *finding;

	(void)state;
	loop.late_ns = 3000000;
	bench_init(&bench);
	comm_bench_run(&bench, &loop);
	finding = bench_only(&bench, "GT601");
	/* In every second step each sum takes 3 ms longer. */
	assert_float_equal(bench_number(finding, "waiting_ms_per_step"), 6, 0.7);
	assert_float_equal(bench_number(finding, "transfer_ms_per_step"), 6, 0.1);
	assert_true(finding->gain_high_ms <= 6.1);
	bench_fini(&bench);
}

static void hiding_it_gains_what_the_range_says(void **state)
{
	struct bench serial, hidden;
	struct comm_loop loop = exposed;

	(void)state;
	loop.is_hidden = true;
	bench_init(&serial);
	comm_bench_run(&serial, &exposed);
	bench_init(&hidden);
	comm_bench_run(&hidden, &loop);
	assert_int_equal(bench_status(&hidden, "GT601"), JUDGED_SILENT);
	bench_assert_range_holds(bench_only(&serial, "GT601"),
				 bench_step_ms(&serial) - bench_step_ms(&hidden));
	bench_fini(&serial);
	bench_fini(&hidden);
}

static void the_pattern_of_messages_names_the_pipeline(void **state)
{
	struct bench bench;
	struct comm_loop loop = exposed;
	const struct finding *finding;

	(void)state;
	loop.has_calls = false;
	loop.kernel = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
	bench_init(&bench);
	comm_bench_run(&bench, &loop);
	finding = bench_only(&bench, "GT601");
	assert_non_null(strstr(finding->fix, "pipeline"));
	/* Without calls there are no sizes, and nothing is promised. */
	assert_float_equal(finding->gain_low_ms, 0, 1e-9);
	assert_non_null(strstr(finding->summary, "unknown"));
	bench_fini(&bench);
}

static void a_little_is_silent(void **state)
{
	struct bench bench;
	struct comm_loop loop = exposed;

	(void)state;
	loop.sum_ns = 300000; /* 1.2 of 18.2 ms */
	bench_init(&bench);
	comm_bench_run(&bench, &loop);
	assert_int_equal(bench_status(&bench, "GT601"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_gpu_times_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT601"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_after_the_backward_pass_are_raised),
		cmocka_unit_test(waiting_for_a_late_rank_is_not_gained),
		cmocka_unit_test(hiding_it_gains_what_the_range_says),
		cmocka_unit_test(the_pattern_of_messages_names_the_pipeline),
		cmocka_unit_test(a_little_is_silent),
		cmocka_unit_test(without_gpu_times_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
