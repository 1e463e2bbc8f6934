/* SPDX-License-Identifier: Apache-2.0 */
/* FORMAT.md says what the code does: every column of every kind, sizes, versions, encodings. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "record_schema.h"
#include "ring.h"
#include "trace_file.h"

static char *document;

static int read_document(void **state)
{
	const char *path = getenv("GPUTRACE_TEST_FORMAT");
	FILE *file = path ? fopen(path, "rb") : NULL;
	size_t bytes;

	(void)state;
	if (!file)
		return -1;
	document = calloc(1, 1 << 20);
	bytes = fread(document, 1, (1 << 20) - 1, file);
	fclose(file);
	return bytes > 0 ? 0 : -1;
}

static int free_document(void **state)
{
	(void)state;
	free(document);
	return 0;
}

/* The part from the headline on to the next one, in a buffer of its own. */
static char *section(const char *headline)
{
	const char *begin = strstr(document, headline);
	const char *end;

	if (!begin)
		fail_msg("FORMAT.md has no headline \"%s\"", headline);
	end = strstr(begin + 1, "\n#");
	return end ? strndup(begin, (size_t)(end - begin)) : strdup(begin);
}

static void expect_row(const char *text, const char *where, const struct record_column *column)
{
	char row[128];

	snprintf(row, sizeof(row), "| 0x%02x | u%u | `%s` | %u | ", column->offset,
		 column->width * 8u, column->name, column->id);
	if (!strstr(text, row))
		fail_msg("FORMAT.md, %s: no row \"%s\"", where, row);
}

static void every_column_has_its_row(void **state)
{
	char *calls = section("#### Common part of calls");
	char *gpu = section("#### Common part of GPU records");

	(void)state;
	for (uint16_t kind = 0; kind < RECORD_KIND_LIMIT; kind++) {
		const struct record_schema *schema = record_schema_of(kind);
		char headline[128];
		char *text;

		if (schema->column_count == 0)
			continue;
		snprintf(headline, sizeof(headline), "#### Kind %u `%s` (%u bytes)", kind,
			 schema->name, schema->size_bytes);
		text = section(headline);
		for (uint16_t i = 0; i < schema->column_count; i++) {
			const struct record_column *column = &schema->columns[i];

			if (strncmp(column->name, "call.", 5) == 0)
				expect_row(calls, headline, column);
			else if (strncmp(column->name, "gpu.", 4) == 0)
				expect_row(gpu, headline, column);
			else
				expect_row(text, headline, column);
		}
		free(text);
	}
	free(calls);
	free(gpu);
}

static void every_described_kind_has_its_section(void **state)
{
	(void)state;
	for (uint16_t kind = 1; kind < RECORD_KIND_LIMIT; kind++) {
		const struct record_schema *schema = record_schema_of(kind);
		char headline[128];

		if (!schema->name)
			continue;
		snprintf(headline, sizeof(headline), "#### Kind %u `%s`", kind, schema->name);
		free(section(headline));
	}
}

static void versions_are_those_of_the_headers(void **state)
{
	char text[128];

	(void)state;
	snprintf(text, sizeof(text),
		 "Version of the file: **%d.%d**. Version of the ring: **%d.%d**",
		 TRACE_VERSION_MAJOR, TRACE_VERSION_MINOR, RING_VERSION_MAJOR, RING_VERSION_MINOR);
	assert_non_null(strstr(document, text));
}

static void every_encoding_is_described(void **state)
{
	static const struct {
		int number;
		const char *name;
	} encodings[] = {
		{COLUMN_PLAIN, "PLAIN"},
		{COLUMN_CONSTANT, "CONSTANT"},
		{COLUMN_DELTA_VARINT, "DELTA_VARINT"},
		{COLUMN_DICTIONARY, "DICTIONARY"},
		{COLUMN_OFFSET_VARINT, "OFFSET_VARINT"},
		{COLUMN_DELTA_PLANES, "DELTA_PLANES"},
		{COLUMN_OFFSET_PLANES, "OFFSET_PLANES"},
		{COLUMN_GAP_PLANES, "GAP_PLANES"},
		{COLUMN_DRIFT_PLANES, "DRIFT_PLANES"},
		{COLUMN_GAP_PREDICTED, "GAP_PREDICTED"},
		{COLUMN_OFFSET_PREDICTED, "OFFSET_PREDICTED"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++) {
		char row[64];

		snprintf(row, sizeof(row), "| %d | %s | ", encodings[i].number, encodings[i].name);
		assert_non_null(strstr(document, row));
	}
}

#define EXPECT_FIELD(type, field)                                                                  \
	do {                                                                                       \
		char row[64];                                                                      \
		snprintf(row, sizeof(row), "| 0x%03zx | ", offsetof(struct type, field));          \
		expect_field(row, #field);                                                         \
	} while (0)

static void expect_field(const char *row, const char *field)
{
	char name[64];
	const char *at;

	snprintf(name, sizeof(name), " | `%s` | ", field);
	for (at = strstr(document, row); at; at = strstr(at + 1, row)) {
		const char *found = strstr(at, name);

		if (found && found < strchr(at, '\n'))
			return;
	}
	fail_msg("FORMAT.md has no field %s at%s", field, row);
}

static void control_page_fields_are_where_the_document_says(void **state)
{
	(void)state;
	EXPECT_FIELD(ring_control, clock_kind);
	EXPECT_FIELD(ring_control, start_realtime_ns);
	EXPECT_FIELD(ring_control, shim_build);
	EXPECT_FIELD(ring_control, collector_state);
	EXPECT_FIELD(ring_control, collector_build);
	EXPECT_FIELD(ring_control, collector_heartbeat_ns);
	EXPECT_FIELD(ring_control, written_ticks);
	EXPECT_FIELD(ring_control, flush_request);
	EXPECT_FIELD(ring_control, flush_done);
	EXPECT_FIELD(ring_control, capture_enabled);
	EXPECT_FIELD(ring_control, session_ended);
	EXPECT_FIELD(ring_control, memory_bytes);
	EXPECT_FIELD(ring_control, unrecorded);
	EXPECT_FIELD(ring_control, mark_state);
	EXPECT_FIELD(ring_control, mark_bytes);
	EXPECT_FIELD(ring_control, mark_text);
	EXPECT_FIELD(ring_control, graphs_wanted);
	EXPECT_FIELD(ring_control, graphs_now);
	EXPECT_FIELD(ring_header, tail);
	EXPECT_FIELD(ring_header, dropped);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_column_has_its_row),
		cmocka_unit_test(every_described_kind_has_its_section),
		cmocka_unit_test(versions_are_those_of_the_headers),
		cmocka_unit_test(every_encoding_is_described),
		cmocka_unit_test(control_page_fields_are_where_the_document_says),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, read_document, free_document);
}
