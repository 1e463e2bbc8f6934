/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams the events of a trace: chunk by chunk in file order, decoded ahead on all cores. Events
 * go as rows to who takes those, as whole records to everybody else.
 */
#include <errno.h>
#include <stdlib.h>

#include "decode_pool.h"
#include "error.h"
#include "event_count.h"
#include "record_schema.h"
#include "trace_reader_internal.h"

/* Who gets the batches, and the answer that ended it. */
struct consumer {
	uint64_t kind_mask;
	int (*fn)(void *context, const struct trace_batch *batch);
	int (*events_fn)(void *context, const struct trace_events *events); /* NULL: batches */
	void *context;
	int answer;
};

static int read_rows(struct trace *trace, size_t index, struct consumer *consumer)
{
	const struct trace_chunk *chunk = &trace->chunks.list[index];
	uint64_t kinds = trace->row_kinds[index] & consumer->kind_mask;
	const uint8_t *payload;
	size_t bytes;
	int rc;

	if (kinds == 0)
		return 0;
	rc = chunk_load(&trace->loader, &trace->file, chunk, &payload, &bytes);
	for (uint16_t kind = 0; rc == 0 && kind < RECORD_KIND_LIMIT; kind++) {
		struct trace_batch batch;

		if (!(kinds & KIND_BIT(kind)))
			continue;
		rc = chunk_rows_of_kind(&trace->loader, payload, bytes, kind, chunk->header.thread,
					&batch);
		if (rc == 0)
			trace_window_filter(&trace->window, &trace->clock, &batch, &trace->loader);
		if (rc == 0 && batch.count > 0 && consumer->answer == 0)
			consumer->answer = consumer->fn(consumer->context, &batch);
	}
	return rc;
}

static bool wants_columns(const struct trace *trace, size_t index, uint64_t kind_mask)
{
	const struct chunk_header *header = &trace->chunks.list[index].header;

	return trace_has_columns(header) && (chunk_kinds(header) & kind_mask) &&
	       !trace->is_skipped[index] &&
	       (header->type == CHUNK_EVENTS || record_schema_of(header->kind)->column_count > 0) &&
	       !trace_window_is_outside(&trace->window, &trace->clock, header);
}

static void consume_batches(struct trace *trace, struct chunk_loader *loader,
			    struct consumer *consumer)
{
	for (uint32_t i = 0; i < loader->batch_count && consumer->answer == 0; i++) {
		struct trace_batch *batch = &loader->batches[i];

		if (!(consumer->kind_mask & KIND_BIT(batch->kind)))
			continue;
		trace_window_filter(&trace->window, &trace->clock, batch, loader);
		if (batch->count > 0)
			consumer->answer = consumer->fn(consumer->context, batch);
	}
}

static void consume(struct trace *trace, struct chunk_loader *loader, struct consumer *consumer)
{
	struct trace_events *events = &loader->rows_of_events;

	if (!consumer->events_fn || events->row_count == 0) {
		consume_batches(trace, loader, consumer);
		return;
	}
	trace_window_filter_events(&trace->window, &trace->clock, events);
	if (events->row_count > 0)
		consumer->answer = consumer->events_fn(consumer->context, events);
}

static int read_columns(struct trace *trace, size_t index, struct decode_pool *pool,
			struct consumer *consumer)
{
	struct chunk_loader *loader = &trace->loader;
	int rc;

	loader->wants_rows = consumer->events_fn != NULL;
	rc = pool ? decode_pool_take(pool, &loader)
		  : chunk_load_listed(loader, &trace->file, trace->chunks.list, trace->chunks.count,
				      index);
	if (rc == 0)
		consume(trace, loader, consumer);
	if (pool)
		decode_pool_give(pool);
	return rc;
}

static int read_chunks(struct trace *trace, struct decode_pool *pool, const size_t *jobs,
		       size_t job_count, struct consumer *consumer, struct error *err)
{
	size_t job = 0;

	for (size_t i = 0; i < trace->chunks.count && consumer->answer == 0; i++) {
		int rc = 0;

		if (trace->is_skipped[i]) {
			continue;
		} else if (trace->chunks.list[i].header.type == CHUNK_ROWS) {
			rc = read_rows(trace, i, consumer);
		} else if (job < job_count && jobs[job] == i) {
			job++;
			rc = read_columns(trace, i, pool, consumer);
		}
		if (rc == -ENOMEM)
			return error_set(err, rc, "Cannot read %s: out of memory", trace->path);
		if (rc < 0) {
			trace->health.damaged_chunks++;
			trace->is_skipped[i] = 1; /* counted once */
		}
	}
	return consumer->answer;
}

static int read_all(struct trace *trace, struct consumer *consumer, struct error *err)
{
	size_t *jobs = malloc((trace->chunks.count + 1) * sizeof(*jobs));
	struct decode_pool *pool;
	size_t job_count = 0;
	int rc;

	if (!jobs)
		return error_set(err, -ENOMEM, "Cannot read %s: out of memory", trace->path);
	for (size_t i = 0; i < trace->chunks.count; i++) {
		if (wants_columns(trace, i, consumer->kind_mask))
			jobs[job_count++] = i;
	}
	pool = decode_pool_new(&trace->file, trace->chunks.list, trace->chunks.count, jobs,
			       job_count, consumer->events_fn != NULL);
	rc = read_chunks(trace, pool, jobs, job_count, consumer, err);
	decode_pool_free(pool);
	free(jobs);
	return rc;
}

int trace_read(struct trace *trace, uint64_t kind_mask,
	       int (*fn)(void *context, const struct trace_batch *batch), void *context,
	       struct error *err)
{
	struct consumer consumer = {.kind_mask = kind_mask, .fn = fn, .context = context};

	return read_all(trace, &consumer, err);
}

int trace_read_events(struct trace *trace, uint64_t kind_mask,
		      int (*fn)(void *context, const struct trace_batch *batch),
		      int (*events_fn)(void *context, const struct trace_events *events),
		      void *context, struct error *err)
{
	struct consumer consumer = {
		.kind_mask = kind_mask, .fn = fn, .events_fn = events_fn, .context = context};

	return read_all(trace, &consumer, err);
}

/* ---- counting ---- */

/* Rows of a chunk that has no runs to count. */
static int count_rows(struct trace *trace, size_t index, struct consumer *consumer)
{
	if (trace->chunks.list[index].header.type == CHUNK_ROWS)
		return read_rows(trace, index, consumer);
	return wants_columns(trace, index, consumer->kind_mask)
		       ? read_columns(trace, index, NULL, consumer)
		       : 0;
}

int trace_count_threads(struct trace *trace, uint64_t kind_mask,
			int (*fn)(void *context, const struct trace_batch *batch),
			int (*runs_fn)(void *context, uint32_t thread, uint32_t rows),
			void *context, struct error *err)
{
	struct consumer consumer = {.kind_mask = kind_mask, .fn = fn, .context = context};

	for (size_t i = 0; i < trace->chunks.count && consumer.answer == 0; i++) {
		const struct trace_chunk *chunk = &trace->chunks.list[i];
		int rc = 0;

		if (trace->is_skipped[i])
			continue;
		if (chunk->header.type != CHUNK_EVENTS)
			rc = count_rows(trace, i, &consumer);
		else if (wants_columns(trace, i, kind_mask))
			rc = event_count_runs(&trace->loader, &trace->file, chunk, runs_fn, context,
					      &consumer.answer);
		if (rc == -ENOMEM)
			return error_set(err, rc, "Cannot read %s: out of memory", trace->path);
		/* What is damaged is counted when it is read. */
	}
	return consumer.answer;
}
