/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in byte arrays. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "bytes.h"

static void numbers_stand_lowest_byte_first(void **state)
{
	uint8_t bytes[8];

	(void)state;
	bytes_store64(bytes, 0x0807060504030201ull);
	for (int i = 0; i < 8; i++)
		assert_int_equal(bytes[i], i + 1);
	assert_int_equal(bytes_load16(bytes), 0x0201);
	assert_int_equal(bytes_load32(bytes), 0x04030201);
	assert_true(bytes_load64(bytes) == 0x0807060504030201ull);
}

static void numbers_of_each_width_come_back_cut_to_it(void **state)
{
	static const unsigned int widths[] = {1, 2, 4, 8};
	const uint64_t value = 0xf1f2f3f4f5f6f7f8ull;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		uint8_t bytes[10] = {0};
		uint64_t kept = widths[i] == 8 ? value : value & ((1ull << widths[i] * 8) - 1);

		bytes_store(bytes + 1, widths[i], value);
		assert_true(bytes_load(bytes + 1, widths[i]) == kept);
		assert_int_equal(bytes[0], 0);
		assert_int_equal(bytes[1 + widths[i]], 0);
	}
}

static void zigzag_is_small_for_small_differences_of_both_signs(void **state)
{
	static const int64_t differences[] = {0, -1, 1, -2, 2, 1000000, INT64_MAX, INT64_MIN};

	(void)state;
	for (size_t i = 0; i < sizeof(differences) / sizeof(differences[0]); i++) {
		uint64_t coded = bytes_zigzag((uint64_t)differences[i]);

		assert_true(bytes_unzigzag(coded) == (uint64_t)differences[i]);
	}
	assert_true(bytes_zigzag((uint64_t)-1) == 1);
	assert_true(bytes_zigzag(1) == 2);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_stand_lowest_byte_first),
		cmocka_unit_test(numbers_of_each_width_come_back_cut_to_it),
		cmocka_unit_test(zigzag_is_small_for_small_differences_of_both_signs),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
