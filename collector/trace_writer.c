/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace writer's front: sorts what comes in (names, losses, rows) and decides when the tail is
 * written, when it becomes columns and when a segment ends. trace_group.c does the writing.
 */
#include "trace_writer_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "record_check.h"

/* Rows at which waiting records become columns, of one kind and of all. Larger chunks compress
 * better (a quarter of the rows costs a fifth more bytes), but cost memory. */
#define CONSOLIDATE_ROWS   57344u
#define CONSOLIDATE_TOTAL  114688u
#define MAX_WAITING_ROWS   CHUNK_MAX_ROWS
#define MAX_WAITING_TOTAL  131072u
#define MAX_TAIL_CHUNKS	   512u
#define MAX_TAIL_BYTES	   (16u * 1024 * 1024)
#define MAX_RAW_BYTES	   (8u * 1024 * 1024)
#define MAX_NEW_TEXT_BYTES (4u * 1024 * 1024)
#define RETRY_NS	   1000000000ull
/* A segment by time must be worth the dictionaries that it repeats. */
#define SEGMENT_TEXT_SHARE 8u
#define SEGMENT_FULL_BYTES (SEGMENT_MAX_BYTES - 8u * 1024 * 1024)

static uint64_t now_ns(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void writer_free(struct trace_writer *writer)
{
	chunk_builder_free(writer->builder);
	column_encoder_free(writer->encoder);
	event_encoder_free(writer->event_encoder);
	for (uint32_t family = 0; family < EVENT_FAMILY_COUNT; family++)
		event_store_free(writer->events[family]);
	row_store_free(writer->rows);
	text_store_free(writer->texts);
	byte_buffer_free(&writer->raw);
	byte_buffer_free(&writer->runs);
	byte_buffer_free(&writer->group);
	byte_buffer_free(&writer->payload);
	byte_buffer_free(&writer->index);
	trace_rotate_abandon(writer);
	trace_output_close(&writer->output);
	free(writer);
}

int trace_writer_create(int dir_fd, const char *name, const struct trace_writer_options *options,
			struct trace_writer **out, struct error *err)
{
	struct trace_writer *writer = calloc(1, sizeof(*writer));
	int rc;

	*out = NULL;
	if (!writer)
		return error_set(err, -ENOMEM, "out of memory for a trace writer");
	writer->options = *options;
	writer->output.fd = -1;
	writer->builder = chunk_builder_new(options->compression_level);
	writer->encoder = column_encoder_new();
	writer->event_encoder = event_encoder_new();
	writer->events[EVENT_FAMILY_CALLS] = event_store_new(EVENT_FAMILY_CALLS);
	writer->events[EVENT_FAMILY_GPU] = event_store_new(EVENT_FAMILY_GPU);
	writer->rows = row_store_new();
	writer->texts = text_store_new();
	if (!writer->builder || !writer->encoder || !writer->event_encoder ||
	    !writer->events[EVENT_FAMILY_CALLS] || !writer->events[EVENT_FAMILY_GPU] ||
	    !writer->rows || !writer->texts) {
		writer_free(writer);
		return error_set(err, -ENOMEM, "out of memory for a trace writer");
	}
	rc = trace_output_create(&writer->output, dir_fd, name, err);
	if (rc == 0) {
		rc = trace_group_begin_file(writer, err);
		/* A full disk takes the name of a file, but not its first bytes. */
		if (rc < 0)
			unlinkat(dir_fd, name, 0);
	}
	if (rc < 0) {
		writer_free(writer);
		return rc;
	}
	*out = writer;
	return 0;
}

/* ---- when to write what ---- */

static int segment_is_over(const struct trace_writer *writer)
{
	uint64_t bytes = writer->output.tail_end - writer->segment_offset;
	uint64_t keep_ns = writer->options.keep_ns;

	if (bytes >= trace_rotate_segment_bytes(writer->options.max_bytes, SEGMENT_FULL_BYTES))
		return 1;
	return now_ns() - writer->segment_begin_ns >=
		       trace_rotate_segment_ns(keep_ns, SEGMENT_MAX_SECONDS * 1000000000ull) &&
	       bytes >= writer->segment_text_bytes * (keep_ns ? 1 : SEGMENT_TEXT_SHARE);
}

/* What waits becomes columns. After a failure the next try waits a second, unless `now`. */
static int consolidate(struct trace_writer *writer, int now, struct error *err)
{
	int rc;

	if (!now && writer->retry_ns > 0 && now_ns() < writer->retry_ns)
		return error_set(err, -EAGAIN, "the last write failed less than a second ago");
	rc = trace_group_consolidate(writer, err);
	writer->retry_ns = rc < 0 ? now_ns() + RETRY_NS : 0;
	if (rc < 0)
		return rc;
	if (text_store_bytes(writer->texts) > TEXT_STORE_LIMIT_BYTES)
		text_store_clear(writer->texts);
	/* A segment that cannot be started now is started after a later group. */
	if (segment_is_over(writer) && trace_group_begin_segment(writer, NULL) == 0)
		trace_rotate_begin(writer, now_ns());
	trace_rotate_step(writer);
	return 0;
}

/* Rows that wait for one chunk, and all of them. */
static uint32_t fullest_chunk(const struct trace_writer *writer)
{
	uint32_t fullest = row_store_fullest(writer->rows);

	for (uint32_t family = 0; family < EVENT_FAMILY_COUNT; family++) {
		if (writer->events[family]->row_count > fullest)
			fullest = writer->events[family]->row_count;
	}
	return fullest;
}

static uint32_t waiting_rows(const struct trace_writer *writer)
{
	return row_store_count(writer->rows) + writer->events[EVENT_FAMILY_CALLS]->row_count +
	       writer->events[EVENT_FAMILY_GPU]->row_count;
}

static int wants_columns(const struct trace_writer *writer)
{
	return writer->options.tail_interval_ms == 0 || fullest_chunk(writer) >= CONSOLIDATE_ROWS ||
	       waiting_rows(writer) >= CONSOLIDATE_TOTAL ||
	       writer->tail_chunks >= MAX_TAIL_CHUNKS ||
	       writer->output.tail_end - writer->output.end >= MAX_TAIL_BYTES ||
	       text_store_new_bytes(writer->texts) >= MAX_NEW_TEXT_BYTES || segment_is_over(writer);
}

/* Called when memory is full. Whatever happens, there is room afterwards. */
static int make_memory_room(struct trace_writer *writer, struct error *err)
{
	int rc = consolidate(writer, 0, err);

	if (rc == 0)
		return 0;
	/* The tail's rows are among those dropped: the next group takes the tail's place. */
	trace_group_drop_rows(writer);
	if (text_store_new_bytes(writer->texts) >= MAX_NEW_TEXT_BYTES) {
		loss_table_add(&writer->losses, RECORD_KIND_name, LOSS_WRITE, 1,
			       writer->complete_ticks);
		text_store_clear(writer->texts);
	}
	return rc;
}

int trace_writer_flush(struct trace_writer *writer, struct error *err)
{
	int rc;

	if (wants_columns(writer))
		return consolidate(writer, 0, err);
	trace_rotate_step(writer);
	rc = trace_group_write_tail(writer, err);
	/* Columns are a tenth of the rows: where the tail has no room they may have. */
	return rc < 0 ? consolidate(writer, 0, err) : 0;
}

/* ---- what comes in ---- */

static int raw_append(struct trace_writer *writer, uint32_t thread, const void *records,
		      size_t bytes, uint32_t row_count)
{
	struct tail_run *last;
	struct tail_run run = {
		.thread = thread,
		.row_count = row_count,
		.offset = writer->raw.used,
		.bytes = bytes,
	};
	int rc;

	if (bytes == 0 || writer->options.tail_interval_ms == 0)
		return 0;
	rc = byte_buffer_append(&writer->raw, records, bytes);
	if (rc < 0)
		return rc;
	if (writer->runs.used > 0) {
		last = (struct tail_run *)(writer->runs.data + writer->runs.used) - 1;
		if (last->thread == thread && last->offset + last->bytes == run.offset) {
			last->bytes += bytes;
			last->row_count += row_count;
			return 0;
		}
	}
	return byte_buffer_append(&writer->runs, &run, sizeof(run));
}

enum keep { KEEP_NOT = 0, KEEP_RAW = 1 };

/* One checked record. KEEP_RAW: it belongs into the tail too. */
static int take_record(struct trace_writer *writer, uint32_t thread, uint16_t kind,
		       uint16_t size_bytes, const void *record)
{
	const struct record_loss *loss = record;
	uint32_t family = event_family_of(kind);

	if (family < EVENT_FAMILY_COUNT) {
		int taken = event_store_add(writer->events[family], thread, kind, record);

		if (taken != 0)
			return taken < 0 ? taken : KEEP_RAW;
	}
	if (kind == RECORD_KIND_loss) {
		loss_table_add(&writer->losses, loss->lost_kind, loss->reason, loss->count,
			       loss->ticks);
		return KEEP_NOT;
	}
	if (record_schema_of(kind)->column_count == 0)
		return text_store_add(writer->texts, record, size_bytes);
	return row_store_add(writer->rows, thread, kind, record) < 0 ? -ENOMEM : KEEP_RAW;
}

static int memory_is_full(const struct trace_writer *writer)
{
	return fullest_chunk(writer) >= MAX_WAITING_ROWS ||
	       waiting_rows(writer) >= MAX_WAITING_TOTAL || writer->raw.used >= MAX_RAW_BYTES ||
	       text_store_new_bytes(writer->texts) >= MAX_NEW_TEXT_BYTES;
}

int trace_writer_add(struct trace_writer *writer, uint32_t thread, const void *records,
		     size_t bytes, struct error *err)
{
	const uint8_t *at = records;
	const uint8_t *end = at + bytes;
	const uint8_t *run = at; /* records from here to `at` go into the tail together */
	uint32_t run_rows = 0;
	int rc = 0;

	while (at < end) {
		uint16_t kind, size_bytes;
		enum record_verdict verdict =
			record_check(at, (size_t)(end - at), &kind, &size_bytes);
		int keep = KEEP_NOT;

		if (verdict == RECORD_BAD) {
			loss_table_add(&writer->losses, 0, LOSS_DAMAGED, 1, writer->complete_ticks);
			raw_append(writer, thread, run, (size_t)(at - run), run_rows);
			return error_set(err, -EBADMSG, "not a record: %zu bytes are skipped",
					 (size_t)(end - at));
		}
		if (verdict == RECORD_FOREIGN)
			loss_table_add(&writer->losses, kind, LOSS_DAMAGED, 1,
				       writer->complete_ticks);
		else
			keep = take_record(writer, thread, kind, size_bytes, at);
		if (keep < 0) {
			loss_table_add(&writer->losses, kind, LOSS_WRITE, 1,
				       writer->complete_ticks);
			rc = error_set(err, -ENOMEM, "out of memory for records");
		}
		if (keep == KEEP_RAW) {
			run_rows++;
		} else {
			raw_append(writer, thread, run, (size_t)(at - run), run_rows);
			run = at + size_bytes;
			run_rows = 0;
		}
		at += size_bytes;
		if (memory_is_full(writer)) {
			raw_append(writer, thread, run, (size_t)(at - run), run_rows);
			run = at;
			run_rows = 0;
			if (make_memory_room(writer, err) < 0)
				rc = err ? err->code : -EIO;
		}
	}
	raw_append(writer, thread, run, (size_t)(at - run), run_rows);
	return rc;
}

int trace_writer_info(struct trace_writer *writer, const char *key, const char *value,
		      struct error *err)
{
	_Alignas(8) uint8_t buffer[4096] = {0};
	struct record_info *info = (struct record_info *)buffer;
	size_t room = sizeof(buffer) - sizeof(*info) - 8;
	size_t key_bytes = strnlen(key, 128);
	size_t value_bytes = strnlen(value, room - key_bytes);

	info->head.kind = RECORD_KIND_info;
	info->head.size_bytes = (uint16_t)((sizeof(*info) + key_bytes + value_bytes + 7) / 8 * 8);
	info->key_bytes = (uint16_t)key_bytes;
	info->value_bytes = (uint32_t)value_bytes;
	memcpy(info->text, key, key_bytes);
	memcpy(info->text + key_bytes, value, value_bytes);
	return trace_writer_add(writer, 0, buffer, info->head.size_bytes, err);
}

int trace_writer_name(struct trace_writer *writer, uint16_t space, uint64_t id, const char *text,
		      struct error *err)
{
	_Alignas(8) uint8_t buffer[32768] = {0};
	struct record_name *name = (struct record_name *)buffer;
	size_t text_bytes = strnlen(text, sizeof(buffer) - sizeof(*name) - 8);

	name->head.kind = RECORD_KIND_name;
	name->head.size_bytes = (uint16_t)((sizeof(*name) + text_bytes + 7) / 8 * 8);
	name->id = id;
	name->space = space;
	name->text_bytes = (uint32_t)text_bytes;
	memcpy(name->text, text, text_bytes);
	return trace_writer_add(writer, 0, buffer, name->head.size_bytes, err);
}

void trace_writer_complete(struct trace_writer *writer, uint64_t ticks)
{
	writer->complete_ticks = ticks;
}

const uint64_t *trace_writer_lost(const struct trace_writer *writer)
{
	return writer->losses.total;
}

int trace_writer_finish(struct trace_writer *writer, uint16_t session_end, struct error *err)
{
	int rc;

	if (consolidate(writer, 1, NULL) < 0)
		trace_group_drop_rows(writer);
	trace_rotate_abandon(writer);
	rc = trace_group_end(writer, session_end, err);
	writer_free(writer);
	return rc;
}
