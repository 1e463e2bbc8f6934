/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT701 reads why clocks are not at their highest, of samples under load only.
 */
#include "machine_bench.h"

#include <string.h>

#include "machine_verdict.h"

enum { STEPS = 20, HOT_MHZ = 1050, FREE_MHZ = 1410 };

/* The last `hot` of 20 steps have the reasons and run at HOT_MHZ. */
static void run_with(struct bench *bench, int hot, uint64_t reasons)
{
	bench_init(bench);
	script_device(bench->script, 0)->clock_khz = FREE_MHZ * 1000;
	for (int step = 0; step < STEPS; step++) {
		bool is_hot = step >= STEPS - hot;

		bench->machine.site = 5;
		machine_kernel(&bench->machine, "ampere_sgemm_128x128_nn", 10000000);
		machine_kernel(&bench->machine, "adam_step", 50000);
		bench_sample(bench, SAMPLE_sm_clock_mhz, bench->machine.stream_ns - 100000,
			     is_hot ? HOT_MHZ : FREE_MHZ);
		bench_sample(bench, SAMPLE_throttle_reasons, bench->machine.stream_ns - 100000,
			     is_hot ? (int64_t)reasons : 0);
	}
	bench_run(bench);
}

static void heat_under_load_is_raised_with_the_clock_it_costs(void **state)
{
	struct bench bench;
	const struct finding *finding;
	double share = 1 - (double)HOT_MHZ / FREE_MHZ;

	(void)state;
	run_with(&bench, 10, THROTTLE_HARDWARE | THROTTLE_HARDWARE_THERMAL);
	finding = bench_only(&bench, "GT701");
	assert_float_equal(bench_number(finding, "held_percent"), 50, 0.1);
	assert_float_equal(bench_number(finding, "held_mhz"), HOT_MHZ, 0.1);
	assert_float_equal((float)finding->cost_ms, (float)(10.05 * 0.5 * share), 0.01f);
	assert_non_null(strstr(finding->summary, "hardware thermal slowdown"));
	assert_true(finding->severity > SEVERITY_INFO);
	bench_fini(&bench);
}

static void a_power_cap_at_full_load_is_an_information(void **state)
{
	struct bench bench;

	(void)state;
	run_with(&bench, 20, THROTTLE_POWER_CAP);
	assert_int_equal(bench_only(&bench, "GT701")->severity, SEVERITY_INFO);
	assert_float_equal(bench_only(&bench, "GT701")->gain_high_ms, 0, 0);
	bench_fini(&bench);
}

static void one_hot_sample_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	run_with(&bench, 1, THROTTLE_THERMAL);
	assert_int_equal(bench_status(&bench, "GT701"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void an_idle_gpu_may_be_slow(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_copy_steps(&bench, 1 << 20);
	for (int i = 1; i < 10; i++) {
		bench_sample(&bench, SAMPLE_throttle_reasons,
			     bench.machine.stream_ns + i * 1000000000ll, THROTTLE_HARDWARE);
	}
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT701"), NOT_JUDGED);
	bench_fini(&bench);
}

/* The first sample of a run shows the clock of the idle GPU. */
static void a_sample_that_nvml_calls_idle_does_not_count(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	script_device(bench.script, 0)->clock_khz = FREE_MHZ * 1000;
	for (int step = 0; step < STEPS; step++) {
		bench.machine.site = 5;
		machine_kernel(&bench.machine, "ampere_sgemm_128x128_nn", 10000000);
		machine_kernel(&bench.machine, "adam_step", 50000);
		bench_sample(&bench, SAMPLE_sm_clock_mhz, bench.machine.stream_ns - 100000,
			     step ? HOT_MHZ : 210);
		bench_sample(&bench, SAMPLE_throttle_reasons, bench.machine.stream_ns - 100000,
			     step ? THROTTLE_THERMAL : THROTTLE_IDLE);
	}
	bench_run(&bench);
	finding = bench_only(&bench, "GT701");
	assert_float_equal(bench_number(finding, "samples_under_load"), STEPS - 1, 0);
	assert_float_equal(bench_number(finding, "held_percent"), 100, 0);
	assert_float_equal(bench_number(finding, "free_mhz"), FREE_MHZ, 0);
	bench_fini(&bench);
}

static void free_clocks_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	run_with(&bench, 0, 0);
	assert_int_equal(bench_status(&bench, "GT701"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_nvml_it_is_not_judged_for_its_reason(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_info(bench.script, "nvml.reason", "NVML did not answer");
	bench_copy_steps(&bench, 1 << 20);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT701"), NOT_JUDGED);
	assert_non_null(strstr(bench_reason(&bench, "GT701"), "NVML did not answer"));
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heat_under_load_is_raised_with_the_clock_it_costs),
		cmocka_unit_test(a_power_cap_at_full_load_is_an_information),
		cmocka_unit_test(one_hot_sample_is_silent),
		cmocka_unit_test(an_idle_gpu_may_be_slow),
		cmocka_unit_test(a_sample_that_nvml_calls_idle_does_not_count),
		cmocka_unit_test(free_clocks_are_silent),
		cmocka_unit_test(without_nvml_it_is_not_judged_for_its_reason),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
