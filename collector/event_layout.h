/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bits of an event's record make its pattern and which vary, per kind, from the schema's
 * table: so that two records are compared word by word.
 */
#ifndef GPUTRACE_EVENT_LAYOUT_H
#define GPUTRACE_EVENT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "record_schema.h"

#define EVENT_WORDS_MAX	   22u
#define EVENT_VARYING_MAX  8u
#define EVENT_FAMILY_CALLS 0u
#define EVENT_FAMILY_GPU   1u
#define EVENT_FAMILY_COUNT 2u

struct event_layout {
	const struct record_schema *schema;
	uint32_t word_count;
	uint64_t key[EVENT_WORDS_MAX];
	uint64_t known[EVENT_WORDS_MAX];			/* key, and what varies */
	const struct record_column *columns[EVENT_VARYING_MAX]; /* those that vary */
	uint32_t column_count;
};

/* The family that a kind's records are written with, EVENT_FAMILY_COUNT: they are no events. */
uint32_t event_family_of(uint16_t kind);
/* False when the kind does not fit. */
bool event_layout_make(uint16_t kind, struct event_layout *layout);

#endif
