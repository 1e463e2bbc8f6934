/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT503 charges idle time to explicit waits that drained the queue.
 */
#include "rule_bench.h"

static void run_loop(struct bench *bench, const char *api, uint32_t scope)
{
	bench_init(bench);
	for (int step = 0; step < 20; step++) {
		for (int i = 0; i < 30; i++) {
			bench->machine.site = 6;
			machine_kernel(&bench->machine, "elementwise_kernel", 30000);
			bench->machine.site = 7;
			if (api && i % 10 == 9) {
				machine_sync(&bench->machine, api, scope);
				machine_work(&bench->machine, 30000);
			}
		}
		bench->machine.site = 8;
		machine_kernel(&bench->machine, "adam_step", 50000);
	}
	bench_run(bench);
}

static void each_kind_of_wait_is_raised_by_its_name(void **state)
{
	static const struct {
		const char *api;
		uint32_t scope;
	} waits[] = {{"cudaDeviceSynchronize", SYNC_DEVICE},
		     {"cudaStreamSynchronize", SYNC_STREAM},
		     {"cudaEventSynchronize", SYNC_EVENT}};
	struct bench bench;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const struct finding *finding;

		run_loop(&bench, waits[i].api, waits[i].scope);
		finding = bench_only(&bench, "GT503");
		assert_string_equal(bench_text(finding, "call"), waits[i].api);
		assert_float_equal(bench_number(finding, "waits_per_step"), 3, 0.3);
		assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id,
				 7);
		bench_fini(&bench);
	}
}

static void removing_the_waits_gains_what_the_range_says(void **state)
{
	struct bench waiting, cured;

	(void)state;
	run_loop(&waiting, "cudaDeviceSynchronize", SYNC_DEVICE);
	run_loop(&cured, NULL, 0);
	bench_assert_range_holds(bench_only(&waiting, "GT503"),
				 bench_step_ms(&waiting) - bench_step_ms(&cured));
	assert_int_equal(bench_status(&cured, "GT503"), JUDGED_SILENT);
	bench_fini(&waiting);
	bench_fini(&cured);
}

static void waits_of_a_helper_thread_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		struct script_call sync = {.begin_ns = bench.machine.host_ns,
					   .thread = 2,
					   .api = "cudaEventSynchronize"};

		for (int i = 0; i < 30; i++)
			machine_kernel(&bench.machine, "elementwise_kernel", 30000);
		machine_kernel(&bench.machine, "adam_step", 50000);
		sync.end_ns = bench.machine.host_ns;
		script_add_sync(bench.script, &sync, SYNC_EVENT);
	}
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT503"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_gpu_times_it_is_not_judged(void **state)
{
	struct bench bench;
	struct script_call call = {.begin_ns = 0, .end_ns = 10, .thread = 1};

	(void)state;
	bench_init(&bench);
	script_add_sync(bench.script, &call, SYNC_DEVICE);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT503"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_wait_is_raised_by_its_name),
		cmocka_unit_test(removing_the_waits_gains_what_the_range_says),
		cmocka_unit_test(waits_of_a_helper_thread_are_silent),
		cmocka_unit_test(without_gpu_times_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
