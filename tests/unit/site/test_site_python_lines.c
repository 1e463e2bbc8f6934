// SPDX-License-Identifier: Apache-2.0
/* Line tables of the three formats, byte by byte, and tables that are cut or nonsense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "site_python_lines.h"

static uint32_t find(enum python_lines format, const uint8_t *table, size_t size, uint32_t offset)
{
	return python_lines_find(format, table, size, 10, offset);
}

static void increments_of_3_8(void **state)
{
	/* 6 bytes on line 10, then 8 on 11, then back to 9 */
	static const uint8_t table[] = {6, 1, 8, 0xfe};

	(void)state;
	assert_int_equal(find(PYTHON_LINES_LNOTAB, table, sizeof(table), 0), 10);
	assert_int_equal(find(PYTHON_LINES_LNOTAB, table, sizeof(table), 5), 10);
	assert_int_equal(find(PYTHON_LINES_LNOTAB, table, sizeof(table), 6), 11);
	assert_int_equal(find(PYTHON_LINES_LNOTAB, table, sizeof(table), 14), 9);
	assert_int_equal(find(PYTHON_LINES_LNOTAB, table, 0, 14), 10);
}

static void ranges_of_3_10(void **state)
{
	/* 4 bytes on 11, 2 without a line, 4 on 11 + 3 */
	static const uint8_t table[] = {4, 1, 2, 0x80, 4, 3};

	(void)state;
	assert_int_equal(find(PYTHON_LINES_RANGES, table, sizeof(table), 0), 11);
	assert_int_equal(find(PYTHON_LINES_RANGES, table, sizeof(table), 4), 0);
	assert_int_equal(find(PYTHON_LINES_RANGES, table, sizeof(table), 6), 14);
	assert_int_equal(find(PYTHON_LINES_RANGES, table, sizeof(table), 10), 0);
}

static void locations_of_3_11(void **state)
{
	static const uint8_t table[] = {
		0x80 | 11 << 3 | 1, 4,	  9,		/* two units, line + 1, columns */
		0x80 | 2 << 3 | 0,  0x11,		/* one unit, the same line, short form */
		0x80 | 15 << 3 | 0,			/* one unit, no line */
		0x80 | 13 << 3 | 0, 7,			/* one unit, line - 3 */
		0x80 | 14 << 3 | 0, 0x4a, 0x1, 0, 0, 0, /* one unit, line + 37, long form */
	};

	(void)state;
	assert_int_equal(find(PYTHON_LINES_LOCATIONS, table, sizeof(table), 0), 11);
	assert_int_equal(find(PYTHON_LINES_LOCATIONS, table, sizeof(table), 2), 11);
	assert_int_equal(find(PYTHON_LINES_LOCATIONS, table, sizeof(table), 4), 11);
	assert_int_equal(find(PYTHON_LINES_LOCATIONS, table, sizeof(table), 6), 0);
	assert_int_equal(find(PYTHON_LINES_LOCATIONS, table, sizeof(table), 8), 8);
	assert_int_equal(find(PYTHON_LINES_LOCATIONS, table, sizeof(table), 10), 45);
	assert_int_equal(find(PYTHON_LINES_LOCATIONS, table, sizeof(table), 12), 0);
}

/* Whatever the bytes are, reading ends inside the table (ASan and valgrind see to that). */
static void nonsense_is_read_within_bounds(void **state)
{
	uint64_t random_state = 1;
	uint32_t lines = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		uint8_t table[24];
		size_t size = (size_t)(round % 25);

		for (size_t i = 0; i < size; i++) {
			random_state = random_state * 6364136223846793005u + 1442695040888963407u;
			table[i] = (uint8_t)(random_state >> 56);
		}
		for (int format = 0; format < 3; format++) {
			uint8_t *exact = test_malloc(size ? size : 1);

			for (size_t i = 0; i < size; i++)
				exact[i] = table[i];
			lines += find((enum python_lines)format, exact, size,
				      (uint32_t)(random_state >> 40) & 255) != 0;
			test_free(exact);
		}
	}
	assert_true(lines > 1000);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(increments_of_3_8),
		cmocka_unit_test(ranges_of_3_10),
		cmocka_unit_test(locations_of_3_11),
		cmocka_unit_test(nonsense_is_read_within_bounds),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
