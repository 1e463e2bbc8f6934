/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns grow by doubling and are kept over row_store_clear(), since fresh memory costs more than
 * the encoding; a kind that used less than a sixteenth of its memory loses it.
 */
#include "row_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record_check.h"
#include "trace_file.h"

#define BLOCK_ROWS     128u
#define FIRST_CAPACITY 512u

struct row_kind {
	uint8_t *block; /* BLOCK_ROWS whole records */
	uint32_t block_threads[BLOCK_ROWS];
	uint32_t block_count;
	uint32_t count; /* rows in the columns, without the block */
	uint32_t capacity;
	uint64_t first_time, last_time;
	uint32_t *threads;
	uint8_t *values[RECORD_COLUMNS_MAX];
};

struct row_store {
	uint32_t count;
	uint32_t fullest; /* rows of the kind that has most */
	struct row_kind kinds[RECORD_KIND_LIMIT];
};

struct row_store *row_store_new(void)
{
	return calloc(1, sizeof(struct row_store));
}

static void kind_release(struct row_kind *rows)
{
	for (unsigned int i = 0; i < RECORD_COLUMNS_MAX; i++) {
		free(rows->values[i]);
		rows->values[i] = NULL;
	}
	free(rows->threads);
	rows->threads = NULL;
	rows->capacity = 0;
}

void row_store_free(struct row_store *store)
{
	if (!store)
		return;
	for (unsigned int kind = 0; kind < RECORD_KIND_LIMIT; kind++) {
		kind_release(&store->kinds[kind]);
		free(store->kinds[kind].block);
	}
	free(store);
}

static int kind_grow(struct row_kind *rows, const struct record_schema *schema, uint32_t needed)
{
	uint32_t capacity = rows->capacity ? rows->capacity : FIRST_CAPACITY;
	void *grown;

	while (capacity < needed)
		capacity *= 2;
	if (capacity == rows->capacity)
		return 0;
	grown = realloc(rows->threads, (size_t)capacity * sizeof(*rows->threads));
	if (!grown)
		return -ENOMEM;
	rows->threads = grown;
	for (uint16_t i = 0; i < schema->column_count; i++) {
		grown = realloc(rows->values[i], (size_t)capacity * schema->columns[i].width);
		if (!grown)
			return -ENOMEM;
		rows->values[i] = grown;
	}
	rows->capacity = capacity;
	return 0;
}

/* One column of a block; a constant width makes each loop body one load and one store. */
#define COPY_COLUMN(bytes)                                                                         \
	case bytes:                                                                                \
		for (uint32_t i = 0; i < count; i++)                                               \
			memcpy(to + (size_t)i * (bytes), from + (size_t)i * stride, bytes);        \
		break

static void copy_column(uint8_t *to, const uint8_t *from, size_t stride, unsigned int width,
			uint32_t count)
{
	switch (width) {
		COPY_COLUMN(1);
		COPY_COLUMN(2);
		COPY_COLUMN(4);
		COPY_COLUMN(8);
	default:
		break;
	}
}

static void kind_note_times(struct row_kind *rows, const struct record_schema *schema)
{
	for (uint32_t i = 0; i < rows->block_count; i++) {
		uint64_t time;

		memcpy(&time, rows->block + (size_t)i * schema->size_bytes + schema->time_offset,
		       sizeof(time));
		if (time < rows->first_time || (i == 0 && rows->count == 0))
			rows->first_time = time;
		if (time > rows->last_time || (i == 0 && rows->count == 0))
			rows->last_time = time;
	}
}

static int kind_settle(struct row_kind *rows, const struct record_schema *schema)
{
	int rc = kind_grow(rows, schema, rows->count + rows->block_count);

	if (rc < 0)
		return rc;
	kind_note_times(rows, schema);
	memcpy(rows->threads + rows->count, rows->block_threads,
	       rows->block_count * sizeof(*rows->threads));
	for (uint16_t i = 0; i < schema->column_count; i++) {
		const struct record_column *column = &schema->columns[i];

		copy_column(rows->values[i] + (size_t)rows->count * column->width,
			    rows->block + column->offset, schema->size_bytes, column->width,
			    rows->block_count);
	}
	rows->count += rows->block_count;
	rows->block_count = 0;
	return 0;
}

int row_store_add(struct row_store *store, uint32_t thread, uint16_t kind, const void *record)
{
	const struct record_schema *schema = record_schema_of(kind);
	struct row_kind *rows = &store->kinds[kind];
	int rc;

	if (!rows->block) {
		rows->block = malloc((size_t)BLOCK_ROWS * schema->size_bytes);
		if (!rows->block)
			return -ENOMEM;
	}
	if (rows->block_count == BLOCK_ROWS) {
		rc = kind_settle(rows, schema);
		if (rc < 0)
			return rc;
	}
	record_copy(rows->block + (size_t)rows->block_count * schema->size_bytes, record, schema);
	rows->block_threads[rows->block_count++] = thread;
	store->count++;
	if (rows->count + rows->block_count > store->fullest)
		store->fullest = rows->count + rows->block_count;
	return 0;
}

uint32_t row_store_count(const struct row_store *store)
{
	return store->count;
}

uint32_t row_store_fullest(const struct row_store *store)
{
	return store->fullest;
}

uint32_t row_store_count_of(const struct row_store *store, uint16_t kind)
{
	return store->kinds[kind].count + store->kinds[kind].block_count;
}

int row_store_columns(struct row_store *store, uint16_t kind, struct row_columns *columns)
{
	const struct record_schema *schema = record_schema_of(kind);
	struct row_kind *rows = &store->kinds[kind];

	if (rows->block_count > 0) {
		int rc = kind_settle(rows, schema);

		if (rc < 0)
			return rc;
	}
	for (uint16_t i = 0; i < schema->column_count; i++)
		columns->values[i] = rows->values[i];
	columns->threads = rows->threads;
	columns->count = rows->count;
	columns->first_time = rows->first_time;
	columns->last_time = rows->last_time;
	return 0;
}

void row_store_clear(struct row_store *store)
{
	for (unsigned int kind = 0; kind < RECORD_KIND_LIMIT; kind++) {
		struct row_kind *rows = &store->kinds[kind];

		if (rows->count < rows->capacity / 16 && rows->capacity > FIRST_CAPACITY)
			kind_release(rows);
		rows->count = 0;
		rows->block_count = 0;
	}
	store->count = 0;
	store->fullest = 0;
}
