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
#include "number_decode.h"
#include "record.h"
#include "record_schema.h"
#include "time_predict.h"
#include "trace_file.h"

#define BLOCK_ROWS	      256u
#define MAX_COLUMNS	      64u /* more than any kind has; the rest of a directory is unknown columns */
#define MAX_ROW_BYTES	      256u
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
	struct cursor *key;   /* of a predicted GAP */
	struct time_predictor *times;
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
	return cursor->encoding == COLUMN_OFFSET_VARINT ||
	       cursor->encoding == COLUMN_OFFSET_PLANES ||
	       cursor->encoding == COLUMN_OFFSET_PREDICTED;
}

static bool is_gap(const struct cursor *cursor)
{
	return cursor->encoding == COLUMN_GAP_PLANES || cursor->encoding == COLUMN_GAP_PREDICTED;
}

/* Relative to a column of the same row, which has to be there first. */
static bool is_relative(const struct cursor *cursor)
{
	return is_offset(cursor) || cursor->encoding == COLUMN_DRIFT_PLANES;
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

/* The block as differences. */
static bool next_numbers(struct cursor *cursor, uint32_t count)
{
	if (cursor->encoding == COLUMN_DELTA_VARINT || cursor->encoding == COLUMN_OFFSET_VARINT) {
		if (!number_take_varints(&cursor->at, cursor->end, cursor->block, count))
			return false;
	} else {
		if (cursor->row_count - cursor->row < count)
			return false;
		number_take_planes(cursor->at + cursor->row, cursor->plane_count, cursor->row_count,
				   cursor->block, count);
		cursor->row += count;
	}
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

/* The same, less what was guessed from the keys. */
static bool next_predicted(struct cursor *cursor, uint32_t count)
{
	struct cursor *other = cursor->other;

	if (!next_numbers(cursor, count) || !next_numbers(other, count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct time_pair *context =
			time_predictor_next(cursor->times, cursor->key->block[i]);
		struct time_pair guess = time_predictor_guess(cursor->times, context);
		uint64_t gap = cursor->block[i] + guess.gap;
		uint64_t duration = other->block[i] + guess.duration;

		time_predictor_learn(cursor->times, context, gap, duration);
		cursor->block[i] = cursor->value + gap;
		cursor->value = other->block[i] = cursor->block[i] + duration;
	}
	return true;
}

static bool indices_are_known(const struct cursor *cursor, uint32_t count, unsigned int width)
{
	uint32_t largest = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = width == 1 ? cursor->at[i] : bytes_load16(cursor->at + 2 * i);

		largest = index > largest ? index : largest;
	}
	return largest < cursor->dictionary_count;
}

#define LOOK_UP(index, width)                                                                      \
	for (uint32_t i = 0; i < count; i++)                                                       \
	cursor->block[i] = bytes_load(cursor->dictionary + (size_t)(index) * (width), width)

static bool next_indices(struct cursor *cursor, uint32_t count)
{
	unsigned int index_width = cursor->dictionary_count <= 256 ? 1 : 2;

	if ((size_t)(cursor->end - cursor->at) < (size_t)count * index_width ||
	    !indices_are_known(cursor, count, index_width))
		return false;
	/* A constant width makes each loop body a few instructions. */
	if (index_width == 1 && cursor->width == 8)
		LOOK_UP(cursor->at[i], 8);
	else if (index_width == 1 && cursor->width == 4)
		LOOK_UP(cursor->at[i], 4);
	else if (index_width == 1)
		LOOK_UP(cursor->at[i], cursor->width);
	else if (cursor->width == 8)
		LOOK_UP(bytes_load16(cursor->at + 2 * i), 8);
	else
		LOOK_UP(bytes_load16(cursor->at + 2 * i), cursor->width);
	cursor->at += (size_t)count * index_width;
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
	case COLUMN_OFFSET_PREDICTED:
		return next_offsets(cursor, count);
	case COLUMN_GAP_PLANES:
		return next_gaps(cursor, count);
	case COLUMN_GAP_PREDICTED:
		return next_predicted(cursor, count);
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
	if (is_gap(cursor)) {
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
	case COLUMN_GAP_PREDICTED:
	case COLUMN_OFFSET_PREDICTED:
		return start_planes(cursor);
	default:
		return true;
	}
}

/* True when this program has a place for the column and can read it. */
static bool cursor_wanted(struct cursor *cursor, const struct record_schema *schema)
{
	if (cursor->encoding < COLUMN_PLAIN || cursor->encoding > COLUMN_OFFSET_PREDICTED)
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
		cursor->key = NULL;
		cursor->times = NULL;
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

/* A GAP needs its OFFSET, a predicted one a predicted OFFSET and keys that stand by themselves. */
static bool tie_gap(struct cursor *cursor, struct cursor *cursors, int count,
		    struct time_predictor *times)
{
	bool is_predicted = cursor->encoding == COLUMN_GAP_PREDICTED;
	struct cursor *other = find_cursor(cursors, count, cursor->base_id & 0xffff);

	if (!other || !is_offset(other) || other->is_paired ||
	    is_predicted != (other->encoding == COLUMN_OFFSET_PREDICTED) ||
	    find_cursor(cursors, count, other->base_id & 0xffff) != cursor)
		return false;
	if (is_predicted) {
		cursor->key = find_cursor(cursors, count, cursor->base_id >> 16);
		if (!cursor->key || is_relative(cursor->key) || is_gap(cursor->key))
			return false;
		/* One pair per chunk uses the predictor: no kind has more. */
		for (int i = 0; i < count; i++) {
			if (cursors[i].times)
				return false;
		}
		cursor->times = times;
		time_predictor_start(times, cursor->row_count);
	}
	cursor->other = other;
	other->is_paired = true;
	return true;
}

/* Ties a column to the one that it is relative to; false when the two make no encoding of this
 * version. */
static bool tie_cursor(struct cursor *cursor, struct cursor *cursors, int count)
{
	if (cursor->is_paired)
		return true;
	if (cursor->encoding == COLUMN_OFFSET_PREDICTED)
		return false;
	cursor->other = find_cursor(cursors, count, cursor->base_id);
	return !cursor->other || !is_relative(cursor->other);
}

/* The order of decoding: what stands by itself, then the pairs, then what is relative to those.
 * Columns that cannot be tied are left out. */
static void order_cursors(struct cursor *cursors, int count, struct time_predictor *times,
			  struct cursor **order, int *used)
{
	*used = 0;
	for (int i = 0; i < count; i++) {
		/* Constant fields are in every row already, the thread is not. */
		if (!is_relative(&cursors[i]) && !is_gap(&cursors[i]) &&
		    (cursors[i].encoding != COLUMN_CONSTANT || cursors[i].target_width == 0))
			order[(*used)++] = &cursors[i];
	}
	for (int i = 0; i < count; i++) {
		if (is_gap(&cursors[i]) && tie_gap(&cursors[i], cursors, count, times))
			order[(*used)++] = &cursors[i];
	}
	for (int i = 0; i < count; i++) {
		if (is_relative(&cursors[i]) && tie_cursor(&cursors[i], cursors, count))
			order[(*used)++] = &cursors[i];
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

/* A row with its head and all constants: what each row starts from. */
static void make_pattern(uint16_t kind, const struct record_schema *schema,
			 const struct cursor *cursors, int count, uint8_t *pattern)
{
	struct record_head head = {.kind = kind, .size_bytes = schema->size_bytes};

	memset(pattern, 0, schema->size_bytes);
	memcpy(pattern, &head, sizeof(head));
	for (int i = 0; i < count; i++) {
		if (cursors[i].encoding == COLUMN_CONSTANT && cursors[i].target_width > 0)
			scatter(&cursors[i], pattern, 0, 1, NULL);
	}
}

int column_decode(uint16_t kind, const uint8_t *payload, size_t bytes, uint32_t count,
		  struct time_predictor *times, void *rows, uint32_t *threads)
{
	const struct record_schema *schema = record_schema_of(kind);
	struct cursor cursors[MAX_COLUMNS];
	struct cursor *order[MAX_COLUMNS];
	uint8_t pattern[MAX_ROW_BYTES];
	int used = read_directory(schema, payload, bytes, count, cursors);

	if (used < 0)
		return used;
	make_pattern(kind, schema, cursors, used, pattern);
	order_cursors(cursors, used, times, order, &used);
	memset(threads, 0, (size_t)count * sizeof(*threads));
	for (uint32_t first = 0; first < count; first += BLOCK_ROWS) {
		uint32_t block = count - first < BLOCK_ROWS ? count - first : BLOCK_ROWS;
		uint8_t *block_rows = (uint8_t *)rows + (size_t)first * schema->size_bytes;

		for (uint32_t i = 0; i < block; i++)
			memcpy(block_rows + (size_t)i * schema->size_bytes, pattern,
			       schema->size_bytes);
		for (int i = 0; i < used; i++) {
			if (!cursor_next(order[i], block))
				return -EBADMSG;
			scatter(order[i], block_rows, schema->size_bytes, block, threads + first);
		}
	}
	return 0;
}
