/* SPDX-License-Identifier: Apache-2.0 */
/* Two zstd contexts for the life of a writer, so that no chunk allocates: one that looks for
 * matches and one, for times, that only counts how frequent values are. */
#include "chunk_build.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#define ZSTD_STATIC_LINKING_ONLY /* for literalCompressionMode; we link it statically */
#include <zstd.h>

#include "bytes.h"
#include "crc32c.h"

#define FRAME_HEAD_BYTES    8	 /* of a skippable frame: magic and size */
#define SMALLEST_COMPRESSED 64	 /* below, a frame costs more than it saves */
#define SMALLEST_BLOCK	    2048 /* below, statistics of its own cost more than they save */

#define SMALLEST_NOISE 4096 /* below, a frame of its own costs more than it saves */

struct chunk_builder {
	ZSTD_CCtx *zstd;
	ZSTD_CCtx *noise;
};

/* Steps over whole blocks when it looks for matches, and so finds none. */
static ZSTD_CCtx *new_noise_context(void)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();

	if (!zstd)
		return NULL;
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, 1);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_strategy, ZSTD_fast);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_hashLog, ZSTD_HASHLOG_MIN);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_targetLength, ZSTD_TARGETLENGTH_MAX);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_literalCompressionMode, ZSTD_lcm_huffman);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	return zstd;
}

struct chunk_builder *chunk_builder_new(int compression_level)
{
	struct chunk_builder *builder = calloc(1, sizeof(*builder));

	if (!builder)
		return NULL;
	builder->zstd = ZSTD_createCCtx();
	builder->noise = new_noise_context();
	if (!builder->zstd || !builder->noise) {
		chunk_builder_free(builder);
		return NULL;
	}
	/* Levels out of zstd's range are clamped by it; the checksum makes `zstd -t` meaningful. */
	ZSTD_CCtx_setParameter(builder->zstd, ZSTD_c_compressionLevel, compression_level);
	ZSTD_CCtx_setParameter(builder->zstd, ZSTD_c_checksumFlag, 1);
	return builder;
}

void chunk_builder_free(struct chunk_builder *builder)
{
	if (!builder)
		return;
	ZSTD_freeCCtx(builder->zstd);
	ZSTD_freeCCtx(builder->noise);
	free(builder);
}

void chunk_cut(struct chunk_cuts *cuts, size_t offset)
{
	if (cuts->count < CHUNK_CUTS_MAX)
		cuts->at[cuts->count++] = offset;
}

/* payload[from, to) as one frame, whose blocks end at the cuts that are far enough apart. False
 * when there is no room. */
static bool put_frame(ZSTD_CCtx *zstd, const void *payload, size_t from, size_t to,
		      const struct chunk_cuts *cuts, ZSTD_outBuffer *out)
{
	ZSTD_inBuffer in = {.src = payload, .pos = from};

	ZSTD_CCtx_reset(zstd, ZSTD_reset_session_only);
	ZSTD_CCtx_setPledgedSrcSize(zstd, to - from);
	for (unsigned int i = 0; cuts && i < cuts->count; i++) {
		if (cuts->at[i] > to || cuts->at[i] < in.pos + SMALLEST_BLOCK)
			continue;
		in.size = cuts->at[i];
		if (ZSTD_compressStream2(zstd, out, &in, ZSTD_e_flush) != 0)
			return false;
	}
	in.size = to;
	return ZSTD_compressStream2(zstd, out, &in, ZSTD_e_end) == 0;
}

/* One frame, or three with that of the noise between the others. 0 when it does not shrink. */
static size_t compress(struct chunk_builder *builder, const void *payload, size_t bytes,
		       const struct chunk_cuts *cuts, uint8_t *to, size_t room)
{
	size_t from = cuts ? cuts->noise_from : 0, end = cuts ? cuts->noise_to : 0;
	ZSTD_outBuffer out = {.dst = to, .size = room};
	bool done;

	if (end - from < SMALLEST_NOISE)
		done = put_frame(builder->zstd, payload, 0, bytes, cuts, &out);
	else
		done = put_frame(builder->zstd, payload, 0, from, cuts, &out) &&
		       put_frame(builder->noise, payload, from, end, cuts, &out) &&
		       put_frame(builder->zstd, payload, end, bytes, cuts, &out);
	return done && out.pos < bytes + FRAME_HEAD_BYTES ? out.pos : 0;
}

static size_t put_payload(struct chunk_builder *builder, struct chunk_header *header,
			  const void *payload, size_t bytes, const struct chunk_cuts *cuts,
			  uint8_t *to, size_t room)
{
	if (bytes == 0)
		return 0;
	if (!(header->flags & CHUNK_STORED) && bytes >= SMALLEST_COMPRESSED) {
		size_t used = compress(builder, payload, bytes, cuts, to, room);

		if (used > 0)
			return used;
	}
	header->flags |= CHUNK_STORED;
	bytes_store32(to, TRACE_FRAME_STORED);
	bytes_store32(to + 4, (uint32_t)bytes);
	memcpy(to + FRAME_HEAD_BYTES, payload, bytes);
	return FRAME_HEAD_BYTES + bytes;
}

int chunk_build(struct chunk_builder *builder, struct chunk_header *header, const void *payload,
		size_t bytes, const struct chunk_cuts *cuts, struct byte_buffer *out)
{
	size_t room = ZSTD_compressBound(bytes) + 128 + 16 * (size_t)(cuts ? cuts->count : 0) + 64;
	uint8_t *start;
	uint32_t padding;
	size_t used;
	int rc;

	if (bytes > CHUNK_MAX_PAYLOAD)
		return -EMSGSIZE;
	rc = byte_buffer_reserve(out, CHUNK_HEADER_BYTES + room + 16);
	if (rc < 0)
		return rc;
	start = out->data + out->used;
	used = put_payload(builder, header, payload, bytes, cuts, start + CHUNK_HEADER_BYTES, room);
	header->payload_bytes = (uint32_t)used;
	header->decoded_bytes = (uint32_t)bytes;
	header->payload_crc = crc32c(start + CHUNK_HEADER_BYTES, used);
	chunk_header_store(start, header);
	padding = chunk_padding_bytes((uint32_t)used);
	if (padding > 0) {
		uint8_t *at = start + CHUNK_HEADER_BYTES + used;

		memset(at, 0, padding);
		bytes_store32(at, TRACE_FRAME_PADDING);
		bytes_store32(at + 4, padding - FRAME_HEAD_BYTES);
	}
	out->used += CHUNK_HEADER_BYTES + used + padding;
	return 0;
}
