/* SPDX-License-Identifier: Apache-2.0 */
/* Records are believed only when their sizes agree. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "bytes.h"
#include "record.h"
#include "record_check.h"
#include "record_schema.h"
#include "sample_record.h"

static const uint16_t fixed_kinds[] = {RECORD_KIND_clock, RECORD_KIND_loss, RECORD_KIND_call,
				       RECORD_KIND_gemm, RECORD_KIND_gpu_kernel};
static const uint16_t text_kinds[] = {RECORD_KIND_name,	  RECORD_KIND_info,    RECORD_KIND_device,
				      RECORD_KIND_thread, RECORD_KIND_library, RECORD_KIND_site};

static void whole_records_are_good(void **state)
{
	_Alignas(8) uint8_t record[SAMPLE_MAX_BYTES];
	uint16_t kind, size_bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(fixed_kinds) / sizeof(fixed_kinds[0]); i++) {
		size_t size = sample_record(record, fixed_kinds[i], SAMPLE_RANDOM, 1);

		assert_int_equal(record_check(record, size, &kind, &size_bytes), RECORD_GOOD);
		assert_int_equal(kind, fixed_kinds[i]);
		assert_int_equal(size_bytes, size);
	}
	for (size_t i = 0; i < sizeof(text_kinds) / sizeof(text_kinds[0]); i++) {
		size_t size = sample_text_record(record, text_kinds[i], 3, 64);

		assert_int_equal(record_check(record, size, &kind, &size_bytes), RECORD_GOOD);
	}
}

static void cut_records_are_bad(void **state)
{
	_Alignas(8) uint8_t record[SAMPLE_MAX_BYTES];
	uint16_t kind, size_bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(text_kinds) / sizeof(text_kinds[0]); i++) {
		size_t size = sample_text_record(record, text_kinds[i], 3, 64);

		for (size_t cut = 0; cut < size; cut++)
			assert_int_equal(record_check(record, cut, &kind, &size_bytes), RECORD_BAD);
	}
}

static void sizes_that_no_record_has_are_bad(void **state)
{
	static const uint16_t sizes[] = {0, 1, 7, 9, 15, 16, 60, 127, 65535};
	_Alignas(8) uint8_t record[SAMPLE_MAX_BYTES];
	uint16_t kind, size_bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		sample_record(record, RECORD_KIND_call, SAMPLE_ZERO, 0);
		bytes_store16(record + 2, sizes[i]);
		assert_int_equal(record_check(record, sizeof(record), &kind, &size_bytes),
				 RECORD_BAD);
	}
}

static void counts_larger_than_the_record_are_bad(void **state)
{
	_Alignas(8) uint8_t record[SAMPLE_MAX_BYTES];
	uint16_t kind, size_bytes;
	size_t size;

	(void)state;
	size = sample_text_record(record, RECORD_KIND_name, 1, 16);
	((struct record_name *)record)->text_bytes = 17;
	assert_int_equal(record_check(record, size, &kind, &size_bytes), RECORD_BAD);
	((struct record_name *)record)->text_bytes = UINT32_MAX;
	assert_int_equal(record_check(record, size, &kind, &size_bytes), RECORD_BAD);
	size = sample_text_record(record, RECORD_KIND_info, 1, 16);
	((struct record_info *)record)->value_bytes = UINT32_MAX;
	assert_int_equal(record_check(record, size, &kind, &size_bytes), RECORD_BAD);
	size = sample_text_record(record, RECORD_KIND_site, 1, 32);
	((struct record_site *)record)->frame_count = 0x10000001; /* times 16 wraps in 32 bits */
	assert_int_equal(record_check(record, size, &kind, &size_bytes), RECORD_BAD);
}

static void unknown_kinds_are_foreign_and_keep_their_size(void **state)
{
	_Alignas(8) uint8_t record[64] = {0};
	uint16_t kind, size_bytes = 0;

	(void)state;
	bytes_store16(record, 50);
	bytes_store16(record + 2, 48);
	assert_int_equal(record_check(record, sizeof(record), &kind, &size_bytes), RECORD_FOREIGN);
	assert_int_equal(size_bytes, 48);
	bytes_store16(record, 60000);
	assert_int_equal(record_check(record, sizeof(record), &kind, &size_bytes), RECORD_FOREIGN);
}

/* A newer minor version may append fields to a fixed kind. */
static void longer_fixed_records_are_good(void **state)
{
	_Alignas(8) uint8_t record[SAMPLE_MAX_BYTES];
	uint16_t kind, size_bytes;
	size_t size = sample_record(record, RECORD_KIND_call, SAMPLE_ZERO, 0);

	(void)state;
	bytes_store16(record + 2, (uint16_t)(size + 16));
	assert_int_equal(record_check(record, sizeof(record), &kind, &size_bytes), RECORD_GOOD);
	assert_int_equal(size_bytes, size + 16);
}

/* An older minor version had a memory record without its last field. */
static void shorter_records_of_older_versions_lack_their_last_fields(void **state)
{
	const struct record_schema *schema = record_schema_of(RECORD_KIND_memory);
	_Alignas(8) uint8_t record[SAMPLE_MAX_BYTES];
	struct record_memory row;
	uint16_t kind, size_bytes;

	(void)state;
	sample_record(record, RECORD_KIND_memory, SAMPLE_ZERO, 0);
	memset(record + 64, 0x55, sizeof(row) - 64);
	bytes_store16(record + 2, 88);
	assert_int_equal(record_check(record, sizeof(record), &kind, &size_bytes), RECORD_GOOD);
	record_copy(&row, record, schema);
	assert_int_equal(row.call.head.size_bytes, sizeof(row));
	assert_int_equal(row.size_bytes >> 56, 0x55);
	assert_int_equal(row.backing, 0);
	bytes_store16(record + 2, 80);
	assert_int_equal(record_check(record, sizeof(record), &kind, &size_bytes), RECORD_BAD);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_records_are_good),
		cmocka_unit_test(cut_records_are_bad),
		cmocka_unit_test(sizes_that_no_record_has_are_bad),
		cmocka_unit_test(counts_larger_than_the_record_are_bad),
		cmocka_unit_test(unknown_kinds_are_foreign_and_keep_their_size),
		cmocka_unit_test(longer_fixed_records_are_good),
		cmocka_unit_test(shorter_records_of_older_versions_lack_their_last_fields),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
