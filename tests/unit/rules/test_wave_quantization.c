/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT204 finds products whose last wave is nearly empty.
 */
#include "rule_bench.h"

#define KERNEL "ampere_fp16_s16816gemm_fp16_256x128_ldg8_f2f_stages_32x3_tn"

/* 7 x 16 = 112 tiles of 256x128 and 14 x 8 the other way; 108 SMs. */
static struct record_gemm tail_of_four(void)
{
	return script_gemm_f16(1792, 2048, 4096);
}

static void a_wave_of_four_tiles_is_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	bench_run_products(&bench, tail_of_four(), KERNEL, 300000, 4);
	finding = bench_only(&bench, "GT204");
	assert_float_equal(bench_number(finding, "tiles"), 112, 0);
	assert_float_equal(bench_number(finding, "waves"), 2, 0);
	assert_float_equal(bench_number(finding, "last_wave_percent"), 100.0 * 4 / 108, 0.01);
	assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id, 5);
	bench_fini(&bench);
}

static void one_wave_less_gains_what_the_range_says(void **state)
{
	struct bench two, one;

	(void)state;
	bench_init(&two);
	bench_run_products(&two, tail_of_four(), KERNEL, 300000, 4);
	bench_init(&one);
	bench_run_products(&one, script_gemm_f16(1728, 2048, 4096), KERNEL, 160000,
			   4); /* 7 x 16, 13.5 x 8 */
	bench_assert_range_holds(bench_only(&two, "GT204"),
				 bench_step_ms(&two) - bench_step_ms(&one));
	bench_fini(&two);
	bench_fini(&one);
}

static void a_full_last_wave_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_run_products(&bench, script_gemm_f16(3072, 2304, 4096), KERNEL, 400000,
			   4); /* 12 x 18 = 216 */
	assert_int_equal(bench_status(&bench, "GT204"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void products_at_the_peak_have_nothing_to_gain(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_run_products(&bench, tail_of_four(), KERNEL, 108000,
			   4); /* 30 GFLOP: 280 of 312 TFLOP/s */
	assert_int_equal(bench_status(&bench, "GT204"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void kernels_without_waves_are_silent(void **state)
{
	static const char *const kernels[] = {
		"nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT",
		"cutlass_80_tensorop_f16_s16816gemm_f16_256x128_32x3_tn_align8_stream_k",
		"sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize256x128x64_kernel",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		struct bench bench;

		bench_init(&bench);
		bench_run_products(&bench, tail_of_four(), kernels[i], 300000, 4);
		assert_int_equal(bench_status(&bench, "GT204"), JUDGED_SILENT);
		bench_fini(&bench);
	}
}

static void an_instance_is_judged_by_its_own_sms(void **state)
{
	struct bench bench;

	(void)state;
	bench_init_gpu(&bench, "NVIDIA A100-SXM4-80GB MIG 3g.40gb");
	script_device(bench.script, 0)->sm_count = 42;
	/* 112 tiles on 42 SMs: 3 waves, the last 67 % full. */
	bench_run_products(&bench, tail_of_four(), KERNEL, 700000, 4);
	assert_int_equal(bench_status(&bench, "GT204"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_shapes_or_sms_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		machine_kernel(&bench.machine, KERNEL, 1000000);
		machine_kernel(&bench.machine, "adam_step", 100000);
	}
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT204"), NOT_JUDGED);
	bench_fini(&bench);
	bench_init_gpu(&bench, "Some Future GPU");
	script_device(bench.script, 0)->sm_count = 0;
	bench_run_products(&bench, tail_of_four(), KERNEL, 300000, 4);
	assert_int_equal(bench_status(&bench, "GT204"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wave_of_four_tiles_is_raised),
		cmocka_unit_test(one_wave_less_gains_what_the_range_says),
		cmocka_unit_test(a_full_last_wave_is_silent),
		cmocka_unit_test(products_at_the_peak_have_nothing_to_gain),
		cmocka_unit_test(kernels_without_waves_are_silent),
		cmocka_unit_test(an_instance_is_judged_by_its_own_sms),
		cmocka_unit_test(without_shapes_or_sms_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
