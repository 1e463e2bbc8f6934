/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every column has a cursor; the rows are made a block at a time, all columns of a block before the
 * next, so that the block stays in the CPU's cache while its fields are filled in one after
 * another.
 */
#include "column_decode.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "bytes.h"
#include "record.h"
#include "record_schema.h"
#include "trace_file.h"

#define BLOCK_ROWS	      256u
#define MAX_COLUMNS	      64u /* more than any kind has; the rest of a directory is unknown columns */
#define DIRECTORY_HEAD_BYTES  8u
#define DIRECTORY_ENTRY_BYTES 16u

struct cursor {
	uint16_t id;
	uint8_t width; /* in the file */
	uint8_t encoding;
	uint8_t target_width; /* in the struct; 0: the thread column */
	uint16_t target_offset;
	bool is_paired;	      /* an OFFSET that is decoded together with its GAP */
	struct cursor *other; /* of a relative encoding; NULL reads as zeros */
	const uint8_t *at, *end;
	uint64_t base_id; /* the base value, where it names the other column */
	uint64_t value;	  /* base, then what the next row builds on */
	const uint8_t *dictionary;
	uint32_t dictionary_count;
	unsigned int plane_count;
	uint32_t row, row_count; /* next row and all of them, for planes */
	uint64_t block[BLOCK_ROWS];
};

static bool is_offset(const struct cursor *cursor)
{
	return cursor->encoding == COLUMN_OFFSET_VARINT || cursor->encoding == COLUMN_OFFSET_PLANES;
}

/* Relative to a column of the same row, which has to be there first. */
static bool is_relative(const struct cursor *cursor)
{
	return is_offset(cursor) || cursor->encoding == COLUMN_DRIFT_PLANES;
}

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	const uint8_t *from = *at;
	uint64_t result = 0;

	for (unsigned int shift = 0; shift < 64 && from < end; shift += 7) {
		uint8_t byte = *from++;

		result |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*at = from;
			*value = result;
			return true;
		}
	}
	return false;
}

static bool next_plain(struct cursor *cursor, uint32_t count)
{
	if ((size_t)(cursor->end - cursor->at) < (size_t)count * cursor->width)
		return false;
	for (uint32_t i = 0; i < count; i++, cursor->at += cursor->width)
		cursor->block[i] = bytes_load(cursor->at, cursor->width);
	return true;
}

/* ---- differences ---- */

static bool next_varints(struct cursor *cursor, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!read_varint(&cursor->at, cursor->end, &cursor->block[i]))
			return false;
	}
	return true;
}

static bool next_planes(struct cursor *cursor, uint32_t count)
{
	if (cursor->row_count - cursor->row < count)
		return false;
	memset(cursor->block, 0, count * sizeof(cursor->block[0]));
	for (unsigned int plane = 0; plane < cursor->plane_count; plane++) {
		const uint8_t *from = cursor->at + (size_t)plane * cursor->row_count + cursor->row;

		for (uint32_t i = 0; i < count; i++)
			cursor->block[i] |= (uint64_t)from[i] << 8 * plane;
	}
	cursor->row += count;
	return true;
}

/* The block as differences. */
static bool next_numbers(struct cursor *cursor, uint32_t count)
{
	bool is_varint =
		cursor->encoding == COLUMN_DELTA_VARINT || cursor->encoding == COLUMN_OFFSET_VARINT;

	if (!(is_varint ? next_varints(cursor, count) : next_planes(cursor, count)))
		return false;
	for (uint32_t i = 0; i < count; i++)
		cursor->block[i] = bytes_unzigzag(cursor->block[i]);
	return true;
}

static bool next_deltas(struct cursor *cursor, uint32_t count)
{
	if (!next_numbers(cursor, count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		cursor->value += cursor->block[i];
		cursor->block[i] = cursor->value;
	}
	return true;
}

static bool next_offsets(struct cursor *cursor, uint32_t count)
{
	if (cursor->is_paired)
		return true; /* next_gaps() has filled the block */
	if (!next_numbers(cursor, count))
		return false;
	for (uint32_t i = 0; cursor->other && i < count; i++)
		cursor->block[i] += cursor->other->block[i];
	return true;
}

static bool next_drifts(struct cursor *cursor, uint32_t count)
{
	if (!next_numbers(cursor, count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		cursor->value += cursor->block[i];
		cursor->block[i] = cursor->value + (cursor->other ? cursor->other->block[i] : 0);
	}
	return true;
}

/* Both columns of a pair: each begin counts from the end before it, each end from its begin. */
static bool next_gaps(struct cursor *cursor, uint32_t count)
{
	struct cursor *other = cursor->other;

	if (!next_numbers(cursor, count) || !next_numbers(other, count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		cursor->block[i] += cursor->value;
		other->block[i] += cursor->block[i];
		cursor->value = other->block[i];
	}
	return true;
}

static bool next_indices(struct cursor *cursor, uint32_t count)
{
	unsigned int index_width = cursor->dictionary_count <= 256 ? 1 : 2;

	if ((size_t)(cursor->end - cursor->at) < (size_t)count * index_width)
		return false;
	for (uint32_t i = 0; i < count; i++, cursor->at += index_width) {
		uint64_t index = bytes_load(cursor->at, index_width);

		if (index >= cursor->dictionary_count)
			return false;
		cursor->block[i] =
			bytes_load(cursor->dictionary + index * cursor->width, cursor->width);
	}
	return true;
}

static bool cursor_next(struct cursor *cursor, uint32_t count)
{
	switch (cursor->encoding) {
	case COLUMN_PLAIN:
		return next_plain(cursor, count);
	case COLUMN_DELTA_VARINT:
	case COLUMN_DELTA_PLANES:
		return next_deltas(cursor, count);
	case COLUMN_OFFSET_VARINT:
	case COLUMN_OFFSET_PLANES:
		return next_offsets(cursor, count);
	case COLUMN_GAP_PLANES:
		return next_gaps(cursor, count);
	case COLUMN_DRIFT_PLANES:
		return next_drifts(cursor, count);
	case COLUMN_DICTIONARY:
		return next_indices(cursor, count);
	default: /* COLUMN_CONSTANT: the block was filled at the start */
		return true;
	}
}

static bool start_dictionary(struct cursor *cursor)
{
	uint64_t room = (uint64_t)(cursor->end - cursor->at);

	if (room < 4)
		return false;
	cursor->dictionary_count = bytes_load32(cursor->at);
	cursor->dictionary = cursor->at + 4;
	if (cursor->dictionary_count > CHUNK_MAX_ROWS ||
	    (room - 4) / cursor->width < cursor->dictionary_count)
		return false;
	cursor->at = cursor->dictionary + (size_t)cursor->dictionary_count * cursor->width;
	return true;
}

static bool start_planes(struct cursor *cursor)
{
	if (cursor->encoding == COLUMN_GAP_PLANES) {
		if (cursor->end - cursor->at < 8)
			return false;
		cursor->value = bytes_load64(cursor->at);
		cursor->at += 8;
	} else if (cursor->encoding == COLUMN_DRIFT_PLANES) {
		cursor->value = 0;
	}
	if (cursor->end - cursor->at < 1)
		return false;
	cursor->plane_count = *cursor->at++;
	return cursor->plane_count <= 8 &&
	       (uint64_t)(cursor->end - cursor->at) >=
		       (uint64_t)cursor->plane_count * cursor->row_count;
}

/* False when the column contradicts itself. */
static bool cursor_start(struct cursor *cursor)
{
	switch (cursor->encoding) {
	case COLUMN_CONSTANT:
		for (uint32_t i = 0; i < BLOCK_ROWS; i++)
			cursor->block[i] = cursor->value;
		return true;
	case COLUMN_DICTIONARY:
		return start_dictionary(cursor);
	case COLUMN_DELTA_PLANES:
	case COLUMN_OFFSET_PLANES:
	case COLUMN_GAP_PLANES:
	case COLUMN_DRIFT_PLANES:
		return start_planes(cursor);
	default:
		return true;
	}
}

/* True when this program has a place for the column and can read it. */
static bool cursor_wanted(struct cursor *cursor, const struct record_schema *schema)
{
	if (cursor->encoding < COLUMN_PLAIN || cursor->encoding > COLUMN_DRIFT_PLANES)
		return false;
	if (cursor->width != 1 && cursor->width != 2 && cursor->width != 4 && cursor->width != 8)
		return false;
	if (cursor->id == 0) {
		cursor->target_width = 0;
		return true;
	}
	for (uint16_t i = 0; i < schema->column_count; i++) {
		if (schema->columns[i].id == cursor->id) {
			cursor->target_offset = schema->columns[i].offset;
			cursor->target_width = schema->columns[i].width;
			return true;
		}
	}
	return false;
}

/* Number of cursors, or -EBADMSG. */
static int read_directory(const struct record_schema *schema, const uint8_t *payload, size_t bytes,
			  uint32_t row_count, struct cursor *cursors)
{
	const uint8_t *entry = payload + DIRECTORY_HEAD_BYTES;
	const uint8_t *end = payload + bytes;
	const uint8_t *data;
	uint16_t columns;
	int used = 0;

	if (bytes < DIRECTORY_HEAD_BYTES)
		return -EBADMSG;
	columns = bytes_load16(payload);
	if ((bytes - DIRECTORY_HEAD_BYTES) / DIRECTORY_ENTRY_BYTES < columns)
		return -EBADMSG;
	data = entry + (size_t)columns * DIRECTORY_ENTRY_BYTES;
	for (uint16_t i = 0; i < columns; i++, entry += DIRECTORY_ENTRY_BYTES) {
		struct cursor *cursor = &cursors[used];
		uint32_t encoded_bytes = bytes_load32(entry + 4);

		if ((size_t)(end - data) < encoded_bytes)
			return -EBADMSG;
		cursor->id = bytes_load16(entry);
		cursor->width = entry[2];
		cursor->encoding = entry[3];
		cursor->value = bytes_load64(entry + 8);
		cursor->at = data;
		cursor->end = data + encoded_bytes;
		cursor->base_id = cursor->value;
		cursor->other = NULL;
		cursor->is_paired = false;
		cursor->row = 0;
		cursor->row_count = row_count;
		data = cursor->end;
		if (!cursor_wanted(cursor, schema))
			continue;
		if (!cursor_start(cursor))
			return -EBADMSG;
		if (++used == (int)MAX_COLUMNS)
			break;
	}
	return used;
}

static struct cursor *find_cursor(struct cursor *cursors, int count, uint64_t id)
{
	for (int i = 0; i < count; i++) {
		if (cursors[i].id == id)
			return &cursors[i];
	}
	return NULL;
}

/* Ties a column to the one that it is relative to; false when the two make no encoding of this
 * version. */
static bool tie_cursor(struct cursor *cursor, struct cursor *cursors, int count)
{
	cursor->other = find_cursor(cursors, count, cursor->base_id);
	if (cursor->encoding != COLUMN_GAP_PLANES)
		return !cursor->other || !is_relative(cursor->other);
	if (!cursor->other || !is_offset(cursor->other) || cursor->other->is_paired ||
	    find_cursor(cursors, count, cursor->other->base_id) != cursor)
		return false;
	cursor->other->is_paired = true;
	return true;
}

/* The order of decoding: columns that others are relative to first. Those that cannot be tied are
 * left out. */
static void order_cursors(struct cursor *cursors, int count, struct cursor **order, int *used)
{
	*used = 0;
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < count; i++) {
			struct cursor *cursor = &cursors[i];
			bool needs_tie =
				is_relative(cursor) || cursor->encoding == COLUMN_GAP_PLANES;

			if (is_relative(cursor) == (pass == 1) &&
			    (!needs_tie || tie_cursor(cursor, cursors, count)))
				order[(*used)++] = cursor;
		}
	}
}

#define SCATTER(bits)                                                                              \
	for (uint32_t i = 0; i < count; i++, to += stride) {                                       \
		uint##bits##_t value = (uint##bits##_t)cursor->block[i];                           \
		memcpy(to, &value, sizeof(value));                                                 \
	}                                                                                          \
	break

static void scatter(const struct cursor *cursor, uint8_t *rows, size_t stride, uint32_t count,
		    uint32_t *threads)
{
	uint8_t *to = rows + cursor->target_offset;

	switch (cursor->target_width) {
	case 0:
		for (uint32_t i = 0; i < count; i++)
			threads[i] = (uint32_t)cursor->block[i];
		break;
	case 1:
		SCATTER(8);
	case 2:
		SCATTER(16);
	case 4:
		SCATTER(32);
	default:
		SCATTER(64);
	}
}

static void clear_rows(uint16_t kind, uint8_t *rows, size_t stride, uint32_t count)
{
	struct record_head head = {.kind = kind, .size_bytes = (uint16_t)stride};

	memset(rows, 0, stride * count);
	for (uint32_t i = 0; i < count; i++)
		memcpy(rows + stride * i, &head, sizeof(head));
}

int column_decode(uint16_t kind, const uint8_t *payload, size_t bytes, uint32_t count, void *rows,
		  uint32_t *threads)
{
	const struct record_schema *schema = record_schema_of(kind);
	struct cursor cursors[MAX_COLUMNS];
	struct cursor *order[MAX_COLUMNS];
	int used = read_directory(schema, payload, bytes, count, cursors);

	if (used < 0)
		return used;
	order_cursors(cursors, used, order, &used);
	memset(threads, 0, (size_t)count * sizeof(*threads));
	for (uint32_t first = 0; first < count; first += BLOCK_ROWS) {
		uint32_t block = count - first < BLOCK_ROWS ? count - first : BLOCK_ROWS;
		uint8_t *block_rows = (uint8_t *)rows + (size_t)first * schema->size_bytes;

		clear_rows(kind, block_rows, schema->size_bytes, block);
		for (int i = 0; i < used; i++) {
			if (!cursor_next(order[i], block))
				return -EBADMSG;
			scatter(order[i], block_rows, schema->size_bytes, block, threads + first);
		}
	}
	return 0;
}
