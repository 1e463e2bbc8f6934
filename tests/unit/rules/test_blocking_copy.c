/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT103 charges idle time to the copy that the launching thread waited for.
 */
#include "rule_bench.h"

enum wait_style { NO_WAIT, ITEM, BLOCKING_COPY, SMALL_UPLOAD };

/* 40 short kernels; in the middle the thread may wait. */
static void run_loop(struct bench *bench, enum wait_style style)
{
	bench_init(bench);
	for (int step = 0; step < 20; step++) {
		for (int i = 0; i < 40; i++) {
			bench->machine.site = 6;
			machine_kernel(&bench->machine, "elementwise_kernel", 30000);
			bench->machine.site = 7;
			if (i % 10 != 9)
				continue;
			if (style == ITEM) {
				machine_copy(&bench->machine, COPY_D2H, 4, MEMORY_PINNED, false);
				machine_sync(&bench->machine, "cudaStreamSynchronize", SYNC_STREAM);
				machine_work(&bench->machine, 40000); /* Python looks at it */
			} else if (style == BLOCKING_COPY) {
				machine_copy(&bench->machine, COPY_D2H, 200000, MEMORY_PINNED,
					     true);
			} else if (style == SMALL_UPLOAD) {
				machine_copy(&bench->machine, COPY_H2D, 4096, MEMORY_PINNED, true);
			}
		}
		bench->machine.site = 8;
		machine_kernel(&bench->machine, "adam_step", 50000);
	}
	bench_run(bench);
}

static void item_in_the_loop_is_raised_at_its_own_site(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	run_loop(&bench, ITEM);
	finding = bench_only(&bench, "GT103");
	assert_float_equal(bench_number(finding, "waits_per_step"), 4, 0.3);
	assert_float_equal(bench_number(finding, "copy_bytes"), 4, 0);
	assert_string_equal(bench_text(finding, "direction"), "D2H");
	assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id, 7);
	assert_int_equal(bench_count(&bench, "GT503"), 0); /* the wait belongs to the copy */
	bench_fini(&bench);
}

static void removing_the_waits_gains_what_the_range_says(void **state)
{
	struct bench waiting, cured;

	(void)state;
	run_loop(&waiting, ITEM);
	run_loop(&cured, NO_WAIT);
	bench_assert_range_holds(bench_only(&waiting, "GT103"),
				 bench_step_ms(&waiting) - bench_step_ms(&cured));
	assert_int_equal(bench_status(&cured, "GT103"), JUDGED_SILENT);
	bench_fini(&waiting);
	bench_fini(&cured);
}

static void blocking_copies_are_raised(void **state)
{
	struct bench bench;

	(void)state;
	run_loop(&bench, BLOCKING_COPY);
	assert_string_equal(bench_text(bench_only(&bench, "GT103"), "call"), "cudaMemcpy");
	bench_fini(&bench);
}

static void small_blocking_uploads_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	run_loop(&bench, SMALL_UPLOAD);
	assert_int_equal(bench_status(&bench, "GT103"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void copies_outside_of_the_loop_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int i = 0; i < 50; i++) {
		machine_copy(&bench.machine, COPY_D2H, 4, MEMORY_PINNED, true);
		machine_work(&bench.machine, 500000);
	}
	for (int step = 0; step < 20; step++) {
		for (int i = 0; i < 40; i++)
			machine_kernel(&bench.machine, "elementwise_kernel", 30000);
		machine_kernel(&bench.machine, "adam_step", 50000);
	}
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT103"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void the_hosts_own_work_bounds_the_gain(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		machine_kernel(&bench.machine, "elementwise_kernel", 2000000);
		machine_copy(&bench.machine, COPY_D2H, 4, MEMORY_PINNED, false);
		machine_sync(&bench.machine, "cudaStreamSynchronize", SYNC_STREAM);
		machine_work(&bench.machine, 50000000); /* the host needs 50 ms per step anyway */
		machine_kernel(&bench.machine, "adam_step", 50000);
	}
	bench_run(&bench);
	finding = bench_only(&bench, "GT103");
	assert_true(finding->cost_ms > 45);
	assert_true(finding->gain_high_ms < 3); /* at most the GPU's own 2 ms can be hidden */
	bench_fini(&bench);
}

static void without_gpu_times_it_is_not_judged(void **state)
{
	struct bench bench;
	struct script_call call = {.begin_ns = 0, .end_ns = 10, .thread = 1};

	(void)state;
	bench_init(&bench);
	script_add_copy(bench.script, &call, COPY_D2H, 4, MEMORY_DEVICE, MEMORY_PINNED);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT103"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(item_in_the_loop_is_raised_at_its_own_site),
		cmocka_unit_test(removing_the_waits_gains_what_the_range_says),
		cmocka_unit_test(blocking_copies_are_raised),
		cmocka_unit_test(small_blocking_uploads_are_silent),
		cmocka_unit_test(copies_outside_of_the_loop_are_silent),
		cmocka_unit_test(the_hosts_own_work_bounds_the_gain),
		cmocka_unit_test(without_gpu_times_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
