/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT505 sees work on the default stream and on another one that wait for each other.
 */
#include "rule_bench.h"

#include <string.h>

enum { DEFAULT = 0, SIDE = 0x55aa };

struct streams {
	uint64_t first, second; /* handles of the streams of the two kernels */
	bool overlap;
	bool events; /* the program orders them itself */
};

/* Each step launches two kernels at once; they run one after the other, or side by side. */
static void run_loop(struct bench *bench, const struct streams *streams)
{
	struct script *script;
	int64_t now_ns = 1000000;

	bench_init(bench);
	script = bench->script;
	for (int step = 0; step < 20; step++) {
		for (int i = 0; i < 3; i++) {
			struct script_call call = {.begin_ns = now_ns + i * 10000,
						   .end_ns = now_ns + i * 10000 + 5000,
						   .thread = 1,
						   .api = "cudaLaunchKernel",
						   .site = 7 + (uint64_t)i,
						   .flags = CALL_ASYNC,
						   .correlation = script_next_correlation(script)};
			const char *name = i == 0   ? "elementwise_kernel"
					   : i == 1 ? "softmax_kernel"
						    : "adam_step";
			int64_t begin_ns = now_ns + 40000 + i * 1002000;

			if (streams->overlap && i == 1)
				begin_ns = now_ns + 40000 + 2000;
			if (streams->events && i > 0) {
				struct script_call wait = {.begin_ns = call.begin_ns - 2000,
							   .end_ns = call.begin_ns - 1000,
							   .thread = 1,
							   .api = "cudaStreamWaitEvent"};

				script_add_plain(script, &wait);
			}
			script_use_launch_stream(script, i == 1 ? streams->second : streams->first);
			script_use_stream(script,
					  i == 1 && streams->second != streams->first ? 13 : 7);
			script_add_launch(script, &call, name);
			script_add_kernel(script, 0, name, call.correlation, begin_ns,
					  begin_ns + 1000000);
		}
		now_ns += 3100000;
	}
	bench_run(bench);
}

static void work_that_takes_turns_is_raised(void **state)
{
	struct streams streams = {DEFAULT, SIDE, false, false};
	const struct finding *finding;
	struct bench bench;

	(void)state;
	run_loop(&bench, &streams);
	finding = bench_only(&bench, "GT505");
	/* The second kernel waits for the first, the third for the second. */
	assert_float_equal(bench_number(finding, "waits_per_step"), 2, 0.2);
	assert_float_equal(bench_number(finding, "other_streams_ms_per_step"), 1, 0.01);
	assert_true(finding->gain_low_ms == 0);
	assert_true(finding->gain_high_ms <= 1.01);
	bench_fini(&bench);
}

static void two_blocking_streams_are_not_the_default_one(void **state)
{
	struct streams streams = {SIDE + 1, SIDE, false, false};
	struct bench bench;

	(void)state;
	run_loop(&bench, &streams);
	assert_int_equal(bench_status(&bench, "GT505"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void one_stream_is_silent(void **state)
{
	struct streams streams = {DEFAULT, DEFAULT, false, false};
	struct bench bench;

	(void)state;
	run_loop(&bench, &streams);
	assert_int_equal(bench_status(&bench, "GT505"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void work_that_overlaps_is_silent(void **state)
{
	struct streams streams = {DEFAULT, SIDE, true, false};
	struct bench bench;

	(void)state;
	run_loop(&bench, &streams);
	assert_int_equal(bench_status(&bench, "GT505"), JUDGED_SILENT);
	assert_non_null(strstr(bench_reason(&bench, "GT505"), "overlaps"));
	bench_fini(&bench);
}

static void streams_that_the_program_orders_are_not_judged(void **state)
{
	struct streams streams = {DEFAULT, SIDE, false, true};
	struct bench bench;

	(void)state;
	run_loop(&bench, &streams);
	assert_int_equal(bench_status(&bench, "GT505"), NOT_JUDGED);
	bench_fini(&bench);
}

static void recordings_without_streams_of_launches_are_not_judged(void **state)
{
	struct streams streams = {DEFAULT, SIDE, false, false};
	struct bench bench;

	(void)state;
	run_loop(&bench, &streams);
	model_free(bench.model);
	finding_list_free(&bench.findings);
	script_info(bench.script, "import.source", "trace.json");
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT505"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_that_takes_turns_is_raised),
		cmocka_unit_test(two_blocking_streams_are_not_the_default_one),
		cmocka_unit_test(one_stream_is_silent),
		cmocka_unit_test(work_that_overlaps_is_silent),
		cmocka_unit_test(streams_that_the_program_orders_are_not_judged),
		cmocka_unit_test(recordings_without_streams_of_launches_are_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
