/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the file from head to end without trusting the index, and settles afterwards which damage
 * is of no consequence: a writer that was killed while it copied a group over its tail leaves one
 * chunk half overwritten, whose records stand whole elsewhere.
 */
#include "trace_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "chunk_load.h"
#include "error.h"
#include "record_schema.h"
#include "trace_file_open.h"

static struct checked_chunk *add_chunk(struct trace_check *check)
{
	if (check->count == check->capacity)
		check->chunks = array_grow(check->chunks, &check->capacity, sizeof(*check->chunks));
	memset(&check->chunks[check->count], 0, sizeof(check->chunks[0]));
	return &check->chunks[check->count++];
}

static enum chunk_verdict verdict_of_rows(struct chunk_loader *loader,
					  const struct trace_file *file,
					  const struct trace_chunk *chunk)
{
	uint16_t kind, size_bytes;
	const uint8_t *payload;
	size_t bytes, offset = 0;
	uint32_t rows = 0;

	if (chunk_load(loader, file, chunk, &payload, &bytes) < 0)
		return CHUNK_DAMAGED;
	while (chunk_next_record(payload, bytes, &offset, &kind, &size_bytes))
		rows++;
	/* Records of unknown kinds are passed over, so there may be fewer than the header says. */
	return offset == bytes && rows <= chunk->header.row_count ? CHUNK_WHOLE : CHUNK_DAMAGED;
}

static enum chunk_verdict verdict_of(struct chunk_loader *loader, const struct trace_file *file,
				     const struct trace_chunk *chunk)
{
	const uint8_t *payload;
	size_t bytes;

	switch (chunk->header.type) {
	case CHUNK_ROWS:
		return verdict_of_rows(loader, file, chunk);
	case CHUNK_COLUMNS:
		if (record_schema_of(chunk->header.kind)->column_count > 0)
			return chunk_load_columns(loader, file, chunk) < 0 ? CHUNK_DAMAGED
									   : CHUNK_WHOLE;
		break;
	case CHUNK_PATTERNS:
		return chunk_load_patterns(loader, file, chunk) < 0 ? CHUNK_DAMAGED : CHUNK_WHOLE;
	case CHUNK_EVENTS: /* damaged also where its patterns are */
		return chunk_load_events(loader, file, chunk) < 0 ? CHUNK_DAMAGED : CHUNK_WHOLE;
	case CHUNK_SEGMENT:
	case CHUNK_END:
	case CHUNK_INDEX:
		return chunk_load(loader, file, chunk, &payload, &bytes) < 0 ? CHUNK_DAMAGED
									     : CHUNK_WHOLE;
	default:
		break;
	}
	return chunk_load(loader, file, chunk, &payload, &bytes) < 0 ? CHUNK_DAMAGED
								     : CHUNK_UNREADABLE;
}

/* Chunks one by one; where none stands, the bytes up to the next are a gap. */
static int walk_file(const struct trace_file *file, struct trace_check *check)
{
	struct chunk_loader loader = {.wants_rows = true, .verifies_all = true};
	uint8_t *block = malloc(TRACE_SCAN_BYTES);
	uint64_t offset = TRACE_HEAD_BYTES;

	if (!block)
		return -ENOMEM;
	while (offset < file->bytes) {
		struct checked_chunk *checked = add_chunk(check);
		struct trace_chunk chunk, after;
		uint64_t next;

		checked->offset = offset;
		if (!trace_chunk_at(file, offset, &chunk)) {
			next = trace_chunk_find(file, offset + 8, block);
			checked->verdict = CHUNK_GAP;
		} else {
			next = offset + chunk_disk_bytes(&chunk.header);
			checked->header = chunk.header;
			checked->verdict = verdict_of(&loader, file, &chunk);
			/* A length that leads nowhere may belong to a chunk that was overwritten.
			 */
			if (checked->verdict == CHUNK_DAMAGED && next < file->bytes &&
			    !trace_chunk_at(file, next, &after))
				next = trace_chunk_find(file, offset + 8, block);
		}
		next = next < file->bytes ? next : file->bytes;
		checked->bytes = next - offset;
		offset = next;
	}
	chunk_loader_fini(&loader);
	free(block);
	return 0;
}

static bool is_settled(const struct trace_chunks *settled, uint64_t sequence)
{
	for (size_t i = 0; i < settled->count; i++) {
		if (settled->list[i].header.sequence == sequence)
			return true;
	}
	return false;
}

/* Which damaged chunks are spare: what counts of the file holds a whole one of that number, or
 * later chunks cover it. */
static void find_spare(struct trace_check *check, const struct trace_chunks *settled)
{
	uint64_t covered = 0;

	for (size_t i = 0; i < check->count; i++) {
		if (check->chunks[i].verdict == CHUNK_WHOLE &&
		    check->chunks[i].header.covers_sequence > covered)
			covered = check->chunks[i].header.covers_sequence;
	}
	for (size_t i = 0; i < check->count; i++) {
		struct checked_chunk *chunk = &check->chunks[i];
		bool is_tail =
			chunk->header.type == CHUNK_ROWS && (chunk->header.flags & CHUNK_TAIL) != 0;

		if (chunk->verdict != CHUNK_DAMAGED)
			continue;
		chunk->is_spare = is_tail ? chunk->header.sequence <= covered
					  : !settled->from_index &&
						    is_settled(settled, chunk->header.sequence);
	}
}

static void count_verdicts(struct trace_check *check, const struct trace_chunks *settled)
{
	for (size_t i = 0; i < check->count; i++) {
		const struct checked_chunk *chunk = &check->chunks[i];

		switch (chunk->verdict) {
		case CHUNK_WHOLE:
			check->whole++;
			if (chunk->header.type == CHUNK_END)
				check->session_end = chunk->header.kind;
			break;
		case CHUNK_UNREADABLE:
			check->unreadable++;
			break;
		case CHUNK_GAP:
			check->gap_bytes += chunk->bytes;
			break;
		default:
			if (chunk->is_spare) {
				check->spare++;
				break;
			}
			check->damaged++;
			if (chunk_has_records(&chunk->header))
				check->damaged_rows += chunk->header.row_count;
		}
	}
	for (size_t i = 0; i < settled->count; i++) {
		if (chunk_has_records(&settled->list[i].header))
			check->rows += settled->list[i].header.row_count;
	}
	/* Headers in an index count before their payloads were looked at. */
	if (settled->from_index)
		check->rows -=
			check->damaged_rows < check->rows ? check->damaged_rows : check->rows;
	if (check->count > 0) {
		const struct checked_chunk *last = &check->chunks[check->count - 1];

		check->has_index = last->header.type == CHUNK_INDEX;
		check->index_is_right = check->has_index && settled->from_index;
		if (last->verdict == CHUNK_GAP && !check->session_end) {
			check->gap_bytes -= last->bytes;
			check->unfinished_bytes = last->bytes;
		}
	}
}

int trace_check(const char *path, struct trace_check *check, struct error *err)
{
	struct trace_file file = {.fd = -1};
	struct trace_chunks settled = {0};
	uint8_t bytes[TRACE_HEAD_BYTES];
	struct trace_head head;
	int rc;

	memset(check, 0, sizeof(*check));
	rc = trace_file_open(&file, path, true, err);
	if (rc < 0)
		goto out;
	check->file_bytes = file.bytes;
	if (trace_file_read(&file, 0, bytes, sizeof(bytes)))
		check->head_is_whole = trace_head_load(bytes, &head);
	if (check->head_is_whole && head.version_major > TRACE_VERSION_MAJOR) {
		rc = error_set(err, -EINVAL,
			       "the trace has format version %u.%u; this program reads up to %d.x",
			       head.version_major, head.version_minor, TRACE_VERSION_MAJOR);
		goto out;
	}
	rc = walk_file(&file, check);
	if (rc == 0)
		rc = trace_walk(&file, &settled);
	if (rc < 0) {
		error_set(err, rc, "out of memory");
		goto out;
	}
	find_spare(check, &settled);
	count_verdicts(check, &settled);
	if (!check->head_is_whole && check->whole == 0)
		rc = error_set(err, -EINVAL,
			       "not a gputrace trace: no valid head and no chunk in "
			       "%llu bytes",
			       (unsigned long long)file.bytes);
out:
	free(settled.list);
	if (file.fd >= 0)
		close(file.fd);
	return rc < 0 ? error_because(err, rc, "Cannot check %s", path) : 0;
}

void trace_check_fini(struct trace_check *check)
{
	free(check->chunks);
	memset(check, 0, sizeof(*check));
}

bool trace_check_is_clean(const struct trace_check *check)
{
	return check->head_is_whole && check->damaged == 0 && check->gap_bytes == 0 &&
	       (!check->has_index || check->index_is_right);
}
