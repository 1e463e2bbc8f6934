/* SPDX-License-Identifier: Apache-2.0 */
/* Loads chunks into buffers that only grow; sizes come from headers that were checked against
 * CHUNK_MAX_PAYLOAD, so a hostile file cannot ask for more than a few such buffers. */
#define _DEFAULT_SOURCE		 /* madvise */
#define ZSTD_STATIC_LINKING_ONLY /* for forceIgnoreChecksum; we link it statically */
#include "chunk_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bytes.h"
#include "column_decode.h"
#include "event_decode.h"
#include "event_expand.h"
#include "record_check.h"
#include "record_schema.h"
#include "time_predict.h"

#define HUGE_PAGE_BYTES (2u << 20)

void chunk_loader_fini(struct chunk_loader *loader)
{
	free(loader->disk);
	free(loader->plain);
	free(loader->rows);
	free(loader->threads);
	free(loader->times);
	event_decoder_free(loader->events);
	pattern_set_fini(&loader->patterns[0]);
	pattern_set_fini(&loader->patterns[1]);
	ZSTD_freeDCtx(loader->zstd);
	*loader = (struct chunk_loader){0};
}

/* Rows are several MiB, written once and read once: with pages of 4 KiB the first touch of each
 * costs as much as decoding what goes there. */
static void *allocate(size_t *bytes)
{
	void *memory;

	if (*bytes < 2 * HUGE_PAGE_BYTES)
		return malloc(*bytes);
	*bytes = (*bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
	memory = aligned_alloc(HUGE_PAGE_BYTES, *bytes);
#ifdef MADV_HUGEPAGE
	if (memory)
		madvise(memory, *bytes, MADV_HUGEPAGE); /* where it is refused it is not needed */
#endif
	return memory;
}

/* The old contents are not kept. */
static int ensure(void *pointer, size_t *capacity, size_t bytes)
{
	void **buffer = pointer;

	if (bytes <= *capacity)
		return 0;
	free(*buffer);
	*capacity = 0;
	*buffer = allocate(&bytes);
	if (!*buffer)
		return -ENOMEM;
	*capacity = bytes;
	return 0;
}

/* The payload's own checksum was right, so that those inside its frames say nothing new. */
static bool decompress(struct chunk_loader *loader, size_t plain_bytes, size_t disk_bytes)
{
	if (!loader->zstd) {
		loader->zstd = ZSTD_createDCtx();
		if (loader->zstd && !loader->verifies_all)
			ZSTD_DCtx_setParameter(loader->zstd, ZSTD_d_forceIgnoreChecksum,
					       ZSTD_d_ignoreChecksum);
	}
	return loader->zstd && ZSTD_decompressDCtx(loader->zstd, loader->plain, plain_bytes,
						   loader->disk, disk_bytes) == plain_bytes;
}

int chunk_load(struct chunk_loader *loader, const struct trace_file *file,
	       const struct trace_chunk *chunk, const uint8_t **payload, size_t *bytes)
{
	size_t disk_bytes = chunk->header.payload_bytes;
	size_t plain_bytes = chunk->header.decoded_bytes;
	int rc = trace_file_payload(file, chunk, &loader->disk, &loader->disk_capacity);

	if (rc < 0)
		return rc;
	if (chunk->header.flags & CHUNK_STORED) {
		if (disk_bytes != plain_bytes + 8)
			return -EBADMSG;
		*payload = loader->disk + 8;
		*bytes = plain_bytes;
		return 0;
	}
	rc = ensure(&loader->plain, &loader->plain_capacity, plain_bytes ? plain_bytes : 1);
	if (rc < 0)
		return rc;
	if (disk_bytes == 0) {
		*payload = loader->plain;
		*bytes = 0;
		return plain_bytes == 0 ? 0 : -EBADMSG;
	}
	if (!decompress(loader, plain_bytes, disk_bytes))
		return -EBADMSG;
	*payload = loader->plain;
	*bytes = plain_bytes;
	return 0;
}

static int ensure_rows(struct chunk_loader *loader, size_t row_bytes, size_t count)
{
	int rc = ensure(&loader->rows, &loader->rows_capacity, row_bytes * count + 1);

	if (rc < 0)
		return rc;
	return ensure(&loader->threads, &loader->threads_capacity,
		      count * sizeof(*loader->threads) + 1);
}

int chunk_load_columns(struct chunk_loader *loader, const struct trace_file *file,
		       const struct trace_chunk *chunk)
{
	const struct record_schema *schema = record_schema_of(chunk->header.kind);
	uint32_t count = chunk->header.row_count;
	const uint8_t *payload;
	size_t bytes;
	int rc;

	if (count > CHUNK_MAX_ROWS || schema->column_count == 0)
		return -EBADMSG;
	rc = chunk_load(loader, file, chunk, &payload, &bytes);
	if (rc < 0)
		return rc;
	rc = ensure_rows(loader, schema->size_bytes, count);
	if (rc < 0)
		return rc;
	if (!loader->times)
		loader->times = malloc(sizeof(*loader->times));
	if (!loader->times)
		return -ENOMEM;
	rc = column_decode(chunk->header.kind, payload, bytes, count, loader->times, loader->rows,
			   loader->threads);
	if (rc < 0)
		return rc;
	loader->rows_of_events.row_count = 0;
	loader->batch_count = 1;
	loader->batches[0] = (struct trace_batch){
		.kind = chunk->header.kind,
		.row_bytes = schema->size_bytes,
		.count = count,
		.rows = loader->rows,
		.thread = loader->threads,
	};
	return 0;
}

/* ---- events ---- */

static struct pattern_set *set_of(struct chunk_loader *loader, const struct trace_chunk *chunk)
{
	return &loader->patterns[chunk->header.kind >= RECORD_KIND_gpu_kernel];
}

/* Of calls or of GPU work: a newer version may have other events. */
static bool is_known_family(const struct trace_chunk *chunk)
{
	return chunk->header.kind == RECORD_KIND_call ||
	       chunk->header.kind == RECORD_KIND_gpu_kernel;
}

int chunk_load_patterns(struct chunk_loader *loader, const struct trace_file *file,
			const struct trace_chunk *chunk)
{
	struct pattern_set *set = set_of(loader, chunk);
	const uint8_t *payload;
	size_t bytes;
	int rc = chunk_load(loader, file, chunk, &payload, &bytes);

	if (rc < 0 || !is_known_family(chunk))
		return rc;
	pattern_set_begin(set, chunk->header.segment);
	return pattern_set_add(set, chunk->header.kind, payload, bytes);
}

/* Room for the rows of each kind, one behind the other, and where they go. */
static int place_outputs(struct chunk_loader *loader, struct event_output *outputs, uint32_t count)
{
	size_t bytes = 0, rows = 0;
	int rc;

	for (uint32_t i = 0; i < count; i++) {
		bytes += (size_t)outputs[i].count * outputs[i].row_bytes + EVENT_ROW_SLACK;
		rows += outputs[i].count;
	}
	rc = ensure(&loader->rows, &loader->rows_capacity, bytes + 1);
	if (rc == 0)
		rc = ensure(&loader->threads, &loader->threads_capacity,
			    rows * sizeof(*loader->threads) + 1);
	bytes = 0;
	rows = 0;
	loader->batch_count = 0;
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		outputs[i].rows = loader->rows + bytes;
		outputs[i].threads = loader->threads + rows;
		bytes += (size_t)outputs[i].count * outputs[i].row_bytes + EVENT_ROW_SLACK;
		rows += outputs[i].count;
		if (outputs[i].row_bytes == 0)
			continue;
		loader->batches[loader->batch_count++] = (struct trace_batch){
			.kind = outputs[i].kind,
			.row_bytes = outputs[i].row_bytes,
			.count = outputs[i].count,
			.rows = outputs[i].rows,
			.thread = outputs[i].threads,
		};
	}
	return rc;
}

int chunk_load_events(struct chunk_loader *loader, const struct trace_file *file,
		      const struct trace_chunk *chunk)
{
	struct event_output outputs[EVENTS_KIND_COUNT];
	struct pattern_set *set = set_of(loader, chunk);
	const uint8_t *payload;
	int rc, output_count;
	size_t bytes;

	loader->batch_count = 0;
	loader->rows_of_events.row_count = 0;
	rc = chunk_load(loader, file, chunk, &payload, &bytes);
	if (rc < 0 || !is_known_family(chunk))
		return rc;
	output_count = event_parts_kinds(payload, bytes, chunk->header.row_count, outputs);
	if (output_count < 0)
		return output_count;
	if (!loader->events)
		loader->events = event_decoder_new();
	if (!loader->events)
		return -ENOMEM;
	pattern_set_begin(set, chunk->header.segment);
	rc = event_decode(loader->events, set, chunk->header.kind, payload, bytes,
			  chunk->header.row_count, &loader->rows_of_events);
	if (rc < 0 || loader->wants_rows)
		return rc;
	rc = place_outputs(loader, outputs, (uint32_t)output_count);
	if (rc == 0)
		event_expand(&loader->rows_of_events, outputs, (uint32_t)output_count);
	return rc;
}

static bool is_beside(const struct trace_chunk *chunk, const struct trace_chunk *events)
{
	return chunk->header.segment == events->header.segment;
}

/* The patterns of the segment, unless they are there already. */
static int find_patterns(struct chunk_loader *loader, const struct trace_file *file,
			 const struct trace_chunk *list, size_t count, size_t index)
{
	const struct trace_chunk *events = &list[index];
	struct pattern_set *set = set_of(loader, events);
	size_t first = index, last = index;

	if (set->segment == events->header.segment)
		return 0;
	pattern_set_begin(set, events->header.segment);
	while (first > 0 && is_beside(&list[first - 1], events))
		first--;
	while (last + 1 < count && is_beside(&list[last + 1], events))
		last++;
	for (size_t i = first; i <= last; i++) {
		if (list[i].header.type == CHUNK_PATTERNS &&
		    list[i].header.kind == events->header.kind &&
		    chunk_load_patterns(loader, file, &list[i]) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

int chunk_load_listed(struct chunk_loader *loader, const struct trace_file *file,
		      const struct trace_chunk *list, size_t count, size_t index)
{
	int rc;

	if (list[index].header.type == CHUNK_COLUMNS)
		return chunk_load_columns(loader, file, &list[index]);
	rc = find_patterns(loader, file, list, count, index);
	return rc < 0 ? rc : chunk_load_events(loader, file, &list[index]);
}

const uint8_t *chunk_next_record(const uint8_t *payload, size_t bytes, size_t *offset,
				 uint16_t *kind, uint16_t *size_bytes)
{
	while (*offset < bytes) {
		const uint8_t *record = payload + *offset;

		switch (record_check(record, bytes - *offset, kind, size_bytes)) {
		case RECORD_GOOD:
			*offset += *size_bytes;
			return record;
		case RECORD_FOREIGN:
			*offset += *size_bytes;
			break;
		default:
			return NULL;
		}
	}
	return NULL;
}

int chunk_rows_of_kind(struct chunk_loader *loader, const uint8_t *payload, size_t bytes,
		       uint16_t kind, uint32_t thread, struct trace_batch *batch)
{
	const struct record_schema *schema = record_schema_of(kind);
	uint16_t found_kind, size_bytes;
	const uint8_t *record;
	size_t offset = 0;
	uint32_t count = 0;
	int rc;

	while ((record = chunk_next_record(payload, bytes, &offset, &found_kind, &size_bytes)))
		count += found_kind == kind;
	rc = ensure_rows(loader, schema->size_bytes, count);
	if (rc < 0)
		return rc;
	offset = 0;
	count = 0;
	while ((record = chunk_next_record(payload, bytes, &offset, &found_kind, &size_bytes))) {
		uint8_t *row = loader->rows + (size_t)count * schema->size_bytes;

		if (found_kind != kind)
			continue;
		record_copy(row, record, schema);
		loader->threads[count++] = thread;
	}
	*batch = (struct trace_batch){
		.kind = kind,
		.row_bytes = schema->size_bytes,
		.count = count,
		.rows = loader->rows,
		.thread = loader->threads,
	};
	return 0;
}
