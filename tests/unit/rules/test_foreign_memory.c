/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT403: the memory belongs to somebody else.
 */
#include <string.h>

#include "memory_bench.h"

static void a_small_process_that_fails_is_not_alone(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	memory_bench_init(&bench, 80 * GIB);
	memory_malloc(&bench, GIB, 10 * GIB, 0);
	memory_malloc(&bench, 0, GIB, 2);
	bench_run(&bench);
	finding = bench_only(&bench, "GT403");
	assert_float_equal(bench_number(finding, "others_at_least_bytes"), 69.0 * GIB, 0);
	bench_fini(&bench);
}

static void free_memory_gives_the_exact_number(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	memory_bench_init(&bench, 80 * GIB);
	memory_block(&bench, BLOCK_ALLOC, 0, 28 * GIB, 7, 28 * GIB, 32 * GIB);
	memory_block(&bench, BLOCK_OUT_OF_MEMORY, 24 * GIB, 30 * GIB, 8, 28 * GIB, 32 * GIB);
	bench_run(&bench);
	finding = bench_only(&bench, "GT403");
	assert_float_equal(bench_number(finding, "others_bytes"), 24.0 * GIB, 0);
	bench_fini(&bench);
}

static void a_context_alone_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 80 * GIB);
	memory_malloc(&bench, GIB, 78 * GIB, 0);
	memory_malloc(&bench, 0, 2 * GIB, 2);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT403"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_pool_that_keeps_memory_accuses_nobody(void **state)
{
	struct bench bench;

	(void)state;
	struct script_call call = {.begin_ns = 1000,
				   .end_ns = 2000,
				   .thread = 1,
				   .api = "cudaMallocAsync",
				   .flags = CALL_ASYNC};

	memory_bench_init(&bench, 80 * GIB);
	machine_work(&bench.machine, 10000);
	script_add_memory(bench.script, &call, MEMORY_ALLOC, MEMORY_POOL, GIB, GIB);
	memory_malloc(&bench, 0, GIB, 2);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT403"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_run_without_failure_is_silent(void **state)
{
	(void)state;
	memory_check_run_without_failure("GT403");
}

static void an_unknown_device_is_not_judged(void **state)
{
	(void)state;
	memory_check_unknown_device("GT403");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_process_that_fails_is_not_alone),
		cmocka_unit_test(free_memory_gives_the_exact_number),
		cmocka_unit_test(a_context_alone_is_silent),
		cmocka_unit_test(a_pool_that_keeps_memory_accuses_nobody),
		cmocka_unit_test(a_run_without_failure_is_silent),
		cmocka_unit_test(an_unknown_device_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
