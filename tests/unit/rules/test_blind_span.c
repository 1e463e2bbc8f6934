/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where something was not recorded for a while, the steps there are partial, idle time there is
 * nobody's, and what nothing complete is left of is not judged.
 */
#include "rule_bench.h"

#include <string.h>

#define MS 1000000ll

enum { STEPS = 20, KERNELS = 4 };

/* A step every 10 ms: four kernels of 2 ms behind each other, launched at once, the host waits.
 * Kernels launched in [off, on) have no record; nor has one that still runs at off. */
static void steps(struct bench *bench, int64_t off_ns, int64_t on_ns, int64_t ahead_ns)
{
	bench_init(bench);
	for (int step = 0; step < STEPS; step++) {
		int64_t host_ns = step * 10 * MS + MS, gpu_ns = host_ns + ahead_ns;

		script_add_mark_of(bench->script, MARK_API, "step", host_ns, host_ns + 10 * MS);
		for (int i = 0; i < KERNELS; i++) {
			struct script_call call = {.begin_ns = host_ns + i * 10000,
						   .end_ns = host_ns + i * 10000 + 5000,
						   .thread = 1,
						   .api = "cudaLaunchKernel",
						   .correlation =
							   script_next_correlation(bench->script)};
			int64_t begin_ns = gpu_ns + 20000 + i * 2 * MS, end_ns = begin_ns + 2 * MS;

			script_add_launch(bench->script, &call, "gelu_forward");
			if (call.begin_ns >= on_ns || end_ns <= off_ns)
				script_add_kernel(bench->script, 0, "gelu_forward",
						  call.correlation, begin_ns, end_ns);
		}
	}
	if (on_ns > off_ns)
		script_add_mark_of(bench->script, MARK_OWN, MARK_KERNELS_OFF, off_ns, on_ns);
	bench_run(bench);
}

static void steps_that_touch_a_blind_time_are_partial(void **state)
{
	struct bench bench;
	const struct step_list *list;

	(void)state;
	/* Off in the middle of step 8, on in the middle of step 12. */
	steps(&bench, 86 * MS, 126 * MS, 0);
	list = &bench.model->steps;
	assert_int_equal(list->count, STEPS);
	for (size_t i = 0; i < list->count; i++)
		assert_int_equal(list->items[i].kind == STEP_PARTIAL, i >= 8 && i <= 12);
	assert_int_equal(list->partial_count, 5);
	assert_int_equal(list->steady_count + list->warm_up_count, STEPS - 5);
	/* The means are those of whole steps: 8 ms of kernels in 10 ms (the last one in 8). */
	assert_in_range((int)(1000 * ledger_step_ms(&bench.model->devices[0].ledger)), 9800, 10000);
	assert_in_range(
		(int)(1000 * (double)ledger_compute(&bench.model->devices[0].ledger.steady) /
		      LEDGER_UNITS_PER_NS / 1e6 / (double)list->steady_count),
		7990, 8010);
	bench_fini(&bench);
}

static void idle_time_in_a_blind_time_is_unknown(void **state)
{
	struct bench bench;
	const struct ledger *whole;

	(void)state;
	steps(&bench, 86 * MS, 126 * MS, 0);
	whole = &bench.model->devices[0].ledger.whole;
	/* From the last kernel of step 8 that has a time to the first of step 13. */
	assert_in_range(whole->part[LEDGER_UNKNOWN] / LEDGER_UNITS_PER_NS, 45 * MS, 51 * MS);
	bench_fini(&bench);
	steps(&bench, 0, 0, 0);
	whole = &bench.model->devices[0].ledger.whole;
	assert_int_equal(whole->part[LEDGER_UNKNOWN], 0);
	assert_int_equal(bench.model->steps.partial_count, 0);
	bench_fini(&bench);
}

static void a_step_whose_kernels_were_in_flight_is_partial(void **state)
{
	struct bench bench;

	(void)state;
	/* The host is 25 ms ahead of the GPU: steps 6 and 7 were launched before the switch. */
	steps(&bench, 85 * MS, 125 * MS, 25 * MS);
	for (size_t i = 0; i < bench.model->steps.count; i++)
		assert_int_equal(bench.model->steps.items[i].kind == STEP_PARTIAL,
				 i >= 5 && i <= 12);
	bench_fini(&bench);
}

static void nothing_complete_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	steps(&bench, 5 * MS, 196 * MS, 0);
	assert_int_equal(bench.model->steps.steady_count, 0);
	assert_int_equal(bench_status(&bench, "GT204"), NOT_JUDGED);
	assert_non_null(strstr(bench_reason(&bench, "GT204"), "they were off for 9"));
	bench_fini(&bench);
	/* Enough is left: judged. */
	steps(&bench, 86 * MS, 126 * MS, 0);
	assert_int_not_equal(bench_status(&bench, "GT204"), NOT_JUDGED);
	bench_fini(&bench);
}

static void a_range_that_the_program_names_like_ours_hides_nothing(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_add_mark_of(bench.script, MARK_API, MARK_RECORDING_OFF, 0, 500 * MS);
	for (int i = 0; i < STEPS; i++)
		machine_kernel(&bench.machine, "gelu_forward", MS);
	bench_run(&bench);
	assert_int_equal(bench.model->blind_count, 0);
	bench_fini(&bench);
}

static void touching_blind_times_become_one(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int i = 0; i < STEPS; i++)
		machine_kernel(&bench.machine, "gelu_forward", 10 * MS);
	script_add_mark_of(bench.script, MARK_OWN, MARK_KERNELS_OFF, 50 * MS, 60 * MS);
	script_add_mark_of(bench.script, MARK_OWN, MARK_RECORDING_OFF, 10 * MS, 20 * MS);
	script_add_mark_of(bench.script, MARK_OWN, MARK_KERNELS_OFF, 15 * MS, 40 * MS);
	bench_run(&bench);
	assert_int_equal(bench.model->blind_count, 2);
	assert_int_equal(blind_span_total_ns(bench.model), 40 * MS);
	assert_true(blind_span_touches(bench.model, 0, 10 * MS + 1));
	assert_true(blind_span_touches(bench.model, 39 * MS, 41 * MS));
	assert_false(blind_span_touches(bench.model, 40 * MS, 50 * MS));
	assert_false(blind_span_touches(bench.model, 60 * MS, 70 * MS));
	bench_fini(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_that_touch_a_blind_time_are_partial),
		cmocka_unit_test(idle_time_in_a_blind_time_is_unknown),
		cmocka_unit_test(a_step_whose_kernels_were_in_flight_is_partial),
		cmocka_unit_test(nothing_complete_is_not_judged),
		cmocka_unit_test(a_range_that_the_program_names_like_ours_hides_nothing),
		cmocka_unit_test(touching_blind_times_become_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
