/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the chunks of a trace file: by its index, else by walking the headers and, where one is
 * damaged, searching for the next. What a killed writer left twice is given once (trace_file.h says
 * how).
 */
#ifndef GPUTRACE_TRACE_WALK_H
#define GPUTRACE_TRACE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace_chunk.h"

struct trace_file {
	int fd;
	uint64_t bytes;
};

struct trace_chunk {
	uint64_t offset;
	struct chunk_header header;
};

struct trace_chunks {
	struct trace_chunk *list; /* in order of sequence, which is the order of creation */
	size_t count;
	size_t capacity;
	bool from_index;
	uint64_t damaged_bytes;
	uint32_t damaged_chunks;
	uint64_t complete_ticks; /* largest that is a promise: of tail chunks and ends of groups */
	uint64_t settled_sequence; /* up to here groups are whole; behind it one was cut short */
	bool has_promises;	   /* the writer says how far a file is complete */
	uint16_t session_end;	   /* enum session_end, 0: no END chunk */
};

/* Exactly `bytes` at `offset`; false at the end of the file or on an error. */
bool trace_file_read(const struct trace_file *file, uint64_t offset, void *to, size_t bytes);
/* Payload bytes on disk are what the header's checksum says; they are left in *buffer, which grows.
 * -EBADMSG: they are not; -ENOMEM. */
int trace_file_payload(const struct trace_file *file, const struct trace_chunk *chunk,
		       uint8_t **buffer, size_t *capacity);

/* A header whose chunk has room in the file stands at `offset`. */
bool trace_chunk_at(const struct trace_file *file, uint64_t offset, struct trace_chunk *chunk);
/* The next such header at or behind `offset`, or the end of the file. `block`: TRACE_SCAN_BYTES. */
#define TRACE_SCAN_BYTES (256u * 1024)
uint64_t trace_chunk_find(const struct trace_file *file, uint64_t offset, uint8_t *block);

/* 0 or -ENOMEM. A file without one valid chunk gives an empty list. */
int trace_walk(const struct trace_file *file, struct trace_chunks *chunks);

#endif
