/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a .gtrace file and gives its records back.
 *
 * trace_open() walks the chunk headers, loads what names and describes (names, info, devices,
 * clocks, threads, libraries, sites, losses) and keeps it; trace_read() then streams the events in
 * batches. Everything in a file is hostile input: damaged chunks are skipped and counted.
 *
 * Times: records keep the ticks they were written with. trace_ticks_to_ns() and trace_gpu_to_ns()
 * convert both to nanoseconds since the session's start.
 */
#ifndef GPUTRACE_TRACE_READER_H
#define GPUTRACE_TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock_stretch.h"
#include "record.h"

struct error; /* collector/base/error.h */
struct trace;

/* How the file ended and what is wrong with it. */
struct trace_health {
	uint16_t session_end; /* enum session_end, 0: no end chunk (cut short) */
	uint64_t file_bytes;
	uint64_t damaged_bytes;	 /* skipped because no valid chunk was there */
	uint32_t damaged_chunks; /* header valid, payload not */
	uint64_t chunks, rows;
	int64_t host_complete_ns;	  /* host records are complete up to this time */
	int64_t gpu_complete_ns;	  /* GPU records are; -1: there are none */
	uint64_t lost[RECORD_KIND_LIMIT]; /* counted losses by kind, [0] kind unknown */
	uint64_t lost_total;
};

/*
 * 0, or a negative code with the reason in *err: -ENOENT and friends for the file system,
 * -EINVAL for a file that is not ours, damaged beyond use or of a newer major version.
 * Waits up to 10 s while a collector still holds the file's lock.
 */
int trace_open(const char *path, struct trace **out, struct error *err);
/* The same for a file that is still being written: it is read as it is, without waiting. */
int trace_open_live(const char *path, struct trace **out, struct error *err);
void trace_close(struct trace *trace);
/*
 * Leaves only events that begin in [begin_ns, end_ns), ns since the session's start, to
 * trace_read(). What describes or outlives them is still given: names, clocks, losses, memory,
 * communicators, graphs, blocks. Chunks outside are not even decompressed.
 */
void trace_set_window(struct trace *trace, int64_t begin_ns, int64_t end_ns);

const char *trace_path(const struct trace *trace);
const struct trace_health *trace_health(const struct trace *trace);

/* NULL when the session has no such key. */
const char *trace_info(const struct trace *trace, const char *key);
/* Calls fn for every key in file order. */
void trace_info_each(const struct trace *trace,
		     void (*fn)(void *context, const char *key, const char *value), void *context);

/* NUL-terminated text of a name, NULL if unknown. Bytes as found; printers must escape. */
const char *trace_name(const struct trace *trace, uint16_t space, uint64_t id);
const struct record_site *trace_site(const struct trace *trace, uint64_t id);

size_t trace_device_count(const struct trace *trace);
const struct record_device *trace_device(const struct trace *trace, size_t index);
size_t trace_thread_count(const struct trace *trace);
const struct record_thread *trace_thread(const struct trace *trace, size_t index);
size_t trace_library_count(const struct trace *trace);
const struct record_library *trace_library(const struct trace *trace, size_t index);

/* Nanoseconds since the session's start; may be negative. */
int64_t trace_ticks_to_ns(const struct trace *trace, uint64_t ticks);
int64_t trace_gpu_to_ns(const struct trace *trace, uint64_t gpu_ns);
/* For many times that are near each other. */
struct clock_stretch trace_host_stretch(const struct trace *trace, uint64_t ticks);
struct clock_stretch trace_gpu_stretch(const struct trace *trace, uint64_t gpu_ns);
/* CLOCK_REALTIME of the session's start, ns. */
uint64_t trace_start_realtime_ns(const struct trace *trace);

/* Records of one fixed-size kind, as an array of struct record_<kind>. */
struct trace_batch {
	uint16_t kind;
	uint16_t row_bytes; /* sizeof the struct in this program */
	uint32_t count;
	const void *rows;
	const uint32_t *thread; /* thread number of each row */
};

/*
 * Streams every fixed-size record whose kind is in kind_mask (bit = 1 << kind), chunk by chunk, in
 * file order, which is not time order. Stops early when fn returns non-zero and returns that.
 */
int trace_read(struct trace *trace, uint64_t kind_mask,
	       int (*fn)(void *context, const struct trace_batch *batch), void *context,
	       struct error *err);
/*
 * The same, but chunks of events go to events_fn as they are: in the order in which they were
 * recorded, without a record for each. Kinds beside those of kind_mask may be among them.
 */
struct trace_events; /* trace_events.h */
int trace_read_events(struct trace *trace, uint64_t kind_mask,
		      int (*fn)(void *context, const struct trace_batch *batch),
		      int (*events_fn)(void *context, const struct trace_events *events),
		      void *context, struct error *err);
/*
 * How many records of these kinds each thread has, at most: of chunks of events it looks at the
 * heads alone and tells of rows of one thread, others it gives to fn as trace_read() does. Reading
 * may give fewer, where a chunk is damaged inside or lies across the window's edge.
 */
int trace_count_threads(struct trace *trace, uint64_t kind_mask,
			int (*fn)(void *context, const struct trace_batch *batch),
			int (*runs_fn)(void *context, uint32_t thread, uint32_t rows),
			void *context, struct error *err);

#endif
