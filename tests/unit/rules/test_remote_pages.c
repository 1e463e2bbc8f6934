/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT302 asks where the pages of copy buffers lie.
 */
#include "machine_bench.h"

#include <string.h>

static void init(struct bench *bench, uint64_t bytes)
{
	bench_init(bench);
	bench_two_nodes(bench, "0-3");
	bench_copy_steps(bench, bytes);
}

static void pages_on_the_other_node_are_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	init(&bench, 64 << 20);
	bench_pages(&bench, 0, 14, 16);
	bench_pages(&bench, 1, 10, 16);
	bench_pages(&bench, 0, 16, 16);
	bench_run(&bench);
	finding = bench_only(&bench, "GT302");
	assert_float_equal(bench_number(finding, "pages_node"), 0, 0);
	assert_float_equal(bench_number(finding, "far_pages_percent"), 100.0 * 30 / 48, 0.01);
	assert_float_equal(bench_number(finding, "pages_sampled"), 48, 0);
	bench_fini(&bench);
}

static void pages_near_the_gpu_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	init(&bench, 64 << 20);
	bench_pages(&bench, 1, 16, 16);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT302"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void few_exposed_copies_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	init(&bench, 64 << 10);
	bench_pages(&bench, 0, 16, 16);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT302"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void pages_without_an_answer_are_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	init(&bench, 64 << 20);
	bench_pages(&bench, -1, 0, 0);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT302"), NOT_JUDGED);
	bench_fini(&bench);
}

static void the_collectors_reason_is_passed_on(void **state)
{
	struct bench bench;

	(void)state;
	init(&bench, 64 << 20);
	bench_sample(&bench, SAMPLE_thread_node, 0, 1);
	script_info(bench.script, "pages.reason", "the kernel knows no NUMA nodes");
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT302"), NOT_JUDGED);
	assert_non_null(strstr(bench_reason(&bench, "GT302"), "knows no NUMA nodes"));
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_on_the_other_node_are_raised),
		cmocka_unit_test(pages_near_the_gpu_are_silent),
		cmocka_unit_test(few_exposed_copies_are_silent),
		cmocka_unit_test(pages_without_an_answer_are_not_judged),
		cmocka_unit_test(the_collectors_reason_is_passed_on),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
