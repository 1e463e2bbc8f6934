/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT402: a request that no freeing could satisfy.
 */
#include <string.h>

#include "memory_bench.h"

static void a_request_larger_than_the_card_is_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	memory_bench_init(&bench, 8 * GIB);
	memory_malloc(&bench, GIB, GIB, 0);
	memory_malloc(&bench, 0, 11 * GIB, 2);
	bench_run(&bench);
	finding = bench_only(&bench, "GT402");
	assert_float_equal(bench_number(finding, "requested_bytes"), 11.0 * GIB, 0);
	assert_float_equal(bench_number(finding, "capacity_bytes"), 8.0 * GIB, 0);
	bench_fini(&bench);
}

static void more_than_all_that_could_be_freed_is_raised(void **state)
{
	struct bench bench;

	(void)state;
	/* 1 GiB free, 6 of 8 GiB reserved here: 7.5 GiB cannot be had. */
	memory_bench_init(&bench, 8 * GIB);
	memory_block(&bench, BLOCK_ALLOC, 0, 6 * GIB, 7, 6 * GIB, 6 * GIB + 512 * MIB);
	memory_block(&bench, BLOCK_OUT_OF_MEMORY, GIB, 7 * GIB + 600 * MIB, 8, 6 * GIB,
		     6 * GIB + 512 * MIB);
	bench_run(&bench);
	assert_int_equal(bench_count(&bench, "GT402"), 1);
	bench_fini(&bench);
}

static void a_request_that_would_fit_an_empty_card_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 8 * GIB);
	memory_malloc(&bench, GIB, 7 * GIB, 0);
	memory_malloc(&bench, 0, 2 * GIB, 2);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT402"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_run_without_failure_is_silent(void **state)
{
	(void)state;
	memory_check_run_without_failure("GT402");
}

static void an_unknown_device_is_not_judged(void **state)
{
	(void)state;
	memory_check_unknown_device("GT402");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_larger_than_the_card_is_raised),
		cmocka_unit_test(more_than_all_that_could_be_freed_is_raised),
		cmocka_unit_test(a_request_that_would_fit_an_empty_card_is_silent),
		cmocka_unit_test(a_run_without_failure_is_silent),
		cmocka_unit_test(an_unknown_device_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
