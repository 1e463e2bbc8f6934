/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C against the values of RFC 3720, B.4, by both ways of computing it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "crc32c.h"

static void known_values_are_right(void **state)
{
	uint8_t bytes[32];

	(void)state;
	assert_int_equal(crc32c("123456789", 9), 0xe3069283);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(crc32c(bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(crc32c(bytes, 32), 0x62a8ab43);
	for (uint8_t i = 0; i < 32; i++)
		bytes[i] = i;
	assert_int_equal(crc32c(bytes, 32), 0x46dd794e);
}

static void both_ways_agree_at_every_length_and_alignment(void **state)
{
	uint8_t bytes[80];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 37 + 11);
	for (size_t from = 0; from < 8; from++) {
		for (size_t length = 0; length + from <= sizeof(bytes); length++)
			assert_int_equal(crc32c(bytes + from, length),
					 crc32c_portable(bytes + from, length));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values_are_right),
		cmocka_unit_test(both_ways_agree_at_every_length_and_alignment),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
