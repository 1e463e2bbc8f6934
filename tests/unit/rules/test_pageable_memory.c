/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT102 speaks of asynchronous copies of pageable memory that cost something.
 */
#include "rule_bench.h"

static void run_loop(struct bench *bench, uint64_t bytes, uint8_t kind)
{
	for (int step = 0; step < 20; step++) {
		bench->machine.site = 5;
		machine_copy(&bench->machine, COPY_H2D, bytes, kind, false);
		bench->machine.site = 6;
		for (int i = 0; i < 10; i++)
			machine_kernel(&bench->machine, "ampere_sgemm_128x128_nn", 2000000);
		machine_kernel(&bench->machine, "adam_step", 50000);
	}
	bench_run(bench);
}

static void pageable_uploads_are_raised_with_both_rates(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 64 << 20, MEMORY_PAGEABLE);
	finding = bench_only(&bench, "GT102");
	assert_string_equal(bench_text(finding, "direction"), "H2D");
	assert_float_equal(bench_number(finding, "bytes_per_step"), 67108864, 0.5);
	assert_float_equal(bench_number(finding, "pageable_gbs"), 10, 0.1);
	assert_float_equal(bench_number(finding, "pinned_gbs"), 25.8, 0.01);
	assert_string_equal(bench_text(finding, "pinned_rate_from"), "table");
	assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id, 5);
	bench_fini(&bench);
}

static void a_pinned_rate_seen_in_the_run_is_taken_first(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench.machine.pinned_gbs = 22;
	machine_copy(&bench.machine, COPY_H2D, 64 << 20, MEMORY_PINNED, false);
	run_loop(&bench, 64 << 20, MEMORY_PAGEABLE);
	assert_float_equal(bench_number(bench_only(&bench, "GT102"), "pinned_gbs"), 22, 0.1);
	bench_fini(&bench);
}

static void pinning_gains_what_the_range_says(void **state)
{
	struct bench pageable, pinned;

	(void)state;
	bench_init(&pageable);
	run_loop(&pageable, 64 << 20, MEMORY_PAGEABLE);
	bench_init(&pinned);
	pinned.machine.pinned_gbs = 25.8;
	run_loop(&pinned, 64 << 20, MEMORY_PINNED);
	bench_assert_range_holds(bench_only(&pageable, "GT102"),
				 bench_step_ms(&pageable) - bench_step_ms(&pinned));
	assert_int_equal(bench_status(&pinned, "GT102"), JUDGED_SILENT);
	bench_fini(&pageable);
	bench_fini(&pinned);
}

static void a_download_that_is_asynchronous_by_name_is_raised_with_its_site(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		bench.machine.site = 6;
		for (int i = 0; i < 10; i++)
			machine_kernel(&bench.machine, "ampere_sgemm_128x128_nn", 2000000);
		bench.machine.site = 5;
		machine_copy(&bench.machine, COPY_D2H, 64 << 20, MEMORY_PAGEABLE, false);
		machine_kernel(&bench.machine, "adam_step", 50000);
	}
	bench_run(&bench);
	finding = bench_only(&bench, "GT102");
	assert_string_equal(bench_text(finding, "direction"), "D2H");
	assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id, 5);
	bench_fini(&bench);
}

static void the_waits_of_small_copies_are_not_put_down_to_a_large_one(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_device(bench.script, 0)->link_gen = 0;
	for (int step = 0; step < 20; step++) {
		bench.machine.site = 5;
		machine_copy(&bench.machine, COPY_H2D, 128 << 10, MEMORY_PAGEABLE, false);
		for (int i = 0; i < 100; i++) {
			machine_copy(&bench.machine, COPY_H2D, 512, MEMORY_PAGEABLE, false);
			machine_kernel(&bench.machine, "ampere_sgemm_128x128_nn", 20000);
		}
		machine_kernel(&bench.machine, "adam_step", 50000);
	}
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT102"), NOT_JUDGED);
	bench_fini(&bench);
}

static void small_and_managed_copies_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 32 << 10, MEMORY_PAGEABLE);
	assert_int_equal(bench_status(&bench, "GT102"), JUDGED_SILENT);
	bench_fini(&bench);
	bench_init(&bench);
	run_loop(&bench, 64 << 20, MEMORY_MANAGED);
	assert_int_equal(bench_status(&bench, "GT102"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_anything_to_compare_with_the_gain_may_be_nothing(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	script_device(bench.script, 0)->link_gen = 0;
	run_loop(&bench, 64 << 20, MEMORY_PAGEABLE);
	finding = bench_only(&bench, "GT102");
	assert_string_equal(bench_text(finding, "pinned_rate_from"), "unknown");
	assert_float_equal(finding->gain_low_ms, 0, 0);
	assert_true(finding->gain_high_ms > 6);
	bench_fini(&bench);
}

static void a_small_share_without_anything_to_compare_with_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_device(bench.script, 0)->link_gen = 0;
	run_loop(&bench, 4 << 20, MEMORY_PAGEABLE);
	assert_int_equal(bench_status(&bench, "GT102"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pageable_uploads_are_raised_with_both_rates),
		cmocka_unit_test(a_pinned_rate_seen_in_the_run_is_taken_first),
		cmocka_unit_test(pinning_gains_what_the_range_says),
		cmocka_unit_test(a_download_that_is_asynchronous_by_name_is_raised_with_its_site),
		cmocka_unit_test(the_waits_of_small_copies_are_not_put_down_to_a_large_one),
		cmocka_unit_test(small_and_managed_copies_are_silent),
		cmocka_unit_test(without_anything_to_compare_with_the_gain_may_be_nothing),
		cmocka_unit_test(a_small_share_without_anything_to_compare_with_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
