/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gains are bounded by the host's own path, alone and together.
 */
#include "rule_bench.h"

#include <string.h>

#define PRODUCT "ampere_sgemm_128x64_tn"

/* 20 steps of 30 launches; the host waits at the end of each step, if it does. */
static void run_loop(struct bench *bench, int64_t launch_ns, int64_t product_ns, bool has_sync)
{
	bench->machine.launch_ns = launch_ns;
	for (int step = 0; step < 20; step++) {
		for (int i = 0; i < 30; i++)
			machine_kernel(&bench->machine,
				       i % 3 ? "vectorized_elementwise_kernel" : PRODUCT,
				       product_ns);
		machine_kernel(&bench->machine, "adam_step", 5000);
		if (has_sync)
			machine_sync(&bench->machine, "cudaDeviceSynchronize", SYNC_DEVICE);
	}
	bench_run(bench);
}

static void shorter_products_gain_nothing_behind_slow_launches(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	bench_set_capability(&bench, 8, 0);
	run_loop(&bench, 100000, 50000, false);
	finding = bench_only(&bench, "GT202");
	assert_float_equal(finding->cost_ms, 0.5, 0.01);
	assert_true(finding->gain_high_ms < 0.01);
	assert_true(bench_number(finding, "hidden_by_host_ms_per_step") > 0.4);
	assert_non_null(strstr(finding->summary, "launches no faster"));
	bench_fini(&bench);
}

static void shorter_products_gain_where_the_host_waits(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	bench_set_capability(&bench, 8, 0);
	run_loop(&bench, 5000, 200000, true);
	finding = bench_only(&bench, "GT202");
	assert_true(finding->gain_low_ms > 0.9);
	assert_null(strstr(finding->summary, "launches no faster"));
	/* Nothing hidden, nothing said. */
	for (size_t i = 0; i < bench.findings.count; i++) {
		for (size_t e = 0; e < bench.findings.items[i].evidence_count; e++)
			assert_string_not_equal(bench.findings.items[i].evidence[e].key,
						"hidden_by_host_ms_per_step");
	}
	bench_fini(&bench);
}

/* Fewer launches make the host's path shorter as well: fusing is not bounded by it. */
static void fusing_gains_behind_slow_launches(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_set_capability(&bench, 8, 0);
	run_loop(&bench, 100000, 50000, false);
	assert_true(bench_only(&bench, "GT209")->gain_low_ms > 0.05);
	bench_fini(&bench);
}

static void together_never_more_than_parts_and_never_less_than_the_best(void **state)
{
	(void)state;
	for (int64_t launch_ns = 5000; launch_ns < 400000; launch_ns *= 2) {
		for (int has_sync = 0; has_sync < 2; has_sync++) {
			struct bench bench;
			double best_ms = 0, sum_ms = 0;

			bench_init(&bench);
			bench_set_capability(&bench, 8, 0);
			run_loop(&bench, launch_ns, 60000, has_sync);
			for (size_t i = 0; i < bench.findings.count; i++) {
				const struct finding *finding = &bench.findings.items[i];

				sum_ms += finding->gain_high_ms;
				if (finding->gain_high_ms > best_ms)
					best_ms = finding->gain_high_ms;
			}
			assert_true(bench.findings.combined_high_ms <= sum_ms + 1e-9);
			assert_true(bench.findings.combined_high_ms >= best_ms - 1e-9);
			assert_true(bench.findings.combined_high_ms <= bench_step_ms(&bench));
			assert_true(bench.findings.combined_low_ms <=
				    bench.findings.combined_high_ms + 1e-9);
			bench_fini(&bench);
		}
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shorter_products_gain_nothing_behind_slow_launches),
		cmocka_unit_test(shorter_products_gain_where_the_host_waits),
		cmocka_unit_test(fusing_gains_behind_slow_launches),
		cmocka_unit_test(together_never_more_than_parts_and_never_less_than_the_best),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
