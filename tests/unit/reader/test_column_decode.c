/* SPDX-License-Identifier: Apache-2.0 */
/* Columns: what the encoder writes the decoder reads; what no encoder writes it refuses. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "column_decode.h"
#include "column_encode.h"
#include "record.h"
#include "record_schema.h"
#include "row_store.h"
#include "sample_record.h"
#include "time_predict.h"
#include "trace_file.h"

static struct time_predictor times;

static void round_trip(uint16_t kind, enum sample_values values, uint32_t count)
{
	const struct record_schema *schema = record_schema_of(kind);
	struct column_encoder *encoder = column_encoder_new();
	struct row_store *store = row_store_new();
	struct byte_buffer payload = {0};
	struct row_columns columns;
	struct chunk_cuts cuts = {.count = 0};
	uint8_t *rows = malloc((size_t)count * schema->size_bytes);
	uint32_t *threads = malloc(count * sizeof(*threads));
	_Alignas(8) uint8_t record[SAMPLE_MAX_BYTES];

	for (uint32_t i = 0; i < count; i++) {
		sample_record(record, kind, values, i);
		assert_int_equal(row_store_add(store, i % 7, kind, record), 0);
	}
	assert_int_equal(row_store_columns(store, kind, &columns), 0);
	assert_int_equal(columns.count, count);
	assert_int_equal(column_encode(encoder, schema, columns.values, columns.threads, count,
				       &payload, &cuts),
			 0);
	memset(rows, 0xa5, (size_t)count * schema->size_bytes);
	assert_int_equal(
		column_decode(kind, payload.data, payload.used, count, &times, rows, threads), 0);
	for (uint32_t i = 0; i < count; i++) {
		sample_record(record, kind, values, i);
		if (memcmp(record, rows + (size_t)i * schema->size_bytes, schema->size_bytes) != 0)
			fail_msg("kind %s, values %d, row %u of %u differs", schema->name,
				 (int)values, i, count);
		assert_int_equal(threads[i], i % 7);
	}
	free(threads);
	free(rows);
	byte_buffer_free(&payload);
	row_store_free(store);
	column_encoder_free(encoder);
}

static void every_kind_with_every_sort_of_values_comes_back(void **state)
{
	static const uint32_t counts[] = {1, 2, 127, 128, 129, 256, 257, 1000, 20000};

	(void)state;
	for (uint16_t kind = 0; kind < RECORD_KIND_LIMIT; kind++) {
		if (record_schema_of(kind)->column_count == 0)
			continue;
		for (int values = 0; values < SAMPLE_VALUES; values++) {
			for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
				round_trip(kind, (enum sample_values)values, counts[i]);
		}
	}
}

static void the_largest_chunk_comes_back(void **state)
{
	(void)state;
	round_trip(RECORD_KIND_gemm, SAMPLE_RANDOM, CHUNK_MAX_ROWS);
	round_trip(RECORD_KIND_launch, SAMPLE_MANY, CHUNK_MAX_ROWS);
}

/* ---- payloads made by hand ---- */

struct hand_made {
	uint8_t bytes[4096];
	size_t used;
	size_t entry;
};

static void begin(struct hand_made *made, uint16_t columns)
{
	memset(made, 0, sizeof(*made));
	bytes_store16(made->bytes, columns);
	made->entry = 8;
	made->used = 8 + (size_t)columns * 16;
}

static void add_column(struct hand_made *made, uint16_t id, uint8_t width, uint8_t encoding,
		       uint64_t base, const void *data, uint32_t bytes)
{
	uint8_t *entry = made->bytes + made->entry;

	bytes_store16(entry, id);
	entry[2] = width;
	entry[3] = encoding;
	bytes_store32(entry + 4, bytes);
	bytes_store64(entry + 8, base);
	made->entry += 16;
	if (bytes > 0)
		memcpy(made->bytes + made->used, data, bytes);
	made->used += bytes;
}

static int decode_calls(const struct hand_made *made, uint32_t count, struct record_call *calls)
{
	uint32_t threads[16];

	return column_decode(RECORD_KIND_call, made->bytes, made->used, count, &times, calls,
			     threads);
}

static void absent_columns_read_as_zeros(void **state)
{
	struct record_call calls[2];
	struct hand_made made;

	(void)state;
	begin(&made, 1);
	add_column(&made, 4, 4, COLUMN_CONSTANT, 5, NULL, 0);
	assert_int_equal(decode_calls(&made, 2, calls), 0);
	assert_int_equal(calls[1].call.call_id, 5);
	assert_int_equal(calls[1].call.begin_ticks, 0);
	assert_int_equal(calls[1].call.head.kind, RECORD_KIND_call);
	assert_int_equal(calls[1].call.head.size_bytes, sizeof(calls[1]));
}

static void unknown_columns_and_encodings_are_left_out(void **state)
{
	struct record_call calls[1];
	struct hand_made made;

	(void)state;
	begin(&made, 3);
	add_column(&made, 999, 8, COLUMN_CONSTANT, 1, NULL, 0);
	add_column(&made, 3, 8, 77, 0, "whatever", 8);
	add_column(&made, 4, 4, COLUMN_PLAIN, 0, "\x09\0\0\0", 4);
	assert_int_equal(decode_calls(&made, 1, calls), 0);
	assert_int_equal(calls[0].call.site, 0);
	assert_int_equal(calls[0].call.call_id, 9);
}

static void a_column_relative_to_an_absent_one_counts_from_zero(void **state)
{
	struct record_call calls[1];
	struct hand_made made;

	(void)state;
	begin(&made, 1);
	add_column(&made, 2, 8, COLUMN_OFFSET_VARINT, 1, "\x14", 1);
	assert_int_equal(decode_calls(&made, 1, calls), 0);
	assert_int_equal(calls[0].call.end_ticks, 10);
}

static void columns_relative_to_each_other_are_left_out(void **state)
{
	struct record_call calls[1];
	struct hand_made made;

	(void)state;
	begin(&made, 3);
	add_column(&made, 1, 8, COLUMN_OFFSET_VARINT, 2, "\x02", 1);
	add_column(&made, 2, 8, COLUMN_OFFSET_VARINT, 1, "\x02", 1);
	add_column(&made, 4, 4, COLUMN_CONSTANT, 1, NULL, 0);
	assert_int_equal(decode_calls(&made, 1, calls), 0);
	assert_int_equal(calls[0].call.begin_ticks, 0);
	assert_int_equal(calls[0].call.call_id, 1);
}

static void columns_that_are_too_short_are_refused(void **state)
{
	struct record_call calls[16];
	struct hand_made made;

	(void)state;
	begin(&made, 1);
	add_column(&made, 4, 4, COLUMN_PLAIN, 0, "abcdefg", 7);
	assert_int_equal(decode_calls(&made, 2, calls), -EBADMSG);
	begin(&made, 1);
	add_column(&made, 4, 4, COLUMN_DELTA_VARINT, 0, "\x01\x80", 2);
	assert_int_equal(decode_calls(&made, 2, calls), -EBADMSG);
	begin(&made, 1);
	add_column(&made, 4, 4, COLUMN_DELTA_VARINT, 0,
		   "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
	assert_int_equal(decode_calls(&made, 1, calls), -EBADMSG);
	begin(&made, 1);
	add_column(&made, 4, 4, COLUMN_DICTIONARY, 0, "\x01\0", 2);
	assert_int_equal(decode_calls(&made, 1, calls), -EBADMSG);
}

static void dictionaries_that_contradict_themselves_are_refused(void **state)
{
	struct record_call calls[4];
	struct hand_made made;

	(void)state;
	begin(&made, 1); /* one value, index 1 */
	add_column(&made, 4, 4, COLUMN_DICTIONARY, 0,
		   "\x01\0\0\0"
		   "abcd"
		   "\x01",
		   9);
	assert_int_equal(decode_calls(&made, 1, calls), -EBADMSG);
	begin(&made, 1); /* more values than bytes */
	add_column(&made, 4, 4, COLUMN_DICTIONARY, 0,
		   "\xff\xff\0\0"
		   "abcd"
		   "\0",
		   9);
	assert_int_equal(decode_calls(&made, 1, calls), -EBADMSG);
	begin(&made, 1);
	add_column(&made, 4, 4, COLUMN_DICTIONARY, 0,
		   "\xff\xff\xff\xff"
		   "abcd"
		   "\0",
		   9);
	assert_int_equal(decode_calls(&made, 1, calls), -EBADMSG);
}

static void directories_larger_than_the_payload_are_refused(void **state)
{
	struct record_call calls[1];
	struct hand_made made;

	(void)state;
	begin(&made, 1);
	add_column(&made, 4, 4, COLUMN_PLAIN, 0, "abcd", 4);
	bytes_store16(made.bytes, 60000);
	assert_int_equal(decode_calls(&made, 1, calls), -EBADMSG);
	begin(&made, 1);
	add_column(&made, 4, 4, COLUMN_PLAIN, 0, "abcd", 4);
	bytes_store32(made.bytes + 12, UINT32_MAX);
	assert_int_equal(decode_calls(&made, 1, calls), -EBADMSG);
	made.used = 5;
	assert_int_equal(decode_calls(&made, 1, calls), -EBADMSG);
}

/* A loop over 40 call sites, each with times of its own and a little noise. */
static void make_regular(struct record_launch *launch, uint32_t i)
{
	uint64_t place = i % 40;

	launch->call.site = (place + 1) * 0x9e3779b97f4a7c15ull;
	launch->call.begin_ticks = 1000000000u + (uint64_t)i * 9000 + place * 190 + i * 7919 % 50;
	launch->call.end_ticks = launch->call.begin_ticks + 1000 + place * 150 + i * 104729 % 60;
	launch->call.call_id = i + 1;
}

static void damage_everywhere(bool from_few_sites)
{
	const struct record_schema *schema = record_schema_of(RECORD_KIND_launch);
	struct column_encoder *encoder = column_encoder_new();
	struct row_store *store = row_store_new();
	struct byte_buffer payload = {0};
	struct row_columns columns;
	struct chunk_cuts cuts = {.count = 0};
	_Alignas(8) uint8_t record[SAMPLE_MAX_BYTES];
	static struct record_launch rows[300];
	uint32_t threads[300];
	uint32_t refused = 0;

	for (uint32_t i = 0; i < 300; i++) {
		sample_record(record, RECORD_KIND_launch, i % 2 ? SAMPLE_FEW : SAMPLE_RISING, i);
		if (from_few_sites)
			make_regular((struct record_launch *)record, i);
		row_store_add(store, 1, RECORD_KIND_launch, record);
	}
	row_store_columns(store, RECORD_KIND_launch, &columns);
	column_encode(encoder, schema, columns.values, columns.threads, 300, &payload, &cuts);
	for (size_t at = 0; at < payload.used; at++) {
		uint8_t *copy = malloc(payload.used);

		memcpy(copy, payload.data, payload.used);
		copy[at] ^= (uint8_t)(1u << at % 8);
		refused += column_decode(RECORD_KIND_launch, copy, payload.used, 300, &times, rows,
					 threads) < 0;
		free(copy);
		copy = malloc(at + 1); /* exact size, so that a sanitizer sees one byte too many */
		memcpy(copy, payload.data, at + 1);
		refused += column_decode(RECORD_KIND_launch, copy, at + 1, 300, &times, rows,
					 threads) < 0;
		free(copy);
	}
	assert_true(refused > payload.used); /* at least every cut one but the last */
	byte_buffer_free(&payload);
	row_store_free(store);
	column_encoder_free(encoder);
}

static void damaged_payloads_never_crash(void **state)
{
	(void)state;
	damage_everywhere(false);
	damage_everywhere(true);
}

/* ---- predicted times ---- */

/* The encoding of a column in a payload, 0 when it is not there. */
static uint8_t encoding_of(const struct byte_buffer *payload, uint16_t id)
{
	for (uint16_t i = 0; i < bytes_load16(payload->data); i++) {
		const uint8_t *entry = payload->data + 8 + 16 * (size_t)i;

		if (bytes_load16(entry) == id)
			return entry[3];
	}
	return 0;
}

/* Encodes launches, checks that they come back, and says how their times were stored. */
static void store_launches(const struct record_launch *launches, uint32_t count, uint8_t *begins,
			   uint8_t *ends, size_t *bytes)
{
	const struct record_schema *schema = record_schema_of(RECORD_KIND_launch);
	struct column_encoder *encoder = column_encoder_new();
	struct row_store *store = row_store_new();
	struct byte_buffer payload = {0};
	struct row_columns columns;
	struct chunk_cuts cuts = {.count = 0};
	struct record_launch *rows = malloc(count * sizeof(*rows));
	uint32_t *threads = malloc(count * sizeof(*threads));

	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(row_store_add(store, 1, RECORD_KIND_launch, &launches[i]), 0);
	assert_int_equal(row_store_columns(store, RECORD_KIND_launch, &columns), 0);
	assert_int_equal(column_encode(encoder, schema, columns.values, columns.threads, count,
				       &payload, &cuts),
			 0);
	memset(&times, 0xa5, sizeof(times)); /* what was there before does not matter */
	assert_int_equal(column_decode(RECORD_KIND_launch, payload.data, payload.used, count,
				       &times, rows, threads),
			 0);
	assert_memory_equal(rows, launches, count * sizeof(*rows));
	*begins = encoding_of(&payload, 1);
	*ends = encoding_of(&payload, 2);
	*bytes = payload.used;
	free(threads);
	free(rows);
	byte_buffer_free(&payload);
	row_store_free(store);
	column_encoder_free(encoder);
}

static struct record_launch *make_launches(uint32_t count)
{
	struct record_launch *launches = calloc(count, sizeof(*launches));

	for (uint32_t i = 0; i < count; i++) {
		launches[i].call.head.kind = RECORD_KIND_launch;
		launches[i].call.head.size_bytes = sizeof(*launches);
		make_regular(&launches[i], i);
	}
	return launches;
}

static void times_of_repeated_calls_are_predicted(void **state)
{
	struct record_launch *launches = make_launches(5000);
	uint8_t begins, ends;
	size_t predicted, plain;

	(void)state;
	store_launches(launches, 5000, &begins, &ends, &predicted);
	assert_int_equal(begins, COLUMN_GAP_PREDICTED);
	assert_int_equal(ends, COLUMN_OFFSET_PREDICTED);
	for (uint32_t i = 0; i < 5000; i++)
		launches[i].call.site = launches[i].kernel = (uint64_t)i * 0x9e3779b97f4a7c15ull;
	store_launches(launches, 5000, &begins, &ends, &plain);
	assert_int_equal(begins, COLUMN_GAP_PLANES); /* nothing to recognize a call by */
	free(launches);
}

static void without_stacks_times_are_predicted_by_the_kernel(void **state)
{
	struct record_launch *launches = make_launches(1000);
	uint8_t begins, ends;
	size_t bytes;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		launches[i].kernel = launches[i].call.site;
		launches[i].call.site = 0;
	}
	store_launches(launches, 1000, &begins, &ends, &bytes);
	assert_int_equal(begins, COLUMN_GAP_PREDICTED);
	free(launches);
}

static void times_that_go_backwards_or_wrap_come_back(void **state)
{
	struct record_launch *launches = make_launches(600);
	uint64_t seed = 1;
	uint8_t begins, ends;
	size_t bytes;

	(void)state;
	for (uint32_t i = 0; i < 600; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		launches[i].call.begin_ticks -= i % 5 ? seed >> 44 : 0;
		launches[i].call.end_ticks -= i % 7 ? seed >> 50 : 0;
	}
	store_launches(launches, 600, &begins, &ends, &bytes);
	assert_int_equal(begins, COLUMN_GAP_PREDICTED);
	launches[300].call.begin_ticks = 1ull << 62;
	launches[400].call.end_ticks = 0;
	store_launches(launches, 600, &begins, &ends, &bytes);
	assert_int_not_equal(begins, COLUMN_GAP_PREDICTED); /* eight planes are no gain */
	free(launches);
}

/* Begin, end and key of one row, with the given encodings and bases. */
static int decode_pair(uint8_t begin_encoding, uint64_t begin_base, uint8_t end_encoding,
		       uint64_t end_base, struct record_call *call)
{
	struct hand_made made;

	begin(&made, 4);
	add_column(&made, 1, 8, begin_encoding, begin_base, "\x64\0\0\0\0\0\0\0\0", 9);
	add_column(&made, 2, 8, end_encoding, end_base, "\x01\x0e", 2);
	add_column(&made, 3, 8, COLUMN_CONSTANT, 5, NULL, 0);
	add_column(&made, 4, 4, COLUMN_CONSTANT, 1, NULL, 0);
	return decode_calls(&made, 1, call);
}

static void predicted_columns_without_their_partners_are_left_out(void **state)
{
	const uint64_t begin_base = 2 | 3 << 16, end_base = 1 | 3 << 16;
	static const struct {
		uint8_t begin, end;
		uint64_t begin_base, end_base;
	} wrong[] = {
		{COLUMN_GAP_PREDICTED, COLUMN_OFFSET_PREDICTED, 2, 1},		 /* no key */
		{COLUMN_GAP_PREDICTED, COLUMN_OFFSET_PREDICTED, 2 | 9 << 16, 1}, /* absent */
		{COLUMN_GAP_PREDICTED, COLUMN_OFFSET_PREDICTED, 2 | 1 << 16, 1}, /* itself */
		{COLUMN_GAP_PREDICTED, COLUMN_OFFSET_PREDICTED, 2 | 2 << 16, 1}, /* its end */
		{COLUMN_GAP_PREDICTED, COLUMN_OFFSET_PLANES, 2 | 3 << 16, 1},	 /* mixed */
		{COLUMN_GAP_PLANES, COLUMN_OFFSET_PREDICTED, 2, 1 | 3 << 16},	 /* mixed */
		{COLUMN_GAP_PREDICTED, COLUMN_OFFSET_PREDICTED, 7 | 3 << 16, 1}, /* no end */
		{COLUMN_GAP_PREDICTED, COLUMN_OFFSET_PREDICTED, 2 | 3 << 16, 4}, /* another's */
	};
	struct record_call call;

	(void)state;
	assert_int_equal(decode_pair(COLUMN_GAP_PREDICTED, begin_base, COLUMN_OFFSET_PREDICTED,
				     end_base, &call),
			 0);
	assert_int_equal(call.call.begin_ticks, 100);
	assert_int_equal(call.call.end_ticks, 107);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(decode_pair(wrong[i].begin, wrong[i].begin_base, wrong[i].end,
					     wrong[i].end_base, &call),
				 0);
		assert_int_equal(call.call.begin_ticks, 0);
		assert_int_equal(call.call.call_id, 1);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_with_every_sort_of_values_comes_back),
		cmocka_unit_test(the_largest_chunk_comes_back),
		cmocka_unit_test(absent_columns_read_as_zeros),
		cmocka_unit_test(unknown_columns_and_encodings_are_left_out),
		cmocka_unit_test(a_column_relative_to_an_absent_one_counts_from_zero),
		cmocka_unit_test(columns_relative_to_each_other_are_left_out),
		cmocka_unit_test(columns_that_are_too_short_are_refused),
		cmocka_unit_test(dictionaries_that_contradict_themselves_are_refused),
		cmocka_unit_test(directories_larger_than_the_payload_are_refused),
		cmocka_unit_test(damaged_payloads_never_crash),
		cmocka_unit_test(times_of_repeated_calls_are_predicted),
		cmocka_unit_test(without_stacks_times_are_predicted_by_the_kernel),
		cmocka_unit_test(times_that_go_backwards_or_wrap_come_back),
		cmocka_unit_test(predicted_columns_without_their_partners_are_left_out),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
