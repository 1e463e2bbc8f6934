/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the columns of one kind into a COLUMNS payload (trace_file.h). For each column it takes the
 * encoding of the schema when the data suit it, else a plainer one, so that no payload is larger
 * than plain columns.
 */
#ifndef GPUTRACE_COLUMN_ENCODE_H
#define GPUTRACE_COLUMN_ENCODE_H

#include <stdint.h>

#include "byte_buffer.h"
#include "chunk_build.h"
#include "record_schema.h"

struct column_encoder;

struct column_encoder *column_encoder_new(void);
void column_encoder_free(struct column_encoder *encoder);

/* values[i]: `count` numbers of schema->columns[i].width bytes, back to back; count is 1 to
 * CHUNK_MAX_ROWS. Appends the payload, and to `cuts` where its parts differ in kind; 0, -ENOMEM or
 * -EINVAL. */
int column_encode(struct column_encoder *encoder, const struct record_schema *schema,
		  const void *const *values, const uint32_t *threads, uint32_t count,
		  struct byte_buffer *payload, struct chunk_cuts *cuts);

#endif
