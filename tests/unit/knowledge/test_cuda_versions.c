/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which drivers, toolkits and GPUs go together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda_versions.h"
#include "gpu_table.h"

static struct cuda_version version(const char *text)
{
	struct cuda_version parsed;

	assert_true(cuda_version_parse(text, &parsed));
	return parsed;
}

static void assert_version(const char *expected, struct cuda_version seen)
{
	assert_int_equal(cuda_version_compare(version(expected), seen), 0);
}

static void versions_are_read_part_by_part(void **state)
{
	static const char *const wrong[] = {"",	   "x",	    "12.",   ".2", "1.2.3.4",
					    "0.1", "70000", "12.2b", "-1", " 12"};
	struct cuda_version out;

	(void)state;
	assert_int_equal(version("535.104.05").patch, 5);
	assert_int_equal(version("12").major, 12);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_false(cuda_version_parse(wrong[i], &out));
		assert_int_equal(out.major, 0);
	}
	assert_version("12.2", cuda_version_of_number(12020));
	assert_version("13.0", cuda_version_of_number(13000));
	assert_int_equal(cuda_version_of_number(0).major, 0);
	assert_int_equal(cuda_version_of_number(-5).major, 0);
}

static void versions_compare_as_numbers_not_as_text(void **state)
{
	(void)state;
	assert_true(cuda_version_compare(version("535.54.03"), version("535.104.05")) < 0);
	assert_true(cuda_version_compare(version("9.2"), version("10.0")) < 0);
	assert_true(cuda_version_compare(version("580.65.06"), version("580.65")) > 0);
}

static void a_toolkit_starts_on_the_first_driver_of_its_major(void **state)
{
	(void)state;
	assert_version("525.60.13", cuda_versions_minimum_driver(version("12.9")));
	assert_version("575.51.03", cuda_versions_shipped_driver(version("12.9")));
	assert_version("450.80.02", cuda_versions_minimum_driver(version("11.0")));
	assert_version("580", cuda_versions_minimum_driver(version("13.2")));
	/* Before 11 every toolkit needed its own driver. */
	assert_version("396.26", cuda_versions_minimum_driver(version("9.2")));
}

static void toolkits_outside_the_table_are_unknown(void **state)
{
	(void)state;
	assert_int_equal(cuda_versions_shipped_driver(version("12.7")).major, 0);
	assert_int_equal(cuda_versions_minimum_driver(version("14.0")).major, 0);
	assert_int_equal(cuda_versions_toolkit_of_driver(version("340.29")).major, 0);
}

static void a_driver_says_the_newest_toolkit_it_came_with_or_after(void **state)
{
	(void)state;
	assert_version("12.2", cuda_versions_toolkit_of_driver(version("535.104.05")));
	assert_version("12.6", cuda_versions_toolkit_of_driver(version("565.57.01")));
	assert_version("11.8", cuda_versions_toolkit_of_driver(version("525.60.12")));
	assert_version("12.0", cuda_versions_toolkit_of_driver(version("525.60.13")));
}

static void support_begins_and_ends_with_a_toolkit(void **state)
{
	(void)state;
	assert_int_equal(cuda_versions_support(version("12.6"), 12, 0), CUDA_SUPPORT_TOO_OLD);
	assert_int_equal(cuda_versions_support(version("12.8"), 12, 0), CUDA_SUPPORT_GIVEN);
	assert_int_equal(cuda_versions_support(version("12.9.1"), 7, 0), CUDA_SUPPORT_GIVEN);
	assert_int_equal(cuda_versions_support(version("13.0"), 7, 0), CUDA_SUPPORT_DROPPED);
	assert_int_equal(cuda_versions_support(version("13.0"), 7, 5), CUDA_SUPPORT_GIVEN);
	assert_int_equal(cuda_versions_support(version("13.0"), 99, 0), CUDA_SUPPORT_UNKNOWN);
}

static void machine_code_runs_on_newer_minors_of_its_major_only(void **state)
{
	(void)state;
	assert_true(cuda_versions_binary_runs_on(8, 6, 8, 9));
	assert_true(cuda_versions_binary_runs_on(8, 0, 8, 6));
	assert_false(cuda_versions_binary_runs_on(8, 9, 8, 6));
	assert_false(cuda_versions_binary_runs_on(10, 0, 12, 0));
	assert_false(cuda_versions_binary_runs_on(8, 9, 9, 0));
}

/* The rows are in order, and every GPU that we know by name has its compute capability here. */
static void tables_agree_with_each_other(void **state)
{
	(void)state;
	for (size_t i = 1; i < cuda_versions_capability_count(); i++) {
		const struct cuda_capability *before = cuda_versions_capability_row(i - 1);
		const struct cuda_capability *row = cuda_versions_capability_row(i);

		assert_true(
			before->cc_major < row->cc_major ||
			(before->cc_major == row->cc_major && before->cc_minor < row->cc_minor));
		if (row->last_toolkit.major)
			assert_true(cuda_version_compare(row->first_toolkit, row->last_toolkit) <=
				    0);
	}
	for (size_t i = 0; i < gpu_table_count(); i++) {
		const struct gpu_row *gpu = gpu_table_row(i);

		if (!cuda_versions_capability(gpu->cc_major, gpu->cc_minor))
			fail_msg("%s: no toolkit is known for %u.%u", gpu->name, gpu->cc_major,
				 gpu->cc_minor);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_read_part_by_part),
		cmocka_unit_test(versions_compare_as_numbers_not_as_text),
		cmocka_unit_test(a_toolkit_starts_on_the_first_driver_of_its_major),
		cmocka_unit_test(toolkits_outside_the_table_are_unknown),
		cmocka_unit_test(a_driver_says_the_newest_toolkit_it_came_with_or_after),
		cmocka_unit_test(support_begins_and_ends_with_a_toolkit),
		cmocka_unit_test(machine_code_runs_on_newer_minors_of_its_major_only),
		cmocka_unit_test(tables_agree_with_each_other),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
