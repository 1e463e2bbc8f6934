/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT704: who else uses the GPU.
 */
#include "machine_bench.h"

#include <string.h>

static void init(struct bench *bench, const char *gpu)
{
	bench_init_gpu(bench, gpu);
	bench_copy_steps(bench, 1 << 20);
}

#define WHOLE "NVIDIA A100-SXM4-80GB"

static void another_process_is_told_with_its_memory(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	init(&bench, WHOLE);
	bench_sample(&bench, SAMPLE_other_processes, 1000, 0);
	bench_sample(&bench, SAMPLE_other_processes, 2000000, 2);
	bench_sample(&bench, SAMPLE_memory_used_bytes, 1999000, 30ll << 30);
	bench_sample(&bench, SAMPLE_memory_own_bytes, 1999000, 10ll << 30);
	bench_run(&bench);
	finding = bench_only(&bench, "GT704");
	assert_float_equal(bench_number(finding, "other_processes"), 2, 0);
	assert_float_equal(bench_number(finding, "other_bytes"), 20.0 * (1 << 30), 0);
	assert_int_equal(finding->severity, SEVERITY_INFO);
	bench_fini(&bench);
}

static void a_slice_of_a_gpu_is_told(void **state)
{
	struct bench bench;

	(void)state;
	init(&bench, WHOLE " MIG 3g.40gb");
	bench_run(&bench);
	assert_non_null(strstr(bench_only(&bench, "GT704")->summary, "MIG"));
	bench_fini(&bench);
}

static void mps_is_told(void **state)
{
	struct bench bench;

	(void)state;
	init(&bench, WHOLE);
	script_info(bench.script, "env.CUDA_MPS_PIPE_DIRECTORY", "/tmp/mps");
	bench_run(&bench);
	assert_non_null(strstr(bench_only(&bench, "GT704")->summary, "MPS"));
	bench_fini(&bench);
}

static void alone_on_the_gpu_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	init(&bench, WHOLE);
	bench_sample(&bench, SAMPLE_other_processes, 1000, 0);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT704"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_samples_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	init(&bench, WHOLE);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT704"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_process_is_told_with_its_memory),
		cmocka_unit_test(a_slice_of_a_gpu_is_told),
		cmocka_unit_test(mps_is_told),
		cmocka_unit_test(alone_on_the_gpu_is_silent),
		cmocka_unit_test(without_samples_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
