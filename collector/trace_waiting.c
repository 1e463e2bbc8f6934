/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits in a trace writer, as the chunks of a group: names first, then the events with their
 * patterns before them, then the other kinds as columns, then the losses.
 */
#include "trace_writer_internal.h"

#include <errno.h>

#define ROWS_PAYLOAD_BYTES (8u * 1024 * 1024) /* a ROWS chunk is closed above this */

static int add_text_chunk(struct trace_writer *writer, uint32_t row_count)
{
	struct chunk_header header = {.type = CHUNK_ROWS, .row_count = row_count};

	return trace_group_add(writer, &header, writer->payload.data, writer->payload.used);
}

int trace_group_add_texts(struct trace_writer *writer, size_t offset, size_t *last_offset)
{
	uint32_t row_count = 0;
	const void *record;
	size_t bytes;
	int rc;

	writer->payload.used = 0;
	while ((record = text_store_next(writer->texts, &offset, &bytes))) {
		rc = byte_buffer_append(&writer->payload, record, bytes);
		if (rc < 0)
			return rc;
		row_count++;
		if (writer->payload.used < ROWS_PAYLOAD_BYTES && row_count < CHUNK_MAX_ROWS)
			continue;
		*last_offset = writer->group.used;
		rc = add_text_chunk(writer, row_count);
		if (rc < 0)
			return rc;
		row_count = 0;
		writer->payload.used = 0;
	}
	if (row_count == 0)
		return 0;
	*last_offset = writer->group.used;
	return add_text_chunk(writer, row_count);
}

static int group_add_kind(struct trace_writer *writer, struct row_store *rows, uint16_t kind)
{
	struct row_columns columns;
	struct chunk_header header;
	int rc = row_store_columns(rows, kind, &columns);

	if (rc < 0)
		return rc;
	writer->payload.used = 0;
	writer->cuts = (struct chunk_cuts){.count = 0};
	rc = column_encode(writer->encoder, record_schema_of(kind), columns.values, columns.threads,
			   columns.count, &writer->payload, &writer->cuts);
	if (rc < 0)
		return rc;
	header = (struct chunk_header){
		.type = CHUNK_COLUMNS,
		.kind = kind,
		.row_count = columns.count,
		.first_time = columns.first_time,
		.last_time = columns.last_time,
	};
	return trace_group_add(writer, &header, writer->payload.data, writer->payload.used);
}

static uint16_t family_kind(uint32_t family)
{
	return family == EVENT_FAMILY_CALLS ? RECORD_KIND_call : RECORD_KIND_gpu_kernel;
}

/* Patterns that are new, always before the events that use them. */
static int group_add_patterns(struct trace_writer *writer, struct event_store *events,
			      size_t *last_offset)
{
	struct chunk_header header = {.type = CHUNK_PATTERNS, .kind = family_kind(events->family)};
	int rc;

	writer->payload.used = 0;
	rc = event_encode_patterns(writer->event_encoder, events, &writer->payload,
				   &header.row_count);
	if (rc < 0 || header.row_count == 0)
		return rc;
	*last_offset = writer->group.used;
	rc = trace_group_add(writer, &header, writer->payload.data, writer->payload.used);
	/* The next segment tells them again, so they count for how long this one should be. */
	writer->segment_text_bytes += writer->group.used - *last_offset;
	return rc;
}

static int group_add_events(struct trace_writer *writer, struct event_store *events,
			    size_t *last_offset)
{
	struct chunk_header header = {
		.type = CHUNK_EVENTS,
		.kind = family_kind(events->family),
		.row_count = events->row_count,
		.first_time = events->first_time,
		.last_time = events->last_time,
	};
	int rc;

	if (events->row_count == 0)
		return 0;
	rc = group_add_patterns(writer, events, last_offset);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < EVENTS_KIND_COUNT; i++)
		header.thread |= (uint32_t)(events->kind_rows[i] > 0) << i;
	writer->payload.used = 0;
	writer->cuts = (struct chunk_cuts){.count = 0};
	rc = event_encode_rows(writer->event_encoder, events, &writer->payload, &writer->cuts);
	if (rc < 0)
		return rc;
	*last_offset = writer->group.used;
	return trace_group_add(writer, &header, writer->payload.data, writer->payload.used);
}

uint32_t trace_group_count_waiting(const struct trace_writer *writer, uint16_t kind)
{
	uint32_t family = event_family_of(kind);

	return row_store_count_of(writer->rows, kind) +
	       (family < EVENT_FAMILY_COUNT
			? writer->events[family]->kind_rows[kind - EVENTS_FIRST_KIND]
			: 0);
}

void trace_group_clear_waiting(struct trace_writer *writer)
{
	for (uint32_t family = 0; family < EVENT_FAMILY_COUNT; family++)
		event_store_clear_rows(writer->events[family]);
	row_store_clear(writer->rows);
	writer->raw.used = 0;
	writer->runs.used = 0;
}

static int add_loss_row(void *context, const struct record_loss *loss)
{
	return row_store_add(context, 0, RECORD_KIND_loss, loss);
}

int trace_group_add_waiting(struct trace_writer *writer, size_t *last_offset)
{
	struct row_store *losses = NULL;
	int rc = trace_group_add_texts(writer, text_store_marked(writer->texts), last_offset);

	for (uint32_t family = 0; rc == 0 && family < EVENT_FAMILY_COUNT; family++)
		rc = group_add_events(writer, writer->events[family], last_offset);
	for (uint16_t kind = 0; rc == 0 && kind < RECORD_KIND_LIMIT; kind++) {
		if (row_store_count_of(writer->rows, kind) == 0)
			continue;
		*last_offset = writer->group.used;
		rc = group_add_kind(writer, writer->rows, kind);
	}
	if (rc < 0 || writer->losses.used == 0)
		return rc;
	losses = row_store_new();
	rc = losses ? loss_table_each(&writer->losses, 0, add_loss_row, losses) : -ENOMEM;
	if (rc == 0) {
		*last_offset = writer->group.used;
		rc = group_add_kind(writer, losses, RECORD_KIND_loss);
	}
	row_store_free(losses);
	return rc;
}
