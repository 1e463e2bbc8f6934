/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT203 finds double precision on GPUs that have next to none.
 */
#include "rule_bench.h"

static void dgemm_on_a_consumer_gpu_is_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init_gpu(&bench, "NVIDIA GeForce RTX 4090");
	bench_set_capability(&bench, 8, 9);
	bench_run_kernel(&bench, "ampere_dgemm_64x64_nn", 3000000);
	finding = bench_only(&bench, "GT203");
	assert_string_equal(bench_text(finding, "compute_capability"), "8.9");
	assert_float_equal(finding->cost_ms, 3, 0.01);
	bench_fini(&bench);
}

static void elementwise_kernels_of_doubles_count(void **state)
{
	static const char *const kernels[] = {
		"void at::native::vectorized_elementwise_kernel<4, "
		"at::native::CUDAFunctor_add<double>, "
		"at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<double>)",
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIdEENS_"
		"6detail5"
		"ArrayIPcLi3EEEEEviT0_T1_",
		"_Z9stencil3dPKdPdi",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		struct bench bench;

		bench_init_gpu(&bench, "NVIDIA GeForce RTX 4090");
		bench_run_kernel(&bench, kernels[i], 3000000);
		assert_int_equal(bench_count(&bench, "GT203"), 1);
		bench_fini(&bench);
	}
}

static void a_double_scalar_makes_no_double_kernel(void **state)
{
	static const char *const kernels[] = {
		"void at::native::(anonymous "
		"namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
		"namespace)::TensorListMetadata<4>, FusedAdamMathFunctor<float, 4>, double, "
		"double>(int)",
		"_Z5scalePKfPfd",
		"_Z6updateP6__halfd",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		struct bench bench;

		bench_init_gpu(&bench, "NVIDIA GeForce RTX 4090");
		bench_run_kernel(&bench, kernels[i], 3000000);
		assert_int_equal(bench_status(&bench, "GT203"), JUDGED_SILENT);
		bench_fini(&bench);
	}
}

static void an_a100_has_double_precision_units_and_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_run_kernel(&bench, "ampere_dgemm_64x64_nn", 3000000);
	assert_int_equal(bench_status(&bench, "GT203"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_small_share_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init_gpu(&bench, "NVIDIA GeForce RTX 4090");
	bench_run_kernel(&bench, "ampere_dgemm_64x64_nn", 20000);
	assert_int_equal(bench_status(&bench, "GT203"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void an_unknown_capability_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init_gpu(&bench, "Some Future GPU");
	bench_run_kernel(&bench, "ampere_dgemm_64x64_nn", 3000000);
	assert_int_equal(bench_status(&bench, "GT203"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dgemm_on_a_consumer_gpu_is_raised),
		cmocka_unit_test(elementwise_kernels_of_doubles_count),
		cmocka_unit_test(a_double_scalar_makes_no_double_kernel),
		cmocka_unit_test(an_a100_has_double_precision_units_and_is_silent),
		cmocka_unit_test(a_small_share_is_silent),
		cmocka_unit_test(an_unknown_capability_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
