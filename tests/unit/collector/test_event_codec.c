/* SPDX-License-Identifier: Apache-2.0 */
/* Events: every bit comes back, whatever repeats or does not; a lost dictionary is counted. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "event_decode.h"
#include "event_encode.h"
#include "event_store.h"
#include "session_fixture.h"
#include "trace_check.h"
#include "trace_chunk.h"
#include "trace_reader.h"
#include "trace_recover.h"
#include "trace_rows.h"
#include "trace_writer.h"
#include "trace_writer_internal.h"

#define THREADS 3

static char dir[512], path[600];
static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % limit;
}

static struct { /* what was written, kind by kind and in order */
	uint8_t *rows;
	uint32_t *threads;
	size_t count, capacity;
} written[RECORD_KIND_LIMIT];

static void forget_written(void)
{
	for (size_t i = 0; i < RECORD_KIND_LIMIT; i++) {
		free(written[i].rows);
		free(written[i].threads);
	}
	memset(written, 0, sizeof(written));
}

static void put(struct trace_writer *writer, uint32_t thread, void *record, uint16_t kind,
		size_t bytes)
{
	size_t count = written[kind].count++;

	((struct record_head *)record)->kind = kind;
	((struct record_head *)record)->size_bytes = (uint16_t)bytes;
	if (count == written[kind].capacity) {
		size_t capacity = written[kind].capacity = count ? count * 2 : 1024;

		written[kind].rows = realloc(written[kind].rows, capacity * bytes);
		written[kind].threads = realloc(written[kind].threads, capacity * sizeof(uint32_t));
	}
	memcpy(written[kind].rows + count * bytes, record, bytes);
	written[kind].threads[count] = thread;
	assert_int_equal(trace_writer_add(writer, thread, record, bytes, NULL), 0);
}

/* ---- a program ---- */

static struct {
	uint64_t now;
	uint32_t call_id, correlation, sequence;
} lanes[THREADS];

static struct call_part next_call(uint32_t thread, uint64_t site, uint16_t api)
{
	lanes[thread].now += 1000 + random_below(300);
	return (struct call_part){.begin_ticks = lanes[thread].now,
				  .end_ticks = lanes[thread].now += 3000 + random_below(900),
				  .site = site * 0x9e3779b97f4a7c15ull,
				  .call_id = ++lanes[thread].call_id,
				  .api = api};
}

/* A product that launches a kernel: the inner call is written first. */
static void put_product(struct trace_writer *writer, uint32_t thread, uint64_t site)
{
	struct record_gemm gemm = {
		.call = next_call(thread, site, 7), .m = 64, .n = 32, .batch = 1};
	struct record_launch launch = {.call = next_call(thread, site, 1),
				       .kernel = site + 100,
				       .grid = {(uint32_t)site, 1, 1},
				       .block = {128, 1, 1}};

	launch.call.parent_id = gemm.call.call_id;
	launch.call.correlation = lanes[thread].correlation += 2;
	gemm.call.end_ticks = lanes[thread].now += 200 + random_below(50);
	gemm.a = random_below(20) == 0 ? random_state : 0x7f0000001000;
	put(writer, thread, &launch, RECORD_KIND_launch, sizeof(launch));
	put(writer, thread, &gemm, RECORD_KIND_gemm, sizeof(gemm));
}

static void put_step(struct trace_writer *writer, uint32_t thread)
{
	struct record_collective collective = {.call = next_call(thread, 5, 9),
					       .sequence = ++lanes[thread].sequence,
					       .group = lanes[thread].sequence / 2,
					       .peer = MARK_NO_PEER,
					       .op = COLLECTIVE_ALL_REDUCE};
	struct record_memory memory = {.call = next_call(thread, 6, 10),
				       .address = 0x7f0000000000 + random_below(1u << 30),
				       .size_bytes = random_below(2) ? 512 : 1024,
				       .op = MEMORY_ALLOC};
	struct record_sync sync = {.call = next_call(thread, 3, 4), .scope = SYNC_DEVICE};
	struct record_gpu_kernel kernel = {
		.gpu = {.begin_ns = lanes[thread].now * 3,
			.end_ns = lanes[thread].now * 3 + 500 + random_below(100),
			.correlation = lanes[thread].correlation,
			.stream = (uint32_t)random_below(3),
			.graph_node = random_below(2)},
		.kernel = 101,
		.registers = 32};
	struct record_mark mark = {.begin_ticks = lanes[thread].now, .name = 4, .type = MARK_RANGE};

	for (uint64_t site = 1; site < 30; site++)
		put_product(writer, thread, site);
	put(writer, thread, &collective, RECORD_KIND_collective, sizeof(collective));
	put(writer, thread, &memory, RECORD_KIND_memory, sizeof(memory));
	if (random_below(50) == 0)
		sync.call.end_ticks = UINT64_MAX - random_below(9); /* times can be anything */
	put(writer, thread, &sync, RECORD_KIND_sync, sizeof(sync));
	put(writer, 0, &kernel, RECORD_KIND_gpu_kernel, sizeof(kernel));
	put(writer, thread, &mark, RECORD_KIND_mark, sizeof(mark));
}

static struct trace_writer *create(void)
{
	const struct trace_writer_options options = {.clock_kind = 3, .compression_level = 1};
	struct trace_writer *writer;
	struct error err = {0};

	unlink(path);
	random_state = 88172645463325252ull;
	memset(lanes, 0, sizeof(lanes));
	if (trace_writer_create(AT_FDCWD, path, &options, &writer, &err) < 0)
		fail_msg("%s", err.text);
	return writer;
}

static void write_program(uint32_t steps, uint32_t groups)
{
	struct trace_writer *writer = create();

	for (uint32_t group = 0; group < groups; group++) {
		for (uint32_t step = 0; step < steps; step++)
			put_step(writer, (uint32_t)random_below(THREADS));
		assert_int_equal(trace_writer_flush(writer, NULL), 0);
	}
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
}

static void expect_written(void)
{
	struct trace_rows rows;

	trace_rows_of_file(path, &rows);
	for (uint16_t kind = 0; kind < RECORD_KIND_LIMIT; kind++) {
		assert_int_equal(rows.kinds[kind].count, written[kind].count);
		for (size_t i = 0; i < written[kind].count; i++) {
			size_t bytes = rows.kinds[kind].row_bytes;

			if (memcmp(trace_rows_at(&rows, kind, i), written[kind].rows + i * bytes,
				   bytes) != 0)
				fail_msg("row %zu of kind %u differs", i, kind);
			assert_int_equal(rows.kinds[kind].threads[i], written[kind].threads[i]);
		}
	}
	trace_rows_free(&rows);
}

/* ---- chunks of the file ---- */

static uint8_t *read_file(size_t *bytes)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(8u << 20);

	assert_non_null(file);
	*bytes = fread(data, 1, 8u << 20, file);
	fclose(file);
	return data;
}

/* The n-th chunk of a type, from 0; 0 when there is none. */
static size_t find_chunk(const uint8_t *data, size_t bytes, uint16_t type, uint16_t kind,
			 unsigned int n, struct chunk_header *header)
{
	for (size_t at = TRACE_HEAD_BYTES; at + CHUNK_HEADER_BYTES <= bytes;
	     at += (size_t)chunk_disk_bytes(header)) {
		assert_true(chunk_header_load(data + at, header));
		if (header->type == type && header->kind == kind && n-- == 0)
			return at;
	}
	return 0;
}

static size_t count_chunks(uint16_t type, uint16_t kind)
{
	struct chunk_header header;
	unsigned int count = 0;
	size_t bytes;
	uint8_t *data = read_file(&bytes);

	while (find_chunk(data, bytes, type, kind, count, &header))
		count++;
	free(data);
	return count;
}

/* ---- tests ---- */

static void every_bit_of_a_program_comes_back(void **state)
{
	(void)state;
	write_program(400, 3);
	expect_written();
	assert_int_equal(count_chunks(CHUNK_EVENTS, RECORD_KIND_call), 3);
	assert_int_equal(count_chunks(CHUNK_EVENTS, RECORD_KIND_gpu_kernel), 3);
	/* Marks are no events; nothing else needed columns. */
	assert_int_equal(count_chunks(CHUNK_COLUMNS, RECORD_KIND_launch), 0);
	forget_written();
}

static void patterns_are_told_once_in_a_segment(void **state)
{
	struct chunk_header first, second;
	size_t bytes;
	uint8_t *data;

	(void)state;
	write_program(400, 3);
	data = read_file(&bytes);
	assert_true(find_chunk(data, bytes, CHUNK_PATTERNS, RECORD_KIND_call, 0, &first) > 0);
	/* 29 sites with two calls each, and three more calls. */
	assert_int_equal(first.row_count, 61);
	assert_int_equal(find_chunk(data, bytes, CHUNK_PATTERNS, RECORD_KIND_call, 1, &second), 0);
	free(data);
	forget_written();
}

static void patterns_count_for_how_long_a_segment_is(void **state)
{
	struct trace_writer *writer = create();
	uint64_t empty = writer->segment_text_bytes, told;

	(void)state;
	put_step(writer, 0);
	trace_writer_flush(writer, NULL);
	told = writer->segment_text_bytes;
	assert_true(told > empty);
	for (uint32_t step = 0; step < 100; step++)
		put_step(writer, 0);
	assert_int_equal(trace_writer_flush(writer, NULL), 0);
	assert_true(writer->segment_text_bytes < told + (told - empty));
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
	forget_written();
}

static void more_patterns_than_fit_become_columns(void **state)
{
	struct trace_writer *writer = create();

	(void)state;
	for (uint32_t i = 0; i < EVENT_PATTERN_LIMIT + 1000; i++) {
		struct record_call call = {.call = next_call(0, i, 3), .object = i};

		put(writer, 0, &call, RECORD_KIND_call, sizeof(call));
	}
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
	assert_int_equal(count_chunks(CHUNK_EVENTS, RECORD_KIND_call), 1);
	assert_int_equal(count_chunks(CHUNK_COLUMNS, RECORD_KIND_call), 1);
	expect_written();
	forget_written();
}

static void a_call_that_is_its_own_parent_comes_back(void **state)
{
	struct trace_writer *writer = create();

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		struct record_call call = {.call = next_call(0, 1, 3)};

		call.call.parent_id = i % 3 ? 0 : call.call.call_id;
		put(writer, 0, &call, RECORD_KIND_call, sizeof(call));
	}
	assert_int_equal(trace_writer_finish(writer, SESSION_EXITED, NULL), 0);
	assert_int_equal(count_chunks(CHUNK_COLUMNS, RECORD_KIND_call), 1);
	assert_int_equal(count_chunks(CHUNK_EVENTS, RECORD_KIND_call), 1);
	forget_written();
}

static void events_without_their_patterns_are_counted_as_lost(void **state)
{
	struct trace_recovery recovery;
	struct chunk_header header;
	struct trace_check check;
	struct trace_rows rows;
	uint32_t lost = 0;
	size_t bytes, at;
	uint8_t *data;
	FILE *file;

	(void)state;
	write_program(400, 3);
	data = read_file(&bytes);
	for (unsigned int n = 0;
	     find_chunk(data, bytes, CHUNK_EVENTS, RECORD_KIND_call, n, &header); n++)
		lost += header.row_count;
	at = find_chunk(data, bytes, CHUNK_PATTERNS, RECORD_KIND_call, 0, &header);
	data[at + CHUNK_HEADER_BYTES + header.payload_bytes / 2] ^= 1;
	file = fopen(path, "wb");
	assert_int_equal(fwrite(data, 1, bytes, file), bytes);
	fclose(file);
	free(data);

	assert_int_equal(trace_check(path, &check, NULL), 0);
	assert_int_equal(check.damaged, 4); /* the patterns, and three chunks that need them */
	assert_int_equal(check.damaged_rows, lost);
	trace_check_fini(&check);
	trace_rows_of_file(path, &rows);
	assert_int_equal(rows.kinds[RECORD_KIND_launch].count, 0);
	assert_int_equal(rows.kinds[RECORD_KIND_gpu_kernel].count,
			 written[RECORD_KIND_gpu_kernel].count);
	trace_rows_free(&rows);
	file = tmpfile();
	assert_int_equal(trace_recover(path, fileno(file), &recovery, NULL), 0);
	assert_int_equal(recovery.lost_records, lost);
	fclose(file);
	forget_written();
}

static void a_chunk_is_read_without_those_before_it(void **state)
{
	struct trace_rows rows;
	struct trace *trace;

	(void)state;
	write_program(400, 3);
	assert_int_equal(trace_open(path, &trace, NULL), 0);
	/* The clock is not tied: ticks are ns. Memory is state and always given, calls are not. */
	trace_set_window(trace, trace_ticks_to_ns(trace, lanes[0].now - 100000),
			 trace_ticks_to_ns(trace, lanes[0].now + 1));
	assert_int_equal(trace_rows_load(trace, &rows), 0);
	assert_true(rows.kinds[RECORD_KIND_launch].count > 0);
	assert_true(rows.kinds[RECORD_KIND_launch].count < written[RECORD_KIND_launch].count / 10);
	assert_int_equal(rows.kinds[RECORD_KIND_memory].count, written[RECORD_KIND_memory].count);
	trace_rows_free(&rows);
	trace_close(trace);
	forget_written();
}

/* ---- what no encoder writes ---- */

struct payloads {
	struct byte_buffer patterns, rows;
	uint32_t row_count;
};

static void make_payloads(struct payloads *payloads)
{
	struct event_encoder *encoder = event_encoder_new();
	struct event_store *store = event_store_new(EVENT_FAMILY_CALLS);
	struct chunk_cuts cuts = {.count = 0};
	uint32_t count;

	memset(payloads, 0, sizeof(*payloads));
	memset(lanes, 0, sizeof(lanes));
	random_state = 4711;
	for (uint32_t i = 0; i < 200; i++) {
		struct record_copy copy = {.call = next_call(i % 2, i % 5, 3),
					   .size_bytes = i % 7 ? 4096 : i,
					   .source = i / 50};

		copy.call.head =
			(struct record_head){.kind = RECORD_KIND_copy, .size_bytes = sizeof(copy)};
		copy.call.parent_id = i % 11 ? 0 : 1 + i;
		copy.call.correlation = i % 3 ? 0 : i;
		payloads->row_count += event_store_add(store, i % 2, RECORD_KIND_copy, &copy) == 1;
	}
	assert_int_equal(event_encode_patterns(encoder, store, &payloads->patterns, &count), 0);
	assert_int_equal(event_encode_rows(encoder, store, &payloads->rows, &cuts), 0);
	event_encoder_free(encoder);
	event_store_free(store);
}

/* Decodes whatever the bytes say; memory is as large as they announce. */
static int decode(struct event_decoder *decoder, const struct payloads *payloads)
{
	struct event_output outputs[EVENTS_KIND_COUNT];
	struct trace_events events;
	struct pattern_set set = {.segment = 1};
	const struct byte_buffer *rows = &payloads->rows, *patterns = &payloads->patterns;
	int rc, count;

	rc = pattern_set_add(&set, RECORD_KIND_call, patterns->data, patterns->used);
	count = event_parts_kinds(rows->data, rows->used, payloads->row_count, outputs);
	if (count > 0 && rc == 0)
		rc = event_decode(decoder, &set, RECORD_KIND_call, rows->data, rows->used,
				  payloads->row_count, &events);
	for (int i = 0; i < count; i++) {
		outputs[i].rows =
			malloc((size_t)outputs[i].count * outputs[i].row_bytes + EVENT_ROW_SLACK);
		outputs[i].threads = malloc(outputs[i].count * sizeof(uint32_t) + 1);
	}
	if (count > 0 && rc == 0)
		event_expand(&events, outputs, (uint32_t)count);
	for (int i = 0; i < count; i++) {
		free(outputs[i].rows);
		free(outputs[i].threads);
	}
	pattern_set_fini(&set);
	return count < 0 ? count : rc;
}

static void every_flipped_bit_and_every_cut_is_survived(void **state)
{
	struct event_decoder *decoder = event_decoder_new();
	struct payloads payloads;
	unsigned int refused = 0;

	(void)state;
	make_payloads(&payloads);
	assert_true(payloads.row_count > 190);
	assert_int_equal(decode(decoder, &payloads), 0);
	for (int part = 0; part < 2; part++) {
		struct byte_buffer *bytes = part ? &payloads.rows : &payloads.patterns;
		size_t whole = bytes->used;

		for (size_t bit = 0; bit < whole * 8; bit++) {
			bytes->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
			refused += decode(decoder, &payloads) < 0;
			bytes->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		for (bytes->used = 0; bytes->used < whole; bytes->used++) {
			/* In memory of its own, for AddressSanitizer. */
			uint8_t *cut = malloc(bytes->used + 1), *data = bytes->data;

			memcpy(cut, data, bytes->used);
			bytes->data = cut;
			assert_int_equal(decode(decoder, &payloads), -EBADMSG);
			bytes->data = data;
			free(cut);
		}
		bytes->used = whole;
	}
	assert_true(refused > 500);
	assert_int_equal(decode(decoder, &payloads), 0);
	byte_buffer_free(&payloads.patterns);
	byte_buffer_free(&payloads.rows);
	event_decoder_free(decoder);
}

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "%s", session_make_dir());
	snprintf(path, sizeof(path), "%s/t.gtrace", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	session_remove_dir(dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bit_of_a_program_comes_back),
		cmocka_unit_test(patterns_are_told_once_in_a_segment),
		cmocka_unit_test(patterns_count_for_how_long_a_segment_is),
		cmocka_unit_test(more_patterns_than_fit_become_columns),
		cmocka_unit_test(a_call_that_is_its_own_parent_comes_back),
		cmocka_unit_test(events_without_their_patterns_are_counted_as_lost),
		cmocka_unit_test(a_chunk_is_read_without_those_before_it),
		cmocka_unit_test(every_flipped_bit_and_every_cut_is_survived),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
