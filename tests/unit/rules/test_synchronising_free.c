/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT507 charges idle time to frees that wait for the GPU.
 */
#include "rule_bench.h"

static void free_memory(struct machine *machine, const char *api, bool is_async)
{
	struct script_call call = {.begin_ns = machine->host_ns,
				   .end_ns = machine->host_ns + 2000,
				   .thread = 1,
				   .api = api,
				   .site = machine->site,
				   .flags = is_async ? CALL_ASYNC : 0};

	if (!is_async && machine->stream_ns + 3000 > call.end_ns)
		call.end_ns = machine->stream_ns + 3000;
	script_add_memory(machine->script, &call, MEMORY_FREE,
			  is_async ? MEMORY_POOL : MEMORY_DEVICE, 0x7f0000000000, 0);
	machine->host_ns = call.end_ns;
}

static void run_loop(struct bench *bench, const char *api, bool is_async)
{
	bench_init(bench);
	for (int step = 0; step < 20; step++) {
		for (int i = 0; i < 30; i++) {
			bench->machine.site = 6;
			machine_kernel(&bench->machine, "elementwise_kernel", 30000);
			bench->machine.site = 7;
			if (api && i % 10 == 9) {
				free_memory(&bench->machine, api, is_async);
				machine_work(&bench->machine, 30000);
			}
		}
		bench->machine.site = 8;
		machine_kernel(&bench->machine, "adam_step", 50000);
	}
	bench_run(bench);
}

static void a_free_in_the_loop_is_raised_where_it_is(void **state)
{
	const struct finding *finding;
	struct bench bench;

	(void)state;
	run_loop(&bench, "cudaFree", false);
	finding = bench_only(&bench, "GT507");
	assert_string_equal(bench_text(finding, "call"), "cudaFree");
	assert_float_equal(bench_number(finding, "frees_per_step"), 3, 0.3);
	assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id, 7);
	assert_int_equal(bench_count(&bench, "GT503"), 0);
	bench_fini(&bench);
}

static void keeping_the_memory_gains_what_the_range_says(void **state)
{
	struct bench freeing, cured;

	(void)state;
	run_loop(&freeing, "cudaFree", false);
	run_loop(&cured, NULL, false);
	bench_assert_range_holds(bench_only(&freeing, "GT507"),
				 bench_step_ms(&freeing) - bench_step_ms(&cured));
	bench_fini(&freeing);
	bench_fini(&cured);
}

static void frees_of_a_pool_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	run_loop(&bench, "cudaFreeAsync", true);
	assert_int_equal(bench_status(&bench, "GT507"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_allocations_in_the_file_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	run_loop(&bench, NULL, false);
	assert_int_equal(bench_status(&bench, "GT507"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_free_in_the_loop_is_raised_where_it_is),
		cmocka_unit_test(keeping_the_memory_gains_what_the_range_says),
		cmocka_unit_test(frees_of_a_pool_are_silent),
		cmocka_unit_test(without_allocations_in_the_file_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
