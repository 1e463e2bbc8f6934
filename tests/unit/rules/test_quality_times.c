/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said of GPU times that are there in part: what CUPTI refused, who else has one, launches
 * without a time, times of some operations only. A whole recording says nothing.
 */
#include "machine_bench.h"
#include "rule_bench.h"

#include <string.h>

#include "quality.h"
#include "trace_file.h"

#define LAUNCHES 200

static const char *text_of(const struct quality *quality, const char *id)
{
	for (size_t i = 0; i < quality->count; i++) {
		if (!strcmp(quality->lines[i].id, id))
			return quality->lines[i].text;
	}
	return NULL;
}

/* Launches of which those from `first_missing` up to `end_missing` have no kernel. */
static void launch_from(struct bench *bench, const char *source, int first_missing, int end_missing,
			bool has_callbacks)
{
	bench_init(bench);
	script_info(bench->script, "gpu_times.source", source);
	script_health(bench->script)->session_end = SESSION_EXITED;
	for (int i = 0; i < LAUNCHES; i++) {
		bool is_missing = i >= first_missing && i < end_missing;
		struct script_call call = {.begin_ns = i * 10000,
					   .end_ns = i * 10000 + 5000,
					   .thread = 1,
					   .api = "cudaLaunchKernel"};

		call.correlation = is_missing && !has_callbacks ? 0 : (uint32_t)i + 1;
		script_add_launch(bench->script, &call, "k");
		if (!is_missing)
			script_add_kernel(bench->script, 0, "k", (uint32_t)i + 1, i * 10000 + 6000,
					  i * 10000 + 9000);
	}
}

static void launch(struct bench *bench, int first_missing, int end_missing, bool has_callbacks)
{
	launch_from(bench, "cupti 130000", first_missing, end_missing, has_callbacks);
}

static void judge(struct bench *bench, struct quality *quality)
{
	bench_run(bench);
	quality_check(bench->model, quality);
}

static void finish(struct bench *bench, struct quality *quality)
{
	quality_free(quality);
	bench_fini(bench);
}

static void times_that_are_whole_are_not_mentioned(void **state)
{
	struct quality quality;
	struct bench bench;

	(void)state;
	launch(&bench, 0, 0, true);
	judge(&bench, &quality);
	assert_int_equal(quality.count, 0);
	finish(&bench, &quality);
}

static void what_cupti_refused_is_said_in_its_words(void **state)
{
	static const char *const keys[] = {"gpu_times.missing", "gpu_times.failed",
					   "gpu_times.flush"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct quality quality;
		struct bench bench;

		launch(&bench, 0, 0, true);
		script_info(bench.script, keys[i], "sets (error 27)");
		judge(&bench, &quality);
		assert_int_equal(quality.count, 1);
		assert_non_null(strstr(text_of(&quality, "GT915"), "sets (error 27)"));
		finish(&bench, &quality);
	}
}

static void a_second_cupti_is_said_by_its_path(void **state)
{
	struct quality quality;
	struct bench bench;

	(void)state;
	launch(&bench, 0, 0, true);
	script_info(bench.script, "gpu_times.second_cupti", "a second CUPTI is loaded, /x/y.so");
	judge(&bench, &quality);
	assert_int_equal(quality.count, 1);
	assert_non_null(strstr(text_of(&quality, "GT916"), "/x/y.so"));
	finish(&bench, &quality);
}

static void launches_after_the_last_time_are_counted(void **state)
{
	struct quality quality;
	struct bench bench;

	(void)state;
	launch(&bench, 150, LAUNCHES, false);
	judge(&bench, &quality);
	assert_non_null(text_of(&quality, "GT917"));
	assert_non_null(strstr(text_of(&quality, "GT917"), "50 of 200 launches"));
	assert_non_null(strstr(text_of(&quality, "GT917"), "none has after 0.001 s"));
	assert_non_null(strstr(text_of(&quality, "GT917"), "did not come"));
	finish(&bench, &quality);
}

static void launches_without_times_in_between_had_callbacks(void **state)
{
	struct quality quality;
	struct bench bench;

	(void)state;
	launch(&bench, 50, 80, true);
	judge(&bench, &quality);
	assert_non_null(strstr(text_of(&quality, "GT917"), "30 of 200 launches"));
	assert_null(strstr(text_of(&quality, "GT917"), "none has after"));
	assert_non_null(strstr(text_of(&quality, "GT917"), "came for 30 of them"));
	finish(&bench, &quality);
}

static void a_cupti_that_told_nothing_at_all_is_said(void **state)
{
	struct quality quality;
	struct bench bench;

	(void)state;
	launch(&bench, 0, LAUNCHES, false);
	judge(&bench, &quality);
	assert_non_null(text_of(&quality, "GT902"));
	assert_non_null(strstr(text_of(&quality, "GT917"), "200 of 200 launches"));
	finish(&bench, &quality);
}

static void missing_times_that_are_explained_are_not_said_twice(void **state)
{
	(void)state;
	for (int reason = 0; reason < 5; reason++) {
		struct quality quality;
		struct bench bench;

		launch_from(&bench, reason == 3 ? "PyTorch profiler" : "cupti 130000", 150,
			    LAUNCHES, false);
		if (reason == 0)
			script_health(bench.script)->lost_total = 50;
		else if (reason == 1)
			script_health(bench.script)->session_end = SESSION_KILLED;
		else if (reason == 2)
			script_info(bench.script, "gpu_times.missing", "kernels (error 2)");
		else if (reason == 4)
			script_add_mark_of(bench.script, MARK_OWN, MARK_RECORDING_OFF, 1500000,
					   2000000);
		judge(&bench, &quality);
		assert_null(text_of(&quality, "GT917"));
		finish(&bench, &quality);
	}
}

static void a_few_launches_at_the_end_are_not_missed(void **state)
{
	struct quality quality;
	struct bench bench;

	(void)state;
	launch(&bench, LAUNCHES - 9, LAUNCHES, true);
	judge(&bench, &quality);
	assert_int_equal(quality.count, 0);
	finish(&bench, &quality);
}

static void launches_that_events_did_not_time_are_counted(void **state)
{
	struct quality quality;
	struct bench bench;

	(void)state;
	launch_from(&bench, "events", 20, LAUNCHES, true);
	judge(&bench, &quality);
	assert_non_null(strstr(text_of(&quality, "GT902"), "180 of 200 launches have no time"));
	assert_null(text_of(&quality, "GT917"));
	finish(&bench, &quality);

	launch_from(&bench, "events", 0, 0, true);
	judge(&bench, &quality);
	assert_null(strstr(text_of(&quality, "GT902"), "have no time"));
	assert_non_null(strstr(text_of(&quality, "GT902"), "cannot be made"));
	finish(&bench, &quality);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_that_are_whole_are_not_mentioned),
		cmocka_unit_test(what_cupti_refused_is_said_in_its_words),
		cmocka_unit_test(a_second_cupti_is_said_by_its_path),
		cmocka_unit_test(launches_after_the_last_time_are_counted),
		cmocka_unit_test(launches_without_times_in_between_had_callbacks),
		cmocka_unit_test(a_cupti_that_told_nothing_at_all_is_said),
		cmocka_unit_test(missing_times_that_are_explained_are_not_said_twice),
		cmocka_unit_test(a_few_launches_at_the_end_are_not_missed),
		cmocka_unit_test(launches_that_events_did_not_time_are_counted),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
