/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT406: driver allocations in every step, and retries of the caching allocator.
 */
#include <string.h>

#include "memory_bench.h"

static void run_loop(struct bench *bench, unsigned int pairs, bool is_pool)
{
	for (int step = 0; step < 20; step++) {
		for (unsigned int i = 0; i < pairs; i++) {
			struct script_call call = {.begin_ns = bench->machine.host_ns,
						   .end_ns = bench->machine.host_ns + 200000,
						   .thread = 1,
						   .api = "cudaMallocAsync",
						   .flags = CALL_ASYNC};

			if (is_pool) {
				script_add_memory(bench->script, &call, MEMORY_ALLOC, MEMORY_POOL,
						  GIB, MIB);
				call.begin_ns = call.end_ns + 1000;
				call.end_ns += 300000;
				call.api = "cudaFreeAsync";
				script_add_memory(bench->script, &call, MEMORY_FREE, MEMORY_POOL,
						  GIB, 0);
				machine_work(&bench->machine, 502000);
			} else {
				memory_malloc(bench, GIB * (i + 100), MIB, 0);
				memory_free(bench, GIB * (i + 100));
			}
		}
		memory_step(bench);
	}
	bench_run(bench);
}

static void forty_pairs_per_step_are_raised(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	/* pytorch#65078: 40 pairs of 0.1 ms are a sixth of the step. */
	memory_bench_init(&bench, 80 * GIB);
	run_loop(&bench, 40, false);
	finding = bench_only(&bench, "GT406");
	assert_float_equal(bench_number(finding, "pairs_per_step"), 40, 0.5);
	assert_float_equal(bench_number(finding, "host_ms_per_step"), 40 * 0.5, 0.5);
	assert_true(finding->severity >= SEVERITY_MEDIUM);
	bench_fini(&bench);
}

static void stream_ordered_pools_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 80 * GIB);
	run_loop(&bench, 40, true);
	assert_int_equal(bench_status(&bench, "GT406"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void allocations_before_the_loop_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 80 * GIB);
	for (uint64_t i = 1; i < 50; i++)
		memory_malloc(&bench, i * GIB, GIB, 0);
	run_loop(&bench, 0, false);
	assert_int_equal(bench_status(&bench, "GT406"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void recovered_failures_are_one_row_with_their_cost(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	/* pytorch#189504: fail, give the cache back, succeed. */
	memory_bench_init(&bench, 80 * GIB);
	for (uint64_t i = 1; i <= 20; i++) {
		memory_malloc(&bench, i * 4 * GIB, GIB + i, 0);
		if (i % 5)
			continue;
		memory_malloc(&bench, 0, 2 * GIB, 2);
		memory_free(&bench, i * 4 * GIB);
		memory_malloc(&bench, i * 4 * GIB, 2 * GIB, 0);
	}
	run_loop(&bench, 0, false);
	finding = bench_only(&bench, "GT406");
	assert_float_equal(bench_number(finding, "recovered_requests"), 4, 0);
	/* 0.2 failed + 0.3 free + 0.2 success and 2 us between. */
	assert_float_equal(bench_number(finding, "total_ms"), (4 * 0.702), 1e-6);
	assert_non_null(strstr(finding->summary, "recovered"));
	assert_false(finding->is_failure);
	bench_fini(&bench);
}

static void without_allocations_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	memory_bench_init(&bench, 80 * GIB);
	run_loop(&bench, 0, false);
	assert_int_equal(bench_status(&bench, "GT406"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forty_pairs_per_step_are_raised),
		cmocka_unit_test(stream_ordered_pools_are_silent),
		cmocka_unit_test(allocations_before_the_loop_are_silent),
		cmocka_unit_test(recovered_failures_are_one_row_with_their_cost),
		cmocka_unit_test(without_allocations_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
