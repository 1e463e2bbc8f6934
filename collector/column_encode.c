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

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are copied as they stand");

#define VARINT_MAX_BYTES      10
#define DICTIONARY_MAX_VALUES 4096u
#define HASH_SLOTS	      16384u /* power of two, four times the values: short probes */

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
	uint8_t encoding; /* wanted, then taken */
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

/* ---- differences ---- */

static void take_deltas(uint64_t *values, uint32_t count, uint64_t base)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t value = values[i];

		values[i] = bytes_zigzag(value - base);
		base = value;
	}
}

static void take_offsets(uint64_t *values, const uint64_t *other, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		values[i] = bytes_zigzag(values[i] - other[i]);
}

static void take_gaps(uint64_t *values, const uint64_t *other, uint32_t count)
{
	for (uint32_t i = count - 1; i > 0; i--)
		values[i] = bytes_zigzag(values[i] - other[i - 1]);
	values[0] = 0;
}

static void take_drifts(uint64_t *values, const uint64_t *other, uint32_t count)
{
	uint64_t before = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t difference = values[i] - other[i];

		values[i] = bytes_zigzag(difference - before);
		before = difference;
	}
}

static unsigned int bits_of(uint64_t value)
{
	return value ? 64 - (unsigned int)__builtin_clzll(value) : 0;
}

/* Bytes of the largest number: as many planes. */
static unsigned int count_planes(const uint64_t *numbers, uint32_t count)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < count; i++)
		all |= numbers[i];
	return (bits_of(all) + 7) / 8;
}

static size_t put_planes(const uint64_t *numbers, uint32_t count, unsigned int planes, uint8_t *to)
{
	*to++ = (uint8_t)planes;
	for (unsigned int plane = 0; plane < planes; plane++) {
		for (uint32_t i = 0; i < count; i++)
			to[i] = (uint8_t)(numbers[i] >> 8 * plane);
		to += count;
	}
	return 1 + (size_t)planes * count;
}

static size_t put_varints(const uint64_t *numbers, uint32_t count, uint8_t *to)
{
	uint8_t *at = to;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t value = numbers[i];

		while (value >= 0x80) {
			*at++ = (uint8_t)(value | 0x80);
			value >>= 7;
		}
		*at++ = (uint8_t)value;
	}
	return (size_t)(at - to);
}

/* A few large numbers among small ones need many planes that are nearly empty: then varints. */
static bool varints_are_shorter(const uint64_t *numbers, uint32_t count, unsigned int planes)
{
	uint64_t bytes = 0;

	if (planes < 5)
		return false;
	for (uint32_t i = 0; i < count; i++)
		bytes += (bits_of(numbers[i] | 1) + 6) / 7;
	return bytes * 2 < (uint64_t)planes * count;
}

/* ---- dictionaries ---- */

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

		while (encoder->slots[slot] &&
		       encoder->dictionary[encoder->slots[slot] - 1] != value)
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

/* ---- columns ---- */

/* The numbers of encoder->values in the wanted form and the code of what was taken. Only DELTA and
 * OFFSET have a VARINT form. */
static size_t encode_numbers(struct column_encoder *encoder, uint8_t *encoding, uint32_t count,
			     uint8_t *to)
{
	unsigned int planes = count_planes(encoder->values, count);
	bool has_varint = *encoding == COLUMN_DELTA_PLANES || *encoding == COLUMN_OFFSET_PLANES;

	if (!has_varint || !varints_are_shorter(encoder->values, count, planes))
		return put_planes(encoder->values, count, planes, to);
	*encoding = *encoding == COLUMN_DELTA_PLANES ? COLUMN_DELTA_VARINT : COLUMN_OFFSET_VARINT;
	return put_varints(encoder->values, count, to);
}

/* Differences as the encoding wants them; the bytes they take. */
static size_t encode_differences(struct column_encoder *encoder, struct column_source *source,
				 uint32_t count, uint64_t *base, uint8_t *to)
{
	size_t head = 0;

	*base = source->other_id;
	if (source->encoding != COLUMN_DELTA_PLANES)
		widen(encoder->other, source->other, source->other_width, count);
	switch (source->encoding) {
	case COLUMN_OFFSET_PLANES:
		take_offsets(encoder->values, encoder->other, count);
		break;
	case COLUMN_GAP_PLANES:
		bytes_store64(to, encoder->values[0]);
		head = 8;
		take_gaps(encoder->values, encoder->other, count);
		break;
	case COLUMN_DRIFT_PLANES:
		take_drifts(encoder->values, encoder->other, count);
		break;
	default:
		*base = encoder->values[0];
		take_deltas(encoder->values, count, *base);
		break;
	}
	return head + encode_numbers(encoder, &source->encoding, count, to + head);
}

/* Encodes one column to `to`, which has room for every outcome, and fills its directory entry. */
static size_t encode_column(struct column_encoder *encoder, struct column_source *source,
			    uint32_t count, uint8_t *entry, uint8_t *to)
{
	const uint8_t *raw = source->values;
	size_t plain_bytes = (size_t)count * source->width;
	uint64_t base = 0;
	size_t bytes = 0;

	if (memcmp(raw, raw + source->width, plain_bytes - source->width) == 0) {
		source->encoding = COLUMN_CONSTANT;
		base = bytes_load(raw, source->width);
	} else {
		uint32_t distinct = 0;

		widen(encoder->values, raw, source->width, count);
		if (source->encoding == COLUMN_DICTIONARY) {
			distinct = find_dictionary(encoder, count);
			if (!distinct)
				source->encoding = COLUMN_DELTA_PLANES;
		}
		if (distinct)
			bytes = encode_dictionary(encoder, count, distinct, source->width, to);
		else if (source->encoding != COLUMN_PLAIN)
			bytes = encode_differences(encoder, source, count, &base, to);
		if (source->encoding == COLUMN_PLAIN || bytes > plain_bytes) {
			source->encoding = COLUMN_PLAIN;
			base = 0;
			memcpy(to, raw, plain_bytes);
			bytes = plain_bytes;
		}
	}
	bytes_store16(entry, source->id);
	entry[2] = source->width;
	entry[3] = source->encoding;
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
		.id = 0,
		.width = 4,
		.encoding = COLUMN_DICTIONARY,
		.values = threads,
	};
	for (uint16_t i = 0; i < schema->column_count; i++) {
		const struct record_column *column = &schema->columns[i];
		struct column_source *source = &sources[used];

		if (column_is_zero(values[i], (size_t)count * column->width))
			continue;
		*source = (struct column_source){
			.id = column->id,
			.width = column->width,
			.encoding = column->encoding,
			.values = values[i],
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

/* A GAP needs the other column as an OFFSET. It is encoded after it, and when that has become
 * something else it is a DELTA. */
static void settle_gap(struct column_source *gap, const struct column_source *sources,
		       uint16_t used)
{
	for (uint16_t i = 0; i < used; i++) {
		if (sources[i].id == gap->other_id &&
		    (sources[i].encoding == COLUMN_OFFSET_PLANES ||
		     sources[i].encoding == COLUMN_OFFSET_VARINT))
			return;
	}
	gap->encoding = COLUMN_DELTA_PLANES;
}

/* Where the zstd frame shall start a new block: at the column and at its planes. */
static void cut_column(struct chunk_cuts *cuts, const struct column_source *source, size_t offset,
		       size_t bytes, uint32_t count)
{
	size_t head = source->encoding == COLUMN_GAP_PLANES ? 9 : 1;

	if (source->encoding >= COLUMN_DELTA_PLANES) {
		for (size_t plane = head; plane < bytes; plane += count)
			chunk_cut(cuts, offset + plane);
	}
	chunk_cut(cuts, offset + bytes);
}

int column_encode(struct column_encoder *encoder, const struct record_schema *schema,
		  const void *const *values, const uint32_t *threads, uint32_t count,
		  struct byte_buffer *payload, struct chunk_cuts *cuts)
{
	struct column_source sources[COLUMN_ENCODE_MAX_COLUMNS + 1];
	size_t worst = (size_t)count * VARINT_MAX_BYTES + DICTIONARY_MAX_VALUES * 8 + 32;
	size_t start = payload->used, entry = start + 8;
	uint16_t used;
	int rc;

	if (schema->column_count > COLUMN_ENCODE_MAX_COLUMNS || count == 0 ||
	    count > CHUNK_MAX_ROWS)
		return -EINVAL;
	used = collect_sources(schema, values, threads, count, sources);
	rc = byte_buffer_reserve(payload, 8 + (size_t)used * 16);
	if (rc < 0)
		return rc;
	memset(payload->data + start, 0, 8 + (size_t)used * 16);
	bytes_store16(payload->data + start, used);
	payload->used += 8 + (size_t)used * 16;
	/* The gaps come last. */
	for (uint16_t i = 0; i < 2 * used; i++) {
		struct column_source *source = &sources[i % used];
		size_t bytes;

		if ((source->encoding == COLUMN_GAP_PLANES) != (i >= used))
			continue;
		if (i >= used)
			settle_gap(source, sources, used);
		rc = byte_buffer_reserve(payload, worst);
		if (rc < 0) {
			payload->used = start;
			return rc;
		}
		bytes = encode_column(encoder, source, count, payload->data + entry,
				      payload->data + payload->used);
		cut_column(cuts, source, payload->used - start, bytes, count);
		payload->used += bytes;
		entry += 16;
	}
	return 0;
}
