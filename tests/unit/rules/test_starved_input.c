/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT502 charges idle time to the upload that ends it when the host was away before.
 */
#include "machine_bench.h"
#include "rule_bench.h"

#include <string.h>

static bool has_io_pressure;

/* Loading beside the step (loaded ahead) costs the launching thread nothing. */
static void run_loop(struct bench *bench, int64_t loading_ns, uint8_t ends_with)
{
	bench_init(bench);
	for (int step = 0; step < 20; step++) {
		machine_work(&bench->machine, loading_ns);
		bench->machine.site = 7;
		if (ends_with)
			machine_copy(&bench->machine, ends_with, 4 << 20, MEMORY_PINNED, false);
		bench->machine.site = 8;
		for (int i = 0; i < 10; i++)
			machine_kernel(&bench->machine, "elementwise_kernel", 400000);
		machine_kernel(&bench->machine, "adam_step", 100000);
	}
	/* Something waited for storage in 40 % of the time. */
	for (int64_t at_ns = 0; has_io_pressure && at_ns < bench->machine.host_ns;
	     at_ns += 10000000)
		bench_sample(bench, SAMPLE_psi_io_some_us, at_ns, at_ns / 2500);
	bench_run(bench);
}

static void loading_between_steps_is_charged_to_the_upload(void **state)
{
	const struct finding *finding;
	struct bench bench;

	(void)state;
	run_loop(&bench, 20000000, COPY_H2D);
	finding = bench_only(&bench, "GT502");
	assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id, 7);
	assert_float_equal(bench_number(finding, "waits_per_step"), 1, 0.1);
	assert_float_equal(bench_number(finding, "idle_ms_per_step"), 16, 0.5);
	assert_float_equal(bench_number(finding, "upload_bytes"), 4194304, 0);
	assert_string_equal(bench_text(finding, "last_call_before"), "cudaLaunchKernel");
	bench_fini(&bench);
}

static void pressure_on_storage_is_said_where_it_was_sampled(void **state)
{
	struct bench bench;

	(void)state;
	has_io_pressure = true;
	run_loop(&bench, 20000000, COPY_H2D);
	has_io_pressure = false;
	assert_float_equal(bench_number(bench_only(&bench, "GT502"), "io_pressure_percent"), 40, 1);
	bench_fini(&bench);
}

static void loading_beside_the_step_gains_what_the_range_says(void **state)
{
	struct bench starved, cured;

	(void)state;
	run_loop(&starved, 20000000, COPY_H2D);
	run_loop(&cured, 0, COPY_H2D);
	bench_assert_range_holds(bench_only(&starved, "GT502"),
				 bench_step_ms(&starved) - bench_step_ms(&cured));
	assert_int_equal(bench_status(&cured, "GT502"), JUDGED_SILENT);
	bench_fini(&starved);
	bench_fini(&cured);
}

static void loading_that_the_queue_hides_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	run_loop(&bench, 3000000, COPY_H2D);
	assert_int_equal(bench_status(&bench, "GT502"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_gap_that_ends_with_a_kernel_is_not_input(void **state)
{
	struct bench bench;

	(void)state;
	run_loop(&bench, 20000000, 0);
	assert_int_equal(bench_status(&bench, "GT502"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_gap_that_ends_with_a_download_is_not_input(void **state)
{
	struct bench bench;

	(void)state;
	run_loop(&bench, 20000000, COPY_D2H);
	assert_int_equal(bench_status(&bench, "GT502"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_single_wait_of_a_run_without_steps_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	machine_kernel(&bench.machine, "elementwise_kernel", 400000);
	machine_work(&bench.machine, 20000000);
	machine_copy(&bench.machine, COPY_H2D, 4 << 20, MEMORY_PINNED, false);
	machine_kernel(&bench.machine, "softmax_kernel", 400000);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT502"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_launches_in_the_file_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int i = 0; i < 50; i++)
		script_add_kernel(bench.script, 0, "elementwise_kernel", 0, i * 1000000,
				  i * 1000000 + 500000);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT502"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loading_between_steps_is_charged_to_the_upload),
		cmocka_unit_test(pressure_on_storage_is_said_where_it_was_sampled),
		cmocka_unit_test(loading_beside_the_step_gains_what_the_range_says),
		cmocka_unit_test(loading_that_the_queue_hides_is_silent),
		cmocka_unit_test(a_gap_that_ends_with_a_kernel_is_not_input),
		cmocka_unit_test(a_gap_that_ends_with_a_download_is_not_input),
		cmocka_unit_test(a_single_wait_of_a_run_without_steps_is_silent),
		cmocka_unit_test(without_launches_in_the_file_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
