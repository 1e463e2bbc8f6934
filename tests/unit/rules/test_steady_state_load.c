/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT506 sees modules that are loaded, and kernels that are compiled, after warm-up.
 */
#include "rule_bench.h"

#include <stdio.h>
#include <string.h>

struct loads {
	int every;	 /* a new kernel in every so many-th step, after step 10; 0 never */
	bool calls_load; /* the load is in the file */
	const char *api; /* that loads; NULL: cuModuleLoadData */
	int64_t compile_ns;
	int limit; /* so many in all */
};

static void run_loop(struct bench *bench, const struct loads *loads)
{
	int done = 0;

	bench_init(bench);
	for (int step = 0; step < 60; step++) {
		char name[40] = "triton_kernel_0";

		bench->machine.site = 8;
		/* The host runs ahead by no more than a step. */
		machine_sync(&bench->machine, "cudaDeviceSynchronize", SYNC_DEVICE);
		for (int i = 0; i < 10; i++)
			machine_kernel(&bench->machine, "elementwise_kernel", 400000);
		if (loads->every && step > 10 && step % loads->every == 0 && done < loads->limit) {
			struct script_call load = {
				.begin_ns = bench->machine.host_ns,
				.end_ns = bench->machine.host_ns + loads->compile_ns,
				.thread = 1,
				.api = loads->api ? loads->api : "cuModuleLoadData"};

			done++;
			snprintf(name, sizeof(name), "triton_kernel_%d", done);
			if (loads->calls_load)
				script_add_plain(bench->script, &load);
			machine_work(&bench->machine, loads->compile_ns);
		}
		bench->machine.site = 9;
		machine_kernel(&bench->machine, name, 100000);
		machine_kernel(&bench->machine, "adam_step", 100000);
	}
	bench_run(bench);
}

static void module_loads_in_the_loop_are_raised(void **state)
{
	struct loads loads = {.every = 10, .calls_load = true, .compile_ns = 60000000, .limit = 9};
	const struct finding *finding;
	struct bench bench;

	(void)state;
	run_loop(&bench, &loads);
	finding = bench_only(&bench, "GT506");
	assert_float_equal(bench_number(finding, "gaps"), 4, 0);
	assert_float_equal(bench_number(finding, "gaps_with_module_load"), 4, 0);
	assert_float_equal(bench_number(finding, "longest_gap_ms"), 56, 1);
	assert_string_equal(bench_text(finding, "load"), "cuModuleLoadData");
	assert_float_equal(bench_number(finding, "load_ms"), 60, 0.1);
	assert_non_null(strstr(bench_text(finding, "compiled_at_run_time"), "not judged"));
	assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id, 9);
	bench_fini(&bench);
}

static void the_linker_is_asked_for_what_is_compiled_at_run_time(void **state)
{
	struct loads loads = {.every = 10,
			      .calls_load = true,
			      .api = "cuLinkComplete",
			      .compile_ns = 60000000,
			      .limit = 9};
	struct bench bench;

	(void)state;
	run_loop(&bench, &loads);
	assert_string_equal(bench_text(bench_only(&bench, "GT506"), "compiled_at_run_time"), "yes");
	bench_fini(&bench);
}

static void new_kernels_in_several_steps_are_raised_without_a_load(void **state)
{
	struct loads loads = {.every = 10, .compile_ns = 60000000, .limit = 9};
	const struct finding *finding;
	struct bench bench;

	(void)state;
	run_loop(&bench, &loads);
	finding = bench_only(&bench, "GT506");
	assert_float_equal(bench_number(finding, "steps_hit"), 4, 0);
	assert_float_equal(bench_number(finding, "gaps_with_module_load"), 0, 0);
	bench_fini(&bench);
}

static void one_new_kernel_after_a_gap_is_silent(void **state)
{
	struct loads loads = {.every = 20, .compile_ns = 60000000, .limit = 1};
	struct bench bench;

	(void)state;
	run_loop(&bench, &loads);
	assert_int_equal(bench_status(&bench, "GT506"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void loads_that_the_queue_hides_are_silent(void **state)
{
	struct loads loads = {.every = 10, .calls_load = true, .compile_ns = 2000000, .limit = 9};
	struct bench bench;

	(void)state;
	run_loop(&bench, &loads);
	assert_int_equal(bench_status(&bench, "GT506"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_loop_without_loads_is_silent(void **state)
{
	struct loads loads = {0};
	struct bench bench;

	(void)state;
	run_loop(&bench, &loads);
	assert_int_equal(bench_status(&bench, "GT506"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_steps_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	machine_kernel(&bench.machine, "elementwise_kernel", 400000);
	machine_work(&bench.machine, 5000000);
	machine_kernel(&bench.machine, "other_kernel", 400000);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT506"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(module_loads_in_the_loop_are_raised),
		cmocka_unit_test(the_linker_is_asked_for_what_is_compiled_at_run_time),
		cmocka_unit_test(new_kernels_in_several_steps_are_raised_without_a_load),
		cmocka_unit_test(one_new_kernel_after_a_gap_is_silent),
		cmocka_unit_test(loads_that_the_queue_hides_are_silent),
		cmocka_unit_test(a_loop_without_loads_is_silent),
		cmocka_unit_test(without_steps_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
