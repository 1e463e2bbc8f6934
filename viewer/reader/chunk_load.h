/* SPDX-License-Identifier: Apache-2.0 */
/* One chunk in memory: checked, decompressed, its records one by one or as rows of one kind. */
#ifndef GPUTRACE_CHUNK_LOAD_H
#define GPUTRACE_CHUNK_LOAD_H

#include <stdbool.h>
#include <zstd.h>

#include "pattern_set.h"
#include "trace_events.h"
#include "trace_reader.h"
#include "trace_walk.h"

/* Buffers that one thread uses for one chunk after the other. Start with zeros. */
struct chunk_loader {
	uint8_t *disk; /* payload as on disk */
	size_t disk_capacity;
	uint8_t *plain; /* decompressed payload */
	size_t plain_capacity;
	uint8_t *rows; /* structs of one kind */
	size_t rows_capacity;
	uint32_t *threads;
	size_t threads_capacity;
	struct time_predictor *times;
	struct event_decoder *events;
	struct pattern_set patterns[2]; /* of calls, of GPU work: of one segment each */
	ZSTD_DCtx *zstd;
	bool wants_rows;   /* of events: rows are enough, no batches */
	bool verifies_all; /* the checksums inside frames too, besides that of the payload */
	/* What the chunk loaded last has, kind by kind. */
	struct trace_batch batches[EVENTS_KIND_COUNT];
	uint32_t batch_count;
	struct trace_events rows_of_events; /* row_count 0: it was none of events */
};

void chunk_loader_fini(struct chunk_loader *loader);

/* The plain payload, valid until the next load. -EBADMSG: damaged, -ENOMEM. */
int chunk_load(struct chunk_loader *loader, const struct trace_file *file,
	       const struct trace_chunk *chunk, const uint8_t **payload, size_t *bytes);
/* A COLUMNS chunk as one batch. */
int chunk_load_columns(struct chunk_loader *loader, const struct trace_file *file,
		       const struct trace_chunk *chunk);
/* Keeps the patterns for events of the same segment. */
int chunk_load_patterns(struct chunk_loader *loader, const struct trace_file *file,
			const struct trace_chunk *chunk);
/* An EVENTS chunk, after the patterns of its segment: as rows, and as a batch for each kind in it
 * unless rows are enough. */
int chunk_load_events(struct chunk_loader *loader, const struct trace_file *file,
		      const struct trace_chunk *chunk);
/* list[index], COLUMNS or EVENTS, of a list in the order of sequence, with the patterns it needs.
 * Damaged patterns are holes. */
int chunk_load_listed(struct chunk_loader *loader, const struct trace_file *file,
		      const struct trace_chunk *list, size_t count, size_t index);
/* Rows of one fixed-size kind out of a loaded ROWS payload; batch->count may be 0. */
int chunk_rows_of_kind(struct chunk_loader *loader, const uint8_t *payload, size_t bytes,
		       uint16_t kind, uint32_t thread, struct trace_batch *batch);

/* Steps through a ROWS payload: the record at *offset, which moves on. NULL at the end, or where
 * the rest is no record (*offset then is not `bytes`). Records of unknown kinds are passed over. */
const uint8_t *chunk_next_record(const uint8_t *payload, size_t bytes, size_t *offset,
				 uint16_t *kind, uint16_t *size_bytes);

#endif
