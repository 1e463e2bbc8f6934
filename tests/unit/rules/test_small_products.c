/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT205 finds products that do not fill the GPU once.
 */
#include "rule_bench.h"

#define KERNEL "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn"

static void sixteen_tiles_on_108_sms_are_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	bench_run_products(&bench, script_gemm_f16(512, 256, 512), KERNEL, 10000, 40);
	finding = bench_only(&bench, "GT205");
	assert_float_equal(bench_number(finding, "tiles"), 16, 0);
	assert_float_equal(bench_number(finding, "sms"), 108, 0);
	assert_float_equal(bench_number(finding, "products_per_step"), 40, 0);
	bench_fini(&bench);
}

static void one_batched_call_gains_what_the_range_says(void **state)
{
	struct record_gemm batched = script_gemm_f16(512, 256, 512);
	struct bench many, one;

	(void)state;
	bench_init(&many);
	bench_run_products(&many, script_gemm_f16(512, 256, 512), KERNEL, 10000, 40);
	batched.batch = 40;
	bench_init(&one);
	bench_run_products(&one, batched, KERNEL, 80000, 1); /* 640 tiles: 6 waves instead of 40 */
	bench_assert_range_holds(bench_only(&many, "GT205"),
				 bench_step_ms(&many) - bench_step_ms(&one));
	assert_int_equal(bench_status(&one, "GT205"), JUDGED_SILENT);
	bench_fini(&many);
	bench_fini(&one);
}

static void split_k_fills_the_gpu_by_other_means(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_run_products(&bench, script_gemm_f16(512, 256, 8192),
			   "cutlass_80_tensorop_f16_s16816gemm_f16_128x64_32x4_tn_align8_splitK",
			   20000, 40);
	assert_int_equal(bench_status(&bench, "GT205"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void products_at_the_memory_roof_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	/* 8 rows: 134 MB of weights in 90 us are 1490 of 2039 GB/s. */
	bench_run_products(&bench, script_gemm_f16(4096, 8, 16384), KERNEL, 90000, 20);
	assert_int_equal(bench_status(&bench, "GT205"), JUDGED_SILENT);
	assert_int_equal(bench_count(&bench, "GT210"), 1);
	bench_fini(&bench);
}

static void a_name_without_a_tile_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_run_products(&bench, script_gemm_f16(512, 256, 512), "my_gemm_kernel", 10000, 40);
	assert_int_equal(bench_status(&bench, "GT205"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sixteen_tiles_on_108_sms_are_raised),
		cmocka_unit_test(one_batched_call_gains_what_the_range_says),
		cmocka_unit_test(split_k_fills_the_gpu_by_other_means),
		cmocka_unit_test(products_at_the_memory_roof_are_silent),
		cmocka_unit_test(a_name_without_a_tile_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
