/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT207 finds layout conversions around convolutions.
 */
#include "rule_bench.h"

#include <string.h>

#define CONV "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32"

static void run_loop(struct bench *bench, const char *main_kernel, int64_t conversion_ns)
{
	for (int step = 0; step < 20; step++) {
		for (int i = 0; i < 5; i++) {
			if (conversion_ns) {
				machine_kernel(&bench->machine,
					       "void cudnn::ops::nchwToNhwcKernel<__half, __half, "
					       "float, false, true>(int)",
					       conversion_ns);
			}
			machine_kernel(&bench->machine, main_kernel, 1000000);
		}
		machine_kernel(&bench->machine, "adam_step", 100000);
	}
	bench_run(bench);
}

static void conversions_around_convolutions_are_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, CONV, 100000);
	finding = bench_only(&bench, "GT207");
	assert_float_equal(bench_number(finding, "kernels_per_step"), 5, 0.3);
	assert_float_equal(finding->cost_ms, 0.5, 0.03);
	assert_non_null(strstr(finding->fix, "channels_last"));
	bench_fini(&bench);
}

static void channels_last_gains_what_the_range_says(void **state)
{
	struct bench before, after;

	(void)state;
	bench_init(&before);
	run_loop(&before, CONV, 100000);
	bench_init(&after);
	run_loop(&after, CONV, 0);
	bench_assert_range_holds(bench_only(&before, "GT207"),
				 bench_step_ms(&before) - bench_step_ms(&after));
	assert_int_equal(bench_status(&after, "GT207"), JUDGED_SILENT);
	bench_fini(&before);
	bench_fini(&after);
}

static void few_conversions_or_no_convolutions_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, CONV, 10000);
	assert_int_equal(bench_status(&bench, "GT207"), JUDGED_SILENT);
	bench_fini(&bench);
	bench_init(&bench);
	run_loop(&bench, "ampere_sgemm_128x64_tn", 100000);
	assert_int_equal(bench_status(&bench, "GT207"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_gpu_times_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT207"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conversions_around_convolutions_are_raised),
		cmocka_unit_test(channels_last_gains_what_the_range_says),
		cmocka_unit_test(few_conversions_or_no_convolutions_are_silent),
		cmocka_unit_test(without_gpu_times_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
