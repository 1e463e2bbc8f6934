/* SPDX-License-Identifier: Apache-2.0 */
/* Puts one chunk together: header, payload as a zstd frame or stored, padding. */
#ifndef GPUTRACE_CHUNK_BUILD_H
#define GPUTRACE_CHUNK_BUILD_H

#include <stddef.h>

#include "byte_buffer.h"
#include "trace_chunk.h"

struct chunk_builder;

/* Offsets in a payload where bytes of one statistic end and others begin (a column, a byte plane):
 * each part gets a block of its own in the zstd frame, and so its own symbol statistics. */
#define CHUNK_CUTS_MAX 320
struct chunk_cuts {
	size_t at[CHUNK_CUTS_MAX];
	unsigned int count;
	/* Bytes in which nothing repeats, only some values are frequent (times): no matches are
	 * looked for there, which is faster and no larger. Empty: no such part. */
	size_t noise_from, noise_to;
};

/* Ignored when there is no room for more. */
void chunk_cut(struct chunk_cuts *cuts, size_t offset);

struct chunk_builder *chunk_builder_new(int compression_level);
void chunk_builder_free(struct chunk_builder *builder);

/*
 * Appends the chunk to `out` and fills in the header's sizes, checksum and CHUNK_STORED. Payloads
 * that do not shrink, and all of a header that has CHUNK_STORED set already, are stored. `cuts` may
 * be NULL. On failure (-ENOMEM, -EMSGSIZE) `out` is as before.
 */
int chunk_build(struct chunk_builder *builder, struct chunk_header *header, const void *payload,
		size_t bytes, const struct chunk_cuts *cuts, struct byte_buffer *out);

#endif
