/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT408: the peak of live memory is close to what the device has.
 */
#include <string.h>

#include "memory_bench.h"

static void ninety_seven_percent_allocated_is_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	memory_bench_init(&bench, 100 * GIB);
	for (uint64_t i = 0; i < 97; i++)
		memory_block(&bench, BLOCK_ALLOC, (i + 1) << 32, GIB, 7, (i + 1) * GIB, 98 * GIB);
	bench_run(&bench);
	finding = bench_only(&bench, "GT408");
	assert_float_equal(bench_number(finding, "peak_percent"), 97, 1e-9);
	assert_int_equal(finding->severity, SEVERITY_INFO);
	bench_fini(&bench);
}

static void what_is_only_reserved_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 100 * GIB);
	memory_block(&bench, BLOCK_ALLOC, GIB, GIB, 7, 60 * GIB, 99 * GIB);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT408"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_preallocated_pool_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 100 * GIB);
	memory_malloc(&bench, GIB, 76 * GIB, 0);
	memory_malloc(&bench, 200 * GIB, 20 * GIB, 0);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT408"), JUDGED_SILENT);
	assert_non_null(strstr(bench_reason(&bench, "GT408"), "preallocated"));
	bench_fini(&bench);
}

static void an_unknown_device_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 0);
	memory_malloc(&bench, GIB, 76 * GIB, 0);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT408"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ninety_seven_percent_allocated_is_raised),
		cmocka_unit_test(what_is_only_reserved_is_silent),
		cmocka_unit_test(a_preallocated_pool_is_silent),
		cmocka_unit_test(an_unknown_device_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
