/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns an EVENTS payload back into rows, kind by kind: the other side of collector/event_encode.c,
 * but for hostile input.
 */
#ifndef GPUTRACE_EVENT_DECODE_H
#define GPUTRACE_EVENT_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "pattern_set.h"
#include "trace_file.h"

struct event_decoder;

/* Rows of one kind that a payload announces, then where they are wanted. */
struct event_output {
	uint16_t kind;
	uint16_t row_bytes; /* 0: of a kind that this program does not know */
	uint32_t count;
	uint8_t *rows; /* with EVENT_ROW_SLACK bytes behind them */
	uint32_t *threads;
};
#define EVENT_ROW_SLACK 64u

struct event_decoder *event_decoder_new(void);
void event_decoder_free(struct event_decoder *decoder);

/* What is in a payload: the number of outputs (at most EVENTS_KIND_COUNT), with kind, row_bytes and
 * count set, or -EBADMSG. Their counts add up to row_count. */
int event_decode_kinds(const uint8_t *payload, size_t bytes, uint32_t row_count,
		       struct event_output outputs[EVENTS_KIND_COUNT]);
/* After event_decode_kinds(), with rows and threads set. 0, -ENOMEM, or -EBADMSG when the payload
 * contradicts itself or a pattern is missing; outputs then hold anything. The set is as before. */
int event_decode(struct event_decoder *decoder, struct pattern_set *set, uint16_t family_kind,
		 const uint8_t *payload, size_t bytes, uint32_t row_count,
		 const struct event_output *outputs, uint32_t output_count);

#endif
