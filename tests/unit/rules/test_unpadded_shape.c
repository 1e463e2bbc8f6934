/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT201 finds extents that are contiguous and misaligned, advises the right padding, and leaves the
 * others alone.
 */
#include "rule_bench.h"

#include <string.h>

#define ODD_KERNEL "cutlass_75_tensorop_f16_s1688gemm_f16_256x128_tn_align1"

static const struct finding *run_and_find(struct bench *bench, struct record_gemm gemm)
{
	bench_init(bench);
	bench_run_beside_aligned(bench, &gemm, ODD_KERNEL, 3000000);
	return bench_only(bench, "GT201");
}

static void a_vocabulary_of_50257_is_padded_to_50304(void **state)
{
	struct bench bench;
	const struct finding *finding = run_and_find(&bench, script_gemm_f16(50257, 1024, 768));

	(void)state;
	assert_float_equal(bench_number(finding, "extent"), 50257, 0);
	assert_float_equal(bench_number(finding, "padded_extent"), 50304, 0);
	assert_float_equal(bench_number(finding, "padded_extent_least"), 50264, 0);
	assert_float_equal(bench_number(finding, "aligned_bytes"), 2, 0);
	assert_float_equal(bench_number(finding, "m"), 50257, 0);
	assert_string_equal(bench_text(finding, "type"), "fp16");
	assert_float_equal(finding->cost_ms, 3, 0.01);
	assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id, 5);
	bench_fini(&bench);
}

static void a_hidden_size_of_10922_is_padded_to_10944(void **state)
{
	struct bench bench;
	const struct finding *finding = run_and_find(&bench, script_gemm_f16(10922, 2048, 4096));

	(void)state;
	assert_float_equal(bench_number(finding, "padded_extent"), 10944, 0);
	assert_float_equal(bench_number(finding, "aligned_bytes"), 4, 0);
	bench_fini(&bench);
}

static void a_vocabulary_of_33708_needs_four_more(void **state)
{
	struct bench bench;
	const struct finding *finding = run_and_find(&bench, script_gemm_f16(33708, 1024, 512));

	(void)state;
	assert_float_equal(bench_number(finding, "padded_extent_least"), 33712, 0);
	bench_fini(&bench);
}

static void one_extent_in_many_products_is_one_finding(void **state)
{
	struct bench bench;
	struct record_gemm forward = script_gemm_f16(50257, 1024, 768);
	struct record_gemm input_gradient = script_gemm_f16(768, 1024, 50257);
	struct record_gemm weight_gradient = script_gemm_f16(768, 50257, 1024);
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	weight_gradient.op_a = 'N';
	weight_gradient.op_b = 'T';
	weight_gradient.lda = 768;
	weight_gradient.ldb = 50257;
	for (int step = 0; step < 20; step++) {
		machine_gemm(&bench.machine, &forward, ODD_KERNEL, 1000000);
		machine_gemm(&bench.machine, &input_gradient, ODD_KERNEL, 1100000);
		machine_gemm(&bench.machine, &weight_gradient, ODD_KERNEL, 1200000);
		machine_kernel(&bench.machine, "adam_step", 100000);
	}
	bench_run(&bench);
	finding = bench_only(&bench, "GT201");
	assert_float_equal(finding->cost_ms, 3.3, 0.01);
	assert_float_equal(bench_number(finding, "shapes"), 3, 0);
	bench_fini(&bench);
}

static void a_batch_of_31_is_contiguous_nowhere_and_silent(void **state)
{
	struct record_gemm forward = script_gemm_f16(4096, 31, 1024);	      /* y = W x */
	struct record_gemm weight_gradient = script_gemm_f16(1024, 4096, 31); /* dW = dy x^T */
	struct bench bench;

	(void)state;
	weight_gradient.op_a = 'N';
	weight_gradient.op_b = 'T';
	weight_gradient.lda = 1024;
	weight_gradient.ldb = 4096;
	bench_init(&bench);
	bench_run_beside_aligned(&bench, &forward, BENCH_ALIGNED_KERNEL, 900000);
	assert_int_equal(bench_status(&bench, "GT201"), JUDGED_SILENT);
	bench_fini(&bench);
	bench_init(&bench);
	bench_run_beside_aligned(&bench, &weight_gradient, BENCH_ALIGNED_KERNEL, 900000);
	assert_int_equal(bench_status(&bench, "GT201"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_small_share_is_silent(void **state)
{
	struct record_gemm gemm = script_gemm_f16(50257, 16, 16);
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_run_beside_aligned(&bench, &gemm, ODD_KERNEL, 5000);
	assert_int_equal(bench_status(&bench, "GT201"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void the_kernels_name_overrules_the_shape(void **state)
{
	struct record_gemm gemm = script_gemm_f16(50257, 1024, 768);
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_run_beside_aligned(&bench, &gemm,
				 "cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x4_tn_align8",
				 3000000);
	assert_int_equal(bench_status(&bench, "GT201"), JUDGED_SILENT);
	bench_fini(&bench);
	bench_init(&bench);
	bench_run_beside_aligned(&bench, &gemm, "cutlass_80_simt_sgemm_128x64_8x5_nn_align1",
				 3000000);
	assert_int_equal(bench_status(&bench, "GT201"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void fp32_without_tensor_cores_is_silent(void **state)
{
	struct record_gemm gemm = script_gemm_f16(1023, 1024, 768);
	struct bench bench;

	(void)state;
	gemm.type_a = gemm.type_b = gemm.type_c = ELEMENT_F32;
	bench_init(&bench);
	bench_run_beside_aligned(&bench, &gemm, "ampere_sgemm_128x128_tn", 3000000);
	assert_int_equal(bench_status(&bench, "GT201"), JUDGED_SILENT);
	bench_fini(&bench);
	/* The same with TF32 allowed does use them. */
	gemm.math_flags = 1;
	bench_init(&bench);
	bench_run_beside_aligned(&bench, &gemm,
				 "cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align1", 3000000);
	assert_float_equal(bench_number(bench_only(&bench, "GT201"), "padded_extent"), 1024, 0);
	bench_fini(&bench);
}

static void an_aligned_twin_in_the_run_gives_the_gain(void **state)
{
	struct record_gemm odd = script_gemm_f16(50257, 1024, 768);
	struct record_gemm padded = script_gemm_f16(50304, 1024, 768);
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		machine_gemm(&bench.machine, &odd, ODD_KERNEL, 3000000);
		machine_gemm(&bench.machine, &padded, BENCH_ALIGNED_KERNEL, 1200000);
		machine_kernel(&bench.machine, "adam_step", 100000);
	}
	bench_run(&bench);
	finding = bench_only(&bench, "GT201");
	assert_string_equal(bench_text(finding, "gain_from"), "aligned twin in this run");
	bench_assert_range_holds(finding, 3.0 - 1.2);
	bench_fini(&bench);
}

static void padding_gains_what_the_range_says(void **state)
{
	struct record_gemm odd = script_gemm_f16(50257, 1024, 768);
	struct record_gemm padded = script_gemm_f16(50304, 1024, 768);
	struct bench before, after;

	(void)state;
	/* 79 GFLOP: 0.30 ms at 85 % of the peak; 0.4 against 0.6 is the measured kind of gain. */
	bench_init(&before);
	bench_run_beside_aligned(&before, &odd, ODD_KERNEL, 600000);
	bench_init(&after);
	bench_run_beside_aligned(&after, &padded, BENCH_ALIGNED_KERNEL, 400000);
	bench_assert_range_holds(bench_only(&before, "GT201"),
				 bench_step_ms(&before) - bench_step_ms(&after));
	assert_int_equal(bench_status(&after, "GT201"), JUDGED_SILENT);
	bench_fini(&before);
	bench_fini(&after);
}

static void without_shapes_the_kernels_name_is_the_witness(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		machine_kernel(&bench.machine,
			       "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_tn_align2",
			       2000000);
		machine_kernel(&bench.machine, "adam_step", 100000);
	}
	bench_run(&bench);
	finding = bench_only(&bench, "GT201");
	assert_float_equal(bench_number(finding, "aligned_bytes"), 4, 0);
	bench_fini(&bench);
}

static void the_kernels_name_speaks_where_the_shape_does_not(void **state)
{
	struct record_gemm gemm = script_gemm_f16(4096, 4096, 1023);
	struct bench bench;
	const struct finding *finding;

	(void)state;
	/* An imported product without layouts: k is odd, but whether it is contiguous is unknown.
	 */
	gemm.op_a = gemm.op_b = 0;
	gemm.lda = gemm.ldb = gemm.ldc = 0;
	bench_init(&bench);
	bench_run_beside_aligned(&bench, &gemm, ODD_KERNEL, 3000000);
	finding = bench_only(&bench, "GT201");
	assert_float_equal(bench_number(finding, "aligned_bytes"), 2, 0);
	assert_float_equal(finding->cost_ms, 3, 0.01);
	bench_fini(&bench);
}

static void align4_of_tf32_is_no_witness(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		machine_kernel(&bench.machine,
			       "cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4", 2000000);
		machine_kernel(&bench.machine, "adam_step", 100000);
	}
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT201"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void fp8_needs_multiples_of_sixteen(void **state)
{
	struct record_gemm gemm = script_gemm_f16(4096, 1024, 1048); /* k: 8 bytes are missing */
	struct bench bench;
	const struct finding *finding;

	(void)state;
	gemm.type_a = gemm.type_b = ELEMENT_F8E4M3;
	bench_init_gpu(&bench, "NVIDIA H100 80GB HBM3");
	bench_run_beside_aligned(&bench, &gemm,
				 "sm89_xmma_gemm_e4m3e4m3_bf16f32_f32_tn_n_tilesize128x64x128",
				 900000);
	finding = bench_only(&bench, "GT201");
	assert_string_equal(bench_text(finding, "type"), "fp8-e4m3");
	assert_float_equal(bench_number(finding, "extent"), 1048, 0);
	assert_float_equal(bench_number(finding, "padded_extent_least"), 1056, 0);
	bench_fini(&bench);
	/* The same extent is aligned in fp16. */
	gemm = script_gemm_f16(4096, 1024, 1048);
	bench_init(&bench);
	bench_run_beside_aligned(&bench, &gemm, BENCH_ALIGNED_KERNEL, 900000);
	assert_int_equal(bench_status(&bench, "GT201"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void an_int8_product_that_was_refused_is_told_with_its_fallback(void **state)
{
	struct record_gemm gemm = script_gemm_f16(4096, 1024, 1022);
	struct bench bench;
	const struct finding *finding;

	(void)state;
	gemm.type_a = gemm.type_b = ELEMENT_I8;
	gemm.type_c = gemm.type_compute = ELEMENT_I32;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		struct script_call refused = {.begin_ns = bench.machine.host_ns,
					      .end_ns = bench.machine.host_ns + 2000,
					      .thread = 1,
					      .api = "cublasGemmEx",
					      .status = 15};

		script_add_gemm(bench.script, &refused, &gemm);
		machine_work(&bench.machine, 2000);
		machine_gemm(&bench.machine, &gemm,
			     "cutlass_80_simt_igemm_s8_128x128_32x2_tn_align1", 3000000);
		machine_kernel(&bench.machine, "adam_step", 100000);
	}
	bench_run(&bench);
	finding = bench_only(&bench, "GT201");
	assert_float_equal(bench_number(finding, "refused_calls"), 20, 0);
	assert_float_equal(bench_number(finding, "extent"), 1022, 0);
	assert_non_null(strstr(finding->summary, "refused"));
	bench_fini(&bench);
}

static void a_vocabulary_with_a_small_share_promises_little(void **state)
{
	struct record_gemm odd = script_gemm_f16(50257, 1024, 768);
	struct record_gemm aligned = script_gemm_f16(4096, 4096, 4096);
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		machine_gemm(&bench.machine, &odd, ODD_KERNEL, 600000);
		for (int i = 0; i < 10; i++)
			machine_gemm(&bench.machine, &aligned, BENCH_ALIGNED_KERNEL, 550000);
		machine_kernel(&bench.machine, "adam_step", 100000);
	}
	bench_run(&bench);
	finding = bench_only(&bench, "GT201");
	assert_float_equal(bench_number(finding, "padded_extent"), 50304, 0);
	/* 10 % of the step: a few percent at most, as the 4 % that were reported. */
	assert_true(finding->gain_high_ms < 0.06 * bench_step_ms(&bench));
	assert_true(finding->severity < SEVERITY_HIGH);
	bench_fini(&bench);
}

static void many_small_extents_are_told_together(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		struct record_gemm aligned = script_gemm_f16(4096, 4096, 4096);

		for (uint32_t i = 0; i < 10; i++) {
			struct record_gemm odd = script_gemm_f16(1001 + 2 * i, 1024, 768);

			machine_gemm(&bench.machine, &odd, ODD_KERNEL, 30000);
		}
		for (int i = 0; i < 10; i++)
			machine_gemm(&bench.machine, &aligned, BENCH_ALIGNED_KERNEL, 550000);
		machine_kernel(&bench.machine, "adam_step", 100000);
	}
	bench_run(&bench);
	finding = bench_only(&bench, "GT201");
	assert_float_equal(bench_number(finding, "extents"), 10, 0);
	assert_float_equal(finding->cost_ms, 0.3, 0.001);
	bench_fini(&bench);
}

static void without_shapes_and_witness_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		machine_kernel(&bench.machine, "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT",
			       2000000);
		machine_kernel(&bench.machine, "adam_step", 100000);
	}
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT201"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vocabulary_of_50257_is_padded_to_50304),
		cmocka_unit_test(a_hidden_size_of_10922_is_padded_to_10944),
		cmocka_unit_test(a_vocabulary_of_33708_needs_four_more),
		cmocka_unit_test(one_extent_in_many_products_is_one_finding),
		cmocka_unit_test(a_batch_of_31_is_contiguous_nowhere_and_silent),
		cmocka_unit_test(a_small_share_is_silent),
		cmocka_unit_test(the_kernels_name_overrules_the_shape),
		cmocka_unit_test(fp32_without_tensor_cores_is_silent),
		cmocka_unit_test(an_aligned_twin_in_the_run_gives_the_gain),
		cmocka_unit_test(padding_gains_what_the_range_says),
		cmocka_unit_test(without_shapes_the_kernels_name_is_the_witness),
		cmocka_unit_test(the_kernels_name_speaks_where_the_shape_does_not),
		cmocka_unit_test(align4_of_tf32_is_no_witness),
		cmocka_unit_test(fp8_needs_multiples_of_sixteen),
		cmocka_unit_test(an_int8_product_that_was_refused_is_told_with_its_fallback),
		cmocka_unit_test(a_vocabulary_with_a_small_share_promises_little),
		cmocka_unit_test(many_small_extents_are_told_together),
		cmocka_unit_test(without_shapes_and_witness_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
