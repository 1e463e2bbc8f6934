/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader's front: opens a file, loads everything that names and describes and judges its
 * health. Only names, clocks and chunk headers stay in memory; trace_stream.c reads the rest.
 */
#include "trace_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "record_schema.h"
#include "trace_reader_internal.h"

#define CHUNK_SKIPPED 0 /* in place of a chunk_type: damaged and counted */

/* ---- what names and describes ---- */

static void count_loss(struct trace *trace, const struct record_loss *loss)
{
	uint16_t kind = loss->lost_kind < RECORD_KIND_LIMIT ? loss->lost_kind : 0;

	trace->health.lost[kind] += loss->count;
	trace->health.lost_total += loss->count;
}

/* A clock or loss record; others are left to trace_read(). */
static int take_fixed(struct trace *trace, uint16_t kind, const uint8_t *record)
{
	struct record_clock clock;
	struct record_loss loss;

	if (kind == RECORD_KIND_clock) {
		memcpy(&clock, record, sizeof(clock));
		return trace_clock_add(&trace->clock, &clock);
	}
	if (kind == RECORD_KIND_loss) {
		memcpy(&loss, record, sizeof(loss));
		count_loss(trace, &loss);
	}
	return 0;
}

static int load_rows(struct trace *trace, size_t index)
{
	const uint8_t *payload, *record;
	size_t bytes, offset = 0;
	uint16_t kind, size_bytes;
	int rc = chunk_load(&trace->loader, &trace->file, &trace->chunks.list[index], &payload,
			    &bytes);

	if (rc < 0)
		return rc;
	while ((record = chunk_next_record(payload, bytes, &offset, &kind, &size_bytes))) {
		if (record_schema_of(kind)->column_count == 0) {
			rc = trace_texts_add(&trace->texts, kind, record, size_bytes);
		} else {
			trace->row_kinds[index] |= KIND_BIT(kind);
			trace->health.rows++;
			rc = take_fixed(trace, kind, record);
		}
		if (rc < 0)
			return rc;
	}
	return offset == bytes ? 0 : -EBADMSG;
}

static int load_columns(struct trace *trace, size_t index)
{
	const struct trace_chunk *chunk = &trace->chunks.list[index];
	const struct trace_batch *batch = trace->loader.batches;
	int rc;

	if (chunk->header.row_count > CHUNK_MAX_ROWS)
		return -EBADMSG;
	if (chunk->header.type == CHUNK_EVENTS) {
		trace->health.rows += chunk->header.row_count;
		return 0;
	}
	if (record_schema_of(chunk->header.kind)->column_count == 0)
		return 0; /* a kind of a newer version */
	if (chunk->header.kind != RECORD_KIND_clock && chunk->header.kind != RECORD_KIND_loss) {
		trace->health.rows += chunk->header.row_count;
		return 0;
	}
	rc = chunk_load_columns(&trace->loader, &trace->file, chunk);
	if (rc < 0)
		return rc;
	trace->health.rows += batch->count;
	for (uint32_t i = 0; rc == 0 && i < batch->count; i++)
		rc = take_fixed(trace, batch->kind,
				(const uint8_t *)batch->rows + (size_t)i * batch->row_bytes);
	return rc;
}

static int load_descriptions(struct trace *trace)
{
	for (size_t i = 0; i < trace->chunks.count; i++) {
		uint64_t gpu_ns = trace->clock.last_gpu_ns;
		int rc = 0;

		if (trace->chunks.list[i].header.type == CHUNK_ROWS)
			rc = load_rows(trace, i);
		else if (trace_has_columns(&trace->chunks.list[i].header))
			rc = load_columns(trace, i);
		/* Behind it a group was cut short: its clocks may be there without its GPU records.
		 */
		if (trace->chunks.list[i].header.sequence > trace->chunks.settled_sequence)
			trace->clock.last_gpu_ns = gpu_ns;
		if (rc == -ENOMEM)
			return rc;
		if (rc < 0) {
			trace->health.damaged_chunks++;
			/* Rows before the damage of a ROWS chunk are still good. */
			if (trace->row_kinds[i] == 0)
				trace->chunks.list[i].header.type = CHUNK_SKIPPED;
		}
	}
	return 0;
}

static int has_gpu_rows(const struct trace *trace)
{
	for (size_t i = 0; i < trace->chunks.count; i++) {
		uint64_t kinds = trace->row_kinds[i] | chunk_kinds(&trace->chunks.list[i].header);

		if (kinds & (KIND_BIT(RECORD_KIND_gpu_kernel) | KIND_BIT(RECORD_KIND_gpu_copy) |
			     KIND_BIT(RECORD_KIND_gpu_set) | KIND_BIT(RECORD_KIND_gpu_sync) |
			     KIND_BIT(RECORD_KIND_gpu_graph)))
			return 1;
	}
	return 0;
}

/* The latest time that a chunk header says, of host kinds or of GPU kinds. */
static uint64_t last_time(const struct trace *trace, int gpu)
{
	uint64_t last = 0;

	for (size_t i = 0; i < trace->chunks.count; i++) {
		const struct chunk_header *header = &trace->chunks.list[i].header;

		if (trace_has_columns(header) && (header->kind >= RECORD_KIND_gpu_kernel) == gpu &&
		    header->last_time > last)
			last = header->last_time;
	}
	return last;
}

static void judge_completeness(struct trace *trace)
{
	uint64_t host = trace->chunks.complete_ticks;
	uint64_t gpu = trace->clock.last_gpu_ns;
	/* Imports and writers that never said: with its end such a file has all that it had. */
	bool is_silent = !trace->chunks.has_promises && trace->chunks.session_end != 0;

	if (host == 0 && is_silent)
		host = last_time(trace, 0);
	/* The one pair of clocks of an import is that of its beginning. */
	if (is_silent && gpu < last_time(trace, 1))
		gpu = last_time(trace, 1);
	trace->health.host_complete_ns = host ? trace_ticks_to_ns(trace, host) : 0;
	trace->health.gpu_complete_ns = -1;
	if (has_gpu_rows(trace))
		trace->health.gpu_complete_ns = gpu ? trace_gpu_to_ns(trace, gpu) : 0;
}

static int load(struct trace *trace, struct error *err)
{
	const char *hz, *start;
	int rc = trace_walk(&trace->file, &trace->chunks);

	if (rc < 0)
		return error_set(err, rc, "out of memory");
	if (trace->chunks.count == 0)
		return error_set(err, -EINVAL, "damaged beyond use: no valid chunk in %llu bytes",
				 (unsigned long long)trace->file.bytes);
	trace->health.session_end = trace->chunks.session_end;
	trace->health.damaged_bytes = trace->chunks.damaged_bytes;
	trace->health.damaged_chunks = trace->chunks.damaged_chunks;
	trace->health.chunks = trace->chunks.count;
	trace->row_kinds = calloc(trace->chunks.count, sizeof(*trace->row_kinds));
	trace->is_skipped = calloc(trace->chunks.count, sizeof(*trace->is_skipped));
	rc = trace->row_kinds && trace->is_skipped ? load_descriptions(trace) : -ENOMEM;
	if (rc < 0)
		return error_set(err, rc, "out of memory");
	hz = trace_info(trace, "clock.hz");
	start = trace_info(trace, "session.start_ticks");
	rc = trace_clock_settle(&trace->clock, trace->head.clock_kind,
				trace->head.start_realtime_ns,
				start ? strtoull(start, NULL, 10) : 0, hz ? strtod(hz, NULL) : 0);
	if (rc < 0)
		return error_set(err, rc, "out of memory");
	judge_completeness(trace);
	return 0;
}

static int open_trace(const char *path, bool waits, struct trace **out, struct error *err)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	int rc;

	*out = NULL;
	if (!trace)
		return error_set(err, -ENOMEM, "Cannot open %s: out of memory", path);
	trace->file.fd = -1;
	trace->path = strdup(path);
	rc = trace->path ? trace_file_open(&trace->file, path, waits, err)
			 : error_set(err, -ENOMEM, "out of memory");
	trace->health.file_bytes = trace->file.bytes;
	if (rc == 0)
		rc = trace_file_read_head(&trace->file, &trace->head, err);
	if (rc == 0)
		rc = load(trace, err);
	if (rc < 0) {
		trace_close(trace);
		return error_because(err, rc, "Cannot open %s", path);
	}
	*out = trace;
	return 0;
}

int trace_open(const char *path, struct trace **out, struct error *err)
{
	return open_trace(path, true, out, err);
}

int trace_open_live(const char *path, struct trace **out, struct error *err)
{
	return open_trace(path, false, out, err);
}

void trace_set_window(struct trace *trace, int64_t begin_ns, int64_t end_ns)
{
	trace->window = (struct trace_window){true, begin_ns, end_ns};
}

void trace_close(struct trace *trace)
{
	if (!trace)
		return;
	chunk_loader_fini(&trace->loader);
	trace_clock_fini(&trace->clock);
	trace_texts_fini(&trace->texts);
	free(trace->row_kinds);
	free(trace->is_skipped);
	free(trace->chunks.list);
	if (trace->file.fd >= 0)
		close(trace->file.fd);
	free(trace->path);
	free(trace);
}

/* ---- what a trace says ---- */

const char *trace_path(const struct trace *trace)
{
	return trace->path;
}

const struct trace_health *trace_health(const struct trace *trace)
{
	return &trace->health;
}

const char *trace_info(const struct trace *trace, const char *key)
{
	for (size_t i = 0; i < trace->texts.infos.count; i++) {
		const struct record_info *info = trace->texts.infos.items[i];

		if (strcmp(trace_texts_info_key(info), key) == 0)
			return trace_texts_info_value(info);
	}
	return NULL;
}

void trace_info_each(const struct trace *trace,
		     void (*fn)(void *context, const char *key, const char *value), void *context)
{
	for (size_t i = 0; i < trace->texts.infos.count; i++) {
		const struct record_info *info = trace->texts.infos.items[i];

		fn(context, trace_texts_info_key(info), trace_texts_info_value(info));
	}
}

const char *trace_name(const struct trace *trace, uint16_t space, uint64_t id)
{
	const struct record_name *name = trace_texts_name(&trace->texts, space, id);

	return name ? name->text : NULL;
}

const struct record_site *trace_site(const struct trace *trace, uint64_t id)
{
	return trace_texts_site(&trace->texts, id);
}

#define TRACE_LIST(singular, list)                                                                 \
	size_t trace_##singular##_count(const struct trace *trace)                                 \
	{                                                                                          \
		return trace->texts.list.count;                                                    \
	}                                                                                          \
	const struct record_##singular *trace_##singular(const struct trace *trace, size_t index)  \
	{                                                                                          \
		return index < trace->texts.list.count ? trace->texts.list.items[index] : NULL;    \
	}

TRACE_LIST(device, devices)
TRACE_LIST(thread, threads)
TRACE_LIST(library, libraries)

int64_t trace_ticks_to_ns(const struct trace *trace, uint64_t ticks)
{
	return trace_clock_ns(&trace->clock.host, ticks);
}

int64_t trace_gpu_to_ns(const struct trace *trace, uint64_t gpu_ns)
{
	return trace_clock_ns(&trace->clock.gpu, gpu_ns);
}

struct clock_stretch trace_host_stretch(const struct trace *trace, uint64_t ticks)
{
	return trace_clock_stretch(&trace->clock.host, ticks);
}

struct clock_stretch trace_gpu_stretch(const struct trace *trace, uint64_t gpu_ns)
{
	return trace_clock_stretch(&trace->clock.gpu, gpu_ns);
}

uint64_t trace_start_realtime_ns(const struct trace *trace)
{
	return trace->clock.start_realtime_ns;
}
