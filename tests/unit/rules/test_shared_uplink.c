/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT111 compares copies of several GPUs at once with a copy alone.
 */
#include "rule_bench.h"

#define BYTES (64u << 20)

/* Both GPUs copy at `shared_gbs` in every step; GPU 0 copies alone once at `solo_gbs`, 0: never. */
static void run_loop(struct bench *bench, double shared_gbs, double solo_gbs, bool is_together,
		     int others)
{
	int64_t copy_ns = (int64_t)(BYTES / shared_gbs), now = 100000000;

	script_add_device(bench->script, "NVIDIA A100-SXM4-80GB", 4, 16);
	if (solo_gbs > 0)
		script_add_gpu_copy(bench->script, 0, COPY_H2D, BYTES, MEMORY_PINNED, MEMORY_DEVICE,
				    0, 1000000, 1000000 + (int64_t)(BYTES / solo_gbs));
	for (int step = 0; step < 20; step++) {
		struct script_call call = {.begin_ns = now,
					   .end_ns = now + 5000,
					   .thread = 1,
					   .api = "cudaMemcpyAsync",
					   .flags = CALL_ASYNC};

		call.correlation = script_next_correlation(bench->script);
		script_add_copy(bench->script, &call, COPY_H2D, BYTES, MEMORY_PINNED,
				MEMORY_DEVICE);
		script_add_gpu_copy(bench->script, 0, COPY_H2D, BYTES, MEMORY_PINNED, MEMORY_DEVICE,
				    call.correlation, now + 7000, now + 7000 + copy_ns);
		for (int i = 0; i < others; i++)
			script_add_gpu_copy(bench->script, 1, COPY_H2D, BYTES, MEMORY_PINNED,
					    MEMORY_DEVICE, 0,
					    now + 7000 + (is_together ? 0 : copy_ns),
					    now + 7000 + (is_together ? 1 : 2) * copy_ns);
		call = (struct script_call){.begin_ns = now + 6000,
					    .end_ns = now + 11000,
					    .thread = 1,
					    .api = "cudaLaunchKernel",
					    .flags = CALL_ASYNC};
		call.correlation = script_next_correlation(bench->script);
		script_add_launch(bench->script, &call, "adam_step");
		script_add_kernel(bench->script, 0, "adam_step", call.correlation,
				  now + 7000 + copy_ns, now + 7000 + 3 * copy_ns);
		now += 7000 + 3 * copy_ns;
	}
	bench_run(bench);
}

static void half_the_rate_for_two_at_once_is_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 12.5, 25, true, 1);
	finding = bench_only(&bench, "GT111");
	assert_float_equal(bench_number(finding, "solo_gbs"), 25, 0.1);
	assert_float_equal(bench_number(finding, "shared_gbs"), 12.5, 0.1);
	assert_float_equal(bench_number(finding, "gpus_at_once"), 2, 0.05);
	bench_fini(&bench);
}

static void copies_of_one_gpu_at_once_count_once(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 12.5, 25, true, 3);
	assert_float_equal(bench_number(bench_only(&bench, "GT111"), "gpus_at_once"), 2, 0.05);
	bench_fini(&bench);
}

static void two_at_full_rate_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 24, 25, true, 1);
	assert_int_equal(bench_status(&bench, "GT111"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void copies_one_after_the_other_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 12.5, 25, false, 1);
	assert_int_equal(bench_status(&bench, "GT111"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_a_copy_alone_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 12.5, 0, true, 1);
	assert_int_equal(bench_status(&bench, "GT111"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_the_rate_for_two_at_once_is_raised),
		cmocka_unit_test(copies_of_one_gpu_at_once_count_once),
		cmocka_unit_test(two_at_full_rate_are_silent),
		cmocka_unit_test(copies_one_after_the_other_are_silent),
		cmocka_unit_test(without_a_copy_alone_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
