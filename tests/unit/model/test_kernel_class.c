/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel names, as NVIDIA's libraries and PyTorch write them, give the right class and traits.
 */
#include "unit_test.h"

#include <regex.h>
#include <stdlib.h>

#include "array_len.h"
#include "kernel_class.h"
#include "kernel_name.h"

struct expectation {
	const char *name;
	enum kernel_class kernel_class;
};

static const struct expectation expectations[] = {
	{"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
	 KERNEL_COMMUNICATION},
	{"_Z29ncclKernel_AllReduce_RING_LL_Sum", KERNEL_COMMUNICATION},
	{"void sglang::cross_device_reduce_1stage<__nv_bfloat16, 8>(...)", KERNEL_COMMUNICATION},
	{"deep_ep::internode::dispatch<true>(int)", KERNEL_COMMUNICATION},
	{"void dpsk::ep::internode::combine<false, 8, __nv_bfloat16, 8, 2, 16, 24>(int4*, float*)",
	 KERNEL_COMMUNICATION},
	{"void dpsk::ep::internode::cached_notify<false>(int, int, int)", KERNEL_COMMUNICATION},
	{"void c10d::one_shot_all_reduce_kernel<c10::BFloat16>(int)", KERNEL_COMMUNICATION},
	{"multimem_all_reduce_kernel", KERNEL_COMMUNICATION},
	{"ampere_bf16_s16816gemm_bf16_128x64_ldg8_relu_f2f_stages_64x6_tn", KERNEL_GEMM},
	{"cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_tn_align2", KERNEL_GEMM},
	{"sm80_xmma_gemm_f16f16_f16f32_f32_nt_n_tilesize96x128x32_stage5", KERNEL_GEMM},
	{"nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT", KERNEL_GEMM},
	{"volta_sgemm_128x64_tn", KERNEL_GEMM},
	{"void gemv2T_kernel_val<int, int, float, float>(...)", KERNEL_GEMM},
	{"void cutlass::Kernel2<cutlass_80_wmma_tensorop_f16_s161616gemm_f16_32x32_128x2_nn_align8>"
	 "(cutlass_80::Params)",
	 KERNEL_GEMM},
	{"_ZN7cutlass7Kernel2I67cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x3_tn_align8"
	 "EEvNT_6ParamsE",
	 KERNEL_GEMM},
	{"sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32",
	 KERNEL_CONV},
	{"void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(...)", KERNEL_CONV},
	{"cudnn_ampere_scudnn_128x64_relu_interior_nn_v1", KERNEL_CONV},
	{"void cudnn::ops::nchwToNhwcKernel<__half, __half, float>(...)", KERNEL_MEMORY_BOUND},
	{"void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>(Flash_fwd_params)",
	 KERNEL_ATTENTION},
	{"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(...)", KERNEL_ATTENTION},
	{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma", KERNEL_ATTENTION},
	{"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
	 "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>)",
	 KERNEL_MEMORY_BOUND},
	{"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEENS_"
	 "6detail5Array"
	 "IPcLi3EEEEEviT0_T1_",
	 KERNEL_MEMORY_BOUND},
	{"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)",
	 KERNEL_MEMORY_BOUND},
	{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(...)",
	 KERNEL_MEMORY_BOUND},
	{"triton_poi_fused_add_mul_3", KERNEL_MEMORY_BOUND},
	{"void convert_fp32_to_bf16_kernel(float const*, __nv_bfloat16*)", KERNEL_MEMORY_BOUND},
	{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
	 "namespace)::FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float, 4>>(...)",
	 KERNEL_OPTIMIZER},
	{"adamw_step_kernel", KERNEL_OPTIMIZER},
	{"sgd_update", KERNEL_OPTIMIZER},
	/* A library named after products does more than those. */
	{"void fbgemm_gpu::(anonymous namespace)::_FP8rowwise_to_float_cuda_kernel<float>(int)",
	 KERNEL_MEMORY_BOUND},
	{"void fbgemm_gpu::_offsets_range_cuda_kernel<long>(long, long)", KERNEL_MEMORY_BOUND},
	{"void fbgemm_gpu::(anonymous namespace)::_get_FP8_qparam_cuda_kernel<float>(int)",
	 KERNEL_MEMORY_BOUND},
	{"void fbgemm_gpu::something_else<long>(long)", KERNEL_OTHER},
	{"void bgemm_kernel<float>(int)", KERNEL_GEMM},
	{"gemm_kernel", KERNEL_GEMM},
	/* TorchInductor of torch 2.0 and 2.1 names nothing but the arguments. */
	{"triton__0d1d2d3de", KERNEL_MEMORY_BOUND},
	{"triton_tem_fused_mm_4", KERNEL_GEMM},
	{"_fwd_kernel_aligned_0d1d2d3d45d6de7de8c9de10de", KERNEL_ATTENTION},
	{"_rms_norm_fwd_kernel", KERNEL_MEMORY_BOUND},
	{"nvfuser_inner_persistent_f1_c1_r0_g2", KERNEL_MEMORY_BOUND},
	{"cask_cudnn::computeOffsetsKernel(cask_cudnn::ComputeOffsetsParams)", KERNEL_CONV},
	{"void fft2d_r2c_32x32<float, false, 0u, false>(float2*, float const*, int)", KERNEL_CONV},
	{"void at_cuda_detail::cub::DeviceSelectSweepKernel<int>(int)", KERNEL_MEMORY_BOUND},
	{"my_business_logic", KERNEL_OTHER},
	{"par_ranged2d_kernel", KERNEL_OTHER},
};

static void names_give_their_class(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(expectations); i++) {
		struct kernel_traits traits = kernel_traits_of(expectations[i].name);

		if (traits.kernel_class != expectations[i].kernel_class)
			fail_msg("%s is %s, expected %s", expectations[i].name,
				 kernel_class_name(traits.kernel_class),
				 kernel_class_name(expectations[i].kernel_class));
	}
}

static void every_pattern_of_the_table_compiles(void **state)
{
	static const char *const patterns[] = {
#define CLASS(name, pattern) pattern,
#include "kernel_class.def"
#undef CLASS
#define TRAIT(field, pattern) pattern,
#include "kernel_trait.def"
#undef TRAIT
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		regex_t compiled;

		assert_int_equal(regcomp(&compiled, patterns[i], REG_EXTENDED | REG_ICASE), 0);
		regfree(&compiled);
	}
}

static void assert_short_name(const char *name, const char *expected)
{
	char *own = kernel_short_name(name);

	assert_string_equal(own, expected);
	free(own);
}

static void own_names_are_found_in_signatures(void **state)
{
	(void)state;
	assert_short_name(
		"void at::native::vectorized_elementwise_kernel<4, Foo<a::b(int)>>(int, Foo)",
		"vectorized_elementwise_kernel");
	assert_short_name("void at::native::(anonymous namespace)::softmax<float>(float*)",
			  "softmax");
	assert_short_name("_Z10vector_addPKfS0_Pfi", "vector_add");
	assert_short_name("_ZL10vector_addPKfS0_Pfi", "vector_add");
	assert_short_name(
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEE"
		"NS_6detail5ArrayIPcLi3EEEEEviT0_T1_",
		"vectorized_elementwise_kernel");
	assert_short_name(
		"_ZN7cutlass7Kernel2I67cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_"
		"64x3_tn_align8EEvNT_6ParamsE",
		"cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x3_tn_align8");
	assert_short_name("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn");
	assert_short_name("triton_poi_fused_add_3", "triton_poi_fused_add_3");
}

static void broken_names_come_back_as_they_are(void **state)
{
	static const char *const broken[] = {"_Z",    "_ZN",	  "_Z999x", "_ZN3foo", "<",
					     "(",     "::",	  "",	    "_ZN2atI", "_ZNE",
					     "a<b<c", "_ZN1aILi", "_Z0"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		char *own = kernel_short_name(broken[i]);

		assert_non_null(own);
		free(own);
		kernel_traits_of(broken[i]);
	}
}

static void alignment_and_tile_are_read_from_cutlass_names(void **state)
{
	struct kernel_traits traits =
		kernel_traits_of("cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_32x4_tn_align2");

	(void)state;
	assert_true(traits.is_tensor_op);
	assert_int_equal(traits.align_elements, 2);
	assert_int_equal(traits.element_bytes, 2);
	assert_int_equal(traits.tile_m, 256);
	assert_int_equal(traits.tile_n, 128);
}

static void align4_of_tf32_is_sixteen_bytes(void **state)
{
	struct kernel_traits traits =
		kernel_traits_of("cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4");

	(void)state;
	assert_true(traits.is_tensor_op);
	assert_int_equal(traits.align_elements * traits.element_bytes, 16);
}

static void simt_kernels_use_no_tensor_cores(void **state)
{
	(void)state;
	assert_true(kernel_traits_of("cutlass_80_simt_sgemm_128x64_8x5_nn_align1").is_simt);
	assert_false(kernel_traits_of("cutlass_80_simt_sgemm_128x64_8x5_nn_align1").is_tensor_op);
	assert_true(kernel_traits_of("ampere_sgemm_128x64_tn").is_simt);
	assert_true(kernel_traits_of("volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_tn").is_tensor_op);
}

static void products_that_tensor_cores_could_do_are_told_from_others(void **state)
{
	static const char *const could[] = {
		"volta_sgemm_128x64_tn",
		"cudnn_ampere_scudnn_128x64_relu_interior_nn_v1",
		("sm86_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_"
		 "kernel"),
		"void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int)",
		"_ZN5cudnn6detail12dgrad_engineIfLi512ELi6ELi5ELi3ELi3ELi3ELb0EEEviiiPKfiS3_iPfi",
	};
	static const char *const could_not[] = {
		"void gemv2T_kernel_val<int, int, float, float, float, 128, 16, 4, 4, false>(int)",
		"void dot_kernel<float, 128, 0, float>(int)",
		"void at::native::conv_depthwise2d_forward_kernel<3, float, int>(int)",
		"ampere_dgemm_64x64_nn",
		"cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4",
		"void cudnn::cnn::wgrad_alg0_engine<__half, 128, 6, 7, 3, 3, 5, false, 512>(int)",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(could); i++) {
		if (!kernel_traits_of(could[i]).is_fp32_simt)
			fail_msg("%s could use Tensor Cores", could[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(could_not); i++) {
		if (kernel_traits_of(could_not[i]).is_fp32_simt)
			fail_msg("%s could not use Tensor Cores", could_not[i]);
	}
	assert_false(kernel_traits_of(could[2]).is_tensor_op);
}

static void double_precision_is_read_from_data_not_from_scalars(void **state)
{
	(void)state;
	assert_true(kernel_traits_of("ampere_dgemm_64x64_nn").is_fp64);
	assert_true(kernel_traits_of("void axpy<double>(int, double*, double const*)").is_fp64);
	assert_true(kernel_traits_of("_Z9stencil3dPKdPdi").is_fp64);
	assert_true(kernel_traits_of("_ZN2at6native4FillIdEEvv").is_fp64);
	assert_false(kernel_traits_of("void scale<float>(float*, double)").is_fp64);
	assert_false(kernel_traits_of("_Z5scalePKfPfd").is_fp64);
	assert_false(kernel_traits_of("_Z8identifyPKf").is_fp64);
	assert_false(kernel_traits_of("double_buffered_copy_kernel").is_fp64);
}

static void names_tell_how_a_kernel_works(void **state)
{
	(void)state;
	assert_true(kernel_traits_of("void splitKreduce_kernel<32, 16, int, float>(int)").is_split);
	assert_false(
		kernel_traits_of("sm90_xmma_gemm_f16f16_tn_execute_segment_k_off_kernel").is_split);
	assert_true(kernel_traits_of("nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT").is_persistent);
	assert_false(kernel_traits_of("ampere_sgemm_128x64_tn").is_persistent);
	assert_true(
		kernel_traits_of("void cudnn::ops::nhwcToNchwKernel<float>(int)").is_layout_change);
	assert_false(kernel_traits_of("sm80_xmma_fprop_implicit_gemm_f16_nhwckrsc_nchw_kernel")
			     .is_layout_change);
	assert_true(kernel_traits_of("triton_poi_fused_add_3").is_fused);
	assert_true(kernel_traits_of("void at::native::index_elementwise_kernel<128, 4>(int)")
			    .is_indexing);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_give_their_class),
		cmocka_unit_test(every_pattern_of_the_table_compiles),
		cmocka_unit_test(own_names_are_found_in_signatures),
		cmocka_unit_test(broken_names_come_back_as_they_are),
		cmocka_unit_test(alignment_and_tile_are_read_from_cutlass_names),
		cmocka_unit_test(align4_of_tf32_is_sixteen_bytes),
		cmocka_unit_test(simt_kernels_use_no_tensor_cores),
		cmocka_unit_test(products_that_tensor_cores_could_do_are_told_from_others),
		cmocka_unit_test(double_precision_is_read_from_data_not_from_scalars),
		cmocka_unit_test(names_tell_how_a_kernel_works),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
