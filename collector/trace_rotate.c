/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stays is copied into a new file, which then takes the old one's name in one step: a kill at
 * any moment leaves either the old file or the new one, both whole. (Cutting bytes off the front of
 * a file in place exists on few file systems only.)
 */
#define _GNU_SOURCE
#include "trace_rotate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bytes.h"
#include "error.h"
#include "trace_writer_internal.h"

#define SEGMENTS_IN_FILE    8u		       /* at least this many in a full file */
#define LEAST_SEGMENT_BYTES (256u * 1024)      /* smaller ones would be mostly dictionaries */
#define STEP_BYTES	    (8u * 1024 * 1024) /* copied at once: a few milliseconds */

void trace_rotate_mark(struct trace_rotation *rotation, uint64_t offset, uint64_t now_ns)
{
	if (rotation->count == ROTATE_MARKS) {
		/* The second one is forgotten: it goes together with the first. */
		memmove(rotation->marks + 1, rotation->marks + 2,
			(ROTATE_MARKS - 2) * sizeof(rotation->marks[0]));
		rotation->count--;
	}
	rotation->marks[rotation->count++] =
		(struct segment_mark){.offset = offset, .begin_ns = now_ns};
}

uint64_t trace_rotate_segment_bytes(uint64_t max_bytes, uint64_t usual_bytes)
{
	uint64_t bytes = max_bytes / SEGMENTS_IN_FILE;

	if (max_bytes == 0 || bytes > usual_bytes)
		return usual_bytes;
	return bytes > LEAST_SEGMENT_BYTES ? bytes : LEAST_SEGMENT_BYTES;
}

uint64_t trace_rotate_segment_ns(uint64_t keep_ns, uint64_t usual_ns)
{
	uint64_t ns = keep_ns / SEGMENTS_IN_FILE;

	return keep_ns == 0 || ns > usual_ns ? usual_ns : ns;
}

/* Index of the first segment that stays; 0: nothing is dropped. The last one always stays. */
static size_t first_kept(const struct trace_writer *writer, uint64_t now_ns)
{
	const struct trace_rotation *rotation = &writer->rotation;
	uint64_t end = writer->output.end, max_bytes = writer->options.max_bytes;
	uint64_t keep_ns = writer->options.keep_ns;
	uint64_t segment_bytes = trace_rotate_segment_bytes(max_bytes, SEGMENT_MAX_BYTES);
	size_t kept = 0;

	if (max_bytes > 0 && end + segment_bytes > max_bytes) {
		while (kept + 1 < rotation->count &&
		       end - rotation->marks[kept].offset > max_bytes / 2)
			kept++;
	}
	if (keep_ns > 0) {
		size_t old = 0;

		/* A segment is old when the one behind it began before the time to keep. */
		while (old + 1 < rotation->count &&
		       rotation->marks[old + 1].begin_ns + keep_ns <= now_ns)
			old++;
		if (old > kept && rotation->marks[old].offset - TRACE_HEAD_BYTES >= end / 2)
			kept = old;
	}
	return kept;
}

/* Entries of what stays, with their new offsets. */
static void move_index(struct trace_writer *writer, uint64_t from, uint64_t shift)
{
	size_t kept = 0;

	for (size_t at = 0; at < writer->index.used; at += CHUNK_INDEX_ENTRY_BYTES) {
		uint64_t offset = bytes_load64(writer->index.data + at);

		if (offset < from)
			continue;
		memmove(writer->index.data + kept, writer->index.data + at,
			CHUNK_INDEX_ENTRY_BYTES);
		bytes_store64(writer->index.data + kept, offset - shift);
		kept += CHUNK_INDEX_ENTRY_BYTES;
	}
	writer->index.used = kept;
}

static void tell(struct trace_writer *writer)
{
	const struct trace_rotation *rotation = &writer->rotation;
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, rotation->dropped_segments);
	trace_writer_info(writer, "rotation.dropped_segments", text, NULL);
	snprintf(text, sizeof(text), "%" PRIu64, rotation->dropped_bytes);
	trace_writer_info(writer, "rotation.dropped_bytes", text, NULL);
}

static void fail(struct trace_writer *writer, const struct error *err)
{
	struct trace_rotation *rotation = &writer->rotation;

	trace_rotate_abandon(writer);
	if (!rotation->has_failed)
		trace_writer_info(writer, "rotation.failed", err->text, NULL);
	rotation->has_failed = true;
}

void trace_rotate_begin(struct trace_writer *writer, uint64_t now_ns)
{
	struct trace_rotation *rotation = &writer->rotation;
	size_t kept = first_kept(writer, now_ns);
	struct error err = {0};

	if (kept == 0 || rotation->is_copying)
		return;
	rotation->is_copying = true;
	rotation->from = rotation->marks[kept].offset;
	rotation->copied = rotation->from;
	if (trace_output_open_spare(&writer->output, &rotation->spare, &err) < 0 ||
	    trace_output_copy(&writer->output, 0, TRACE_HEAD_BYTES, &rotation->spare, &err) < 0)
		fail(writer, &err);
}

/* The new file has the old one's name: everything that knows offsets learns the new ones. */
static void forget_dropped(struct trace_writer *writer)
{
	struct trace_rotation *rotation = &writer->rotation;
	uint64_t shift = rotation->from - TRACE_HEAD_BYTES;
	size_t kept = 0;

	while (kept < rotation->count && rotation->marks[kept].offset < rotation->from)
		kept++;
	move_index(writer, rotation->from, shift);
	writer->segment_offset -= shift;
	writer->last.offset = 0; /* is not worth its bookkeeping here: never given up */
	rotation->dropped_segments += kept;
	rotation->dropped_bytes += shift;
	rotation->count -= kept;
	memmove(rotation->marks, rotation->marks + kept,
		rotation->count * sizeof(rotation->marks[0]));
	for (size_t i = 0; i < rotation->count; i++)
		rotation->marks[i].offset -= shift;
	tell(writer);
}

void trace_rotate_step(struct trace_writer *writer)
{
	struct trace_rotation *rotation = &writer->rotation;
	uint64_t left, bytes;
	struct error err = {0};

	if (!rotation->is_copying)
		return;
	left = writer->output.end - rotation->copied;
	bytes = left < STEP_BYTES ? left : STEP_BYTES;
	if (trace_output_copy(&writer->output, rotation->copied, rotation->copied + bytes,
			      &rotation->spare, &err) < 0) {
		fail(writer, &err);
		return;
	}
	rotation->copied += bytes;
	if (rotation->copied < writer->output.end || writer->output.tail_end > writer->output.end)
		return;
	if (trace_output_take_spare(&writer->output, &rotation->spare, &err) < 0) {
		fail(writer, &err);
		return;
	}
	rotation->is_copying = false;
	forget_dropped(writer);
}

void trace_rotate_abandon(struct trace_writer *writer)
{
	if (!writer->rotation.is_copying)
		return;
	trace_output_drop_spare(&writer->output, &writer->rotation.spare);
	writer->rotation.is_copying = false;
}
