/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT208 finds good shapes that are slow nevertheless.
 */
#include "rule_bench.h"

#define KERNEL "ampere_fp16_s16816gemm_fp16_256x128_ldg8_f2f_stages_32x3_tn"
#define SIZE   4096 /* 137 GFLOP: 0.44 ms at the peak of 312 TFLOP/s; 512 tiles */

static void a_third_of_the_peak_is_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	bench_run_products(&bench, script_gemm_f16(SIZE, SIZE, SIZE), KERNEL, 1300000, 4);
	finding = bench_only(&bench, "GT208");
	assert_float_equal(bench_number(finding, "peak_tflops"), 312, 1);
	assert_float_equal(bench_number(finding, "achieved_tflops"), 105.7, 0.5);
	bench_fini(&bench);
}

static void a_healthy_clock_gains_what_the_range_says(void **state)
{
	struct bench slow, fast;

	(void)state;
	bench_init(&slow);
	bench_run_products(&slow, script_gemm_f16(SIZE, SIZE, SIZE), KERNEL, 1300000, 4);
	bench_init(&fast);
	bench_run_products(&fast, script_gemm_f16(SIZE, SIZE, SIZE), KERNEL, 600000, 4);
	bench_assert_range_holds(bench_only(&slow, "GT208"),
				 bench_step_ms(&slow) - bench_step_ms(&fast));
	assert_int_equal(bench_status(&fast, "GT208"), JUDGED_SILENT);
	bench_fini(&slow);
	bench_fini(&fast);
}

static void misaligned_small_and_memory_bound_products_are_silent(void **state)
{
	const struct record_gemm gemms[] = {
		script_gemm_f16(4097, 4096, 4096), /* m contiguous in C */
		script_gemm_f16(256, 256, 4096),   /* 2 tiles */
		script_gemm_f16(8192, 8192, 64),   /* 31 flop per byte */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(gemms) / sizeof(gemms[0]); i++) {
		struct bench bench;

		bench_init(&bench);
		bench_run_products(&bench, gemms[i], KERNEL, 1300000, 4);
		assert_int_equal(bench_status(&bench, "GT208"), JUDGED_SILENT);
		bench_fini(&bench);
	}
}

static void fp32_on_cuda_cores_is_held_to_its_own_peak(void **state)
{
	struct record_gemm gemm = script_gemm_f16(SIZE, SIZE, SIZE);
	struct bench bench;

	(void)state;
	gemm.type_a = gemm.type_b = gemm.type_c = ELEMENT_F32;
	bench_init(&bench);
	bench_run_products(&bench, gemm, "ampere_sgemm_128x128_tn", 8000000,
			   2); /* 17 of 19.5 TFLOP/s */
	assert_int_equal(bench_status(&bench, "GT208"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void an_instance_is_held_to_its_share_of_the_peak(void **state)
{
	struct bench bench;

	(void)state;
	bench_init_gpu(&bench, "NVIDIA A100-SXM4-80GB MIG 3g.40gb");
	script_device(bench.script, 0)->sm_count = 42;
	bench_run_products(&bench, script_gemm_f16(SIZE, SIZE, SIZE), KERNEL, 1600000,
			   4); /* 86 of 121 */
	assert_int_equal(bench_status(&bench, "GT208"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void unknown_gpus_and_vgpus_are_not_judged(void **state)
{
	static const char *const names[] = {"Some Future GPU", "GRID A100-4-20C"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct bench bench;

		bench_init_gpu(&bench, names[i]);
		bench_run_products(&bench, script_gemm_f16(SIZE, SIZE, SIZE), KERNEL, 1300000, 4);
		assert_int_equal(bench_status(&bench, "GT208"), NOT_JUDGED);
		bench_fini(&bench);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_third_of_the_peak_is_raised),
		cmocka_unit_test(a_healthy_clock_gains_what_the_range_says),
		cmocka_unit_test(misaligned_small_and_memory_bound_products_are_silent),
		cmocka_unit_test(fp32_on_cuda_cores_is_held_to_its_own_peak),
		cmocka_unit_test(an_instance_is_held_to_its_share_of_the_peak),
		cmocka_unit_test(unknown_gpus_and_vgpus_are_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
