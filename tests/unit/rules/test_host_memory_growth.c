/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT409: pinned host memory rises from step to step.
 */
#include <string.h>

#include "memory_bench.h"

/* Pins 4 MiB in every `each`-th step. */
static void run_pinned(struct bench *bench, int steps, int each)
{
	for (int step = 0; step < steps; step++) {
		struct script_call call = {.begin_ns = bench->machine.host_ns,
					   .end_ns = bench->machine.host_ns + 10000,
					   .thread = 1,
					   .api = "cudaHostAlloc",
					   .site = 7};

		if (step % each == 0) {
			script_add_memory(bench->script, &call, MEMORY_ALLOC, MEMORY_PINNED,
					  (uint64_t)(step + 1) * GIB, 4 * MIB);
			machine_work(&bench->machine, 11000);
		}
		memory_step(bench);
	}
	bench_run(bench);
}

static void pinned_memory_that_is_never_given_back_is_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	memory_bench_init(&bench, 80 * GIB);
	run_pinned(&bench, 30, 1);
	finding = bench_only(&bench, "GT409");
	assert_float_equal(bench_number(finding, "bytes_per_step"), 4.0 * MIB, 1e3);
	assert_non_null(strstr(bench_text(finding, "site"), "train.py"));
	/* Host memory is no device memory. */
	assert_int_equal(bench_count(&bench, "GT407"), 0);
	bench_fini(&bench);
}

static void one_buffer_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 80 * GIB);
	run_pinned(&bench, 30, 100);
	assert_int_equal(bench_status(&bench, "GT409"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_pinned_memory_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 80 * GIB);
	for (int step = 0; step < 30; step++)
		memory_step(&bench);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT409"), NOT_JUDGED);
	bench_fini(&bench);
}

static void few_steps_are_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 80 * GIB);
	run_pinned(&bench, 5, 1);
	assert_int_equal(bench_status(&bench, "GT409"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pinned_memory_that_is_never_given_back_is_raised),
		cmocka_unit_test(one_buffer_is_silent),
		cmocka_unit_test(without_pinned_memory_it_is_not_judged),
		cmocka_unit_test(few_steps_are_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
