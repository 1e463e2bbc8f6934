/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT209 finds chains of memory-bound kernels that a compiler would join.
 */
#include "rule_bench.h"

#define ADD                                                                                        \
	"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> "    \
	">(int)"
#define NORM                                                                                       \
	"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)"

/* Layers of one product and `chain` kernels named `kernel`. */
static void run_loop(struct bench *bench, const char *kernel, int chain, int64_t kernel_ns)
{
	for (int step = 0; step < 20; step++) {
		for (int layer = 0; layer < 12; layer++) {
			machine_kernel(&bench->machine, "ampere_sgemm_128x128_nn", 100000);
			bench->machine.site = 5;
			for (int i = 0; i < chain; i++)
				machine_kernel(&bench->machine, kernel, kernel_ns);
			bench->machine.site = 6;
		}
		machine_kernel(&bench->machine, "adam_step", 50000);
	}
	bench_run(bench);
}

static void chains_of_elementwise_kernels_are_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, ADD, 4, 30000);
	finding = bench_only(&bench, "GT209");
	assert_float_equal(bench_number(finding, "kernels_per_step"), 48, 2.5);
	assert_float_equal(bench_number(finding, "neighbours_ms_per_step"), 1.08, 0.06);
	assert_string_equal(bench_text(finding, "kernel"), "vectorized_elementwise_kernel");
	assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id, 5);
	bench_fini(&bench);
}

static void fusing_gains_what_the_range_says(void **state)
{
	struct bench eager, compiled;

	(void)state;
	bench_init(&eager);
	run_loop(&eager, NORM, 4, 30000);
	bench_init(&compiled);
	run_loop(&compiled, "triton_per_fused_add_native_layer_norm_3", 1, 60000);
	bench_assert_range_holds(bench_only(&eager, "GT209"),
				 bench_step_ms(&eager) - bench_step_ms(&compiled));
	assert_int_equal(bench_status(&compiled, "GT209"), JUDGED_SILENT);
	bench_fini(&eager);
	bench_fini(&compiled);
}

static void kernels_that_stand_alone_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, ADD, 1, 90000);
	assert_int_equal(bench_status(&bench, "GT209"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void compiled_kernels_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, "triton_poi_fused_gelu_1", 4, 30000);
	assert_int_equal(bench_status(&bench, "GT209"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_small_share_of_the_compute_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, ADD, 4, 5000);
	assert_int_equal(bench_status(&bench, "GT209"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void lookups_and_layout_conversions_are_silent(void **state)
{
	static const char *const kernels[] = {
		"void split_embedding_codegen_forward_unweighted_kernel<float, long>(int)",
		"void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(int)",
		"void at::native::index_elementwise_kernel<128, 4>(int)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		struct bench bench;

		bench_init(&bench);
		run_loop(&bench, kernels[i], 4, 30000);
		assert_int_equal(bench_status(&bench, "GT209"), JUDGED_SILENT);
		bench_fini(&bench);
	}
}

static void a_stencil_code_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		for (int i = 0; i < 40; i++)
			machine_kernel(&bench.machine, "copy_halo", 30000);
		machine_kernel(&bench.machine, "adam_step", 50000);
	}
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT209"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_gpu_times_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT209"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_of_elementwise_kernels_are_raised),
		cmocka_unit_test(fusing_gains_what_the_range_says),
		cmocka_unit_test(kernels_that_stand_alone_are_silent),
		cmocka_unit_test(compiled_kernels_are_silent),
		cmocka_unit_test(a_small_share_of_the_compute_is_silent),
		cmocka_unit_test(lookups_and_layout_conversions_are_silent),
		cmocka_unit_test(a_stencil_code_is_silent),
		cmocka_unit_test(without_gpu_times_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
