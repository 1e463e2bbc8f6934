/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a trace writer, shared by trace_writer.c (what comes in, when to write) and
 * trace_group.c (what goes out). */
#ifndef GPUTRACE_TRACE_WRITER_INTERNAL_H
#define GPUTRACE_TRACE_WRITER_INTERNAL_H

#include "byte_buffer.h"
#include "chunk_build.h"
#include "column_encode.h"
#include "event_encode.h"
#include "event_store.h"
#include "loss_table.h"
#include "row_store.h"
#include "text_store.h"
#include "trace_output.h"
#include "trace_rotate.h"
#include "trace_writer.h"

/* Consecutive records of one thread in trace_writer.raw. */
struct tail_run {
	uint32_t thread;
	uint32_t row_count;
	size_t offset;
	size_t bytes;
};

/* The last group of final chunks: what is given up when not even the end record has room. */
struct last_group {
	uint64_t offset;
	size_t index_used;
	uint64_t rows[RECORD_KIND_LIMIT];
	uint32_t patterns_before[EVENT_FAMILY_COUNT]; /* written_count of the stores */
};

struct trace_writer {
	struct trace_writer_options options;
	struct trace_output output;
	struct chunk_builder *builder;
	struct column_encoder *encoder;
	struct event_encoder *event_encoder;
	struct event_store *events[EVENT_FAMILY_COUNT];
	struct row_store *rows; /* what is no event, or found no room among them */
	struct text_store *texts;
	struct loss_table losses;

	struct byte_buffer raw;	 /* records that are not on disk yet, for the tail */
	struct byte_buffer runs; /* struct tail_run of raw */

	struct byte_buffer group;   /* chunks being built */
	struct byte_buffer payload; /* of one of them */
	struct chunk_cuts cuts;	    /* of a payload of columns */
	struct byte_buffer index;   /* entries of all final chunks */
	size_t group_index_used;    /* index.used when the group began */
	int index_abandoned;	    /* too many chunks: the file has no index */

	uint64_t sequence;	 /* last one given out */
	uint64_t group_sequence; /* last one before the group being built */
	uint32_t tail_chunks;
	uint32_t segment;
	uint64_t segment_offset;
	uint64_t segment_begin_ns;   /* CLOCK_MONOTONIC */
	uint64_t segment_text_bytes; /* what its dictionaries took on disk */
	uint64_t complete_ticks;
	uint64_t retry_ns; /* after a failure: not before */
	struct last_group last;
	struct trace_rotation rotation;
};

/* trace_group.c: adds a chunk to the group and, unless it belongs to the tail, to the index. */
int trace_group_add(struct trace_writer *writer, struct chunk_header *header, const void *payload,
		    size_t bytes);

/* trace_waiting.c: names and descriptions from `offset` of the text store on, as ROWS chunks of
 * thread 0; *last_offset becomes where the last chunk of the group begins. */
int trace_group_add_texts(struct trace_writer *writer, size_t offset, size_t *last_offset);
/* Everything that waits. */
int trace_group_add_waiting(struct trace_writer *writer, size_t *last_offset);
/* Records of the kind that wait, in whatever form. */
uint32_t trace_group_count_waiting(const struct trace_writer *writer, uint16_t kind);
/* It stands in the file, or is given up. */
void trace_group_clear_waiting(struct trace_writer *writer);

/* Writes the file head and the first segment. */
int trace_group_begin_file(struct trace_writer *writer, struct error *err);
/* Starts a new segment; there must be no tail. */
int trace_group_begin_segment(struct trace_writer *writer, struct error *err);
/* Appends the raw records as tail chunks. */
int trace_group_write_tail(struct trace_writer *writer, struct error *err);
/* Turns all waiting records into final chunks in the place of the tail. */
int trace_group_consolidate(struct trace_writer *writer, struct error *err);
/* END and INDEX. */
int trace_group_end(struct trace_writer *writer, uint16_t session_end, struct error *err);
/* Counts all waiting rows as lost and forgets them. */
void trace_group_drop_rows(struct trace_writer *writer);

#endif
