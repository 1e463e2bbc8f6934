/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT702: errors that say that versions do not fit, and the table of versions.
 */
#include "machine_bench.h"

#include <string.h>

static void add_failure(struct bench *bench, const char *api, int32_t status)
{
	const struct script_call call = {.begin_ns = bench->machine.host_ns,
					 .end_ns = bench->machine.host_ns + 1000,
					 .thread = 1,
					 .api = api,
					 .status = status};

	script_add_plain(bench->script, &call);
}

static void no_code_for_the_gpu_is_a_failure_with_its_cure(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	bench_set_capability(&bench, 12, 0);
	bench_copy_steps(&bench, 1 << 20);
	script_info(bench.script, "cuda.runtime_version", "12040");
	script_info(bench.script, "driver.version", "570.26");
	add_failure(&bench, "cudaLaunchKernel", 209);
	add_failure(&bench, "cudaLaunchKernel", 209);
	bench_run(&bench);
	finding = bench_only(&bench, "GT702");
	assert_true(finding->is_failure);
	assert_float_equal(bench_number(finding, "error"), 209, 0);
	assert_float_equal(bench_number(finding, "times"), 2, 0);
	assert_non_null(strstr(finding->summary, "no code for this GPU"));
	assert_non_null(strstr(finding->summary, "compute capability 12.0"));
	assert_non_null(strstr(finding->fix, "doctor --binary"));
	bench_fini(&bench);
}

static void every_code_of_the_list_is_raised(void **state)
{
	static const int32_t codes[] = {35, 36, 100, 209, 222, 803, 804};

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct bench bench;

		bench_init(&bench);
		bench_copy_steps(&bench, 1 << 20);
		add_failure(&bench, "cuModuleLoadData", codes[i]);
		bench_run(&bench);
		assert_true(bench_only(&bench, "GT702")->is_failure);
		bench_fini(&bench);
	}
}

static void the_same_number_of_another_library_is_another_error(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_copy_steps(&bench, 1 << 20);
	add_failure(&bench, "cublasGemmEx", 100);
	add_failure(&bench, "ncclAllReduce", 35);
	bench_run(&bench);
	assert_int_equal(bench_count(&bench, "GT702"), 0);
	bench_fini(&bench);
}

static void other_errors_are_not_about_versions(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_copy_steps(&bench, 1 << 20);
	add_failure(&bench, "cudaMalloc", 2);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT702"), NOT_JUDGED);
	bench_fini(&bench);
}

static enum judgement_status judge_versions(const char *driver, const char *runtime)
{
	enum judgement_status status;
	struct bench bench;

	bench_init(&bench);
	bench_set_capability(&bench, 8, 0);
	script_info(bench.script, "driver.version", driver);
	script_info(bench.script, "cuda.runtime_version", runtime);
	bench_copy_steps(&bench, 1 << 20);
	bench_run(&bench);
	status = bench_status(&bench, "GT702");
	if (status == JUDGED_RAISED)
		assert_int_equal(bench_only(&bench, "GT702")->severity, SEVERITY_INFO);
	bench_fini(&bench);
	return status;
}

static void versions_that_fit_are_silent_and_others_an_information(void **state)
{
	(void)state;
	assert_int_equal(judge_versions("580.65.06", "13000"), JUDGED_SILENT);
	assert_int_equal(judge_versions("580.65.06", "12.4"), JUDGED_SILENT);
	assert_int_equal(judge_versions("535.104.05", "12040"), JUDGED_RAISED);
	assert_int_equal(judge_versions("470.82.01", "12040"), JUDGED_RAISED);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_code_for_the_gpu_is_a_failure_with_its_cure),
		cmocka_unit_test(every_code_of_the_list_is_raised),
		cmocka_unit_test(the_same_number_of_another_library_is_another_error),
		cmocka_unit_test(other_errors_are_not_about_versions),
		cmocka_unit_test(versions_that_fit_are_silent_and_others_an_information),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
