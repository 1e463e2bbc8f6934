/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a .gtrace file: takes records in any order and from any thread number, keeps the 50 ms
 * tail on disk, turns it into compressed columns, starts segments and ends the file with its index.
 * Used by the collector and by `gputrace import`. Not thread-safe: one owner. Never exits; all
 * memory is bounded by options. Part of the code that may run inside a traced process.
 */
#ifndef GPUTRACE_TRACE_WRITER_H
#define GPUTRACE_TRACE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "record.h"

struct error;
struct trace_writer;

struct trace_writer_options {
	uint32_t clock_kind; /* ring.h enum ring_clock, 0: ticks are ns since start */
	uint64_t start_realtime_ns;
	int compression_level;	   /* zstd level; 1 is the default and the best trade here */
	uint32_t tail_interval_ms; /* 0: no tail (imports) */
	/* A flight recorder: the oldest segments are dropped so that the file stays below max_bytes
	 * and need not hold more than the last keep_ns. 0: no limit. */
	uint64_t max_bytes;
	uint64_t keep_ns;
};

/* Creates `name` in the directory `dir_fd` with O_EXCL|O_NOFOLLOW, 0600, and holds flock on it. */
int trace_writer_create(int dir_fd, const char *name, const struct trace_writer_options *options,
			struct trace_writer **out, struct error *err);

/* One or more whole records back to back, 8-byte aligned, as they stand in a ring. Names, info,
 * devices, threads, libraries, sites are remembered and written again at the head of each segment.
 * Records that do not check are counted as LOSS_DAMAGED, unknown kinds are counted and skipped. */
int trace_writer_add(struct trace_writer *writer, uint32_t thread, const void *records,
		     size_t bytes, struct error *err);
/* Convenience for the owner's own facts. */
int trace_writer_info(struct trace_writer *writer, const char *key, const char *value,
		      struct error *err);
int trace_writer_name(struct trace_writer *writer, uint16_t space, uint64_t id, const char *text,
		      struct error *err);

/* Host records committed before this tick have been added; said in the chunks that follow. */
void trace_writer_complete(struct trace_writer *writer, uint64_t ticks);
/* Puts everything added so far on disk (as tail rows or columns). When that fails the records stay
 * in memory for a later try; what memory cannot hold is counted as LOSS_WRITE. */
int trace_writer_flush(struct trace_writer *writer, struct error *err);
/* Records of each kind that could not be kept so far (RECORD_KIND_LIMIT numbers). */
const uint64_t *trace_writer_lost(const struct trace_writer *writer);
/* Writes END and INDEX, releases the lock, frees the writer (also when it fails). */
int trace_writer_finish(struct trace_writer *writer, uint16_t session_end, struct error *err);

#endif
