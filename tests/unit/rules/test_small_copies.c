/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT104 speaks of very many very small copies that cost something.
 */
#include "rule_bench.h"

/* A step that sends `copies` values one by one, then computes for `kernel_ns`. */
static void run_loop(struct bench *bench, int copies, uint64_t bytes, int64_t kernel_ns)
{
	for (int step = 0; step < 10; step++) {
		bench->machine.site = 5;
		for (int i = 0; i < copies; i++)
			machine_copy(&bench->machine, COPY_H2D, bytes, MEMORY_PINNED, false);
		bench->machine.site = 6;
		machine_kernel(&bench->machine, "ampere_sgemm_128x128_nn", kernel_ns);
		machine_kernel(&bench->machine, "adam_step", 50000);
		machine_sync(&bench->machine, "cudaDeviceSynchronize", SYNC_DEVICE);
	}
	bench_run(bench);
}

static void hundreds_of_tiny_copies_are_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 400, 256, 5000000);
	finding = bench_only(&bench, "GT104");
	assert_float_equal(bench_number(finding, "copies_per_step"), 400, 5);
	assert_float_equal(bench_number(finding, "median_copy_bytes"), 256, 0);
	assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id, 5);
	bench_fini(&bench);
}

static void one_batched_copy_gains_what_the_range_says(void **state)
{
	struct bench many, one;

	(void)state;
	bench_init(&many);
	run_loop(&many, 400, 256, 5000000);
	bench_init(&one);
	run_loop(&one, 1, 400 * 256, 5000000);
	bench_assert_range_holds(bench_only(&many, "GT104"),
				 bench_step_ms(&many) - bench_step_ms(&one));
	assert_int_equal(bench_status(&one, "GT104"), JUDGED_SILENT);
	bench_fini(&many);
	bench_fini(&one);
}

static void few_or_large_copies_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 50, 256, 1000000);
	assert_int_equal(bench_status(&bench, "GT104"), JUDGED_SILENT);
	bench_fini(&bench);
	bench_init(&bench);
	run_loop(&bench, 150, 1 << 20, 1000000);
	assert_int_equal(bench_status(&bench, "GT104"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_step_of_a_second_does_not_care(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 400, 256, 1000000000);
	assert_int_equal(bench_status(&bench, "GT104"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_gpu_times_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT104"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hundreds_of_tiny_copies_are_raised),
		cmocka_unit_test(one_batched_copy_gains_what_the_range_says),
		cmocka_unit_test(few_or_large_copies_are_silent),
		cmocka_unit_test(a_step_of_a_second_does_not_care),
		cmocka_unit_test(without_gpu_times_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
