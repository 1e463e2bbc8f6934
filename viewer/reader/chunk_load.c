/* SPDX-License-Identifier: Apache-2.0 */
/* Loads chunks into buffers that only grow; sizes come from headers that were checked against
 * CHUNK_MAX_PAYLOAD, so a hostile file cannot ask for more than a few such buffers. */
#include "chunk_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "bytes.h"
#include "column_decode.h"
#include "record_check.h"
#include "record_schema.h"
#include "time_predict.h"

void chunk_loader_fini(struct chunk_loader *loader)
{
	free(loader->disk);
	free(loader->plain);
	free(loader->rows);
	free(loader->threads);
	free(loader->times);
	*loader = (struct chunk_loader){0};
}

/* The old contents are not kept. */
static int ensure(void *pointer, size_t *capacity, size_t bytes)
{
	void **buffer = pointer;

	if (bytes <= *capacity)
		return 0;
	free(*buffer);
	*capacity = 0;
	*buffer = malloc(bytes);
	if (!*buffer)
		return -ENOMEM;
	*capacity = bytes;
	return 0;
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
	if (ZSTD_decompress(loader->plain, plain_bytes, loader->disk, disk_bytes) != plain_bytes)
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
		       const struct trace_chunk *chunk, struct trace_batch *batch)
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
	*batch = (struct trace_batch){
		.kind = chunk->header.kind,
		.row_bytes = schema->size_bytes,
		.count = count,
		.rows = loader->rows,
		.thread = loader->threads,
	};
	return 0;
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
