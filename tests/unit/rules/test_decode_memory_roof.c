/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT210 says when few rows stream their weights as fast as the memory can.
 */
#include "rule_bench.h"

#define KERNEL "ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_stages_64x5_tn"

static void eight_rows_at_the_memorys_speed_are_an_information(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	bench_run_products(&bench, script_gemm_f16(4096, 8, 16384), KERNEL, 90000, 20);
	finding = bench_only(&bench, "GT210");
	assert_int_equal(finding->severity, SEVERITY_INFO);
	assert_float_equal(finding->gain_high_ms, 0, 0);
	assert_float_equal(bench_number(finding, "achieved_gbs"), 1496, 5);
	assert_int_equal(bench_count(&bench, "GT205"), 0);
	assert_int_equal(bench_count(&bench, "GT208"), 0);
	bench_fini(&bench);
}

static void more_rows_or_a_slow_stream_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_run_products(&bench, script_gemm_f16(4096, 32, 16384), KERNEL, 90000, 20);
	assert_int_equal(bench_status(&bench, "GT210"), JUDGED_SILENT);
	bench_fini(&bench);
	bench_init(&bench);
	bench_run_products(&bench, script_gemm_f16(4096, 8, 16384), KERNEL, 200000, 20);
	assert_int_equal(bench_status(&bench, "GT210"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void an_unknown_gpu_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init_gpu(&bench, "Some Future GPU");
	bench_run_products(&bench, script_gemm_f16(4096, 8, 16384), KERNEL, 90000, 20);
	assert_int_equal(bench_status(&bench, "GT210"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eight_rows_at_the_memorys_speed_are_an_information),
		cmocka_unit_test(more_rows_or_a_slow_stream_are_silent),
		cmocka_unit_test(an_unknown_gpu_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
