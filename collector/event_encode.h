/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting events as the payloads of a PATTERNS and an EVENTS chunk (trace_file.h, event_model.h).
 */
#ifndef GPUTRACE_EVENT_ENCODE_H
#define GPUTRACE_EVENT_ENCODE_H

#include "byte_buffer.h"
#include "chunk_build.h"
#include "event_store.h"

struct event_encoder;

struct event_encoder *event_encoder_new(void);
void event_encoder_free(struct event_encoder *encoder);

/* The patterns that are not in the file yet; *count of them. First of the two: what it learns about
 * new patterns is what event_encode_rows() begins with. 0 or -ENOMEM. */
int event_encode_patterns(struct event_encoder *encoder, struct event_store *store,
			  struct byte_buffer *payload, uint32_t *count);
/* All waiting rows, of which there is at least one; 0 or -ENOMEM. */
int event_encode_rows(struct event_encoder *encoder, const struct event_store *store,
		      struct byte_buffer *payload, struct chunk_cuts *cuts);

#endif
