/* SPDX-License-Identifier: Apache-2.0 */
/* Puts one chunk together: header, payload as a zstd frame or stored, padding. */
#ifndef GPUTRACE_CHUNK_BUILD_H
#define GPUTRACE_CHUNK_BUILD_H

#include <stddef.h>

#include "byte_buffer.h"
#include "trace_chunk.h"

struct chunk_builder;

struct chunk_builder *chunk_builder_new(int compression_level);
void chunk_builder_free(struct chunk_builder *builder);

/*
 * Appends the chunk to `out` and fills in the header's sizes, checksum and CHUNK_STORED. Payloads
 * that do not shrink, and all of a header that has CHUNK_STORED set already, are stored. On failure
 * (-ENOMEM, -EMSGSIZE) `out` is as before.
 */
int chunk_build(struct chunk_builder *builder, struct chunk_header *header, const void *payload,
		size_t bytes, struct byte_buffer *out);

#endif
