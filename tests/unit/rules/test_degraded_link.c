/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT106 compares the link under load with what device and slot can do.
 */
#include "rule_bench.h"

static void run_loop_at(struct bench *bench, uint16_t gen, uint16_t width, uint64_t bytes,
			double copies_gbs)
{
	struct record_device *device = script_device(bench->script, 0);

	device->link_gen = gen;
	device->link_width = width;
	bench->machine.pinned_gbs = copies_gbs;
	for (int step = 0; step < 20; step++) {
		bench->machine.site = 5;
		if (bytes)
			machine_copy(&bench->machine, COPY_H2D, bytes, MEMORY_PINNED, false);
		bench->machine.site = 6;
		machine_kernel(&bench->machine, "ampere_sgemm_128x128_nn", 20000000);
		machine_kernel(&bench->machine, "adam_step", 50000);
	}
	bench_run(bench);
}

static void run_loop(struct bench *bench, uint16_t gen, uint16_t width, uint64_t bytes)
{
	double gbs = link_rate_of(gen, width).attainable_gbs;

	run_loop_at(bench, gen, width, bytes, gbs > 0 ? gbs : 11.4);
}

static void eight_of_sixteen_lanes_are_raised_with_their_share(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 4, 8, 128 << 20);
	finding = bench_only(&bench, "GT106");
	assert_float_equal(bench_number(finding, "link_width"), 8, 0);
	assert_float_equal(bench_number(finding, "link_width_able"), 16, 0);
	assert_true(finding->severity > SEVERITY_INFO);
	bench_fini(&bench);
}

static void all_lanes_gain_what_the_range_says(void **state)
{
	struct bench half, full;

	(void)state;
	bench_init(&half);
	run_loop(&half, 4, 8, 128 << 20);
	bench_init(&full);
	run_loop(&full, 4, 16, 128 << 20);
	bench_assert_range_holds(bench_only(&half, "GT106"),
				 bench_step_ms(&half) - bench_step_ms(&full));
	assert_int_equal(bench_status(&full, "GT106"), JUDGED_SILENT);
	bench_fini(&half);
	bench_fini(&full);
}

static void a_generation_too_low_is_raised(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 1, 16, 64 << 20);
	assert_float_equal(bench_number(bench_only(&bench, "GT106"), "link_gen_able"), 4, 0);
	bench_fini(&bench);
}

static void a_link_seen_asleep_that_copies_prove_faster_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop_at(&bench, 1, 16, 64 << 20, link_rate_of(4, 16).attainable_gbs);
	assert_int_equal(bench_status(&bench, "GT106"), NOT_JUDGED);
	bench_fini(&bench);
}

static void a_low_generation_beside_small_copies_alone_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 1, 16, 512 << 10);
	assert_int_equal(bench_status(&bench, "GT106"), NOT_JUDGED);
	bench_fini(&bench);
	/* Lanes do not sleep: they count whatever is copied. */
	bench_init(&bench);
	run_loop(&bench, 1, 8, 512 << 10);
	bench_only(&bench, "GT106");
	bench_fini(&bench);
}

static void a_link_that_is_hardly_used_is_an_information(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 4, 8, 2 << 20);
	assert_int_equal(bench_only(&bench, "GT106")->severity, SEVERITY_INFO);
	bench_fini(&bench);
}

static void a_card_with_eight_lanes_by_design_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_device(bench.script, 0)->link_width_max = 8;
	run_loop(&bench, 4, 8, 128 << 20);
	assert_int_equal(bench_status(&bench, "GT106"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_run_without_copies_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 1, 16, 0);
	assert_int_equal(bench_status(&bench, "GT106"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_link_data_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 0, 0, 128 << 20);
	assert_int_equal(bench_status(&bench, "GT106"), NOT_JUDGED);
	bench_fini(&bench);
	bench_init(&bench);
	script_device(bench.script, 0)->link_gen_max = 0;
	run_loop(&bench, 4, 8, 128 << 20);
	assert_int_equal(bench_status(&bench, "GT106"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eight_of_sixteen_lanes_are_raised_with_their_share),
		cmocka_unit_test(all_lanes_gain_what_the_range_says),
		cmocka_unit_test(a_generation_too_low_is_raised),
		cmocka_unit_test(a_link_seen_asleep_that_copies_prove_faster_is_not_judged),
		cmocka_unit_test(a_low_generation_beside_small_copies_alone_is_not_judged),
		cmocka_unit_test(a_link_that_is_hardly_used_is_an_information),
		cmocka_unit_test(a_card_with_eight_lanes_by_design_is_silent),
		cmocka_unit_test(a_run_without_copies_is_silent),
		cmocka_unit_test(without_link_data_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
