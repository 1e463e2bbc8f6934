/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of an EVENTS payload is where; trace_file.h and FORMAT.md say what the parts are.
 */
#ifndef GPUTRACE_EVENT_PARTS_H
#define GPUTRACE_EVENT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event_expand.h"
#include "trace_file.h"

struct event_parts {
	const uint8_t *lanes, *runs, *kinds;
	uint32_t lane_count, run_count, kind_count;
	const uint8_t *control, *gap_low, *gap_high, *duration_low, *duration_high; /* row by row */
	const uint8_t *extras, *end;
};

/* False when the parts do not add up to the payload. */
bool event_parts_find(const uint8_t *payload, size_t bytes, uint32_t row_count,
		      struct event_parts *parts);
/* Size of the struct; 0: of a kind that this program does not know. */
uint16_t event_row_bytes(uint16_t kind);
/* What is in a payload: the number of outputs (at most EVENTS_KIND_COUNT), with kind, row_bytes and
 * count set, or -EBADMSG. Their counts add up to row_count. */
int event_parts_kinds(const uint8_t *payload, size_t bytes, uint32_t row_count,
		      struct event_output outputs[EVENTS_KIND_COUNT]);

#endif
