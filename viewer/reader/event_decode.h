/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns an EVENTS payload back into rows, in its order: the other side of collector/event_encode.c,
 * but for hostile input.
 */
#ifndef GPUTRACE_EVENT_DECODE_H
#define GPUTRACE_EVENT_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "event_parts.h"
#include "pattern_set.h"
#include "trace_events.h"

struct event_decoder;

struct event_decoder *event_decoder_new(void);
void event_decoder_free(struct event_decoder *decoder);

/* After event_parts_kinds() of the same payload. 0, -ENOMEM, or -EBADMSG when the payload
 * contradicts itself or a pattern is missing. The events last until the decoder is used again or
 * the set is changed. */
int event_decode(struct event_decoder *decoder, const struct pattern_set *set, uint16_t family_kind,
		 const uint8_t *payload, size_t bytes, uint32_t row_count,
		 struct trace_events *events);

#endif
