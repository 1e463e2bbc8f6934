/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks are copied byte for byte, so nothing is decoded that need not be. The facts about the
 * recovery stand in the new file as info and loss records: its reports say what is missing.
 */
#include "trace_recover.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "chunk_load.h"
#include "crc32c.h"
#include "error.h"
#include "record.h"
#include "ring.h"
#include "trace_check.h"
#include "trace_file_open.h"

#define STORED_HEAD_BYTES 8
#define NOTES_BYTES	  1024

struct recover_job {
	struct trace_file file;
	struct trace_check check;
	struct trace_chunks settled;
	struct chunk_loader loader;
	uint8_t *index; /* payload of the new INDEX: stored-frame head, then entries */
	size_t entries;
	uint64_t offset; /* in the new file */
	uint64_t last_sequence;
	uint32_t last_segment;
	int fd;
	struct trace_recovery *result;
};

static int put_bytes(struct recover_job *job, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;

	job->offset += count;
	while (count > 0) {
		ssize_t done = write(job->fd, at, count);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		at += done;
		count -= (size_t)done;
	}
	return 0;
}

static void add_entry(struct recover_job *job, const uint8_t header[CHUNK_HEADER_BYTES])
{
	uint8_t *entry = job->index + STORED_HEAD_BYTES + job->entries * CHUNK_INDEX_ENTRY_BYTES;

	bytes_store64(entry, job->offset);
	memcpy(entry + 8, header, CHUNK_HEADER_BYTES);
	job->entries++;
}

/* A chunk of ours: `payload` starts with room for the head of a stored frame, or is empty. */
static int put_chunk(struct recover_job *job, struct chunk_header *header, uint8_t *payload,
		     size_t bytes)
{
	static const uint8_t zeros[16];
	uint8_t bytes_of_header[CHUNK_HEADER_BYTES], padding[16] = {0};
	uint32_t padding_bytes;
	int rc;

	if (bytes > 0) {
		bytes_store32(payload, TRACE_FRAME_STORED);
		bytes_store32(payload + 4, (uint32_t)(bytes - STORED_HEAD_BYTES));
		header->decoded_bytes = (uint32_t)(bytes - STORED_HEAD_BYTES);
	}
	header->sequence = ++job->last_sequence;
	header->segment = job->last_segment;
	header->flags = bytes > 0 ? CHUNK_STORED : 0;
	header->payload_bytes = (uint32_t)bytes;
	header->payload_crc = crc32c(bytes > 0 ? payload : zeros, bytes);
	chunk_header_store(bytes_of_header, header);
	padding_bytes = chunk_padding_bytes(header->payload_bytes);
	if (padding_bytes) {
		bytes_store32(padding, TRACE_FRAME_PADDING);
		bytes_store32(padding + 4, padding_bytes - 8);
	}
	if (header->type != CHUNK_INDEX)
		add_entry(job, bytes_of_header);
	rc = put_bytes(job, bytes_of_header, sizeof(bytes_of_header));
	if (rc == 0 && bytes > 0)
		rc = put_bytes(job, payload, bytes);
	return rc < 0 ? rc : put_bytes(job, padding, padding_bytes);
}

/* ---- the head ---- */

/* Value of an info record of this key, as a number. */
static bool info_number(const uint8_t *record, const char *key, uint64_t *value)
{
	const struct record_info *info = (const struct record_info *)(const void *)record;
	size_t key_bytes = strlen(key);
	char text[32];

	if (info->key_bytes != key_bytes || memcmp(info->text, key, key_bytes) != 0 ||
	    info->value_bytes >= sizeof(text))
		return false;
	memcpy(text, info->text + key_bytes, info->value_bytes);
	text[info->value_bytes] = 0;
	*value = strtoull(text, NULL, 10);
	return true;
}

static void learn_clock(struct trace_head *head, const uint8_t *record)
{
	static const struct {
		const char *name;
		uint32_t kind;
	} clocks[] = {{"tsc", RING_CLOCK_TSC},
		      {"cntvct", RING_CLOCK_CNTVCT},
		      {"monotonic", RING_CLOCK_MONOTONIC}};
	static const char key[] = "clock.kind", import[] = "import.";
	const struct record_info *info = (const struct record_info *)(const void *)record;

	if (info->key_bytes >= sizeof(import) - 1 &&
	    memcmp(info->text, import, sizeof(import) - 1) == 0)
		head->clock_kind = 0;
	if (info->key_bytes != sizeof(key) - 1 || memcmp(info->text, key, sizeof(key) - 1) != 0)
		return;
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		if (info->value_bytes == strlen(clocks[i].name) &&
		    memcmp(info->text + info->key_bytes, clocks[i].name, info->value_bytes) == 0)
			head->clock_kind = clocks[i].kind;
	}
}

/* What the session says of itself in its infos, which every segment repeats. */
static void rebuild_head(struct recover_job *job, struct trace_head *head)
{
	*head = (struct trace_head){.version_major = TRACE_VERSION_MAJOR,
				    .version_minor = TRACE_VERSION_MINOR,
				    /* Of a recorded session: its clock records say the rate. */
				    .clock_kind = RING_CLOCK_TSC};
	for (size_t i = 0; i < job->settled.count; i++) {
		const struct trace_chunk *chunk = &job->settled.list[i];
		uint16_t kind, size_bytes;
		const uint8_t *payload, *record;
		size_t bytes, offset = 0;

		if (chunk->header.type != CHUNK_ROWS ||
		    chunk_load(&job->loader, &job->file, chunk, &payload, &bytes) < 0)
			continue;
		while ((record = chunk_next_record(payload, bytes, &offset, &kind, &size_bytes))) {
			if (kind != RECORD_KIND_info)
				continue;
			info_number(record, "session.start_realtime_ns", &head->start_realtime_ns);
			learn_clock(head, record);
		}
	}
	job->result->is_head_rebuilt = true;
}

static int put_head(struct recover_job *job)
{
	uint8_t bytes[TRACE_HEAD_BYTES];
	struct trace_head head;

	if (!trace_file_read(&job->file, 0, bytes, sizeof(bytes)) || !trace_head_load(bytes, &head))
		rebuild_head(job, &head);
	trace_head_store(bytes, &head);
	return put_bytes(job, bytes, sizeof(bytes));
}

/* ---- the chunks ---- */

static int compare_offset(const void *key, const void *member)
{
	uint64_t offset = *(const uint64_t *)key;
	const struct checked_chunk *chunk = member;

	return offset < chunk->offset ? -1 : offset > chunk->offset;
}

static bool is_whole(const struct recover_job *job, uint64_t offset)
{
	const struct checked_chunk *found =
		job->check.count == 0 ? NULL
				      : bsearch(&offset, job->check.chunks, job->check.count,
						sizeof(job->check.chunks[0]), compare_offset);

	return found && (found->verdict == CHUNK_WHOLE || found->verdict == CHUNK_UNREADABLE);
}

static int copy_chunk(struct recover_job *job, const struct trace_chunk *chunk)
{
	static const uint8_t zeros[16];
	uint8_t header[CHUNK_HEADER_BYTES], padding[16] = {0};
	uint32_t padding_bytes = chunk_padding_bytes(chunk->header.payload_bytes);
	int rc;

	rc = trace_file_payload(&job->file, chunk, &job->loader.disk, &job->loader.disk_capacity);
	if (rc < 0)
		return rc;
	if (padding_bytes) {
		bytes_store32(padding, TRACE_FRAME_PADDING);
		bytes_store32(padding + 4, padding_bytes - 8);
	}
	chunk_header_store(header, &chunk->header);
	add_entry(job, header);
	rc = put_bytes(job, header, sizeof(header));
	if (rc == 0 && chunk->header.payload_bytes > 0)
		rc = put_bytes(job, job->loader.disk, chunk->header.payload_bytes);
	if (rc == 0)
		rc = put_bytes(job, padding_bytes ? padding : zeros, padding_bytes);
	job->result->chunks++;
	if (chunk_has_records(&chunk->header))
		job->result->records += chunk->header.row_count;
	if (chunk->header.segment > job->last_segment)
		job->last_segment = chunk->header.segment;
	return rc;
}

static int put_chunks(struct recover_job *job)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < job->settled.count; i++) {
		const struct trace_chunk *chunk = &job->settled.list[i];

		if (chunk->header.sequence > job->last_sequence)
			job->last_sequence = chunk->header.sequence;
		if (chunk->header.type != CHUNK_END && chunk->header.type != CHUNK_INDEX &&
		    is_whole(job, chunk->offset))
			rc = copy_chunk(job, chunk);
	}
	return rc;
}

/* ---- what is told about the recovery ---- */

static size_t add_info(uint8_t *to, const char *key, uint64_t value)
{
	struct record_info *info = (struct record_info *)(void *)to;
	char text[32];
	size_t key_bytes = strlen(key), size;
	int value_bytes = snprintf(text, sizeof(text), "%" PRIu64, value);

	size = (sizeof(*info) + key_bytes + (size_t)value_bytes + 7) / 8 * 8;
	memset(to, 0, size);
	info->head.kind = RECORD_KIND_info;
	info->head.size_bytes = (uint16_t)size;
	info->key_bytes = (uint16_t)key_bytes;
	info->value_bytes = (uint32_t)value_bytes;
	memcpy(info->text, key, key_bytes);
	memcpy(info->text + key_bytes, text, (size_t)value_bytes);
	return size;
}

static int put_notes(struct recover_job *job)
{
	const struct trace_recovery *result = job->result;
	_Alignas(8) uint8_t payload[STORED_HEAD_BYTES + NOTES_BYTES];
	struct chunk_header header = {.type = CHUNK_ROWS,
				      .complete_ticks = job->settled.complete_ticks};
	size_t bytes = STORED_HEAD_BYTES;

	bytes += add_info(payload + bytes, "recovered.lost_chunks", result->lost_chunks);
	bytes += add_info(payload + bytes, "recovered.lost_records", result->lost_records);
	bytes += add_info(payload + bytes, "recovered.gap_bytes", result->gap_bytes);
	header.row_count = 3;
	if (result->lost_records > 0) {
		struct record_loss loss = {
			.head = {.kind = RECORD_KIND_loss, .size_bytes = sizeof(loss)},
			.ticks = job->settled.complete_ticks,
			.count = result->lost_records,
			.reason = LOSS_DAMAGED,
		};

		memcpy(payload + bytes, &loss, sizeof(loss));
		bytes += sizeof(loss);
		header.row_count++;
	}
	return put_chunk(job, &header, payload, bytes);
}

static int put_end(struct recover_job *job)
{
	uint16_t ending = job->check.session_end ? job->check.session_end : SESSION_KILLED;
	struct chunk_header end = {.type = CHUNK_END,
				   .kind = ending,
				   .first_time = job->settled.complete_ticks,
				   .last_time = job->settled.complete_ticks,
				   .complete_ticks = job->settled.complete_ticks};
	struct chunk_header index = {.type = CHUNK_INDEX};
	int rc = put_chunk(job, &end, NULL, 0);

	index.row_count = (uint32_t)job->entries;
	return rc < 0 ? rc
		      : put_chunk(job, &index, job->index,
				  STORED_HEAD_BYTES + job->entries * CHUNK_INDEX_ENTRY_BYTES);
}

static int recover(struct recover_job *job, const char *path, struct error *err)
{
	struct trace_recovery *result = job->result;
	int rc = trace_check(path, &job->check, err);

	if (rc < 0)
		return rc;
	rc = trace_file_open(&job->file, path, true, err);
	if (rc < 0)
		return rc;
	rc = trace_walk(&job->file, &job->settled);
	if (rc < 0)
		return error_set(err, rc, "out of memory");
	job->index = calloc(job->settled.count + 3, CHUNK_INDEX_ENTRY_BYTES);
	if (!job->index)
		return error_set(err, -ENOMEM, "out of memory");
	result->lost_chunks = job->check.damaged;
	result->lost_records = job->check.damaged_rows;
	result->gap_bytes = job->check.gap_bytes + job->check.unfinished_bytes;
	result->had_end = job->check.session_end != 0;
	rc = put_head(job);
	if (rc == 0)
		rc = put_chunks(job);
	if (rc == 0 && result->chunks == 0)
		return error_set(err, -EBADMSG, "no chunk of it is undamaged");
	if (rc == 0)
		rc = put_notes(job);
	if (rc == 0)
		rc = put_end(job);
	result->bytes = job->offset;
	return rc < 0 ? error_set(err, rc, "cannot write the new file: %s", strerror(-rc)) : 0;
}

int trace_recover(const char *path, int fd, struct trace_recovery *recovery, struct error *err)
{
	struct recover_job job = {.file = {.fd = -1}, .fd = fd, .result = recovery};
	int rc;

	memset(recovery, 0, sizeof(*recovery));
	rc = recover(&job, path, err);
	trace_check_fini(&job.check);
	chunk_loader_fini(&job.loader);
	free(job.settled.list);
	free(job.index);
	if (job.file.fd >= 0)
		close(job.file.fd);
	return rc < 0 ? error_because(err, rc, "Cannot recover %s", path) : 0;
}
