/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the parts of an EVENTS payload by what its head says, which must add up to the payload.
 */
#include "event_parts.h"

#include <errno.h>

#include "bytes.h"
#include "record_schema.h"
#include "trace_events.h"

bool event_parts_find(const uint8_t *payload, size_t bytes, uint32_t row_count,
		      struct event_parts *parts)
{
	uint64_t extras_bytes, head, rows = row_count;

	if (bytes < EVENTS_HEAD_BYTES || row_count == 0 || row_count > CHUNK_MAX_ROWS)
		return false;
	parts->lane_count = bytes_load32(payload);
	parts->run_count = bytes_load32(payload + 4);
	parts->kind_count = bytes_load32(payload + 8);
	extras_bytes = bytes_load32(payload + 12);
	if (bytes_load32(payload + 16) != row_count || parts->lane_count > row_count ||
	    parts->run_count > row_count || parts->kind_count > EVENTS_KIND_COUNT)
		return false;
	parts->lanes = payload + EVENTS_HEAD_BYTES;
	parts->runs = parts->lanes + (size_t)parts->lane_count * EVENTS_LANE_BYTES;
	parts->kinds = parts->runs + (size_t)parts->run_count * EVENTS_RUN_BYTES;
	head = EVENTS_HEAD_BYTES + (uint64_t)parts->lane_count * EVENTS_LANE_BYTES +
	       (uint64_t)parts->run_count * EVENTS_RUN_BYTES +
	       (uint64_t)parts->kind_count * EVENTS_KIND_BYTES;
	if (head + EVENTS_PLANES * rows + extras_bytes != bytes)
		return false;
	parts->control = payload + head;
	parts->gap_low = parts->control + rows;
	parts->gap_high = parts->gap_low + rows;
	parts->duration_low = parts->gap_high + rows;
	parts->duration_high = parts->duration_low + rows;
	parts->extras = parts->duration_high + rows;
	parts->end = payload + bytes;
	return true;
}

uint16_t event_row_bytes(uint16_t kind)
{
	const struct record_schema *schema = record_schema_of(kind);

	return schema->column_count > 0 && schema->size_bytes <= EVENT_RECORD_BYTES
		       ? schema->size_bytes
		       : 0;
}

int event_parts_kinds(const uint8_t *payload, size_t bytes, uint32_t row_count,
		      struct event_output outputs[EVENTS_KIND_COUNT])
{
	struct event_parts parts;
	uint64_t total = 0, seen = 0;

	if (!event_parts_find(payload, bytes, row_count, &parts))
		return -EBADMSG;
	for (uint32_t i = 0; i < parts.kind_count; i++) {
		const uint8_t *entry = parts.kinds + (size_t)i * EVENTS_KIND_BYTES;
		uint32_t kind = bytes_load32(entry);

		if (kind < EVENTS_FIRST_KIND || kind >= EVENTS_FIRST_KIND + EVENTS_KIND_COUNT ||
		    (seen & 1ull << kind))
			return -EBADMSG;
		seen |= 1ull << kind;
		outputs[i] = (struct event_output){
			.kind = (uint16_t)kind,
			.row_bytes = event_row_bytes((uint16_t)kind),
			.count = bytes_load32(entry + 4),
		};
		total += outputs[i].count;
	}
	return total == row_count ? (int)parts.kind_count : -EBADMSG;
}
