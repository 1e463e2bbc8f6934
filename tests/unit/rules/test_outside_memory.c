/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT405: memory that the framework knows nothing of.
 */
#include <string.h>

#include "memory_bench.h"

static void large_buffers_of_a_library_are_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	struct script_call create = {
		.begin_ns = 1000, .end_ns = 900000, .thread = 1, .api = "cublasCreate_v2"};
	struct script_call inner = {
		.begin_ns = 2000, .end_ns = 800000, .thread = 1, .api = "cudaMalloc"};

	memory_bench_init(&bench, 16 * GIB);
	machine_work(&bench.machine, 1000000);
	inner.parent_id = script_add_plain(bench.script, &create);
	script_add_memory(bench.script, &inner, MEMORY_ALLOC, MEMORY_DEVICE, 64 * GIB, 4 * GIB);
	memory_malloc(&bench, 32 * GIB, GIB, 0);
	memory_block(&bench, BLOCK_ALLOC, 32 * GIB, GIB, 7, GIB, GIB);
	memory_step(&bench);
	bench_run(&bench);
	finding = bench_only(&bench, "GT405");
	assert_int_equal(finding->severity, SEVERITY_INFO);
	assert_float_equal(bench_number(finding, "outside_framework_bytes"), 4.0 * GIB, 0);
	assert_non_null(strstr(bench_text(finding, "asker_1"), "cublasCreate_v2"));
	bench_fini(&bench);
}

static void it_is_the_verdict_when_nothing_else_explains_a_failure(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	memory_bench_init(&bench, 16 * GIB);
	memory_malloc(&bench, 64 * GIB, 8 * GIB, 0);
	memory_malloc(&bench, 32 * GIB, 7 * GIB, 0);
	memory_block(&bench, BLOCK_ALLOC, 32 * GIB, 7 * GIB, 7, 7 * GIB, 7 * GIB);
	memory_malloc(&bench, 0, GIB, 2);
	memory_block(&bench, BLOCK_OUT_OF_MEMORY, 0, GIB, 8, 7 * GIB, 7 * GIB);
	bench_run(&bench);
	finding = bench_only(&bench, "GT405");
	assert_true(finding->is_failure);
	assert_float_equal(bench_number(finding, "outside_framework_bytes"), 8.0 * GIB, 0);
	bench_fini(&bench);
}

static void segments_of_the_framework_are_inside(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 16 * GIB);
	memory_malloc(&bench, 32 * GIB, 8 * GIB, 0);
	memory_block(&bench, BLOCK_ALLOC, 32 * GIB + 4 * GIB, GIB, 7, GIB, 8 * GIB);
	memory_block(&bench, BLOCK_FREE, 32 * GIB + 4 * GIB, GIB, 0, 0, 8 * GIB);
	memory_step(&bench);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT405"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_a_framework_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 16 * GIB);
	memory_malloc(&bench, 32 * GIB, 8 * GIB, 0);
	memory_step(&bench);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT405"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_buffers_of_a_library_are_raised),
		cmocka_unit_test(it_is_the_verdict_when_nothing_else_explains_a_failure),
		cmocka_unit_test(segments_of_the_framework_are_inside),
		cmocka_unit_test(without_a_framework_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
