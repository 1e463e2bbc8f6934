/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lanes and runs of an EVENTS chunk stand before its rows, so that only the first block of a
 * compressed payload has to be decompressed to count them.
 */
#include "event_count.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "bytes.h"
#include "trace_file.h"

#define WINDOW_LOG_MAX 23 /* of a frame; what asks for more is decompressed as a whole */

/* The first `bytes` of the plain payload; NULL when that cannot be had this way. */
static uint8_t *first_bytes(ZSTD_DCtx *zstd, const uint8_t *disk, size_t disk_bytes, size_t bytes)
{
	uint8_t *head = malloc(bytes);
	ZSTD_outBuffer out = {.dst = head, .size = bytes};
	ZSTD_inBuffer in = {.src = disk, .size = disk_bytes};

	if (!head)
		return NULL;
	ZSTD_DCtx_reset(zstd, ZSTD_reset_session_and_parameters);
	ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	while (out.pos < out.size) {
		size_t before = in.pos + out.pos;

		if (ZSTD_isError(ZSTD_decompressStream(zstd, &out, &in)) ||
		    in.pos + out.pos == before) {
			free(head);
			return NULL;
		}
	}
	return head;
}

static size_t runs_begin(const uint8_t *payload)
{
	return EVENTS_HEAD_BYTES + (size_t)bytes_load32(payload) * EVENTS_LANE_BYTES;
}

static size_t runs_end(const uint8_t *payload)
{
	return runs_begin(payload) + (size_t)bytes_load32(payload + 4) * EVENTS_RUN_BYTES;
}

static bool has_sane_head(const uint8_t *payload, size_t bytes, const struct trace_chunk *chunk)
{
	uint32_t rows = chunk->header.row_count;

	return bytes >= EVENTS_HEAD_BYTES && rows <= CHUNK_MAX_ROWS &&
	       bytes_load32(payload) <= rows && bytes_load32(payload + 4) <= rows &&
	       runs_end(payload) <= bytes;
}

static bool rows_add_up(const uint8_t *payload, uint32_t row_count)
{
	uint64_t rows = 0;

	for (size_t at = runs_begin(payload); at < runs_end(payload); at += EVENTS_RUN_BYTES) {
		if (bytes_load32(payload + at) >= bytes_load32(payload))
			return false;
		rows += bytes_load32(payload + at + 4);
	}
	return rows == row_count;
}

static int tell_runs(const uint8_t *payload, uint32_t row_count,
		     int (*fn)(void *context, uint32_t thread, uint32_t rows), void *context,
		     int *answer)
{
	if (!rows_add_up(payload, row_count))
		return -EBADMSG;
	for (size_t at = runs_begin(payload); *answer == 0 && at < runs_end(payload);
	     at += EVENTS_RUN_BYTES) {
		size_t lane = bytes_load32(payload + at);

		*answer = fn(context,
			     bytes_load32(payload + EVENTS_HEAD_BYTES + lane * EVENTS_LANE_BYTES),
			     bytes_load32(payload + at + 4));
	}
	return 0;
}

/* The head of a compressed payload; NULL: decompress it as a whole. */
static uint8_t *load_head(const struct chunk_loader *loader, const struct trace_chunk *chunk)
{
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	size_t disk_bytes = chunk->header.payload_bytes, bytes = chunk->header.decoded_bytes;
	uint8_t *head = NULL, *whole = NULL;

	if (zstd && bytes >= EVENTS_HEAD_BYTES)
		head = first_bytes(zstd, loader->disk, disk_bytes, EVENTS_HEAD_BYTES);
	/* Twice, since the first bytes tell how many are wanted: the frame's first block is small.
	 */
	if (head && has_sane_head(head, bytes, chunk))
		whole = first_bytes(zstd, loader->disk, disk_bytes, runs_end(head));
	free(head);
	ZSTD_freeDCtx(zstd);
	return whole;
}

int event_count_runs(struct chunk_loader *loader, const struct trace_file *file,
		     const struct trace_chunk *chunk,
		     int (*fn)(void *context, uint32_t thread, uint32_t rows), void *context,
		     int *answer)
{
	const uint8_t *payload;
	uint8_t *head = NULL;
	size_t bytes;
	int rc;

	if (!(chunk->header.flags & CHUNK_STORED)) {
		rc = trace_file_payload(file, chunk, &loader->disk, &loader->disk_capacity);
		if (rc < 0)
			return rc;
		head = load_head(loader, chunk);
	}
	if (head) {
		rc = tell_runs(head, chunk->header.row_count, fn, context, answer);
		free(head);
		return rc;
	}
	rc = chunk_load(loader, file, chunk, &payload, &bytes);
	if (rc < 0)
		return rc;
	return has_sane_head(payload, bytes, chunk)
		       ? tell_runs(payload, chunk->header.row_count, fn, context, answer)
		       : -EBADMSG;
}
