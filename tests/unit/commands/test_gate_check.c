/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gate compares what can be compared, judges it, and names what changed.
 */
#include "unit_test.h"

#include <stdio.h>
#include <string.h>

#include "gate_check.h"
#include "gate_report.h"
#include "model_script.h"

struct run_options {
	const char *gpu;
	uint32_t vocabulary;
	int steps, extra_kernels;
	int64_t product_ns;
	bool has_item;
	uint64_t upload_bytes, memory_bytes;
};

static const struct run_options plain = {
	.gpu = "NVIDIA A100-SXM4-80GB",
	.vocabulary = 50304,
	.steps = 30,
	.product_ns = 400000,
	.upload_bytes = 1 << 20,
	.memory_bytes = 1 << 30,
};

static struct model *make_run(const struct run_options *options, struct script **script)
{
	struct record_gemm head = script_gemm_f16(options->vocabulary, 1024, 768);
	struct machine machine;
	struct script_call allocation = {
		.begin_ns = 0, .end_ns = 100, .thread = 1, .api = "cudaMalloc"};

	*script = script_new(options->gpu, 108, 4, 16);
	machine_init(&machine, *script);
	script_add_memory(*script, &allocation, MEMORY_ALLOC, MEMORY_DEVICE, 0x1000000,
			  options->memory_bytes);
	for (int step = 0; step < options->steps; step++) {
		machine_copy(&machine, COPY_H2D, options->upload_bytes, MEMORY_PINNED, false);
		for (int i = 0; i < 12 + options->extra_kernels; i++)
			machine_kernel(&machine, "softmax_kernel", 30000 + step % 3 * 500);
		machine_gemm(&machine, &head, "ampere_fp16_s16816gemm", options->product_ns);
		machine_kernel(&machine, "adam_step", 50000);
		if (options->has_item) {
			machine_copy(&machine, COPY_D2H, 4, MEMORY_PINNED, false);
			machine_sync(&machine, "cudaStreamSynchronize", SYNC_STREAM);
		}
	}
	return script_model(*script);
}

struct pair {
	struct script *scripts[2];
	struct model *now, *then;
	struct gate_result result;
};

static void pair_run(struct pair *pair, const struct run_options *now,
		     const struct run_options *then, const struct gate_options *options)
{
	struct gate_options defaults;
	const struct model *current, *baseline;

	gate_options_init(&defaults);
	pair->now = make_run(now, &pair->scripts[0]);
	pair->then = make_run(then, &pair->scripts[1]);
	current = pair->now;
	baseline = pair->then;
	gate_run(options ? options : &defaults, &current, 1, &baseline, 1, &pair->result);
}

static void pair_fini(struct pair *pair)
{
	gate_result_free(&pair->result);
	model_free(pair->now);
	model_free(pair->then);
	script_free(pair->scripts[0]);
	script_free(pair->scripts[1]);
}

static enum gate_status status_of(const struct pair *pair, enum step_metric metric)
{
	for (size_t i = 0; i < pair->result.count; i++) {
		if (pair->result.checks[i].metric == metric)
			return pair->result.checks[i].status;
	}
	fail_msg("no check of %s", step_metric_key(metric));
	return GATE_FAIL;
}

static bool names_change(const struct pair *pair, const char *text)
{
	for (size_t i = 0; i < pair->result.change_count; i++) {
		if (strstr(pair->result.changes[i].text, text))
			return true;
	}
	return false;
}

static void the_same_run_passes_and_names_nothing(void **state)
{
	struct pair pair;

	(void)state;
	pair_run(&pair, &plain, &plain, NULL);
	assert_int_equal(pair.result.status, GATE_PASS);
	assert_int_equal(pair.result.count, STEP_METRIC_COUNT);
	assert_int_equal(pair.result.change_count, 0);
	pair_fini(&pair);
}

static void an_unpadded_vocabulary_fails_and_is_named_first(void **state)
{
	struct run_options now = plain;
	struct pair pair;

	(void)state;
	now.vocabulary = 50257;
	now.product_ns = 700000;
	pair_run(&pair, &now, &plain, NULL);
	assert_int_equal(pair.result.status, GATE_FAIL);
	assert_int_equal(status_of(&pair, METRIC_STEP_TIME), GATE_FAIL);
	assert_int_equal(status_of(&pair, METRIC_LAUNCHES), GATE_PASS);
	assert_true(pair.result.change_count > 0);
	assert_non_null(strstr(pair.result.changes[0].text, "product m 50304 -> 50257"));
	pair_fini(&pair);
}

static void more_launches_fail_by_count_and_kernel_name(void **state)
{
	struct run_options now = plain;
	struct pair pair;

	(void)state;
	now.extra_kernels = 3;
	pair_run(&pair, &now, &plain, NULL);
	assert_int_equal(status_of(&pair, METRIC_LAUNCHES), GATE_FAIL);
	assert_true(names_change(&pair, "kernel softmax_kernel: 12 -> 15 per step"));
	pair_fini(&pair);
}

static void a_new_wait_is_named(void **state)
{
	struct run_options now = plain;
	struct pair pair;

	(void)state;
	now.has_item = true;
	pair_run(&pair, &now, &plain, NULL);
	assert_true(names_change(&pair, "new: wait cudaStreamSynchronize"));
	assert_true(names_change(&pair, "new: D2H copy of 4 bytes"));
	pair_fini(&pair);
}

static void more_bytes_and_memory_fail(void **state)
{
	struct run_options now = plain;
	struct pair pair;

	(void)state;
	now.upload_bytes = 2 << 20;
	now.memory_bytes = 3ull << 29;
	pair_run(&pair, &now, &plain, NULL);
	assert_int_equal(status_of(&pair, METRIC_BYTES), GATE_FAIL);
	assert_int_equal(status_of(&pair, METRIC_PEAK_MEMORY), GATE_FAIL);
	pair_fini(&pair);
}

static void another_gpu_is_not_comparable(void **state)
{
	struct run_options now = plain;
	struct gate_options options;
	struct pair pair;

	(void)state;
	now.gpu = "NVIDIA H100 80GB HBM3";
	pair_run(&pair, &now, &plain, NULL);
	assert_int_equal(pair.result.status, GATE_INCONCLUSIVE);
	assert_non_null(strstr(pair.result.baseline.mismatch, "H100"));
	assert_int_equal(pair.result.count, 0);
	pair_fini(&pair);
	gate_options_init(&options);
	options.allows_mismatch = true;
	pair_run(&pair, &now, &plain, &options);
	assert_int_equal(pair.result.status, GATE_PASS);
	assert_non_null(pair.result.baseline.mismatch);
	pair_fini(&pair);
}

static void simulated_against_real_is_not_comparable(void **state)
{
	struct gate_options options;
	struct script *scripts[2];
	struct gate_result result;
	struct model *now, *then;
	const struct model *current, *baseline;

	(void)state;
	gate_options_init(&options);
	now = make_run(&plain, &scripts[0]);
	then = make_run(&plain, &scripts[1]);
	now->devices[0].is_simulated = true;
	current = now;
	baseline = then;
	gate_run(&options, &current, 1, &baseline, 1, &result);
	assert_int_equal(result.status, GATE_INCONCLUSIVE);
	assert_non_null(strstr(result.baseline.mismatch, "simulated"));
	gate_result_free(&result);
	model_free(now);
	model_free(then);
	script_free(scripts[0]);
	script_free(scripts[1]);
}

static void another_driver_is_not_comparable(void **state)
{
	struct gate_options options;
	struct script *scripts[2];
	struct gate_result result;
	struct model *now, *then;
	const struct model *current, *baseline;

	(void)state;
	gate_options_init(&options);
	now = make_run(&plain, &scripts[0]);
	then = make_run(&plain, &scripts[1]);
	script_info(scripts[0], "cuda.driver_version", "13000");
	script_info(scripts[1], "cuda.driver_version", "12080");
	current = now;
	baseline = then;
	gate_run(&options, &current, 1, &baseline, 1, &result);
	assert_int_equal(result.status, GATE_INCONCLUSIVE);
	assert_non_null(strstr(result.baseline.mismatch, "driver"));
	gate_result_free(&result);
	model_free(now);
	model_free(then);
	script_free(scripts[0]);
	script_free(scripts[1]);
}

static void too_few_steps_are_not_judged(void **state)
{
	struct run_options now = plain;
	struct pair pair;

	(void)state;
	now.steps = 5;
	pair_run(&pair, &now, &plain, NULL);
	assert_int_equal(pair.result.status, GATE_TOO_FEW);
	assert_int_equal(status_of(&pair, METRIC_STEP_TIME), GATE_TOO_FEW);
	pair_fini(&pair);
}

static void limits_are_judged_without_a_baseline(void **state)
{
	struct gate_options options;
	struct gate_result result;
	struct script *script;
	struct model *model = make_run(&plain, &script);
	const struct model *current = model;

	(void)state;
	gate_options_init(&options);
	options.limit[METRIC_STEP_TIME] = 100;
	options.limit[METRIC_LAUNCHES] = 10;
	gate_run(&options, &current, 1, NULL, 0, &result);
	assert_int_equal(result.count, 2);
	assert_int_equal(result.checks[0].status, GATE_PASS);
	assert_int_equal(result.checks[1].status, GATE_FAIL);
	assert_int_equal(result.status, GATE_FAIL);
	gate_result_free(&result);
	model_free(model);
	script_free(script);
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		count++;
	return count;
}

static void ci_servers_get_a_case_per_check(void **state)
{
	struct run_options slow = plain;
	const struct model *current;
	struct pair pair;
	struct text xml;

	(void)state;
	slow.product_ns *= 3;
	pair_run(&pair, &slow, &plain, NULL);
	current = pair.now;
	text_init(&xml);
	gate_add_junit(&xml, &pair.result, &current);
	assert_int_equal(count_of(text_string(&xml), "<testcase "), pair.result.count);
	assert_int_equal(count_of(text_string(&xml), "<failure "), 1);
	assert_non_null(strstr(text_string(&xml), "failures=\"1\" errors=\"0\""));
	assert_non_null(strstr(text_string(&xml), "name=\"step_time_ms GPU 0 of "));
	assert_int_equal(count_of(text_string(&xml), "</testsuites>"), 1);
	text_fini(&xml);
	pair_fini(&pair);
}

static void ci_servers_do_not_take_a_mismatch_for_a_pass(void **state)
{
	struct run_options other = plain;
	const struct model *current;
	struct pair pair;
	struct text xml;

	(void)state;
	other.gpu = "NVIDIA H100 <80GB>";
	pair_run(&pair, &other, &plain, NULL);
	current = pair.now;
	text_init(&xml);
	gate_add_junit(&xml, &pair.result, &current);
	assert_non_null(strstr(text_string(&xml), "tests=\"1\" failures=\"0\" errors=\"1\""));
	assert_non_null(strstr(text_string(&xml), "H100 &lt;80GB&gt;"));
	text_fini(&xml);
	pair_fini(&pair);
}

enum { BASELINE_RUNS = 5 };

struct runs {
	struct script *scripts[1 + BASELINE_RUNS];
	struct model *models[1 + BASELINE_RUNS]; /* the current one first */
	struct gate_result result;
};

/* Runs of which each begins so long after the one before. */
static void runs_make(struct runs *runs, int64_t apart_ns)
{
	for (int i = 0; i <= BASELINE_RUNS; i++) {
		struct run_options options = plain;
		char start[32];

		/* One of the five is slower than the others; that is no reason to fail. */
		options.product_ns += i == 3 ? 100000 : 0;
		runs->models[i] = make_run(&options, &runs->scripts[i]);
		snprintf(start, sizeof(start), "%lld", 1000000000ll + i * (long long)apart_ns);
		script_info(runs->scripts[i], "session.start_realtime_ns", start);
		script_info(runs->scripts[i], "host.name", "node7");
	}
}

static void runs_judge(struct runs *runs)
{
	const struct model *models[1 + BASELINE_RUNS];
	struct gate_options options;

	gate_options_init(&options);
	for (int i = 0; i <= BASELINE_RUNS; i++)
		models[i] = runs->models[i];
	gate_run(&options, models, 1, models + 1, BASELINE_RUNS, &runs->result);
}

static void runs_fini(struct runs *runs)
{
	gate_result_free(&runs->result);
	for (int i = 0; i <= BASELINE_RUNS; i++) {
		model_free(runs->models[i]);
		script_free(runs->scripts[i]);
	}
}

static void several_runs_are_one_baseline(void **state)
{
	struct runs runs;

	(void)state;
	runs_make(&runs, 60000000000);
	runs_judge(&runs);
	assert_null(runs.result.baseline.mismatch);
	assert_int_equal(runs.result.baseline.runs, BASELINE_RUNS);
	assert_int_equal(runs.result.count, STEP_METRIC_COUNT);
	assert_int_equal(runs.result.status, GATE_PASS);
	assert_true(runs.result.checks[0].baseline_count > 4 * runs.result.checks[0].current_count);
	assert_int_equal(runs.result.change_count, 0);
	runs_fini(&runs);
}

static void processes_of_one_job_are_no_runs_of_it(void **state)
{
	struct runs runs;

	(void)state;
	runs_make(&runs, 1000);
	runs_judge(&runs);
	assert_non_null(strstr(runs.result.baseline.mismatch, "at the same time"));
	assert_int_equal(runs.result.status, GATE_INCONCLUSIVE);
	runs_fini(&runs);
}

/* Files of run after run, or of rank after rank: a rank finds its like. */
static void ranks_are_compared_with_the_same_rank_of_each_run(void **state)
{
	static const int64_t ranks[] = {1, 0, 0, 0, 1, 1};
	struct runs runs;
	const struct model *models[1 + BASELINE_RUNS];
	struct gate_baseline baseline;

	(void)state;
	runs_make(&runs, 60000000000);
	memset(&runs.result, 0, sizeof(runs.result));
	for (int i = 0; i <= BASELINE_RUNS; i++) {
		runs.models[i]->rank = ranks[i];
		models[i] = runs.models[i];
	}
	gate_baseline_build(models, 2, models + 2, 4, &baseline);
	assert_int_equal(baseline.runs, 2);
	for (size_t at = 0; at < 2; at++) {
		for (size_t run = 0; run < 2; run++)
			assert_int_equal(baseline.models[at * 2 + run]->rank, models[at]->rank);
	}
	gate_baseline_free(&baseline);
	gate_baseline_build(models, 2, models + 2, 3, &baseline);
	assert_int_equal(baseline.runs, 0);
	assert_non_null(baseline.mismatch);
	gate_baseline_free(&baseline);
	runs_fini(&runs);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_run_passes_and_names_nothing),
		cmocka_unit_test(an_unpadded_vocabulary_fails_and_is_named_first),
		cmocka_unit_test(more_launches_fail_by_count_and_kernel_name),
		cmocka_unit_test(a_new_wait_is_named),
		cmocka_unit_test(more_bytes_and_memory_fail),
		cmocka_unit_test(another_gpu_is_not_comparable),
		cmocka_unit_test(simulated_against_real_is_not_comparable),
		cmocka_unit_test(another_driver_is_not_comparable),
		cmocka_unit_test(too_few_steps_are_not_judged),
		cmocka_unit_test(ci_servers_get_a_case_per_check),
		cmocka_unit_test(ci_servers_do_not_take_a_mismatch_for_a_pass),
		cmocka_unit_test(several_runs_are_one_baseline),
		cmocka_unit_test(processes_of_one_job_are_no_runs_of_it),
		cmocka_unit_test(ranks_are_compared_with_the_same_rank_of_each_run),
		cmocka_unit_test(limits_are_judged_without_a_baseline),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
