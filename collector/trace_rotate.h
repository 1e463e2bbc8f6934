/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flight recorder: drops the oldest whole segments of a trace file that grows beyond its size or
 * its time. Names survive, since every segment repeats them.
 */
#ifndef GPUTRACE_TRACE_ROTATE_H
#define GPUTRACE_TRACE_ROTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace_output.h"

struct trace_writer;

/* Where a segment begins. */
struct segment_mark {
	uint64_t offset;
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
};

#define ROTATE_MARKS 256 /* segments that are remembered; older ones are dropped together */

struct trace_rotation {
	struct segment_mark marks[ROTATE_MARKS]; /* in file order, the last one is being written */
	size_t count;
	uint64_t dropped_segments, dropped_bytes;
	bool has_failed; /* said once */

	bool is_copying; /* what stays is on its way into `spare` */
	struct trace_output spare;
	uint64_t from;	 /* where what stays begins in the old file */
	uint64_t copied; /* up to here in the old file */
};

/* A segment begins at `offset`. */
void trace_rotate_mark(struct trace_rotation *rotation, uint64_t offset, uint64_t now_ns);
/* How large and how old a segment may become so that enough of them are in the file. */
uint64_t trace_rotate_segment_bytes(uint64_t max_bytes, uint64_t usual_bytes);
uint64_t trace_rotate_segment_ns(uint64_t keep_ns, uint64_t usual_ns);
/*
 * To be called when a segment has just begun. Decides whether anything is too much: beyond
 * max_bytes as much as leaves half of it, beyond keep_ns once it is half of the file, so that every
 * byte is copied about once.
 */
void trace_rotate_begin(struct trace_writer *writer, uint64_t now_ns);
/* To be called after every write: goes on with what trace_rotate_begin() began, a few milliseconds
 * at a time, since nobody empties the rings meanwhile. */
void trace_rotate_step(struct trace_writer *writer);
/* Gives up what has begun. */
void trace_rotate_abandon(struct trace_writer *writer);

#endif
