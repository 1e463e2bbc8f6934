/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT201 and GT202 judge convolutions by their channels, layout and math, and leave alone what no
 * padding would help.
 */
#include "conv_alignment.h"
#include "rule_bench.h"

#include <string.h>

#define TENSOR_KERNEL                                                                              \
	"sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"        \
	"stage4_warpsize2x2x1_g1_tensor16x8x16_kernel_cudnn"
#define FLOAT_KERNEL                                                                               \
	"implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, true, false, true>"

/* Runs 20 steps with one convolution each, beside an aligned product of 0.55 ms. */
static void run_conv(struct bench *bench, const struct record_conv *conv, const char *kernel,
		     int64_t gpu_ns)
{
	struct record_gemm aligned = script_gemm_f16(4096, 4096, 4096);

	bench_init(bench);
	for (int step = 0; step < 20; step++) {
		bench->machine.site = 5;
		machine_conv(&bench->machine, conv, kernel, gpu_ns);
		bench->machine.site = 6;
		machine_gemm(&bench->machine, &aligned, BENCH_ALIGNED_KERNEL, 550000);
		machine_kernel(&bench->machine, "adam_step", 100000);
	}
	bench_run(bench);
}

static void assert_not_raised(const struct record_conv *conv, const char *kernel, const char *id)
{
	struct bench bench;

	run_conv(&bench, conv, kernel, 3000000);
	assert_int_equal(bench_count(&bench, id), 0);
	bench_fini(&bench);
}

static void channels_of_34_are_padded_to_40(void **state)
{
	struct record_conv conv = script_conv_f16(64, 34, 128, 56);
	struct bench bench;
	const struct finding *finding;

	(void)state;
	run_conv(&bench, &conv, TENSOR_KERNEL, 3000000);
	finding = bench_only(&bench, "GT201");
	assert_float_equal(bench_number(finding, "extent"), 34, 0);
	assert_float_equal(bench_number(finding, "aligned_bytes"), 4, 0);
	assert_float_equal(bench_number(finding, "padded_extent"), 40, 0);
	assert_string_equal(bench_text(finding, "convolution"),
			    "n=64 c=34 k=128 56x56 filter 3x3 fp16, channels last, forward");
	assert_float_equal(finding->cost_ms, 3, 0.01);
	assert_true(finding->gain_low_ms > 0);
	assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id, 5);
	bench_fini(&bench);
}

static void many_channels_are_padded_to_whole_cache_lines(void **state)
{
	struct record_conv conv = script_conv_f16(16, 512, 1020, 28);
	struct bench bench;
	const struct finding *finding;

	(void)state;
	run_conv(&bench, &conv, TENSOR_KERNEL, 3000000);
	finding = bench_only(&bench, "GT201");
	assert_float_equal(bench_number(finding, "padded_extent"), 1024, 0);
	assert_float_equal(bench_number(finding, "padded_extent_least"), 1024, 0);
	bench_fini(&bench);
}

static void one_number_of_channels_in_all_passes_is_one_finding(void **state)
{
	struct record_conv conv = script_conv_f16(64, 34, 128, 56);
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		for (uint8_t op = CONV_FORWARD; op <= CONV_BACKWARD_FILTER; op++) {
			conv.op = op;
			machine_conv(&bench.machine, &conv, TENSOR_KERNEL, 1000000);
		}
		machine_kernel(&bench.machine, "adam_step", 100000);
	}
	bench_run(&bench);
	assert_float_equal(bench_only(&bench, "GT201")->cost_ms, 3, 0.01);
	assert_float_equal(bench_number(bench_only(&bench, "GT201"), "shapes"), 3, 0);
	bench_fini(&bench);
}

static void an_aligned_twin_in_the_run_says_the_gain(void **state)
{
	struct record_conv odd = script_conv_f16(64, 36, 128, 56);
	struct record_conv even = script_conv_f16(64, 40, 128, 56);
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		machine_conv(&bench.machine, &odd, TENSOR_KERNEL, 3000000);
		machine_conv(&bench.machine, &even, TENSOR_KERNEL, 2000000);
		machine_kernel(&bench.machine, "adam_step", 100000);
	}
	bench_run(&bench);
	finding = bench_only(&bench, "GT201");
	assert_string_equal(bench_text(finding, "gain_from"), "aligned twin in this run");
	bench_assert_range_holds(finding, 1.0);
	bench_fini(&bench);
}

static void what_padding_would_not_help_is_left_alone(void **state)
{
	struct record_conv aligned = script_conv_f16(64, 64, 128, 56);
	struct record_conv first = script_conv_f16(64, 3, 64, 224);
	struct record_conv depthwise = script_conv_f16(64, 36, 36, 56);
	struct record_conv odd_batch = script_conv_f16(31, 64, 128, 55);
	struct record_conv unknown = script_conv_f16(64, 34, 128, 56);
	struct record_conv pedantic = script_conv_f16(64, 34, 128, 56);

	(void)state;
	depthwise.groups = 36;
	unknown.dimensions = 0;
	pedantic.math_flags = 2;
	assert_not_raised(&aligned, TENSOR_KERNEL, "GT201");
	assert_not_raised(&first, TENSOR_KERNEL, "GT201");
	assert_not_raised(&depthwise, TENSOR_KERNEL, "GT201");
	assert_not_raised(&odd_batch, TENSOR_KERNEL, "GT201");
	assert_not_raised(&unknown, TENSOR_KERNEL, "GT201");
	assert_not_raised(&pedantic, TENSOR_KERNEL, "GT201");
}

static void the_name_of_the_kernel_overrules_the_shape(void **state)
{
	struct record_conv conv = script_conv_f16(64, 34, 128, 56);
	struct record_conv aligned = script_conv_f16(64, 64, 128, 56);
	struct bench bench;

	(void)state;
	assert_not_raised(&conv, "cutlass_80_simt_fprop_f16_128x128_nhwc_align1", "GT201");
	assert_not_raised(&conv, "cutlass_80_tensorop_f16_s16816fprop_optimized_f16_128x128_align8",
			  "GT201");
	/* Aligned as far as the shape goes, but built for 2 bytes: something else is off. */
	run_conv(&bench, &aligned, "cutlass_80_tensorop_f16_s16816fprop_f16_128x128_align1",
		 3000000);
	assert_float_equal(bench_number(bench_only(&bench, "GT201"), "aligned_bytes"), 2, 0);
	bench_fini(&bench);
}

static void fp32_channels_count_only_with_tensor_cores(void **state)
{
	struct record_conv conv = script_conv_f16(64, 34, 128, 56);
	struct bench bench;

	(void)state;
	conv.type_x = conv.type_w = conv.type_y = ELEMENT_F32;
	assert_not_raised(&conv, FLOAT_KERNEL, "GT201");
	run_conv(&bench, &conv, "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc",
		 3000000);
	assert_float_equal(bench_number(bench_only(&bench, "GT201"), "padded_extent_least"), 36, 0);
	bench_fini(&bench);
}

static void fp32_convolutions_on_cuda_cores_are_told_with_their_shape(void **state)
{
	struct record_conv conv = script_conv_f16(64, 64, 128, 56);
	struct bench bench;

	(void)state;
	conv.type_x = conv.type_w = conv.type_y = ELEMENT_F32;
	conv.layout_x = CONV_CHANNELS_FIRST;
	run_conv(&bench, &conv, FLOAT_KERNEL, 3000000);
	assert_string_equal(bench_text(bench_only(&bench, "GT202"), "convolution"),
			    "n=64 c=64 k=128 56x56 filter 3x3 fp32, channels first, forward");
	bench_fini(&bench);
}

static void exact_math_and_depthwise_convolutions_stay_in_fp32(void **state)
{
	struct record_conv pedantic = script_conv_f16(64, 64, 128, 56);
	struct record_conv depthwise = script_conv_f16(64, 64, 64, 56);

	(void)state;
	pedantic.type_x = depthwise.type_x = ELEMENT_F32;
	pedantic.math_flags = 2;
	depthwise.groups = 64;
	assert_not_raised(&pedantic, FLOAT_KERNEL, "GT202");
	assert_not_raised(&depthwise, FLOAT_KERNEL, "GT202");
}

static void hostile_numbers_are_counted_without_overflow(void **state)
{
	struct record_conv conv;
	struct conv_shape shape;
	struct kernel_traits traits = kernel_traits_of(TENSOR_KERNEL);
	char text[40];

	(void)state;
	memset(&shape, 0xff, sizeof(shape));
	assert_int_equal(conv_alignment_of(&shape, &traits).fault, CONV_NOT_JUDGED);
	conv_describe(&shape, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text));
	assert_true(conv_flops(&shape) > 0);
	memset(&conv, 0xff, sizeof(conv));
	assert_not_raised(&conv, TENSOR_KERNEL, "GT201");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(channels_of_34_are_padded_to_40),
		cmocka_unit_test(many_channels_are_padded_to_whole_cache_lines),
		cmocka_unit_test(one_number_of_channels_in_all_passes_is_one_finding),
		cmocka_unit_test(an_aligned_twin_in_the_run_says_the_gain),
		cmocka_unit_test(what_padding_would_not_help_is_left_alone),
		cmocka_unit_test(the_name_of_the_kernel_overrules_the_shape),
		cmocka_unit_test(fp32_channels_count_only_with_tensor_cores),
		cmocka_unit_test(fp32_convolutions_on_cuda_cores_are_told_with_their_shape),
		cmocka_unit_test(exact_math_and_depthwise_convolutions_stay_in_fp32),
		cmocka_unit_test(hostile_numbers_are_counted_without_overflow),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
