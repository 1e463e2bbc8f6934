/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From rows of events to whole records, for whoever wants those: each is a copy of the record that
 * it shares with others, with its own times and numbers put in.
 */
#include "event_expand.h"

#include <string.h>

#include "trace_events.h"
#include "trace_file.h"

#define COPY_BYTES 112u /* most records fit; a copy of fixed length is a few instructions */

void event_expand(const struct trace_events *events, const struct event_output *outputs,
		  uint32_t output_count)
{
	struct event_output places[EVENTS_KIND_COUNT] = {{0}};
	const struct trace_event *row = events->rows;

	for (uint32_t i = 0; i < output_count; i++)
		places[outputs[i].kind - EVENTS_FIRST_KIND] = outputs[i];
	for (uint32_t run = 0; run < events->run_count; run++) {
		for (uint32_t left = events->runs[run].rows; left > 0; left--, row++) {
			const uint8_t *record = trace_events_record(events, row->record);
			struct event_output *place =
				&places[trace_events_kind(events, row->record) - EVENTS_FIRST_KIND];

			if (!place->row_bytes)
				continue;
			memcpy(place->rows, record, COPY_BYTES);
			if (place->row_bytes > COPY_BYTES)
				memcpy(place->rows + COPY_BYTES, record + COPY_BYTES,
				       EVENT_RECORD_BYTES - COPY_BYTES);
			trace_event_put(row, events->is_gpu, place->rows);
			place->rows += place->row_bytes;
			*place->threads++ = events->runs[run].thread;
		}
	}
}
