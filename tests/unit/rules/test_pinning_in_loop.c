/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT110 finds host memory that is pinned in every step.
 */
#include "rule_bench.h"

/* Steps that pin for `pin_ns` in thread `thread`, or once before the loop. */
static void run_loop(struct bench *bench, int64_t pin_ns, const char *api, uint32_t thread,
		     bool is_once)
{
	for (int step = 0; step < 20; step++) {
		struct script_call call = {.begin_ns = bench->machine.host_ns,
					   .end_ns = bench->machine.host_ns + pin_ns,
					   .thread = thread,
					   .api = api,
					   .site = 5};

		if (!is_once || step == 0) {
			script_add_memory(bench->script, &call, MEMORY_ALLOC, MEMORY_PINNED,
					  0x10000 * (uint64_t)(step + 1), 64 << 20);
			if (thread == 1)
				machine_work(&bench->machine, pin_ns);
		}
		machine_copy(&bench->machine, COPY_H2D, 64 << 20, MEMORY_PINNED, false);
		machine_kernel(&bench->machine, "ampere_sgemm_128x128_nn", 20000000);
		machine_kernel(&bench->machine, "adam_step", 50000);
		machine_sync(&bench->machine, "cudaDeviceSynchronize", SYNC_DEVICE);
	}
	bench_run(bench);
}

static void twelve_milliseconds_of_pinning_per_step_are_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 12000000, "cudaHostAlloc", 1, false);
	finding = bench_only(&bench, "GT110");
	assert_float_equal(bench_number(finding, "host_ms_per_step"), 12, 0.7);
	assert_float_equal(bench_number(finding, "calls_per_step"), 1, 0.06);
	assert_string_equal(bench_text(finding, "call"), "cudaHostAlloc");
	assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id, 5);
	/* Nobody advises to pin what is pinned too often. */
	assert_int_equal(bench_status(&bench, "GT102"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void registering_counts_as_pinning(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 12000000, "cudaHostRegister", 1, false);
	assert_int_equal(bench_count(&bench, "GT110"), 1);
	bench_fini(&bench);
}

static void pinning_once_gains_what_the_range_says(void **state)
{
	struct bench each, once;

	(void)state;
	bench_init(&each);
	run_loop(&each, 12000000, "cudaHostAlloc", 1, false);
	bench_init(&once);
	run_loop(&once, 12000000, "cudaHostAlloc", 1, true);
	bench_assert_range_holds(bench_only(&each, "GT110"),
				 bench_step_ms(&each) - bench_step_ms(&once));
	assert_int_equal(bench_status(&once, "GT110"), JUDGED_SILENT);
	bench_fini(&each);
	bench_fini(&once);
}

static void a_loaders_pinning_thread_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 12000000, "cudaHostAlloc", 2, false);
	assert_int_equal(bench_status(&bench, "GT110"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_run_without_steps_is_not_judged(void **state)
{
	struct script_call call = {
		.begin_ns = 1000000, .end_ns = 5000000, .thread = 1, .api = "cudaHostAlloc"};
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_add_memory(bench.script, &call, MEMORY_ALLOC, MEMORY_PINNED, 0x10000, 1 << 20);
	machine_work(&bench.machine, 5000000);
	machine_kernel(&bench.machine, "vector_add", 1000000);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT110"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twelve_milliseconds_of_pinning_per_step_are_raised),
		cmocka_unit_test(registering_counts_as_pinning),
		cmocka_unit_test(pinning_once_gains_what_the_range_says),
		cmocka_unit_test(a_loaders_pinning_thread_is_silent),
		cmocka_unit_test(a_run_without_steps_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
