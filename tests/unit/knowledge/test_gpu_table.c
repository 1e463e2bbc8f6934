/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs are found by the names that drivers report, and unknown ones stay unknown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gpu_table.h"
#include "record.h"

static void assert_found(const char *reported, const char *expected)
{
	struct gpu_match match = gpu_table_find(reported, 0);

	assert_non_null(match.row);
	assert_string_equal(match.row->name, expected);
}

static void reported_names_find_their_row(void **state)
{
	(void)state;
	assert_found("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB");
	assert_found("A100-SXM4-40GB", "A100-SXM4-40GB");
	assert_found("NVIDIA A100 80GB PCIe", "A100-PCIE-80GB");
	assert_found("Tesla T4", "Tesla T4");
	assert_found("Tesla V100-SXM2-16GB", "Tesla V100-SXM2-16GB");
	assert_found("NVIDIA GeForce RTX 4090", "GeForce RTX 4090");
	assert_found("NVIDIA GeForce RTX 4090 D", "GeForce RTX 4090 D");
}

static void unknown_names_find_nothing(void **state)
{
	(void)state;
	assert_null(gpu_table_find("NVIDIA Imaginary 9000", 0).row);
	assert_null(gpu_table_find("", 0).row);
	assert_null(gpu_table_find("NVIDIA A100-SXM4-80GB Ti", 0).row);
}

static void a_mig_instance_has_its_share_of_sms(void **state)
{
	struct gpu_match match = gpu_table_find("NVIDIA A100-SXM4-40GB MIG 3g.20gb", 42);

	(void)state;
	assert_non_null(match.row);
	assert_int_equal(match.partition, GPU_MIG);
	assert_float_equal(match.sm_share, 42.0 / 108, 1e-9);
}

static void a_vgpu_is_not_judged(void **state)
{
	(void)state;
	assert_int_equal(gpu_table_find("GRID A100-4-20C", 0).partition, GPU_VGPU);
	assert_int_equal(gpu_table_find("NVIDIA A40-8Q", 0).partition, GPU_VGPU);
	assert_int_equal(gpu_table_find("GRID A100X-1-5CME", 0).partition, GPU_VGPU);
	assert_null(gpu_table_find("NVIDIA A40-8Q", 0).row);
	assert_int_equal(gpu_table_find("NVIDIA A40", 0).partition, GPU_WHOLE);
}

static void matrix_peaks_go_by_type(void **state)
{
	const struct gpu_row *row = gpu_table_find("NVIDIA A100-SXM4-80GB", 0).row;

	(void)state;
	assert_float_equal(gpu_row_matrix_tflops(row, ELEMENT_F16, 0), 312, 0.1);
	assert_float_equal(gpu_row_matrix_tflops(row, ELEMENT_F32, 1), 156, 0.1);
	assert_float_equal(gpu_row_matrix_tflops(row, ELEMENT_F32, 0), 19.5, 0.1);
	assert_float_equal(gpu_row_matrix_tflops(row, ELEMENT_F8E4M3, 0), 0, 0);
	assert_float_equal(gpu_row_matrix_tflops(row, ELEMENT_UNKNOWN, 0), 0, 0);
}

static void nvlink_comes_from_the_table(void **state)
{
	(void)state;
	assert_float_equal(gpu_table_find("NVIDIA A100-SXM4-80GB", 0).row->nvlink_gbs, 600, 0);
	assert_int_equal(gpu_table_find("NVIDIA H100 80GB HBM3", 0).row->nvlink_gen, 4);
	assert_float_equal(gpu_table_find("Tesla V100-PCIE-16GB", 0).row->nvlink_gbs, 0, 0);
}

static void no_two_rows_have_one_pattern(void **state)
{
	(void)state;
	for (size_t i = 0; i < gpu_table_count(); i++) {
		const struct gpu_row *row = gpu_table_row(i);
		size_t others = 0;

		for (size_t j = 0; j < gpu_table_count(); j++)
			others += j != i &&
				  !strcmp(row->name_pattern, gpu_table_row(j)->name_pattern);
		assert_int_equal(others, 0);
		assert_true(row->cc_major >= 3);
	}
	assert_true(gpu_table_count() >= 90);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reported_names_find_their_row),
		cmocka_unit_test(unknown_names_find_nothing),
		cmocka_unit_test(a_mig_instance_has_its_share_of_sms),
		cmocka_unit_test(a_vgpu_is_not_judged),
		cmocka_unit_test(matrix_peaks_go_by_type),
		cmocka_unit_test(nvlink_comes_from_the_table),
		cmocka_unit_test(no_two_rows_have_one_pattern),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
