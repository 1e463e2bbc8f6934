/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window cuts events, not state: what describes or outlives them is given whole, so that live
 * memory, names and communicators are right inside the window too.
 */
#include "trace_window.h"

#include <string.h>

#include "bytes.h"
#include "record_schema.h"

static bool is_event(uint16_t kind)
{
	switch (kind) {
	case RECORD_KIND_call:
	case RECORD_KIND_sync:
	case RECORD_KIND_copy:
	case RECORD_KIND_set:
	case RECORD_KIND_launch:
	case RECORD_KIND_gemm:
	case RECORD_KIND_conv:
	case RECORD_KIND_mark:
	case RECORD_KIND_collective:
	case RECORD_KIND_sample:
		return true;
	default:
		return kind >= RECORD_KIND_gpu_kernel && kind != RECORD_KIND_gpu_memory &&
		       kind != RECORD_KIND_gpu_pool;
	}
}

static int64_t time_ns(const struct trace_clock *clock, uint16_t kind, uint64_t time)
{
	return trace_clock_ns(kind >= RECORD_KIND_gpu_kernel ? &clock->gpu : &clock->host, time);
}

bool trace_window_is_outside(const struct trace_window *window, const struct trace_clock *clock,
			     const struct chunk_header *header)
{
	uint64_t kinds = chunk_kinds(header);

	for (uint16_t kind = 0; kind < RECORD_KIND_LIMIT; kind++) {
		if ((kinds >> kind & 1) && !is_event(kind))
			return false;
	}
	return window->is_set &&
	       (time_ns(clock, header->kind, header->last_time) < window->begin_ns ||
		time_ns(clock, header->kind, header->first_time) >= window->end_ns);
}

void trace_window_filter(const struct trace_window *window, const struct trace_clock *clock,
			 struct trace_batch *batch, struct chunk_loader *loader)
{
	const struct record_schema *schema = record_schema_of(batch->kind);
	size_t first_thread = (size_t)(batch->thread - loader->threads);
	uint8_t *rows = loader->rows + ((const uint8_t *)batch->rows - loader->rows);
	uint32_t *threads = loader->threads + first_thread;
	uint32_t kept = 0;

	if (!window->is_set || !is_event(batch->kind))
		return;
	for (uint32_t i = 0; i < batch->count; i++) {
		uint8_t *row = rows + (size_t)i * batch->row_bytes;
		int64_t begin_ns =
			time_ns(clock, batch->kind, bytes_load64(row + schema->time_offset));

		if (begin_ns < window->begin_ns || begin_ns >= window->end_ns)
			continue;
		if (kept < i) {
			memcpy(rows + (size_t)kept * batch->row_bytes, row, batch->row_bytes);
			threads[kept] = threads[i];
		}
		kept++;
	}
	batch->count = kept;
}

void trace_window_filter_events(const struct trace_window *window, const struct trace_clock *clock,
				struct trace_events *events)
{
	const struct trace_event *row = events->rows;
	uint32_t kept = 0;

	if (!window->is_set)
		return;
	for (uint32_t run = 0; run < events->run_count; run++) {
		uint32_t before = kept;

		for (uint32_t left = events->runs[run].rows; left > 0; left--, row++) {
			uint16_t kind = trace_events_kind(events, row->record);
			int64_t begin_ns = time_ns(clock, kind, row->begin);

			if (is_event(kind) &&
			    (begin_ns < window->begin_ns || begin_ns >= window->end_ns))
				continue;
			events->rows[kept++] = *row;
		}
		events->runs[run].rows = kept - before;
	}
	events->row_count = kept;
}
