/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Column encodings, writer's side. Each column is widened to 64-bit numbers once, so that there is
 * one loop per encoding; columns that never change (most of them) are found by one memcmp.
 */
#include "column_encode.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "trace_file.h"

#define VARINT_MAX_BYTES 10
#define DICTIONARY_MAX_VALUES 4096u
#define HASH_SLOTS 16384u /* power of two, four times the values: short probes */

struct column_encoder {
	uint64_t values[CHUNK_MAX_ROWS];
	uint64_t other[CHUNK_MAX_ROWS];
	uint16_t indices[CHUNK_MAX_ROWS];
	uint64_t dictionary[DICTIONARY_MAX_VALUES];
	uint16_t slots[HASH_SLOTS]; /* dictionary index + 1, 0 empty */
};

struct column_source {
	uint16_t id;
	uint8_t width;
	uint8_t encoding;
	const void *values;
	uint16_t other_id;
	uint8_t other_width;
	const void *other;
};

struct column_encoder *column_encoder_new(void)
{
	return calloc(1, sizeof(struct column_encoder));
}

void column_encoder_free(struct column_encoder *encoder)
{
	free(encoder);
}

static void widen(uint64_t *to, const void *from, unsigned int width, uint32_t count)
{
	const uint8_t *at8 = from;
	const uint16_t *at16 = from;
	const uint32_t *at32 = from;

	switch (width) {
	case 1:
		for (uint32_t i = 0; i < count; i++)
			to[i] = at8[i];
		break;
	case 2:
		for (uint32_t i = 0; i < count; i++)
			to[i] = at16[i];
		break;
	case 4:
		for (uint32_t i = 0; i < count; i++)
			to[i] = at32[i];
		break;
	default:
		memcpy(to, from, (size_t)count * 8);
		break;
	}
}

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

/* Differences wrap in 64 bits whatever the width is; the reader wraps them the same way. */
static size_t encode_deltas(const uint64_t *values, uint32_t count, uint64_t base, uint8_t *to)
{
	uint8_t *at = to;

	for (uint32_t i = 0; i < count; i++) {
		at = put_varint(at, bytes_zigzag(values[i] - base));
		base = values[i];
	}
	return (size_t)(at - to);
}

static size_t encode_offsets(const uint64_t *values, const uint64_t *other, uint32_t count,
			     uint8_t *to)
{
	uint8_t *at = to;

	for (uint32_t i = 0; i < count; i++)
		at = put_varint(at, bytes_zigzag(values[i] - other[i]));
	return (size_t)(at - to);
}

static uint32_t hash_slot(uint64_t value)
{
	return (uint32_t)((value * 0x9e3779b97f4a7c15ull) >> 50) & (HASH_SLOTS - 1);
}

/* Number of distinct values, with indices[] set, or 0 when there are too many to be worth it. */
static uint32_t find_dictionary(struct column_encoder *encoder, uint32_t count)
{
	uint32_t limit = count / 2 < DICTIONARY_MAX_VALUES ? count / 2 : DICTIONARY_MAX_VALUES;
	uint32_t distinct = 0;

	memset(encoder->slots, 0, sizeof(encoder->slots));
	for (uint32_t i = 0; i < count; i++) {
		uint64_t value = encoder->values[i];
		uint32_t slot = hash_slot(value);

		while (encoder->slots[slot] && encoder->dictionary[encoder->slots[slot] - 1] != value)
			slot = (slot + 1) & (HASH_SLOTS - 1);
		if (!encoder->slots[slot]) {
			if (distinct == limit)
				return 0;
			encoder->dictionary[distinct++] = value;
			encoder->slots[slot] = (uint16_t)distinct;
		}
		encoder->indices[i] = (uint16_t)(encoder->slots[slot] - 1);
	}
	return distinct;
}

static size_t encode_dictionary(struct column_encoder *encoder, uint32_t count, uint32_t distinct,
				unsigned int width, uint8_t *to)
{
	uint8_t *at = to;

	bytes_store32(at, distinct);
	at += 4;
	for (uint32_t i = 0; i < distinct; i++, at += width)
		bytes_store(at, width, encoder->dictionary[i]);
	if (distinct <= 256) {
		for (uint32_t i = 0; i < count; i++)
			at[i] = (uint8_t)encoder->indices[i];
		at += count;
	} else {
		for (uint32_t i = 0; i < count; i++)
			bytes_store16(at + 2 * (size_t)i, encoder->indices[i]);
		at += 2 * (size_t)count;
	}
	return (size_t)(at - to);
}

static size_t encode_plain(const uint64_t *values, uint32_t count, unsigned int width, uint8_t *to)
{
	for (uint32_t i = 0; i < count; i++)
		bytes_store(to + (size_t)i * width, width, values[i]);
	return (size_t)count * width;
}

/* Encodes one column to `to`, which has room for every outcome, and fills its directory entry. */
static size_t encode_column(struct column_encoder *encoder, const struct column_source *source,
			    uint32_t count, uint8_t *entry, uint8_t *to)
{
	const uint8_t *raw = source->values;
	size_t plain_bytes = (size_t)count * source->width;
	uint8_t encoding = source->encoding;
	uint32_t distinct = 0;
	uint64_t base = 0;
	size_t bytes = 0;

	widen(encoder->values, raw, source->width, count);
	if (memcmp(raw, raw + source->width, plain_bytes - source->width) == 0) {
		encoding = COLUMN_CONSTANT;
		base = encoder->values[0];
	} else if (encoding == COLUMN_DICTIONARY) {
		distinct = find_dictionary(encoder, count);
		encoding = distinct ? COLUMN_DICTIONARY : COLUMN_DELTA_VARINT;
	}
	switch (encoding) {
	case COLUMN_CONSTANT:
		break;
	case COLUMN_DICTIONARY:
		bytes = encode_dictionary(encoder, count, distinct, source->width, to);
		break;
	case COLUMN_OFFSET_VARINT:
		widen(encoder->other, source->other, source->other_width, count);
		base = source->other_id;
		bytes = encode_offsets(encoder->values, encoder->other, count, to);
		break;
	case COLUMN_DELTA_VARINT:
		base = encoder->values[0];
		bytes = encode_deltas(encoder->values, count, base, to);
		break;
	default:
		bytes = plain_bytes + 1;
		break;
	}
	if (bytes > plain_bytes) {
		encoding = COLUMN_PLAIN;
		base = 0;
		bytes = encode_plain(encoder->values, count, source->width, to);
	}
	bytes_store16(entry, source->id);
	entry[2] = source->width;
	entry[3] = encoding;
	bytes_store32(entry + 4, (uint32_t)bytes);
	bytes_store64(entry + 8, base);
	return bytes;
}

static bool column_is_zero(const void *values, size_t bytes)
{
	const uint8_t *at = values;

	return at[0] == 0 && memcmp(at, at + 1, bytes - 1) == 0;
}

/* The columns worth writing: the thread column, then those of the schema that are not all zero. */
static uint16_t collect_sources(const struct record_schema *schema, const void *const *values,
				const uint32_t *threads, uint32_t count,
				struct column_source *sources)
{
	uint16_t used = 0;

	sources[used++] = (struct column_source){
		.id = 0, .width = 4, .encoding = COLUMN_DICTIONARY, .values = threads,
	};
	for (uint16_t i = 0; i < schema->column_count; i++) {
		const struct record_column *column = &schema->columns[i];
		struct column_source *source = &sources[used];

		if (column_is_zero(values[i], (size_t)count * column->width))
			continue;
		*source = (struct column_source){
			.id = column->id, .width = column->width,
			.encoding = column->encoding, .values = values[i],
		};
		for (uint16_t j = 0; column->relative_to && j < schema->column_count; j++) {
			if (schema->columns[j].id != column->relative_to)
				continue;
			source->other_id = column->relative_to;
			source->other_width = schema->columns[j].width;
			source->other = values[j];
		}
		used++;
	}
	return used;
}

int column_encode(struct column_encoder *encoder, const struct record_schema *schema,
		  const void *const *values, const uint32_t *threads, uint32_t count,
		  struct byte_buffer *payload)
{
	struct column_source sources[COLUMN_ENCODE_MAX_COLUMNS + 1];
	size_t worst = (size_t)count * VARINT_MAX_BYTES + DICTIONARY_MAX_VALUES * 8 + 4;
	size_t directory = payload->used;
	uint16_t used;
	int rc;

	if (schema->column_count > COLUMN_ENCODE_MAX_COLUMNS || count == 0 || count > CHUNK_MAX_ROWS)
		return -EINVAL;
	used = collect_sources(schema, values, threads, count, sources);
	rc = byte_buffer_reserve(payload, 8 + (size_t)used * 16);
	if (rc < 0)
		return rc;
	memset(payload->data + directory, 0, 8 + (size_t)used * 16);
	bytes_store16(payload->data + directory, used);
	payload->used += 8 + (size_t)used * 16;
	for (uint16_t i = 0; i < used; i++) {
		rc = byte_buffer_reserve(payload, worst);
		if (rc < 0) {
			payload->used = directory;
			return rc;
		}
		payload->used += encode_column(encoder, &sources[i], count,
					       payload->data + directory + 8 + (size_t)i * 16,
					       payload->data + payload->used);
	}
	return 0;
}
