/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT108 names copies that queue behind compute although they need not.
 */
#include "rule_bench.h"

#define COPY_NS	  2000000
#define KERNEL_NS 6000000

/* Steps of one copy and one kernel; the copy on `copy_stream`, alone in time or beside the kernel.
 */
static void run_loop(struct bench *bench, uint32_t copy_stream, uint8_t host_kind, bool is_beside,
		     uint64_t handle)
{
	int64_t now = 1000000;

	for (int step = 0; step < 20; step++) {
		struct script_call call = {.begin_ns = now,
					   .end_ns = now + 5000,
					   .thread = 1,
					   .api = "cudaMemcpyAsync",
					   .site = 5,
					   .flags = CALL_ASYNC};
		int64_t kernel_ns = is_beside ? now + 6000 : now + 6000 + COPY_NS;

		call.correlation = script_next_correlation(bench->script);
		if (handle != UINT64_MAX)
			script_use_copy(bench->script, 0x1000 + (uint64_t)step, 0x2000, handle,
					DEVICE_UNKNOWN);
		script_add_copy(bench->script, &call, COPY_H2D, 48 << 20, host_kind, MEMORY_DEVICE);
		script_use_stream(bench->script, copy_stream);
		script_add_gpu_copy(bench->script, 0, COPY_H2D, 48 << 20, host_kind, MEMORY_DEVICE,
				    call.correlation, now + 6000, now + 6000 + COPY_NS);
		script_use_stream(bench->script, 7);
		call = (struct script_call){.begin_ns = now + 6000,
					    .end_ns = now + 11000,
					    .thread = 1,
					    .api = "cudaLaunchKernel",
					    .flags = CALL_ASYNC};
		call.correlation = script_next_correlation(bench->script);
		script_add_launch(bench->script, &call, "adam_step");
		script_add_kernel(bench->script, 0, "adam_step", call.correlation, kernel_ns,
				  kernel_ns + KERNEL_NS);
		call = (struct script_call){.begin_ns = now + 12000,
					    .end_ns = kernel_ns + KERNEL_NS,
					    .thread = 1,
					    .api = "cudaDeviceSynchronize"};
		script_add_sync(bench->script, &call, SYNC_DEVICE);
		now = kernel_ns + KERNEL_NS;
	}
	bench_run(bench);
}

static void a_copy_on_the_compute_stream_is_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 7, MEMORY_PINNED, false, UINT64_MAX);
	finding = bench_only(&bench, "GT108");
	assert_string_equal(bench_text(finding, "copy_stream"), "the compute stream");
	assert_float_equal(finding->cost_ms, 2, 0.01);
	assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id, 5);
	bench_fini(&bench);
}

static void a_copy_on_the_default_stream_is_raised(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 14, MEMORY_PINNED, false, 0);
	assert_string_equal(bench_text(bench_only(&bench, "GT108"), "copy_stream"), "default");
	bench_fini(&bench);
}

static void a_stream_of_its_own_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 14, MEMORY_PINNED, false, 0x5555);
	assert_int_equal(bench_status(&bench, "GT108"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void hiding_it_gains_what_the_range_says(void **state)
{
	struct bench serial, beside;

	(void)state;
	bench_init(&serial);
	run_loop(&serial, 7, MEMORY_PINNED, false, UINT64_MAX);
	bench_init(&beside);
	run_loop(&beside, 14, MEMORY_PINNED, true, UINT64_MAX);
	bench_assert_range_holds(bench_only(&serial, "GT108"),
				 bench_step_ms(&serial) - bench_step_ms(&beside));
	assert_int_equal(bench_status(&beside, "GT108"), JUDGED_SILENT);
	bench_fini(&serial);
	bench_fini(&beside);
}

static void pageable_memory_belongs_to_another_rule(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 7, MEMORY_PAGEABLE, false, UINT64_MAX);
	assert_int_equal(bench_status(&bench, "GT108"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_gpu_times_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT108"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_on_the_compute_stream_is_raised),
		cmocka_unit_test(a_copy_on_the_default_stream_is_raised),
		cmocka_unit_test(a_stream_of_its_own_is_silent),
		cmocka_unit_test(hiding_it_gains_what_the_range_says),
		cmocka_unit_test(pageable_memory_belongs_to_another_rule),
		cmocka_unit_test(without_gpu_times_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
