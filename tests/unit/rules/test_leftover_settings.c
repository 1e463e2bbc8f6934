/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT706 names variables that slow this job, and keeps still about those that do not.
 */
#include "rule_bench.h"

#include <string.h>

static void run_loop(struct bench *bench, const char *kernel, int64_t loading_ns)
{
	for (int step = 0; step < 20; step++) {
		machine_work(&bench->machine, loading_ns);
		machine_copy(&bench->machine, COPY_H2D, 1 << 20, MEMORY_PINNED, false);
		for (int i = 0; i < 10; i++)
			machine_kernel(&bench->machine, kernel, 40000);
		machine_kernel(&bench->machine, "adam_step", 50000);
	}
	bench_run(bench);
}

static void debugging_left_on_is_raised_by_name(void **state)
{
	const struct finding *finding;
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_info(bench.script, "env.CUDA_LAUNCH_BLOCKING", "1");
	run_loop(&bench, "elementwise_kernel", 1000000);
	finding = bench_only(&bench, "GT706");
	assert_string_equal(bench_text(finding, "variable"), "CUDA_LAUNCH_BLOCKING");
	assert_true(finding->gain_low_ms == 0);
	bench_fini(&bench);
}

static void a_variable_that_is_off_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_info(bench.script, "env.CUDA_LAUNCH_BLOCKING", "0");
	script_info(bench.script, "env.NVIDIA_TF32_OVERRIDE", "1");
	script_info(bench.script, "env.TORCH_DISTRIBUTED_DEBUG", "OFF");
	script_info(bench.script, "env.OMP_NUM_THREADS", "8");
	run_loop(&bench, "ncclDevKernel_AllReduce_Sum_f16_RING_LL", 1000000);
	assert_int_equal(bench_status(&bench, "GT706"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void settings_of_nccl_matter_where_the_job_communicates(void **state)
{
	static const char *const kernels[] = {"elementwise_kernel",
					      "ncclDevKernel_AllReduce_Sum_f16_RING_LL"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct bench bench;

		bench_init(&bench);
		script_info(bench.script, "env.NCCL_P2P_DISABLE", "1");
		script_info(bench.script, "env.NCCL_PROTO", "Simple");
		run_loop(&bench, kernels[i], 0);
		assert_int_equal(bench_count(&bench, "GT706"), i ? 2 : 0);
		bench_fini(&bench);
	}
}

static void tf32_that_is_forbidden_matters_for_float_products(void **state)
{
	static const char *const kernels[] = {"elementwise_kernel", "ampere_sgemm_128x64_tn"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct bench bench;

		bench_init(&bench);
		script_info(bench.script, "env.NVIDIA_TF32_OVERRIDE", "0");
		run_loop(&bench, kernels[i], 0);
		assert_int_equal(bench_count(&bench, "GT706"), i);
		if (i)
			assert_int_equal(bench_only(&bench, "GT706")->severity, SEVERITY_INFO);
		bench_fini(&bench);
	}
}

static void one_thread_matters_where_the_loader_is_slow(void **state)
{
	static const int64_t loading_ns[] = {0, 20000000};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct bench bench;

		bench_init(&bench);
		script_info(bench.script, "env.OMP_NUM_THREADS", "1");
		run_loop(&bench, "elementwise_kernel", loading_ns[i]);
		assert_int_equal(bench_count(&bench, "GT706"), i);
		bench_fini(&bench);
	}
}

static void imported_recordings_are_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_info(bench.script, "import.source", "trace.json");
	run_loop(&bench, "elementwise_kernel", 0);
	assert_int_equal(bench_status(&bench, "GT706"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(debugging_left_on_is_raised_by_name),
		cmocka_unit_test(a_variable_that_is_off_is_silent),
		cmocka_unit_test(settings_of_nccl_matter_where_the_job_communicates),
		cmocka_unit_test(tf32_that_is_forbidden_matters_for_float_products),
		cmocka_unit_test(one_thread_matters_where_the_loader_is_slow),
		cmocka_unit_test(imported_recordings_are_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
