/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT705 groups errors by call, code and site, and knows answers from errors.
 */
#include "rule_bench.h"

#include <string.h>

#include "error_name.h"

static void add_call(struct bench *bench, const char *api, int32_t status, uint64_t site)
{
	struct script_call call = {.begin_ns = bench->machine.host_ns,
				   .end_ns = bench->machine.host_ns + 1000,
				   .thread = 1,
				   .api = api,
				   .site = site,
				   .status = status};

	script_add_plain(bench->script, &call);
	bench->machine.host_ns += 2000;
}

static void errors_are_grouped_by_call_code_and_site(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int i = 0; i < 5; i++)
		add_call(&bench, "cudaMemcpyAsync", 1, 7);
	add_call(&bench, "cudaMemcpyAsync", 1, 8);
	add_call(&bench, "cudaMemcpyAsync", 400, 7);
	add_call(&bench, "cudaEventRecord", 0, 7);
	bench_run(&bench);
	assert_int_equal(bench_count(&bench, "GT705"), 3);
	for (size_t i = 0; i < bench.findings.count; i++) {
		const struct finding *finding = &bench.findings.items[i];

		if (strcmp(finding->id, "GT705") != 0)
			continue;
		assert_int_equal(finding->severity, SEVERITY_INFO);
		assert_false(finding->is_failure);
		if (bench_number(finding, "errors") == 5)
			assert_string_equal(bench_text(finding, "code"),
					    "cudaErrorInvalidValue (1)");
	}
	bench_fini(&bench);
}

static void a_lost_context_is_a_failure_and_comes_first(void **state)
{
	const struct finding *finding;
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int i = 0; i < 9; i++)
		add_call(&bench, "cudaMemcpyAsync", 1, 7);
	add_call(&bench, "cudaStreamSynchronize", 700, 8);
	bench_run(&bench);
	finding = &bench.findings.items[0];
	assert_string_equal(finding->id, "GT705");
	assert_true(finding->is_failure);
	assert_string_equal(bench_text(finding, "code"), "cudaErrorIllegalAddress (700)");
	bench_fini(&bench);
}

static void answers_are_no_errors(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	add_call(&bench, "cudaEventQuery", 600, 7);
	add_call(&bench, "cudaStreamQuery", 600, 7);
	add_call(&bench, "cuEventQuery", 600, 7);
	add_call(&bench, "cudaDeviceEnablePeerAccess", 704, 7);
	add_call(&bench, "cudaHostRegister", 712, 7);
	add_call(&bench, "cuGetProcAddress_v2", 500, 7);
	add_call(&bench, "cuPointerGetAttributes", 1, 7);
	add_call(&bench, "ncclCommInitRankConfig", 7, 7);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT705"), JUDGED_SILENT);
	assert_non_null(strstr(bench_reason(&bench, "GT705"), "8 calls"));
	bench_fini(&bench);
}

static void what_a_library_tried_and_handled_is_no_error(void **state)
{
	struct script_call outer = {
		.begin_ns = 1000, .end_ns = 5000, .thread = 1, .api = "cublasCreate_v2"};
	struct script_call inner = {.begin_ns = 2000,
				    .end_ns = 3000,
				    .thread = 1,
				    .api = "cuDeviceGetAttribute",
				    .status = 1};
	struct bench bench;

	(void)state;
	bench_init(&bench);
	inner.parent_id = script_add_plain(bench.script, &outer);
	script_add_plain(bench.script, &inner);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT705"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void the_call_inside_that_failed_is_named(void **state)
{
	struct script_call outer = {.begin_ns = 1000,
				    .end_ns = 5000,
				    .thread = 1,
				    .api = "cublasSgemm_v2",
				    .status = 13};
	struct script_call inner = {.begin_ns = 2000,
				    .end_ns = 3000,
				    .thread = 1,
				    .api = "cuLaunchKernel",
				    .status = 701};
	const struct finding *finding;
	struct bench bench;

	(void)state;
	bench_init(&bench);
	inner.parent_id = script_add_plain(bench.script, &outer);
	script_add_plain(bench.script, &inner);
	bench_run(&bench);
	finding = bench_only(&bench, "GT705");
	assert_string_equal(bench_text(finding, "code"), "CUBLAS_STATUS_EXECUTION_FAILED (13)");
	assert_string_equal(bench_text(finding, "inner_call"), "cuLaunchKernel");
	assert_string_equal(bench_text(finding, "inner_code"),
			    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)");
	bench_fini(&bench);
}

static void requests_for_memory_are_left_to_their_rules(void **state)
{
	struct script_call call = {
		.begin_ns = 1000, .end_ns = 2000, .thread = 1, .api = "cudaMalloc", .status = 2};
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_add_memory(bench.script, &call, MEMORY_ALLOC, MEMORY_DEVICE, 0, 1 << 20);
	bench_run(&bench);
	assert_int_equal(bench_count(&bench, "GT705"), 0);
	bench_fini(&bench);
}

static void an_unknown_code_stays_a_number(void **state)
{
	const struct finding *finding;
	struct bench bench;

	(void)state;
	bench_init(&bench);
	add_call(&bench, "cudaEventRecord", 54321, 7);
	bench_run(&bench);
	finding = bench_only(&bench, "GT705");
	assert_string_equal(bench_text(finding, "code"), "code 54321");
	bench_fini(&bench);
}

static void without_calls_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_add_kernel(bench.script, 0, "elementwise_kernel", 0, 1000, 2000);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT705"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_are_grouped_by_call_code_and_site),
		cmocka_unit_test(a_lost_context_is_a_failure_and_comes_first),
		cmocka_unit_test(answers_are_no_errors),
		cmocka_unit_test(what_a_library_tried_and_handled_is_no_error),
		cmocka_unit_test(the_call_inside_that_failed_is_named),
		cmocka_unit_test(requests_for_memory_are_left_to_their_rules),
		cmocka_unit_test(an_unknown_code_stays_a_number),
		cmocka_unit_test(without_calls_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
