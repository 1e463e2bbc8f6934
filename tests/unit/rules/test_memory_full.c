/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT404: the memory is full of live data.
 */
#include <string.h>

#include "memory_bench.h"

static void a_full_card_names_who_holds_it(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	memory_bench_init(&bench, 16 * GIB);
	memory_malloc(&bench, 32 * GIB, 15 * GIB, 0);
	memory_block(&bench, BLOCK_ALLOC, 32 * GIB, 15 * GIB, 7, 15 * GIB, 15 * GIB);
	memory_malloc(&bench, 0, 2 * GIB, 2);
	memory_block(&bench, BLOCK_OUT_OF_MEMORY, 0, 2 * GIB, 8, 15 * GIB, 15 * GIB);
	bench_run(&bench);
	finding = bench_only(&bench, "GT404");
	assert_non_null(strstr(bench_text(finding, "live_site_1"), "train.py"));
	assert_null(strstr(finding->summary, "would have let"));
	bench_fini(&bench);
}

static void full_yet_passable_is_said(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	/* The numbers of a real failure: full, but fragmented memory exceeds what was missing. */
	memory_bench_init(&bench, 47608692736);
	memory_block(&bench, BLOCK_ALLOC, 0, GIB, 7, 40061298688, 40907046912);
	memory_block(&bench, BLOCK_OUT_OF_MEMORY, 4028760064, 4202692608, 8, 40061298688,
		     40907046912);
	bench_run(&bench);
	finding = bench_only(&bench, "GT404");
	assert_float_equal(bench_number(finding, "missing_bytes"), 173932544, 0);
	assert_float_equal(bench_number(finding, "fragmented_bytes"), 845748224, 0);
	assert_non_null(
		strstr(finding->summary, "expandable_segments would have let this request pass"));
	bench_fini(&bench);
}

static void a_retry_that_succeeds_is_no_failure(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 16 * GIB);
	memory_malloc(&bench, 32 * GIB, 15 * GIB, 0);
	memory_malloc(&bench, 0, 2 * GIB, 2);
	memory_free(&bench, 32 * GIB);
	memory_malloc(&bench, 64 * GIB, 2 * GIB, 0);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT404"), JUDGED_SILENT);
	assert_int_equal(bench_count(&bench, "GT406"), 1);
	bench_fini(&bench);
}

static void a_run_without_failure_is_silent(void **state)
{
	(void)state;
	memory_check_run_without_failure("GT404");
}

static void an_unknown_device_is_not_judged(void **state)
{
	(void)state;
	memory_check_unknown_device("GT404");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_card_names_who_holds_it),
		cmocka_unit_test(full_yet_passable_is_said),
		cmocka_unit_test(a_retry_that_succeeds_is_no_failure),
		cmocka_unit_test(a_run_without_failure_is_silent),
		cmocka_unit_test(an_unknown_device_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
