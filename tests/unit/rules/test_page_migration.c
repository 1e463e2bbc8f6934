/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT107 knows when page migrations cannot matter, and says when it cannot know.
 */
#include "rule_bench.h"

#include <string.h>

static void run_loop(struct bench *bench, uint8_t kind)
{
	struct script_call call = {
		.begin_ns = 1000, .end_ns = 2000, .thread = 1, .api = "cudaMalloc"};

	if (kind)
		script_add_memory(bench->script, &call, MEMORY_ALLOC, kind, 0x7f0000000000,
				  1 << 20);
	for (int step = 0; step < 20; step++) {
		machine_kernel(&bench->machine, "ampere_sgemm_128x128_nn", 1000000);
		machine_kernel(&bench->machine, "adam_step", 50000);
	}
	bench_run(bench);
}

static void plain_device_memory_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, MEMORY_DEVICE);
	assert_int_equal(bench_status(&bench, "GT107"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void managed_memory_without_migration_records_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, MEMORY_MANAGED);
	assert_int_equal(bench_status(&bench, "GT107"), NOT_JUDGED);
	assert_non_null(strstr(bench_reason(&bench, "GT107"), "managed"));
	bench_fini(&bench);
}

static void unrecorded_allocations_are_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, MEMORY_UNKNOWN);
	assert_int_equal(bench_status(&bench, "GT107"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_device_memory_is_silent),
		cmocka_unit_test(managed_memory_without_migration_records_is_not_judged),
		cmocka_unit_test(unrecorded_allocations_are_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
