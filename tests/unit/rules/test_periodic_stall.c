/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT504 sees stalls that come back after a number of steps, and knows a checkpoint.
 */
#include "rule_bench.h"

#include <string.h>

#define STATE_BYTES (64u << 20)

struct stalls {
	int steps, first, every; /* every 0: at the steps of `at` */
	const int *at;
	size_t at_count;
	int64_t stall_ns;
	bool saves;
	int noise_at; /* a stall of 8 ms in this step; 0 none */
};

static bool is_stalled(const struct stalls *stalls, int step)
{
	for (size_t i = 0; i < stalls->at_count; i++) {
		if (stalls->at[i] == step)
			return true;
	}
	return stalls->every && step >= stalls->first &&
	       (step - stalls->first) % stalls->every == 0;
}

static void run_loop(struct bench *bench, const struct stalls *stalls)
{
	struct script_call allocation = {
		.begin_ns = 1000, .end_ns = 2000, .thread = 1, .api = "cudaMalloc"};

	bench_init(bench);
	script_add_memory(bench->script, &allocation, MEMORY_ALLOC, MEMORY_DEVICE, 0x7f0000000000,
			  STATE_BYTES);
	for (int step = 0; step < stalls->steps; step++) {
		bench->machine.site = 8;
		/* The host runs ahead by no more than a step. */
		machine_sync(&bench->machine, "cudaDeviceSynchronize", SYNC_DEVICE);
		for (int i = 0; i < 10; i++)
			machine_kernel(&bench->machine, "elementwise_kernel", 400000);
		machine_kernel(&bench->machine, "adam_step", 100000);
		if (stalls->noise_at && step == stalls->noise_at)
			machine_work(&bench->machine, 8000000);
		if (!is_stalled(stalls, step))
			continue;
		bench->machine.site = 9;
		if (stalls->saves)
			machine_copy(&bench->machine, COPY_D2H, STATE_BYTES, MEMORY_PAGEABLE, true);
		machine_work(&bench->machine, stalls->stall_ns);
	}
	bench_run(bench);
}

static void garbage_collection_every_tenth_step_is_raised_with_its_period(void **state)
{
	struct stalls stalls = {.steps = 65, .first = 9, .every = 10, .stall_ns = 50000000};
	const struct finding *finding;
	struct bench bench;

	(void)state;
	run_loop(&bench, &stalls);
	finding = bench_only(&bench, "GT504");
	assert_float_equal(bench_number(finding, "period_steps"), 10, 0);
	assert_float_equal(bench_number(finding, "stalls"), 6, 0);
	assert_float_equal(bench_number(finding, "mean_stall_ms"), 46, 1);
	assert_string_equal(bench_text(finding, "looks_like"), "host stall");
	assert_non_null(strstr(finding->summary, "no GPU work is queued"));
	bench_fini(&bench);
}

static void saving_the_state_is_named_a_checkpoint(void **state)
{
	struct stalls stalls = {
		.steps = 65, .first = 9, .every = 10, .stall_ns = 50000000, .saves = true};
	const struct finding *finding;
	struct bench bench;

	(void)state;
	run_loop(&bench, &stalls);
	finding = bench_only(&bench, "GT504");
	assert_string_equal(bench_text(finding, "looks_like"), "checkpoint");
	bench_fini(&bench);
}

/* marin#9205: 1.45 s every 258 to 273 steps. */
static void distances_may_differ_by_a_tenth(void **state)
{
	static const int at[] = {258, 531, 793, 1060, 1325};
	struct stalls stalls = {.steps = 1500, .at = at, .at_count = 5, .stall_ns = 1450000000};
	const struct finding *finding;
	struct bench bench;

	(void)state;
	run_loop(&bench, &stalls);
	finding = bench_only(&bench, "GT504");
	assert_in_range((uint64_t)bench_number(finding, "period_steps"), 258, 273);
	assert_float_equal(bench_number(finding, "shortest_period_steps"), 262, 0);
	assert_float_equal(bench_number(finding, "longest_period_steps"), 273, 0);
	assert_float_equal(bench_number(finding, "mean_stall_ms"), 1446, 2);
	bench_fini(&bench);
}

static void a_short_stall_between_is_noise(void **state)
{
	static const int at[] = {9, 19, 29, 39, 49, 59};
	struct stalls stalls = {
		.steps = 65, .at = at, .at_count = 6, .stall_ns = 50000000, .noise_at = 24};
	struct bench bench;

	(void)state;
	run_loop(&bench, &stalls);
	assert_float_equal(bench_number(bench_only(&bench, "GT504"), "stalls"), 6, 0);
	assert_int_equal(bench_count(&bench, "GT508"), 0);
	bench_fini(&bench);
}

static void stalls_without_a_period_belong_to_slow_steps(void **state)
{
	static const int at[] = {11, 15, 37, 58};
	struct stalls stalls = {.steps = 65, .at = at, .at_count = 4, .stall_ns = 50000000};
	struct bench bench;

	(void)state;
	run_loop(&bench, &stalls);
	assert_int_equal(bench_status(&bench, "GT504"), JUDGED_SILENT);
	assert_int_equal(bench_count(&bench, "GT508"), 1);
	bench_fini(&bench);
}

static void two_stalls_make_no_period(void **state)
{
	struct stalls stalls = {.steps = 30, .first = 9, .every = 10, .stall_ns = 50000000};
	struct bench bench;

	(void)state;
	run_loop(&bench, &stalls);
	assert_int_equal(bench_status(&bench, "GT504"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_steady_loop_is_silent(void **state)
{
	struct stalls stalls = {.steps = 65};
	struct bench bench;

	(void)state;
	run_loop(&bench, &stalls);
	assert_int_equal(bench_status(&bench, "GT504"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void what_happens_in_every_other_step_is_no_exception(void **state)
{
	struct stalls stalls = {.steps = 65, .first = 1, .every = 2, .stall_ns = 50000000};
	struct bench bench;

	(void)state;
	run_loop(&bench, &stalls);
	assert_int_equal(bench_count(&bench, "GT504"), 0);
	bench_fini(&bench);
}

static void few_steps_are_not_judged(void **state)
{
	struct stalls stalls = {.steps = 7};
	struct bench bench;

	(void)state;
	run_loop(&bench, &stalls);
	assert_int_equal(bench_status(&bench, "GT504"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(garbage_collection_every_tenth_step_is_raised_with_its_period),
		cmocka_unit_test(saving_the_state_is_named_a_checkpoint),
		cmocka_unit_test(distances_may_differ_by_a_tenth),
		cmocka_unit_test(a_short_stall_between_is_noise),
		cmocka_unit_test(stalls_without_a_period_belong_to_slow_steps),
		cmocka_unit_test(two_stalls_make_no_period),
		cmocka_unit_test(a_steady_loop_is_silent),
		cmocka_unit_test(what_happens_in_every_other_step_is_no_exception),
		cmocka_unit_test(few_steps_are_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
