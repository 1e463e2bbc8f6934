/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where every importer puts what it read: gives names, threads and calls their numbers, holds the
 * first records back until it is known which times are plausible, counts what cannot be kept, and
 * hands the records to the trace writer. Times are nanoseconds on the recording's own clock.
 */
#ifndef GPUTRACE_IMPORT_SINK_H
#define GPUTRACE_IMPORT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

struct error;
struct import_sink;

/*
 * The writer is created in `dir_fd` under `name` when the first record is written, since only then
 * the session's start is known well enough for the head.
 */
struct import_sink *import_sink_new(int dir_fd, const char *name);
/* Removes nothing: an unfinished file is the caller's to unlink. */
void import_sink_free(struct import_sink *sink);

/* Nanoseconds to add to a time of the recording to get CLOCK_REALTIME; without it unknown. */
void import_sink_set_realtime(struct import_sink *sink, int64_t realtime_minus_recording_ns);

/* The number of a text in its space, written when it is new. */
uint64_t import_sink_name(struct import_sink *sink, uint16_t space, const char *text,
			  size_t length);

/* The number of a call site, innermost frame first, written when it is new; 0 without frames. */
#define IMPORT_MAX_FRAMES 128u
uint64_t import_sink_site(struct import_sink *sink, const struct site_frame *frames, size_t count);

/* A thread of the recording; the same numbers give the same thread. */
uint32_t import_sink_thread(struct import_sink *sink, int64_t process, int64_t thread);
void import_sink_name_thread(struct import_sink *sink, uint32_t thread, const char *name,
			     size_t length);
/* The next call_id of a thread. */
uint32_t import_sink_next_call(struct import_sink *sink, uint32_t thread);
size_t import_sink_thread_count(const struct import_sink *sink);

/* Ticks of a time in the recording: never 0. */
uint64_t import_sink_ticks(int64_t time_ns);

/*
 * Keeps a record of any kind. Thread 0 is for what no host thread did: GPU records, facts. Times
 * that are negative, end before they begin, last longer than a month or lie further than that from
 * the rest are counted as LOSS_BAD_TIME instead; GPU records without times as LOSS_ZERO_TIME.
 */
void import_sink_add(struct import_sink *sink, uint32_t thread, const void *record);
void import_sink_info(struct import_sink *sink, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void import_sink_lose(struct import_sink *sink, uint16_t kind, uint16_t reason, uint64_t count);
/* A GPU that the recording describes; those without work are left out where any has some. The first
 * description of an ordinal counts. */
void import_sink_device(struct import_sink *sink, const struct record_device *device,
			const char *name, size_t name_length);

struct import_totals {
	uint64_t records; /* kept, of fixed size */
	uint64_t by_kind[RECORD_KIND_LIMIT];
	uint64_t lost;
	uint64_t lost_bad_time, lost_zero_time, lost_import;
	int64_t first_ns, last_ns; /* valid when records != 0 */
};
/* Lets go of the held records, after which the totals are complete. */
void import_sink_settle(struct import_sink *sink);
const struct import_totals *import_sink_totals(const struct import_sink *sink);

/* Writes threads, losses, the clock record and the end; reports the first failure of all. */
int import_sink_finish(struct import_sink *sink, struct error *err);
/* A failure of the writer so far (disk full), so that importers can stop early; 0 none. */
int import_sink_failed(const struct import_sink *sink);

#endif
