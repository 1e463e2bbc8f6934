/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of events as whole records, kind by kind.
 */
#ifndef GPUTRACE_EVENT_EXPAND_H
#define GPUTRACE_EVENT_EXPAND_H

#include <stddef.h>
#include <stdint.h>

struct trace_events;

/* Records of one kind that a chunk announces, then where they are wanted. */
struct event_output {
	uint16_t kind;
	uint16_t row_bytes; /* 0: of a kind that this program does not know */
	uint32_t count;
	uint8_t *rows; /* with EVENT_ROW_SLACK bytes behind them */
	uint32_t *threads;
};
#define EVENT_ROW_SLACK 64u

/* The outputs are those of event_parts_kinds() for the same payload, with room for their counts,
 * which event_decode() has verified. */
void event_expand(const struct trace_events *events, const struct event_output *outputs,
		  uint32_t output_count);

#endif
