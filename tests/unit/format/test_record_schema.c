/* SPDX-License-Identifier: Apache-2.0 */
/* The column tables: complete, without overlap, readable by every reader. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "record.h"
#include "record_schema.h"
#include "trace_file.h"

enum layout { FIXED, TEXT };

static const struct {
	uint16_t kind;
	const char *name;
	enum layout layout;
	size_t size_bytes;
} kinds[] = {
#define RECORD(number, name, layout) {number, #name, layout, sizeof(struct record_##name)},
#include "record.def"
#undef RECORD
};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static void every_kind_has_its_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < KIND_COUNT; i++) {
		const struct record_schema *schema = record_schema_of(kinds[i].kind);

		assert_non_null(schema->name);
		assert_string_equal(schema->name, kinds[i].name);
		assert_true(kinds[i].kind < RECORD_KIND_LIMIT);
		assert_int_equal(schema->column_count > 0, kinds[i].layout == FIXED);
		if (kinds[i].layout == FIXED)
			assert_int_equal(schema->size_bytes, kinds[i].size_bytes);
		else
			assert_true(schema->size_bytes <= kinds[i].size_bytes);
		assert_int_equal(schema->size_bytes % (kinds[i].layout == FIXED ? 8 : 4), 0);
	}
}

static void unknown_kinds_have_no_name(void **state)
{
	(void)state;
	assert_null(record_schema_of(0)->name);
	assert_null(record_schema_of(63)->name);
	assert_null(record_schema_of(64)->name);
	assert_null(record_schema_of(UINT16_MAX)->name);
}

static void columns_stay_inside_and_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < KIND_COUNT; i++) {
		const struct record_schema *schema = record_schema_of(kinds[i].kind);
		uint8_t used[512] = {0};

		for (uint16_t c = 0; c < schema->column_count; c++) {
			const struct record_column *column = &schema->columns[c];

			assert_true(column->width == 1 || column->width == 2 ||
				    column->width == 4 || column->width == 8);
			assert_true(column->offset >= sizeof(struct record_head));
			assert_true(column->offset + column->width <= schema->size_bytes);
			assert_int_equal(column->offset % column->width, 0);
			for (unsigned int byte = 0; byte < column->width; byte++)
				assert_int_equal(used[column->offset + byte]++, 0);
		}
	}
}

static void column_numbers_are_unique_and_not_the_thread_column(void **state)
{
	(void)state;
	for (size_t i = 0; i < KIND_COUNT; i++) {
		const struct record_schema *schema = record_schema_of(kinds[i].kind);

		assert_true(schema->column_count <= RECORD_COLUMNS_MAX);
		for (uint16_t c = 0; c < schema->column_count; c++) {
			assert_true(schema->columns[c].id > 0);
			for (uint16_t d = 0; d < c; d++)
				assert_int_not_equal(schema->columns[c].id, schema->columns[d].id);
		}
	}
}

/* The file format says so: a reader resolves one step only. */
static void relative_columns_point_to_absolute_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < KIND_COUNT; i++) {
		const struct record_schema *schema = record_schema_of(kinds[i].kind);

		for (uint16_t c = 0; c < schema->column_count; c++) {
			const struct record_column *column = &schema->columns[c];
			int found = column->encoding != COLUMN_OFFSET_VARINT;

			for (uint16_t d = 0; d < schema->column_count; d++) {
				if (schema->columns[d].id == column->relative_to)
					found = schema->columns[d].encoding != COLUMN_OFFSET_VARINT;
			}
			assert_true(found);
		}
	}
}

static void the_ordering_time_is_a_column(void **state)
{
	(void)state;
	for (size_t i = 0; i < KIND_COUNT; i++) {
		const struct record_schema *schema = record_schema_of(kinds[i].kind);
		int found = schema->column_count == 0;

		for (uint16_t c = 0; c < schema->column_count; c++)
			found |= schema->columns[c].offset == schema->time_offset &&
				 schema->columns[c].width == 8;
		assert_true(found);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_has_its_row),
		cmocka_unit_test(unknown_kinds_have_no_name),
		cmocka_unit_test(columns_stay_inside_and_apart),
		cmocka_unit_test(column_numbers_are_unique_and_not_the_thread_column),
		cmocka_unit_test(relative_columns_point_to_absolute_ones),
		cmocka_unit_test(the_ordering_time_is_a_column),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
