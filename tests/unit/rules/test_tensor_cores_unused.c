/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT202 finds fp32 products on CUDA cores where Tensor Cores are.
 */
#include "rule_bench.h"

#include <string.h>

static void sgemm_on_an_a100_is_raised_with_tf32_and_its_caveat(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	bench_set_capability(&bench, 8, 0);
	bench_run_kernel(&bench, "ampere_sgemm_128x64_tn", 3000000);
	finding = bench_only(&bench, "GT202");
	assert_string_equal(bench_text(finding, "kernel"), "ampere_sgemm_128x64_tn");
	assert_non_null(strstr(finding->fix, "TF32"));
	assert_non_null(strstr(finding->fix, "accuracy"));
	assert_float_equal(finding->cost_ms, 3, 0.01);
	assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id, 5);
	bench_fini(&bench);
}

static void tf32_gains_what_the_range_says(void **state)
{
	struct bench before, after;

	(void)state;
	bench_init(&before);
	bench_run_kernel(&before, "ampere_sgemm_128x64_tn", 3000000);
	bench_init(&after);
	bench_run_kernel(&after, "cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4",
			 3000000 / 5);
	bench_assert_range_holds(bench_only(&before, "GT202"),
				 bench_step_ms(&before) - bench_step_ms(&after));
	assert_int_equal(bench_status(&after, "GT202"), JUDGED_SILENT);
	bench_fini(&before);
	bench_fini(&after);
}

static void the_gain_stays_within_the_products_and_half_of_the_rest(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	bench_run_kernel(&bench, "ampere_sgemm_128x64_tn", 3000000);
	finding = bench_only(&bench, "GT202");
	/* 2 ms of fill_buffer move half the bytes in half precision; adam_step stays. */
	assert_float_equal(bench_number(finding, "bytes_halved_ms_per_step"), 1, 0.01);
	assert_true(finding->gain_high_ms < finding->cost_ms + 1);
	assert_true(finding->gain_low_ms < finding->cost_ms / 2 + 0.01);
	bench_fini(&bench);
}

static void a_volta_is_told_of_fp16(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_set_capability(&bench, 7, 0);
	bench_run_kernel(&bench, "volta_scudnn_128x64_relu_interior_nn_v1", 3000000);
	assert_non_null(strstr(bench_only(&bench, "GT202")->fix, "fp16"));
	bench_fini(&bench);
	bench_init(&bench);
	bench_set_capability(&bench, 7, 0);
	bench_run_kernel(&bench,
			 "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int)",
			 3000000);
	assert_int_equal(bench_count(&bench, "GT202"), 1);
	bench_fini(&bench);
}

static void gpus_without_tensor_cores_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_set_capability(&bench, 6, 1);
	bench_run_kernel(&bench, "maxwell_sgemm_128x64_tn", 3000000);
	assert_int_equal(bench_status(&bench, "GT202"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void vectors_and_depthwise_convolutions_are_silent(void **state)
{
	static const char *const kernels[] = {
		"void gemv2T_kernel_val<int, int, float, float, float, 128, 16, 4, 4, false>(int)",
		"void at::native::conv_depthwise2d_forward_kernel<3, float, int>(int)",
		"ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn",
		"ampere_dgemm_64x64_nn",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		struct bench bench;

		bench_init(&bench);
		bench_set_capability(&bench, 8, 0);
		bench_run_kernel(&bench, kernels[i], 3000000);
		assert_int_equal(bench_status(&bench, "GT202"), JUDGED_SILENT);
		bench_fini(&bench);
	}
}

static void products_that_ask_for_exact_math_are_silent(void **state)
{
	struct record_gemm gemm = script_gemm_f16(4096, 4096, 1024);
	struct bench bench;

	(void)state;
	gemm.type_a = gemm.type_b = gemm.type_c = ELEMENT_F32;
	gemm.math_flags = 2;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		machine_gemm(&bench.machine, &gemm, "ampere_sgemm_128x64_tn", 3000000);
		machine_kernel(&bench.machine, "adam_step", 100000);
	}
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT202"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void an_unknown_capability_and_a_vgpu_are_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init_gpu(&bench, "Some Future GPU");
	bench_run_kernel(&bench, "ampere_sgemm_128x64_tn", 3000000);
	assert_int_equal(bench_status(&bench, "GT202"), NOT_JUDGED);
	bench_fini(&bench);
	bench_init_gpu(&bench, "GRID A100-4-20C");
	bench_set_capability(&bench, 8, 0);
	bench_run_kernel(&bench, "ampere_sgemm_128x64_tn", 3000000);
	assert_int_equal(bench_status(&bench, "GT202"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sgemm_on_an_a100_is_raised_with_tf32_and_its_caveat),
		cmocka_unit_test(tf32_gains_what_the_range_says),
		cmocka_unit_test(the_gain_stays_within_the_products_and_half_of_the_rest),
		cmocka_unit_test(a_volta_is_told_of_fp16),
		cmocka_unit_test(gpus_without_tensor_cores_are_silent),
		cmocka_unit_test(vectors_and_depthwise_convolutions_are_silent),
		cmocka_unit_test(products_that_ask_for_exact_math_are_silent),
		cmocka_unit_test(an_unknown_capability_and_a_vgpu_are_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
