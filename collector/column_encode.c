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
#include "number_encode.h"
#include "pair_surprise.h"
#include "time_predict.h"
#include "trace_file.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are copied as they stand");

#define DICTIONARY_MAX_VALUES 4096u
#define HASH_SLOTS	      16384u /* power of two, four times the values: short probes */

struct column_encoder {
	uint64_t values[CHUNK_MAX_ROWS];
	uint64_t other[CHUNK_MAX_ROWS];
	uint16_t indices[CHUNK_MAX_ROWS];
	uint64_t dictionary[DICTIONARY_MAX_VALUES];
	uint16_t slots[HASH_SLOTS]; /* dictionary index + 1, 0 empty */
	struct time_predictor times;
};

struct column_source {
	uint16_t id;
	uint8_t width;
	uint8_t encoding; /* wanted, then taken */
	const void *values;
	uint16_t other_id;
	uint8_t other_width;
	const void *other;
	const uint16_t *keys;	    /* of a GAP: columns that predict the times */
	struct column_source *mate; /* of a GAP: the OFFSET to it; of that OFFSET: the GAP */
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

static void put_entry(uint8_t *entry, const struct column_source *source, size_t bytes,
		      uint64_t base)
{
	bytes_store16(entry, source->id);
	entry[2] = source->width;
	entry[3] = source->encoding;
	bytes_store32(entry + 4, (uint32_t)bytes);
	bytes_store64(entry + 8, base);
}

/* The numbers of encoder->values in the wanted form and the code of what was taken. Only DELTA and
 * OFFSET have a VARINT form. */
static size_t encode_numbers(struct column_encoder *encoder, uint8_t *encoding, uint32_t count,
			     uint8_t *to)
{
	unsigned int planes = number_count_planes(encoder->values, count);
	bool has_varint = *encoding == COLUMN_DELTA_PLANES || *encoding == COLUMN_OFFSET_PLANES;

	if (!has_varint || !number_varints_are_shorter(encoder->values, count, planes))
		return number_put_planes(encoder->values, count, planes, to);
	*encoding = *encoding == COLUMN_DELTA_PLANES ? COLUMN_DELTA_VARINT : COLUMN_OFFSET_VARINT;
	return number_put_varints(encoder->values, count, to);
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
	put_entry(entry, source, bytes, base);
	return bytes;
}

/* ---- predicted pairs of begin and end ---- */

/* The column that predicts the times of a pair: one that was written as it stands, and if possible
 * one that changes. */
static const struct column_source *find_key(const struct column_source *gap,
					    const struct column_source *sources, uint16_t used)
{
	const struct column_source *constant = NULL;

	for (unsigned int k = 0; k < 2 && gap->keys[k]; k++) {
		for (uint16_t i = 0; i < used; i++) {
			if (sources[i].id != gap->keys[k])
				continue;
			if (sources[i].encoding == COLUMN_DICTIONARY)
				return &sources[i];
			if (sources[i].encoding == COLUMN_CONSTANT && !constant)
				constant = &sources[i];
		}
	}
	return constant;
}

/* Both columns of a pair behind each other, with their directory entries. 0 when prediction would
 * not make them smaller: they are then columns like others. */
static size_t encode_pair(struct column_encoder *encoder, struct column_source *gap,
			  const struct column_source *key, uint32_t count, uint8_t *entry,
			  uint8_t *to)
{
	unsigned int gap_planes, duration_planes;
	size_t gap_bytes, duration_bytes;

	if (gap->width != 8 || gap->other_width != 8)
		return 0;
	pair_take_surprises(&encoder->times, gap->values, gap->other, key->values, key->width,
			    count, encoder->values, encoder->other);
	gap_planes = number_count_planes(encoder->values, count);
	duration_planes = number_count_planes(encoder->other, count);
	if (gap_planes > 4 || duration_planes > 4)
		return 0;
	gap->encoding = COLUMN_GAP_PREDICTED;
	gap->mate->encoding = COLUMN_OFFSET_PREDICTED;
	memcpy(to, gap->values, 8);
	gap_bytes = 8 + number_put_planes(encoder->values, count, gap_planes, to + 8);
	put_entry(entry, gap, gap_bytes, gap->other_id | (uint64_t)key->id << 16);
	duration_bytes = number_put_planes(encoder->other, count, duration_planes, to + gap_bytes);
	put_entry(entry + 16, gap->mate, duration_bytes, gap->id | (uint64_t)key->id << 16);
	return gap_bytes + duration_bytes;
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
			.keys = column->keys,
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
	for (uint16_t i = 0; i < used; i++) {
		for (uint16_t j = 0; sources[i].encoding == COLUMN_GAP_PLANES && j < used; j++) {
			if (sources[j].id != sources[i].other_id)
				continue;
			sources[i].mate = &sources[j];
			sources[j].mate = &sources[i];
		}
	}
	return used;
}

/* Where the zstd frame shall start a new block: at the column and at its planes. */
static void cut_column(struct chunk_cuts *cuts, const struct column_source *source, size_t offset,
		       size_t bytes, uint32_t count)
{
	bool has_first =
		source->encoding == COLUMN_GAP_PLANES || source->encoding == COLUMN_GAP_PREDICTED;

	if (source->encoding >= COLUMN_DELTA_PLANES) {
		for (size_t plane = has_first ? 9 : 1; plane < bytes; plane += count)
			chunk_cut(cuts, offset + plane);
	}
	chunk_cut(cuts, offset + bytes);
}

/* What column_encode() is doing, for its parts. */
struct encode_job {
	struct column_encoder *encoder;
	struct byte_buffer *payload;
	struct chunk_cuts *cuts;
	size_t start; /* of the payload in its buffer */
	size_t entry; /* of the next column */
	uint32_t count;
};

/* Counts in what was put at the payload's end. */
static void take_column(struct encode_job *job, const struct column_source *source, size_t bytes)
{
	cut_column(job->cuts, source, job->payload->used - job->start, bytes, job->count);
	job->payload->used += bytes;
	job->entry += 16;
}

static int add_column(struct encode_job *job, struct column_source *source)
{
	size_t worst =
		(size_t)job->count * NUMBER_VARINT_MAX_BYTES + DICTIONARY_MAX_VALUES * 8 + 32;
	int rc = byte_buffer_reserve(job->payload, worst);

	if (rc < 0)
		return rc;
	take_column(job, source,
		    encode_column(job->encoder, source, job->count, job->payload->data + job->entry,
				  job->payload->data + job->payload->used));
	return 0;
}

/* A begin and its end: predicted, or one after the other. A GAP needs the other column as an
 * OFFSET; when that has become something else it is a DELTA. */
static int add_pair(struct encode_job *job, struct column_source *gap,
		    const struct column_source *key)
{
	int rc = byte_buffer_reserve(job->payload, 2 * (4 * (size_t)job->count + 16));

	if (rc < 0)
		return rc;
	if (key) {
		uint8_t *entry = job->payload->data + job->entry;

		if (encode_pair(job->encoder, gap, key, job->count, entry,
				job->payload->data + job->payload->used) > 0) {
			take_column(job, gap, bytes_load32(entry + 4));
			take_column(job, gap->mate, bytes_load32(entry + 16 + 4));
			return 0;
		}
	}
	rc = add_column(job, gap->mate);
	if (rc < 0)
		return rc;
	if (gap->mate->encoding != COLUMN_OFFSET_PLANES &&
	    gap->mate->encoding != COLUMN_OFFSET_VARINT)
		gap->encoding = COLUMN_DELTA_PLANES;
	return add_column(job, gap);
}

int column_encode(struct column_encoder *encoder, const struct record_schema *schema,
		  const void *const *values, const uint32_t *threads, uint32_t count,
		  struct byte_buffer *payload, struct chunk_cuts *cuts)
{
	struct column_source sources[RECORD_COLUMNS_MAX + 1];
	struct encode_job job = {
		.encoder = encoder,
		.payload = payload,
		.cuts = cuts,
		.start = payload->used,
		.entry = payload->used + 8,
		.count = count,
	};
	uint16_t used;
	int rc;

	if (schema->column_count > RECORD_COLUMNS_MAX || count == 0 || count > CHUNK_MAX_ROWS)
		return -EINVAL;
	used = collect_sources(schema, values, threads, count, sources);
	rc = byte_buffer_reserve(payload, 8 + (size_t)used * 16);
	if (rc < 0)
		return rc;
	memset(payload->data + job.start, 0, 8 + (size_t)used * 16);
	bytes_store16(payload->data + job.start, used);
	payload->used += 8 + (size_t)used * 16;
	/* Pairs come last: their keys must be settled. */
	for (uint16_t i = 0; i < used && rc == 0; i++) {
		if (sources[i].encoding == COLUMN_GAP_PLANES && !sources[i].mate)
			sources[i].encoding = COLUMN_DELTA_PLANES;
		if (!sources[i].mate)
			rc = add_column(&job, &sources[i]);
	}
	for (uint16_t i = 0; i < used && rc == 0; i++) {
		if (sources[i].mate && sources[i].encoding == COLUMN_GAP_PLANES)
			rc = add_pair(&job, &sources[i], find_key(&sources[i], sources, used));
	}
	if (rc < 0)
		payload->used = job.start;
	return rc;
}
