/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is missing in a recording is said, and a whole one says nothing.
 */
#include "machine_bench.h"
#include "rule_bench.h"

#include <string.h>

#include "quality.h"

static const struct quality_line *line_of(const struct quality *quality, const char *id)
{
	for (size_t i = 0; i < quality->count; i++) {
		if (!strcmp(quality->lines[i].id, id))
			return &quality->lines[i];
	}
	return NULL;
}

static void run_loop(struct bench *bench)
{
	bench_init(bench);
	for (int step = 0; step < 10; step++) {
		machine_kernel(&bench->machine, "elementwise_kernel", 30000);
		machine_kernel(&bench->machine, "adam_step", 50000);
	}
}

static void a_whole_recording_has_no_quality_lines(void **state)
{
	struct quality quality;
	struct bench bench;

	(void)state;
	run_loop(&bench);
	bench_run(&bench);
	quality_check(bench.model, &quality);
	assert_int_equal(quality.count, 0);
	quality_free(&quality);
	bench_fini(&bench);
}

static void lost_events_are_counted(void **state)
{
	struct quality quality;
	struct bench bench;

	(void)state;
	run_loop(&bench);
	script_health(bench.script)->lost_total = 321;
	bench_run(&bench);
	quality_check(bench.model, &quality);
	assert_non_null(line_of(&quality, "GT901"));
	assert_float_equal(line_of(&quality, "GT901")->value, 321, 0);
	quality_free(&quality);
	bench_fini(&bench);
}

static void absent_gpu_times_are_said_with_the_reason(void **state)
{
	struct script_call call = {.begin_ns = 0, .end_ns = 10, .thread = 1};
	struct quality quality;
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_add_launch(bench.script, &call, "k");
	script_info(bench.script, QUALITY_GPU_REASON_KEY, "another tool holds CUPTI");
	bench_run(&bench);
	quality_check(bench.model, &quality);
	assert_non_null(line_of(&quality, "GT902"));
	assert_non_null(strstr(line_of(&quality, "GT902")->text, "another tool holds CUPTI"));
	quality_free(&quality);
	bench_fini(&bench);
}

static void a_file_without_an_end_says_how_far_it_is_complete(void **state)
{
	struct quality quality;
	struct bench bench;

	(void)state;
	run_loop(&bench);
	script_health(bench.script)->session_end = 0;
	script_health(bench.script)->host_complete_ns = 1500000000;
	script_health(bench.script)->gpu_complete_ns = 1250000000;
	bench_run(&bench);
	quality_check(bench.model, &quality);
	assert_non_null(line_of(&quality, "GT904"));
	assert_non_null(strstr(line_of(&quality, "GT904")->text, "1.500 s"));
	assert_non_null(strstr(line_of(&quality, "GT904")->text, "1.250 s"));
	quality_free(&quality);
	bench_fini(&bench);
}

static void a_file_cut_inside_its_first_group_promises_nothing(void **state)
{
	struct quality quality;
	struct bench bench;

	(void)state;
	run_loop(&bench);
	script_health(bench.script)->session_end = 0;
	script_health(bench.script)->host_complete_ns = 0;
	script_health(bench.script)->damaged_bytes = 100;
	bench_run(&bench);
	quality_check(bench.model, &quality);
	assert_non_null(strstr(line_of(&quality, "GT904")->text, "nothing is complete for sure"));
	assert_null(strstr(line_of(&quality, "GT904")->text, "0.000 s"));
	quality_free(&quality);
	bench_fini(&bench);
}

static void work_without_a_launch_is_counted(void **state)
{
	struct quality quality;
	struct bench bench;

	(void)state;
	run_loop(&bench);
	for (int i = 0; i < 3; i++)
		script_add_kernel(bench.script, 0, "softmax", 0, 100 * i, 100 * i + 50);
	bench_run(&bench);
	quality_check(bench.model, &quality);
	assert_non_null(line_of(&quality, "GT907"));
	assert_float_equal(line_of(&quality, "GT907")->value, 3, 0);
	quality_free(&quality);
	bench_fini(&bench);
}

static void time_without_records_is_told(void **state)
{
	struct quality quality;
	struct bench bench;

	(void)state;
	run_loop(&bench);
	bench_run(&bench);
	quality_check(bench.model, &quality);
	assert_null(line_of(&quality, "GT908"));
	quality_free(&quality);
	bench_fini(&bench);
	run_loop(&bench);
	script_add_mark_of(bench.script, MARK_OWN, MARK_RECORDING_OFF,
			   bench.machine.host_ns - 50000, bench.machine.host_ns + 1000000000);
	bench_run(&bench);
	quality_check(bench.model, &quality);
	assert_non_null(line_of(&quality, "GT908"));
	/* Less than all of it, although it ends long after the last record. */
	assert_in_range((int)(100 * line_of(&quality, "GT908")->value), 1, 9900);
	assert_float_equal(line_of(&quality, "GT908")->value, blind_span_percent(bench.model), 0);
	quality_free(&quality);
	bench_fini(&bench);
}

/* Ten launches per step whose work begins `early_ns` before its launch does. */
static void run_shifted(struct bench *bench, int64_t early_ns)
{
	bench_init(bench);
	for (int i = 0; i < 400; i++) {
		struct script_call call = {.begin_ns = 1000000 + i * 100000,
					   .end_ns = 1005000 + i * 100000,
					   .thread = 1,
					   .api = "cudaLaunchKernel",
					   .flags = CALL_ASYNC,
					   .correlation = script_next_correlation(bench->script)};
		int64_t begin_ns = call.begin_ns - early_ns;

		script_add_launch(bench->script, &call, "elementwise_kernel");
		script_add_kernel(bench->script, 0, "elementwise_kernel", call.correlation,
				  begin_ns, begin_ns + 60000);
	}
	bench_run(bench);
}

static void clocks_that_disagree_by_more_than_the_gaps_are_said(void **state)
{
	struct quality quality;
	struct bench bench;

	(void)state;
	run_shifted(&bench, 70000);
	quality_check(bench.model, &quality);
	assert_non_null(line_of(&quality, "GT905"));
	assert_float_equal(line_of(&quality, "GT905")->value, 70, 0.001);
	quality_free(&quality);
	bench_fini(&bench);
}

static void clocks_that_agree_well_enough_are_not_mentioned(void **state)
{
	/* Within what judging allows; longer than that, and every gap is longer still. */
	static const int64_t early_ns[] = {-7000, 15000, 30000};
	struct quality quality;
	struct bench bench;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		run_shifted(&bench, early_ns[i]);
		quality_check(bench.model, &quality);
		assert_null(line_of(&quality, "GT905"));
		quality_free(&quality);
		bench_fini(&bench);
	}
}

static void check_overhead(const char *cpu_us, const char *cpus, int steps, bool is_said)
{
	struct quality quality;
	struct bench bench;

	bench_init(&bench);
	script_info(bench.script, "collector.cpu_us", cpu_us);
	script_info(bench.script, "process.cpu_count", cpus);
	for (int step = 0; step < steps; step++) {
		machine_kernel(&bench.machine, "elementwise_kernel", 9000000);
		machine_kernel(&bench.machine, "adam_step", 1000000);
	}
	bench_run(&bench);
	quality_check(bench.model, &quality);
	assert_int_equal(line_of(&quality, "GT906") != NULL, is_said);
	if (is_said)
		assert_float_equal(line_of(&quality, "GT906")->value, 5, 0.1);
	quality_free(&quality);
	bench_fini(&bench);
}

static void a_collector_that_takes_a_share_of_the_cpus_is_said(void **state)
{
	(void)state;
	check_overhead("200000", "2", 200, true);
	check_overhead("200000", "64", 200, false);
	check_overhead("20000", "2", 200, false);
	check_overhead("50000", "2", 50, false); /* half a second: the collector's start */
}

static void what_was_not_kept_is_said(void **state)
{
	static const struct {
		const char *id, *key, *value;
		double number;
	} cases[] = {
		{"GT909", "rotation.dropped_bytes", "3145728", 3145728},
		{"GT910", "recovered.lost_records", "17", 17},
		{"GT911", "calls.source", "CUPTI's callbacks", 1},
		{"GT913", "calls.past", "libplugin.so: cudaMalloc, cudaFree", 1},
		{"GT913", "calls.past", "liba.so: cudaMalloc; libb.so: cudaFree", 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct quality quality;
		struct bench bench;

		run_loop(&bench);
		script_info(bench.script, cases[i].key, cases[i].value);
		if (i == 0)
			script_info(bench.script, "rotation.dropped_segments", "2");
		bench_run(&bench);
		quality_check(bench.model, &quality);
		assert_int_equal(quality.count, 1);
		assert_non_null(line_of(&quality, cases[i].id));
		assert_float_equal(line_of(&quality, cases[i].id)->value, cases[i].number, 0);
		quality_free(&quality);
		bench_fini(&bench);
	}
}

/* Ten seconds in which the GPU works, or rests, for most of the time, with a sample each. */
static const struct quality_line *counter_line(struct quality *quality, struct bench *bench,
					       int64_t work_ns, int64_t percent)
{
	bench_init(bench);
	for (int i = 0; i < 10; i++) {
		for (int part = 0; part < 10; part++) {
			machine_kernel(&bench->machine, "elementwise_kernel", work_ns / 10);
			machine_work(&bench->machine, 1000000000 / 10);
		}
		bench_sample(bench, SAMPLE_gpu_busy_percent, bench->machine.host_ns, percent);
	}
	bench_run(bench);
	quality_check(bench->model, quality);
	return line_of(quality, "GT912");
}

static void a_busy_counter_of_zeros_beside_kernels_is_unavailable_not_idle(void **state)
{
	const struct quality_line *line;
	struct quality quality;
	struct bench bench;

	(void)state;
	line = counter_line(&quality, &bench, 900000000, 0);
	assert_non_null(line);
	assert_true(line->value >= 3);
	assert_non_null(strstr(line->text, "unavailable"));
	assert_non_null(strstr(line->text, "not idle"));
	quality_free(&quality);
	bench_fini(&bench);
}

static void a_busy_counter_that_counts_is_not_mentioned(void **state)
{
	struct quality quality;
	struct bench bench;

	(void)state;
	assert_null(counter_line(&quality, &bench, 900000000, 90));
	quality_free(&quality);
	bench_fini(&bench);
}

static void zeros_of_an_idle_gpu_are_right(void **state)
{
	struct quality quality;
	struct bench bench;

	(void)state;
	assert_null(counter_line(&quality, &bench, 1000000, 0));
	quality_free(&quality);
	bench_fini(&bench);
}

static void every_line_has_a_page(void **state)
{
	const char *id, *title;

	(void)state;
	for (size_t i = 0; (id = quality_id(i, &title)); i++) {
		const char *other, *other_title;

		for (size_t k = 0; k < i && (other = quality_id(k, &other_title)); k++)
			assert_string_not_equal(id, other);
		assert_non_null(title);
		assert_non_null(quality_page(id));
	}
	assert_null(quality_page("GT999"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_recording_has_no_quality_lines),
		cmocka_unit_test(lost_events_are_counted),
		cmocka_unit_test(absent_gpu_times_are_said_with_the_reason),
		cmocka_unit_test(a_file_without_an_end_says_how_far_it_is_complete),
		cmocka_unit_test(a_file_cut_inside_its_first_group_promises_nothing),
		cmocka_unit_test(work_without_a_launch_is_counted),
		cmocka_unit_test(time_without_records_is_told),
		cmocka_unit_test(clocks_that_disagree_by_more_than_the_gaps_are_said),
		cmocka_unit_test(clocks_that_agree_well_enough_are_not_mentioned),
		cmocka_unit_test(a_collector_that_takes_a_share_of_the_cpus_is_said),
		cmocka_unit_test(what_was_not_kept_is_said),
		cmocka_unit_test(a_busy_counter_of_zeros_beside_kernels_is_unavailable_not_idle),
		cmocka_unit_test(a_busy_counter_that_counts_is_not_mentioned),
		cmocka_unit_test(zeros_of_an_idle_gpu_are_right),
		cmocka_unit_test(every_line_has_a_page),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
