/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace writer puts on disk: groups of final chunks, tail chunks, segment heads, the end. A
 * group is built in memory first and written with one call, so that a failure leaves nothing half
 * done.
 */
#include "trace_writer_internal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bytes.h"
#include "error.h"

#define INDEX_MAX_BYTES (CHUNK_MAX_PAYLOAD / CHUNK_INDEX_ENTRY_BYTES * CHUNK_INDEX_ENTRY_BYTES)

static void group_begin(struct trace_writer *writer)
{
	writer->group.used = 0;
	writer->group_index_used = writer->index.used;
	writer->group_sequence = writer->sequence;
}

/* Forgets a group that could not be built or written; its sequence numbers are not used again. */
static int group_abandon(struct trace_writer *writer, int rc, struct error *err)
{
	writer->index.used = writer->group_index_used;
	writer->group.used = 0;
	if (rc == -ENOMEM)
		return error_set(err, rc, "out of memory for a group of chunks");
	return rc;
}

int trace_group_add(struct trace_writer *writer, struct chunk_header *header, const void *payload,
		    size_t bytes)
{
	size_t offset = writer->group.used;
	uint8_t entry[CHUNK_INDEX_ENTRY_BYTES];
	int rc;

	header->sequence = ++writer->sequence;
	header->segment = writer->segment;
	header->complete_ticks = writer->complete_ticks;
	rc = chunk_build(writer->builder, header, payload, bytes,
			 header->type == CHUNK_COLUMNS || header->type == CHUNK_EVENTS
				 ? &writer->cuts
				 : NULL,
			 &writer->group);
	if (rc < 0 || (header->flags & CHUNK_TAIL) || writer->index_abandoned)
		return rc;
	if (writer->index.used + sizeof(entry) > INDEX_MAX_BYTES) {
		writer->index_abandoned = 1;
		return 0;
	}
	bytes_store64(entry, offset); /* group_write() makes it an offset in the file */
	memcpy(entry + 8, writer->group.data + offset, CHUNK_HEADER_BYTES);
	return byte_buffer_append(&writer->index, entry, sizeof(entry));
}

/* The last chunk of a group says that everything before the group is settled, and so which tail it
 * replaces. It was built before anyone knew that it is the last: its header is written again. */
static void group_cover_tail(struct trace_writer *writer, size_t last_offset)
{
	uint8_t *bytes = writer->group.data + last_offset;
	struct chunk_header header;

	if (!chunk_header_load(bytes, &header))
		return;
	header.covers_sequence = writer->group_sequence;
	chunk_header_store(bytes, &header);
	if (writer->index.used > writer->group_index_used)
		memcpy(writer->index.data + writer->index.used - CHUNK_HEADER_BYTES, bytes,
		       CHUNK_HEADER_BYTES);
}

static int group_write(struct trace_writer *writer, struct error *err)
{
	uint64_t offset;
	int rc = trace_output_replace_tail(&writer->output, writer->group.data, writer->group.used,
					   &offset, err);

	if (rc < 0)
		return group_abandon(writer, rc, err);
	for (size_t at = writer->group_index_used; at < writer->index.used;
	     at += CHUNK_INDEX_ENTRY_BYTES) {
		uint8_t *entry = writer->index.data + at;

		bytes_store64(entry, bytes_load64(entry) + offset);
	}
	writer->last.offset = offset;
	writer->last.index_used = writer->group_index_used;
	memset(writer->last.rows, 0, sizeof(writer->last.rows));
	for (uint32_t family = 0; family < EVENT_FAMILY_COUNT; family++)
		writer->last.patterns_before[family] = writer->events[family]->written_count;
	writer->tail_chunks = 0;
	return 0;
}

int trace_group_consolidate(struct trace_writer *writer, struct error *err)
{
	size_t last_offset = 0;
	int rc;

	group_begin(writer);
	rc = trace_group_add_waiting(writer, &last_offset);
	if (rc < 0)
		return group_abandon(writer, rc, err);
	if (writer->group.used == 0)
		return 0;
	group_cover_tail(writer, last_offset);
	rc = group_write(writer, err);
	if (rc < 0)
		return rc;
	for (uint16_t kind = 0; kind < RECORD_KIND_LIMIT; kind++)
		writer->last.rows[kind] = trace_group_count_waiting(writer, kind);
	for (uint32_t family = 0; family < EVENT_FAMILY_COUNT; family++)
		writer->events[family]->written_count = writer->events[family]->pattern_count;
	trace_group_clear_waiting(writer);
	text_store_mark(writer->texts);
	loss_table_settled(&writer->losses);
	return 0;
}

void trace_group_drop_rows(struct trace_writer *writer)
{
	for (uint16_t kind = 0; kind < RECORD_KIND_LIMIT; kind++)
		loss_table_add(&writer->losses, kind, LOSS_WRITE,
			       trace_group_count_waiting(writer, kind), writer->complete_ticks);
	trace_group_clear_waiting(writer);
}

/* ---- the tail ---- */

static int compare_runs(const void *one, const void *two)
{
	const struct tail_run *left = one;
	const struct tail_run *right = two;

	if (left->thread != right->thread)
		return left->thread < right->thread ? -1 : 1;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static int add_raw_loss(void *context, const struct record_loss *loss)
{
	struct trace_writer *writer = context;
	struct tail_run run = {
		.row_count = 1,
		.offset = writer->raw.used,
		.bytes = sizeof(*loss),
	};
	int rc = byte_buffer_append(&writer->raw, loss, sizeof(*loss));

	return rc < 0 ? rc : byte_buffer_append(&writer->runs, &run, sizeof(run));
}

/* One tail chunk from runs of the same thread. Stored, not compressed: it is rewritten as columns
 * soon, and until then the page cache has room. */
static int add_tail_chunk(struct trace_writer *writer, const struct tail_run *runs, size_t count)
{
	struct chunk_header header = {
		.type = CHUNK_ROWS,
		.flags = CHUNK_TAIL | CHUNK_STORED,
		.thread = runs[0].thread,
	};
	int rc;

	if (count == 1) {
		header.row_count = runs[0].row_count;
		return trace_group_add(writer, &header, writer->raw.data + runs[0].offset,
				       runs[0].bytes);
	}
	writer->payload.used = 0;
	for (size_t i = 0; i < count; i++) {
		rc = byte_buffer_append(&writer->payload, writer->raw.data + runs[i].offset,
					runs[i].bytes);
		if (rc < 0)
			return rc;
		header.row_count += runs[i].row_count;
	}
	return trace_group_add(writer, &header, writer->payload.data, writer->payload.used);
}

int trace_group_write_tail(struct trace_writer *writer, struct error *err)
{
	const uint64_t promise = writer->complete_ticks;
	struct tail_run *runs;
	uint32_t chunks = 0;
	size_t count;
	int rc;

	group_begin(writer);
	rc = loss_table_each(&writer->losses, 1, add_raw_loss, writer);
	if (rc < 0)
		return group_abandon(writer, rc, err);
	/* From here on the losses stand in raw, whether or not the write below succeeds. */
	loss_table_in_tail(&writer->losses);
	runs = (struct tail_run *)writer->runs.data;
	count = writer->runs.used / sizeof(*runs);
	if (count == 0)
		return 0;
	qsort(runs, count, sizeof(*runs), compare_runs);
	for (size_t first = 0, next; first < count; first = next, chunks++) {
		for (next = first + 1; next < count && runs[next].thread == runs[first].thread;)
			next++;
		/* The write may be cut short: only its last chunk says what is complete. */
		writer->complete_ticks = next < count ? 0 : promise;
		rc = add_tail_chunk(writer, runs + first, next - first);
		writer->complete_ticks = promise;
		if (rc < 0)
			return group_abandon(writer, rc, err);
	}
	rc = trace_output_add_tail(&writer->output, writer->group.data, writer->group.used, err);
	if (rc < 0)
		return group_abandon(writer, rc, err);
	writer->tail_chunks += chunks;
	writer->raw.used = 0;
	writer->runs.used = 0;
	return 0;
}

/* ---- segments, begin and end ---- */

static uint64_t monotonic_ns(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int write_segment_head(struct trace_writer *writer, struct error *err)
{
	struct chunk_header header = {.type = CHUNK_SEGMENT};
	size_t last_offset = writer->group.used;
	int rc;

	writer->segment++;
	rc = trace_group_add(writer, &header, NULL, 0);
	if (rc == 0)
		rc = trace_group_add_texts(writer, 0, &last_offset);
	if (rc == 0) {
		group_cover_tail(writer, last_offset);
		rc = group_write(writer, err);
	} else {
		group_abandon(writer, rc, err);
	}
	if (rc < 0) {
		writer->segment--;
		return rc;
	}
	writer->segment_offset = writer->last.offset;
	writer->segment_begin_ns = monotonic_ns();
	writer->segment_text_bytes = writer->group.used;
	trace_rotate_mark(&writer->rotation,
			  writer->segment_offset ? writer->segment_offset : TRACE_HEAD_BYTES,
			  writer->segment_begin_ns);
	text_store_mark(writer->texts);
	return 0;
}

int trace_group_begin_segment(struct trace_writer *writer, struct error *err)
{
	struct last_group last = writer->last;
	int rc;

	group_begin(writer);
	rc = write_segment_head(writer, err);
	if (rc < 0) {
		writer->last = last;
		return rc;
	}
	/* Patterns are told anew in every segment. */
	for (uint32_t family = 0; family < EVENT_FAMILY_COUNT; family++) {
		event_store_clear_patterns(writer->events[family]);
		writer->last.patterns_before[family] = writer->events[family]->written_count;
	}
	return 0;
}

int trace_group_begin_file(struct trace_writer *writer, struct error *err)
{
	struct trace_head head = {
		.version_major = TRACE_VERSION_MAJOR,
		.version_minor = TRACE_VERSION_MINOR,
		.start_realtime_ns = writer->options.start_realtime_ns,
		.clock_kind = writer->options.clock_kind,
	};
	int rc;

	/* The id only tells sessions apart; without randomness the time has to do. */
	if (syscall(SYS_getrandom, head.session_id, sizeof(head.session_id), 0) !=
	    (long)sizeof(head.session_id)) {
		bytes_store64(head.session_id, monotonic_ns());
		bytes_store64(head.session_id + 8, (uint64_t)getpid());
	}
	group_begin(writer);
	rc = byte_buffer_reserve(&writer->group, TRACE_HEAD_BYTES);
	if (rc < 0)
		return group_abandon(writer, rc, err);
	trace_head_store(writer->group.data, &head);
	writer->group.used = TRACE_HEAD_BYTES;
	rc = write_segment_head(writer, err);
	writer->last.offset = 0; /* never given up */
	return rc;
}

/* Gives up the last group, so that the end and the count of what was lost have room. */
static bool make_room(struct trace_writer *writer)
{
	if (writer->last.offset == 0)
		return false;
	trace_output_cut(&writer->output, writer->last.offset);
	writer->index.used = writer->last.index_used;
	for (uint16_t kind = 0; kind < RECORD_KIND_LIMIT; kind++)
		loss_table_add(&writer->losses, kind, LOSS_WRITE, writer->last.rows[kind],
			       writer->complete_ticks);
	for (uint32_t family = 0; family < EVENT_FAMILY_COUNT; family++)
		writer->events[family]->written_count = writer->last.patterns_before[family];
	writer->last.offset = 0;
	return true;
}

static int write_end(struct trace_writer *writer, uint16_t session_end, struct error *err)
{
	struct chunk_header header = {
		.type = CHUNK_END,
		.kind = session_end,
		.first_time = writer->complete_ticks,
		.last_time = writer->complete_ticks,
	};
	size_t last_offset;
	int rc;

	group_begin(writer);
	rc = trace_group_add_waiting(writer, &last_offset);
	last_offset = writer->group.used;
	if (rc == 0)
		rc = trace_group_add(writer, &header, NULL, 0);
	if (rc < 0)
		return group_abandon(writer, rc, err);
	group_cover_tail(writer, last_offset);
	return group_write(writer, err);
}

int trace_group_end(struct trace_writer *writer, uint16_t session_end, struct error *err)
{
	struct chunk_header header = {.type = CHUNK_INDEX};
	int rc = write_end(writer, session_end, err);

	if (rc < 0 && make_room(writer))
		rc = write_end(writer, session_end, err);
	if (rc < 0 || writer->index_abandoned)
		return rc;
	/* An index that has no room is no loss: readers walk the file without it. */
	header.row_count = (uint32_t)(writer->index.used / CHUNK_INDEX_ENTRY_BYTES);
	writer->payload.used = 0;
	if (byte_buffer_append(&writer->payload, writer->index.data, writer->index.used) < 0)
		return 0;
	group_begin(writer);
	if (trace_group_add(writer, &header, writer->payload.data, writer->payload.used) == 0)
		group_write(writer, NULL);
	return 0;
}
