/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT107 weighs page migrations, knows when they cannot matter, and says when it cannot know.
 */
#include "rule_bench.h"

#include <string.h>

static void run_loop(struct bench *bench, uint8_t kind)
{
	struct script_call call = {
		.begin_ns = 1000, .end_ns = 2000, .thread = 1, .api = "cudaMalloc"};

	if (kind)
		script_add_memory(bench->script, &call, MEMORY_ALLOC, kind, 0x7f0000000000,
				  1 << 20);
	for (int step = 0; step < 20; step++) {
		machine_kernel(&bench->machine, "ampere_sgemm_128x128_nn", 1000000);
		machine_kernel(&bench->machine, "adam_step", 50000);
	}
	bench_run(bench);
}

static void plain_device_memory_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, MEMORY_DEVICE);
	assert_int_equal(bench_status(&bench, "GT107"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void managed_memory_without_migration_records_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, MEMORY_MANAGED);
	assert_int_equal(bench_status(&bench, "GT107"), NOT_JUDGED);
	assert_non_null(strstr(bench_reason(&bench, "GT107"), "managed"));
	bench_fini(&bench);
}

static void watched_memory_that_stays_where_it_is_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_info(bench.script, "gpu_times.managed", "migrations of managed memory are recorded");
	run_loop(&bench, MEMORY_MANAGED);
	assert_int_equal(bench_status(&bench, "GT107"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void unrecorded_allocations_are_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, MEMORY_UNKNOWN);
	assert_int_equal(bench_status(&bench, "GT107"), NOT_JUDGED);
	bench_fini(&bench);
}

/* Migrations as nsys has them: copies between managed and managed memory without a launch. */
static void run_migrations(struct bench *bench, uint64_t bytes, bool both_ways, bool asked_for)
{
	bench_init(bench);
	for (int step = 0; step < 20; step++) {
		struct machine *machine = &bench->machine;
		int64_t begin_ns = machine->stream_ns > machine->host_ns ? machine->stream_ns
									 : machine->host_ns;
		int64_t each_ns = (int64_t)(bytes / 10);
		uint32_t correlation = 0;

		if (asked_for) {
			struct script_call call = {.begin_ns = machine->host_ns,
						   .end_ns = machine->host_ns + 5000,
						   .thread = 1,
						   .api = "cudaMemPrefetchAsync",
						   .correlation =
							   script_next_correlation(bench->script)};

			correlation = call.correlation;
			script_add_plain(bench->script, &call);
		}
		script_add_gpu_copy(bench->script, 0, COPY_H2D, bytes, MEMORY_MANAGED,
				    MEMORY_MANAGED, correlation, begin_ns, begin_ns + each_ns);
		machine->stream_ns = begin_ns + each_ns;
		machine_kernel(machine, "ampere_sgemm_128x128_nn", 1000000);
		if (both_ways) {
			script_add_gpu_copy(bench->script, 0, COPY_D2H, bytes, MEMORY_MANAGED,
					    MEMORY_MANAGED, 0, machine->stream_ns,
					    machine->stream_ns + each_ns);
			machine->stream_ns += each_ns;
		}
		machine_kernel(machine, "adam_step", 50000);
	}
	bench_run(bench);
}

static void migrations_are_raised_with_bytes_each_way(void **state)
{
	const struct finding *finding;
	struct bench bench;

	(void)state;
	run_migrations(&bench, 4 << 20, false, false);
	finding = bench_only(&bench, "GT107");
	assert_float_equal(bench_number(finding, "to_gpu_bytes_per_step"), 4194304, 3e5);
	assert_float_equal(bench_number(finding, "back_bytes_per_step"), 0, 0);
	assert_string_equal(bench_text(finding, "thrashing"), "no");
	bench_fini(&bench);
}

static void pages_that_travel_both_ways_thrash(void **state)
{
	struct bench bench;

	(void)state;
	run_migrations(&bench, 4 << 20, true, false);
	assert_string_equal(bench_text(bench_only(&bench, "GT107"), "thrashing"), "yes");
	bench_fini(&bench);
}

static void few_migrations_and_prefetches_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	run_migrations(&bench, 64 << 10, false, false);
	assert_int_equal(bench_status(&bench, "GT107"), JUDGED_SILENT);
	bench_fini(&bench);
	run_migrations(&bench, 4 << 20, false, true);
	assert_int_equal(bench_count(&bench, "GT107"), 0);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(migrations_are_raised_with_bytes_each_way),
		cmocka_unit_test(pages_that_travel_both_ways_thrash),
		cmocka_unit_test(few_migrations_and_prefetches_are_silent),
		cmocka_unit_test(plain_device_memory_is_silent),
		cmocka_unit_test(managed_memory_without_migration_records_is_not_judged),
		cmocka_unit_test(watched_memory_that_stays_where_it_is_is_silent),
		cmocka_unit_test(unrecorded_allocations_are_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
