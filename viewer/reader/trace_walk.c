/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With an index at the end of the file its entries are the chunks. Without one the writer was
 * killed or the file is damaged: then every payload is verified too, since a kill in the middle of
 * "copy over the tail" leaves a good header before a payload that is half new and half old.
 */
#include "trace_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "bytes.h"
#include "crc32c.h"

#define INDEX_SEARCH_BYTES (CHUNK_MAX_PAYLOAD + 4096u)

bool trace_file_read(const struct trace_file *file, uint64_t offset, void *to, size_t bytes)
{
	uint8_t *at = to;

	if (offset > file->bytes || bytes > file->bytes - offset)
		return false;
	while (bytes > 0) {
		ssize_t done = pread(file->fd, at, bytes, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		at += done;
		offset += (uint64_t)done;
		bytes -= (size_t)done;
	}
	return true;
}

int trace_file_payload(const struct trace_file *file, const struct trace_chunk *chunk,
		       uint8_t **buffer, size_t *capacity)
{
	size_t bytes = chunk->header.payload_bytes;

	if (bytes > file->bytes)
		return -EBADMSG;
	if (bytes > *capacity) {
		uint8_t *grown = realloc(*buffer, bytes);

		if (!grown)
			return -ENOMEM;
		*buffer = grown;
		*capacity = bytes;
	}
	if (!trace_file_read(file, chunk->offset + CHUNK_HEADER_BYTES, *buffer, bytes))
		return -EBADMSG;
	return crc32c(*buffer, bytes) == chunk->header.payload_crc ? 0 : -EBADMSG;
}

static int add_chunk(struct trace_chunks *chunks, const struct trace_chunk *chunk)
{
	if (chunks->count == chunks->capacity) {
		size_t capacity = chunks->capacity ? chunks->capacity * 2 : 256;
		struct trace_chunk *grown = realloc(chunks->list, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		chunks->list = grown;
		chunks->capacity = capacity;
	}
	chunks->list[chunks->count++] = *chunk;
	return 0;
}

bool trace_chunk_at(const struct trace_file *file, uint64_t offset, struct trace_chunk *chunk)
{
	uint8_t bytes[CHUNK_HEADER_BYTES];

	if (!trace_file_read(file, offset, bytes, sizeof(bytes)) ||
	    !chunk_header_load(bytes, &chunk->header))
		return false;
	chunk->offset = offset;
	return chunk->header.payload_bytes <= file->bytes - offset - CHUNK_HEADER_BYTES;
}

/* ---- with an index ---- */

/* The index is the chunk that ends where the file ends: its header is searched backwards. */
static bool find_index(const struct trace_file *file, struct trace_chunk *chunk, uint8_t *block)
{
	uint64_t lowest = file->bytes > INDEX_SEARCH_BYTES ? file->bytes - INDEX_SEARCH_BYTES : 0;
	uint64_t high = file->bytes;

	lowest = lowest / 8 * 8;
	while (high > lowest) {
		uint64_t low = high - lowest > TRACE_SCAN_BYTES ? high - TRACE_SCAN_BYTES : lowest;
		size_t bytes = (size_t)(high - low);

		if (!trace_file_read(file, low, block, bytes))
			return false;
		for (size_t at = bytes / 8 * 8; at >= 8; at -= 8) {
			uint8_t *from = block + at - 8;

			if (bytes_load32(from) != TRACE_FRAME_CHUNK)
				continue;
			if (!trace_chunk_at(file, low + at - 8, chunk))
				continue;
			/* The payload of a stored index is full of headers, the last of which may
			 * end with the file; none is of an index. */
			if (chunk->header.type == CHUNK_INDEX &&
			    chunk->offset + chunk_disk_bytes(&chunk->header) == file->bytes)
				return true;
		}
		high = low;
	}
	return false;
}

/* Entries of a verified index payload; -EBADMSG when one of them is not what stands in the file. */
static int read_entries(const struct trace_file *file, const uint8_t *entries, size_t bytes,
			struct trace_chunks *chunks)
{
	for (size_t at = 0; at + CHUNK_INDEX_ENTRY_BYTES <= bytes; at += CHUNK_INDEX_ENTRY_BYTES) {
		struct trace_chunk chunk = {.offset = bytes_load64(entries + at)};
		uint8_t header[CHUNK_HEADER_BYTES];
		int rc;

		if (!chunk_header_load(entries + at + 8, &chunk.header) ||
		    !trace_file_read(file, chunk.offset, header, sizeof(header)) ||
		    memcmp(header, entries + at + 8, sizeof(header)) != 0)
			return -EBADMSG;
		if (chunk.offset > file->bytes ||
		    chunk_disk_bytes(&chunk.header) > file->bytes - chunk.offset)
			return -EBADMSG;
		rc = add_chunk(chunks, &chunk);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* 0: the chunks are known now; -ENOENT: there is no usable index. */
static int walk_index(const struct trace_file *file, struct trace_chunks *chunks, uint8_t *block)
{
	struct trace_chunk index;
	uint8_t *payload = NULL, *entries = NULL;
	size_t capacity = 0, bytes;
	int rc = -ENOENT;

	if (file->bytes % 8 != 0 || !find_index(file, &index, block))
		return -ENOENT;
	if (trace_file_payload(file, &index, &payload, &capacity) < 0)
		goto out;
	bytes = index.header.decoded_bytes;
	if (index.header.flags & CHUNK_STORED) {
		if (index.header.payload_bytes >= 8)
			rc = read_entries(file, payload + 8, index.header.payload_bytes - 8,
					  chunks);
		goto out;
	}
	entries = malloc(bytes ? bytes : 1);
	if (!entries) {
		rc = -ENOMEM;
		goto out;
	}
	if (ZSTD_decompress(entries, bytes, payload, index.header.payload_bytes) == bytes)
		rc = read_entries(file, entries, bytes, chunks);
out:
	free(entries);
	free(payload);
	if (rc == -EBADMSG)
		rc = -ENOENT;
	if (rc == -ENOENT)
		chunks->count = 0;
	return rc;
}

/* ---- without ---- */

uint64_t trace_chunk_find(const struct trace_file *file, uint64_t offset, uint8_t *block)
{
	struct trace_chunk chunk;

	while (offset < file->bytes && file->bytes - offset >= CHUNK_HEADER_BYTES) {
		uint64_t left = file->bytes - offset;
		size_t bytes = left > TRACE_SCAN_BYTES ? TRACE_SCAN_BYTES : (size_t)left;

		if (!trace_file_read(file, offset, block, bytes))
			return file->bytes;
		for (size_t at = 0; at + 8 <= bytes; at += 8) {
			if (bytes_load32(block + at) == TRACE_FRAME_CHUNK &&
			    trace_chunk_at(file, offset + at, &chunk))
				return offset + at;
		}
		offset += bytes / 8 * 8;
		if (bytes < 8)
			break;
	}
	return file->bytes;
}

static int walk_headers(const struct trace_file *file, struct trace_chunks *chunks, uint8_t *block)
{
	struct trace_chunk chunk;
	uint64_t offset = TRACE_HEAD_BYTES;
	uint8_t *payload = NULL;
	size_t capacity = 0;
	int rc = 0;

	while (offset < file->bytes) {
		uint64_t next;

		if (!trace_chunk_at(file, offset, &chunk)) {
			next = trace_chunk_find(file, offset + 8, block);
			chunks->damaged_bytes += next - offset;
			offset = next;
			continue;
		}
		rc = trace_file_payload(file, &chunk, &payload, &capacity);
		if (rc == -ENOMEM)
			break;
		next = offset + chunk_disk_bytes(&chunk.header);
		if (rc == 0) {
			rc = add_chunk(chunks, &chunk);
			if (rc < 0)
				break;
		} else {
			/* Only a header that stands where this one says is believed; else the
			 * length may belong to a chunk that was overwritten. */
			struct trace_chunk after;

			chunks->damaged_chunks++;
			if (next < file->bytes && !trace_chunk_at(file, next, &after))
				next = trace_chunk_find(file, offset + 8, block);
			rc = 0;
			chunks->damaged_bytes += (next < file->bytes ? next : file->bytes) - offset;
		}
		offset = next;
	}
	free(payload);
	return rc;
}

/* ---- what was written twice ---- */

static int compare_sequence(const void *one, const void *two)
{
	const struct trace_chunk *left = one;
	const struct trace_chunk *right = two;

	if (left->header.sequence != right->header.sequence)
		return left->header.sequence < right->header.sequence ? -1 : 1;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static bool is_tail(const struct trace_chunk *chunk)
{
	return chunk->header.type == CHUNK_ROWS && (chunk->header.flags & CHUNK_TAIL);
}

static void settle_chunks(struct trace_chunks *chunks)
{
	uint64_t covered = 0, first_tail = UINT64_MAX, last_sequence = 0;
	size_t kept = 0;

	if (chunks->count == 0)
		return;
	qsort(chunks->list, chunks->count, sizeof(*chunks->list), compare_sequence);
	for (size_t i = 0; i < chunks->count; i++) {
		const struct chunk_header *header = &chunks->list[i].header;

		if (header->covers_sequence > covered)
			covered = header->covers_sequence;
		if (header->complete_ticks != 0)
			chunks->has_promises = true;
		/* Inside a group the promise is about the whole group, which may be cut short. */
		if (is_tail(&chunks->list[i]) || header->covers_sequence != 0 ||
		    header->type == CHUNK_END) {
			chunks->settled_sequence = header->sequence;
			if (header->complete_ticks > chunks->complete_ticks)
				chunks->complete_ticks = header->complete_ticks;
		}
		if (header->type == CHUNK_END)
			chunks->session_end = header->kind;
	}
	for (size_t i = 0; i < chunks->count; i++) {
		const struct trace_chunk *chunk = &chunks->list[i];

		if (is_tail(chunk) && chunk->header.sequence > covered &&
		    chunk->header.sequence < first_tail)
			first_tail = chunk->header.sequence;
	}
	for (size_t i = 0; i < chunks->count; i++) {
		const struct trace_chunk *chunk = &chunks->list[i];
		uint64_t sequence = chunk->header.sequence;
		bool is_data =
			chunk_has_records(&chunk->header) || chunk->header.type == CHUNK_PATTERNS;

		if (kept > 0 && sequence == last_sequence)
			continue; /* the same chunk, written a second time */
		if (is_tail(chunk) ? sequence <= covered : is_data && sequence > first_tail)
			continue;
		last_sequence = sequence;
		chunks->list[kept++] = *chunk;
	}
	chunks->count = kept;
}

int trace_walk(const struct trace_file *file, struct trace_chunks *chunks)
{
	uint8_t *block = malloc(TRACE_SCAN_BYTES);
	int rc;

	if (!block)
		return -ENOMEM;
	rc = walk_index(file, chunks, block);
	chunks->from_index = rc == 0;
	if (rc == -ENOENT)
		rc = walk_headers(file, chunks, block);
	free(block);
	if (rc < 0)
		return rc;
	settle_chunks(chunks);
	return 0;
}
