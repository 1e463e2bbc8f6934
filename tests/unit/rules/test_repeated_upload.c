/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT105 asks about host memory that is uploaded again and again.
 */
#include "rule_bench.h"

#include <string.h>

/* Uploads from `first`, in every step from `stride` bytes further on. */
static void run_loop(struct bench *bench, uint64_t first, uint64_t stride, uint64_t bytes,
		     uint8_t host_kind)
{
	for (int step = 0; step < 20; step++) {
		bench->machine.site = 5;
		if (first)
			script_use_copy(bench->script, first + (uint64_t)step * stride,
					0x7f0000000000, 0x5555, DEVICE_UNKNOWN);
		machine_copy(&bench->machine, COPY_H2D, bytes, host_kind, false);
		bench->machine.site = 6;
		machine_kernel(&bench->machine, "ampere_sgemm_128x128_nn", 5000000);
		machine_kernel(&bench->machine, "adam_step", 50000);
	}
	bench_run(bench);
}

static void the_same_buffer_in_every_step_is_an_information(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 0x10000000, 0, 8 << 20, MEMORY_PAGEABLE);
	finding = bench_only(&bench, "GT105");
	assert_int_equal(finding->severity, SEVERITY_INFO);
	assert_float_equal(bench_number(finding, "copy_bytes"), 8388608, 0);
	assert_string_equal(bench_text(finding, "content"), "not checked");
	assert_float_equal(finding->gain_high_ms, 0, 0);
	assert_int_equal(bench.model->sites[model_call_site(bench.model, finding->call)].id, 5);
	bench_fini(&bench);
}

static void the_halves_of_a_double_buffer_are_one_finding(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 24; step++) {
		bench.machine.site = 5;
		script_use_copy(bench.script, 0x10000000 + (uint64_t)(step % 2) * (16 << 20),
				0x7f0000000000, 0x5555, DEVICE_UNKNOWN);
		machine_copy(&bench.machine, COPY_H2D, 8 << 20, MEMORY_PAGEABLE, false);
		bench.machine.site = 6;
		machine_kernel(&bench.machine, "ampere_sgemm_128x128_nn", 5000000);
		machine_kernel(&bench.machine, "adam_step", 50000);
	}
	bench_run(&bench);
	finding = bench_only(&bench, "GT105");
	assert_float_equal(bench_number(finding, "buffers"), 2, 0);
	assert_float_equal(bench_number(finding, "copies_per_step"), 1, 1e-6);
	assert_non_null(strstr(finding->summary, "each of 2 buffers"));
	bench_fini(&bench);
}

static void another_buffer_in_every_step_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 0x10000000, 8 << 20, 8 << 20, MEMORY_PAGEABLE);
	assert_int_equal(bench_status(&bench, "GT105"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_small_table_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 0x10000000, 0, 4096, MEMORY_PAGEABLE);
	assert_int_equal(bench_status(&bench, "GT105"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_loaders_pinned_buffer_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 0x10000000, 0, 8 << 20, MEMORY_PINNED);
	assert_int_equal(bench_status(&bench, "GT105"), NOT_JUDGED);
	bench_fini(&bench);
}

static void without_addresses_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	run_loop(&bench, 0, 0, 8 << 20, MEMORY_PAGEABLE);
	assert_int_equal(bench_status(&bench, "GT105"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_buffer_in_every_step_is_an_information),
		cmocka_unit_test(the_halves_of_a_double_buffer_are_one_finding),
		cmocka_unit_test(another_buffer_in_every_step_is_silent),
		cmocka_unit_test(a_small_table_is_silent),
		cmocka_unit_test(a_loaders_pinned_buffer_is_not_judged),
		cmocka_unit_test(without_addresses_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
