/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events as a chunk tells them: a few columns per event, and the records that many of them have in
 * common. Who needs of an event only what its record says looks at each record once.
 */
#ifndef GPUTRACE_TRACE_EVENTS_H
#define GPUTRACE_TRACE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "record.h"

#define EVENT_RECORD_BYTES 176u /* room for the longest record */

/* What an event does not share. Of GPU work call_id and parent_id are 0. */
struct trace_event {
	uint64_t begin, end; /* ticks, or GPU ns */
	uint32_t record;     /* below trace_events.record_count */
	uint32_t call_id, parent_id, correlation;
};

/* Rows of one thread that stand one after the other. */
struct trace_event_run {
	uint32_t thread;
	uint32_t rows;
};

/* What one chunk holds, in the order in which it was recorded; all of it is the reader's. */
struct trace_events {
	bool is_gpu;
	struct trace_event *rows;
	uint32_t row_count;
	struct trace_event_run *runs; /* their rows add up to row_count */
	uint32_t run_count;
	/* Records are those of patterns, then those of single events; see trace_events_record(). */
	const uint8_t *patterns, *others;
	const uint16_t *pattern_kinds, *other_kinds;
	uint32_t pattern_count, record_count;
};

/* EVENT_RECORD_BYTES of a struct record_<kind>, in which what is in the rows is 0. */
static inline const uint8_t *trace_events_record(const struct trace_events *events, uint32_t record)
{
	return record < events->pattern_count
		       ? events->patterns + (size_t)record * EVENT_RECORD_BYTES
		       : events->others +
				 (size_t)(record - events->pattern_count) * EVENT_RECORD_BYTES;
}

/* enum record_kind, or a number that this program does not know. */
static inline uint16_t trace_events_kind(const struct trace_events *events, uint32_t record)
{
	return record < events->pattern_count ? events->pattern_kinds[record]
					      : events->other_kinds[record - events->pattern_count];
}

/* What the row says, into its record: times lie at the same place in calls and in GPU work. */
static inline void trace_event_put(const struct trace_event *row, bool is_gpu, uint8_t *record)
{
	memcpy(record + offsetof(struct call_part, begin_ticks), &row->begin, sizeof(row->begin));
	memcpy(record + offsetof(struct call_part, end_ticks), &row->end, sizeof(row->end));
	memcpy(record + (is_gpu ? offsetof(struct gpu_part, correlation)
				: offsetof(struct call_part, correlation)),
	       &row->correlation, sizeof(row->correlation));
	if (is_gpu)
		return;
	memcpy(record + offsetof(struct call_part, call_id), &row->call_id, sizeof(row->call_id));
	memcpy(record + offsetof(struct call_part, parent_id), &row->parent_id,
	       sizeof(row->parent_id));
}

/* The whole record of one row: EVENT_RECORD_BYTES. */
static inline void trace_events_fill(const struct trace_events *events,
				     const struct trace_event *row, void *to)
{
	memcpy(to, trace_events_record(events, row->record), EVENT_RECORD_BYTES);
	trace_event_put(row, events->is_gpu, to);
}

#endif
