/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT206 names pointers and leading dimensions that alone are misaligned.
 */
#include "rule_bench.h"

#include <string.h>

#define ODD_KERNEL "cutlass_75_tensorop_f16_s1688gemm_f16_256x128_tn_align1"

static const struct finding *run_and_find(struct bench *bench, struct record_gemm gemm)
{
	bench_init(bench);
	bench_run_beside_aligned(bench, &gemm, ODD_KERNEL, 3000000);
	return bench_only(bench, "GT206");
}

static void a_view_with_an_offset_is_told_by_its_pointer(void **state)
{
	struct record_gemm gemm = script_gemm_f16(1024, 1024, 1024);
	struct bench bench;
	const struct finding *finding;

	(void)state;
	gemm.b += 6;
	finding = run_and_find(&bench, gemm);
	assert_non_null(strstr(finding->summary, "pointer to B"));
	assert_float_equal(bench_number(finding, "aligned_bytes"), 2, 0);
	bench_fini(&bench);
}

static void a_leading_dimension_alone_is_named(void **state)
{
	struct record_gemm gemm = script_gemm_f16(1024, 1024, 1024);
	struct bench bench;
	const struct finding *finding;

	(void)state;
	gemm.lda = 1025;
	finding = run_and_find(&bench, gemm);
	assert_non_null(strstr(finding->summary, "leading dimension 1025 of A"));
	bench_fini(&bench);
}

static void a_misaligned_extent_belongs_to_the_other_rule(void **state)
{
	struct record_gemm gemm = script_gemm_f16(50257, 1024, 768);
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_run_beside_aligned(&bench, &gemm, ODD_KERNEL, 3000000);
	assert_int_equal(bench_status(&bench, "GT206"), JUDGED_SILENT);
	assert_int_equal(bench_count(&bench, "GT201"), 1);
	bench_fini(&bench);
}

static void a_kernel_named_for_full_alignment_overrules_the_pointer(void **state)
{
	struct record_gemm gemm = script_gemm_f16(1024, 1024, 1024);
	struct bench bench;

	(void)state;
	gemm.b += 6;
	bench_init(&bench);
	bench_run_beside_aligned(&bench, &gemm,
				 "cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x4_tn_align8",
				 3000000);
	assert_int_equal(bench_status(&bench, "GT206"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void without_operands_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int step = 0; step < 20; step++) {
		machine_kernel(&bench.machine, ODD_KERNEL, 2000000);
		machine_kernel(&bench.machine, "adam_step", 100000);
	}
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT206"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_view_with_an_offset_is_told_by_its_pointer),
		cmocka_unit_test(a_leading_dimension_alone_is_named),
		cmocka_unit_test(a_misaligned_extent_belongs_to_the_other_rule),
		cmocka_unit_test(a_kernel_named_for_full_alignment_overrules_the_pointer),
		cmocka_unit_test(without_operands_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
