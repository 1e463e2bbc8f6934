/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The patterns of one segment's events, from its PATTERNS chunks. A number that no chunk told (its
 * chunk is damaged) is a hole: events that use it cannot be read.
 */
#ifndef GPUTRACE_PATTERN_SET_H
#define GPUTRACE_PATTERN_SET_H

#include <stddef.h>
#include <stdint.h>

#include "event_model.h"
#include "trace_events.h"

#define PATTERN_RECORD_BYTES EVENT_RECORD_BYTES

struct pattern_set {
	uint32_t segment; /* 0: none yet */
	uint32_t count;	  /* numbers are below this */
	uint32_t capacity;
	uint8_t *records; /* PATTERN_RECORD_BYTES each, as structs of this program */
	uint16_t *kinds;  /* 0: a hole */
	struct event_state *states;
};

void pattern_set_fini(struct pattern_set *set);
/* Forgets all when the segment is another one. */
void pattern_set_begin(struct pattern_set *set, uint32_t segment);
/* A PATTERNS payload of that segment. 0, -EBADMSG, -ENOMEM. */
int pattern_set_add(struct pattern_set *set, uint16_t family_kind, const uint8_t *payload,
		    size_t bytes);

#endif
