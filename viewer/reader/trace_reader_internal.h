/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What trace_reader.c, which opens, and trace_stream.c, which reads on, share.
 */
#ifndef GPUTRACE_TRACE_READER_INTERNAL_H
#define GPUTRACE_TRACE_READER_INTERNAL_H

#include "chunk_load.h"
#include "trace_clock.h"
#include "trace_file_open.h"
#include "trace_reader.h"
#include "trace_texts.h"
#include "trace_walk.h"
#include "trace_window.h"

#define KIND_BIT(kind) (1ull << (kind))

struct trace {
	char *path;
	struct trace_file file;
	struct trace_head head;
	struct trace_chunks chunks;
	uint8_t *is_skipped; /* found damaged while reading, parallel to chunks.list */
	uint64_t *row_kinds; /* fixed-size kinds in each ROWS chunk, parallel to chunks.list */
	struct trace_texts texts;
	struct trace_clock clock;
	struct trace_health health;
	struct chunk_loader loader;
	struct trace_window window;
};

/* Fixed-size records in a form that has to be decoded. */
static inline bool trace_has_columns(const struct chunk_header *header)
{
	return header->type == CHUNK_COLUMNS || header->type == CHUNK_EVENTS;
}

#endif
