/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT703: counted memory errors, replaced rows, a call that failed for them.
 */
#include "machine_bench.h"

#include <string.h>

static void init(struct bench *bench)
{
	bench_init(bench);
	bench_copy_steps(bench, 1 << 20);
}

static void errors_that_grow_during_the_run_are_told_with_their_number(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	init(&bench);
	bench_sample(&bench, SAMPLE_ecc_errors, 1000, 3);
	bench_sample(&bench, SAMPLE_ecc_errors, 100000000, 5);
	bench_run(&bench);
	finding = bench_only(&bench, "GT703");
	assert_float_equal(bench_number(finding, "ecc_errors"), 5, 0);
	assert_float_equal(bench_number(finding, "ecc_errors_during_run"), 2, 0);
	assert_non_null(strstr(finding->summary, "during the recording"));
	bench_fini(&bench);
}

static void old_errors_are_an_information(void **state)
{
	struct bench bench;

	(void)state;
	init(&bench);
	bench_sample(&bench, SAMPLE_ecc_errors, 1000, 3);
	bench_run(&bench);
	assert_int_equal(bench_only(&bench, "GT703")->severity, SEVERITY_INFO);
	bench_fini(&bench);
}

static void rows_that_cannot_be_replaced_are_told(void **state)
{
	struct bench bench;

	(void)state;
	init(&bench);
	script_info(bench.script, "gpu.0000:00:00.0.remap_failed", "1");
	bench_run(&bench);
	assert_non_null(strstr(bench_only(&bench, "GT703")->summary, "no spare"));
	bench_fini(&bench);
}

static void a_call_that_failed_for_a_memory_error_is_a_failure(void **state)
{
	struct bench bench;
	const struct script_call call = {.begin_ns = 5000,
					 .end_ns = 6000,
					 .thread = 1,
					 .api = "cudaDeviceSynchronize",
					 .status = 214};

	(void)state;
	init(&bench);
	script_add_plain(bench.script, &call);
	bench_run(&bench);
	assert_true(bench_only(&bench, "GT703")->is_failure);
	bench_fini(&bench);
}

static void no_errors_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	init(&bench);
	bench_sample(&bench, SAMPLE_ecc_errors, 1000, 0);
	script_info(bench.script, "gpu.0000:00:00.0.remapped_rows", "0");
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT703"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_gpu_that_does_not_count_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	init(&bench);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT703"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_that_grow_during_the_run_are_told_with_their_number),
		cmocka_unit_test(old_errors_are_an_information),
		cmocka_unit_test(rows_that_cannot_be_replaced_are_told),
		cmocka_unit_test(a_call_that_failed_for_a_memory_error_is_a_failure),
		cmocka_unit_test(no_errors_are_silent),
		cmocka_unit_test(a_gpu_that_does_not_count_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
