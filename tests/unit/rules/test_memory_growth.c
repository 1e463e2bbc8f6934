/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT407: live memory rises from step to step.
 */
#include <string.h>

#include "memory_bench.h"

/* Each step leaves `leak_bytes` behind until step `until`. */
static void run_leak(struct bench *bench, uint64_t leak_bytes, int steps, int until)
{
	uint64_t live = GIB;

	memory_block(bench, BLOCK_ALLOC, 16 * GIB, GIB, 8, live, 8 * GIB);
	for (int step = 0; step < steps; step++) {
		uint64_t address = 32 * GIB + (uint64_t)step * GIB;

		memory_block(bench, BLOCK_ALLOC, 17 * GIB, 64 * MIB, 8, live + 64 * MIB, 8 * GIB);
		memory_block(bench, BLOCK_FREE, 17 * GIB, 64 * MIB, 0, live, 8 * GIB);
		if (leak_bytes && step < until) {
			live += leak_bytes;
			memory_block(bench, BLOCK_ALLOC, address, leak_bytes, 7, live, 8 * GIB);
		}
		memory_step(bench);
	}
	bench_run(bench);
}

static void a_leak_is_raised_with_its_site(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	memory_bench_init(&bench, 80 * GIB);
	run_leak(&bench, 3 * MIB, 30, 30);
	finding = bench_only(&bench, "GT407");
	assert_float_equal(bench_number(finding, "bytes_per_step"), 3.0 * MIB, 1e3);
	assert_true(bench_number(finding, "fit") > 0.99);
	assert_non_null(strstr(bench_text(finding, "site"), "train.py"));
	assert_true(bench_number(finding, "steps_until_full") > 1000);
	bench_fini(&bench);
}

static void driver_allocations_serve_without_a_framework(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	memory_bench_init(&bench, 80 * GIB);
	for (uint64_t step = 1; step <= 30; step++) {
		memory_malloc(&bench, step * GIB, 5 * MIB, 0);
		memory_step(&bench);
	}
	bench_run(&bench);
	finding = bench_only(&bench, "GT407");
	assert_float_equal(bench_number(finding, "bytes_per_step"), 5.0 * MIB, 1e3);
	assert_non_null(strstr(bench_text(finding, "site"), "model.py"));
	bench_fini(&bench);
}

static void steady_memory_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 80 * GIB);
	run_leak(&bench, 0, 30, 0);
	assert_int_equal(bench_status(&bench, "GT407"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_cache_that_warms_up_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 80 * GIB);
	run_leak(&bench, 30 * MIB, 40, 24);
	assert_int_equal(bench_status(&bench, "GT407"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void few_steps_are_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 80 * GIB);
	run_leak(&bench, 30 * MIB, 6, 6);
	assert_int_equal(bench_status(&bench, "GT407"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leak_is_raised_with_its_site),
		cmocka_unit_test(driver_allocations_serve_without_a_framework),
		cmocka_unit_test(steady_memory_is_silent),
		cmocka_unit_test(a_cache_that_warms_up_is_silent),
		cmocka_unit_test(few_steps_are_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
