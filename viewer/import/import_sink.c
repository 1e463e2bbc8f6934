/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the first 4096 events wait in memory. Their median time tells which times belong to
 * the recording: profilers have written events with a zero or a garbage time, and one of these
 * would otherwise stretch a session over decades. Everything later is judged against that median as
 * it comes. Ticks are the recording's nanoseconds plus one, so that 0 keeps its meaning of
 * "unknown".
 */
#include "import_sink_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "error.h"
#include "map.h"
#include "record_schema.h"
#include "trace_file.h"
#include "trace_writer.h"
#include "xmalloc.h"

#define SPOOL_EVENTS 4096u
#define MONTH_NS     (30ll * 24 * 3600 * 1000000000ll)

struct import_sink *import_sink_new(int dir_fd, const char *name)
{
	struct import_sink *sink = xcalloc(1, sizeof(*sink));
	sink->dir_fd = dir_fd;
	sink->file_name = xstrdup(name);
	map_init(&sink->name_map);
	map_init(&sink->site_map);
	map_init(&sink->thread_map);
	return sink;
}

void import_sink_free(struct import_sink *sink)
{
	if (!sink)
		return;
	if (sink->writer)
		trace_writer_finish(sink->writer, SESSION_IMPORTED, NULL);
	for (size_t i = 0; i < sink->name_count; i++)
		free(sink->names[i].text);
	for (size_t i = 0; i < sink->thread_count; i++)
		free(sink->threads[i].name);
	free(sink->names);
	free(sink->threads);
	free(sink->spool);
	free(sink->spooled);
	free(sink->devices);
	free(sink->file_name);
	map_fini(&sink->name_map);
	map_fini(&sink->site_map);
	map_fini(&sink->thread_map);
	free(sink);
}

void import_sink_set_realtime(struct import_sink *sink, int64_t realtime_minus_recording_ns)
{
	sink->has_realtime = true;
	sink->realtime_offset_ns = realtime_minus_recording_ns;
}

int import_sink_failed(const struct import_sink *sink)
{
	return sink->failed;
}

const struct import_totals *import_sink_totals(const struct import_sink *sink)
{
	return &sink->totals;
}

uint64_t import_sink_ticks(int64_t time_ns)
{
	return (uint64_t)time_ns + 1;
}

static uint64_t realtime_of(const struct import_sink *sink, int64_t time_ns)
{
	int64_t realtime;
	if (!sink->has_realtime ||
	    __builtin_add_overflow(time_ns, sink->realtime_offset_ns, &realtime) || realtime < 0)
		return 0;
	return (uint64_t)realtime;
}

void import_sink_write(struct import_sink *sink, uint32_t thread, const void *record)
{
	const struct record_head *head = record;
	if (sink->failed)
		return;
	if (!sink->writer) {
		struct trace_writer_options options = {
			.clock_kind = 0,
			.start_realtime_ns = realtime_of(sink, sink->middle_ns),
			.compression_level = 1,
		};
		sink->failed = trace_writer_create(sink->dir_fd, sink->file_name, &options,
						   &sink->writer, &sink->failure);
		if (sink->failed)
			return;
	}
	sink->failed =
		trace_writer_add(sink->writer, thread, record, head->size_bytes, &sink->failure);
}

void import_sink_lose(struct import_sink *sink, uint16_t kind, uint16_t reason, uint64_t count)
{
	if (kind >= RECORD_KIND_LIMIT || reason > LOSS_IMPORT)
		return;
	sink->losses[kind][reason] += count;
	sink->totals.lost += count;
	if (reason == LOSS_BAD_TIME)
		sink->totals.lost_bad_time += count;
	else if (reason == LOSS_ZERO_TIME)
		sink->totals.lost_zero_time += count;
	else
		sink->totals.lost_import += count;
}

/* Where a record says when it began and ended; both the same for an instant. */
static void record_times(const void *record, uint64_t *begin, uint64_t *end)
{
	const struct record_head *head = record;
	*begin = *end = 0;
	uint16_t offset = record_schema_of(head->kind)->time_offset;
	if (!offset)
		return;
	memcpy(begin, (const char *)record + offset, sizeof(*begin));
	*end = *begin;
	if (head->kind == RECORD_KIND_clock || head->kind == RECORD_KIND_loss ||
	    head->kind == RECORD_KIND_block)
		return;
	/* In every other kind the end stands behind the begin. */
	memcpy(end, (const char *)record + offset + sizeof(*begin), sizeof(*end));
	if (head->kind == RECORD_KIND_mark && *end == 0)
		*end = *begin;
}

/* Which GPUs did something, or held memory. */
static void note_device(struct import_sink *sink, const void *record)
{
	const struct record_head *head = record;
	uint32_t device = DEVICE_UNKNOWN;
	if (head->kind == RECORD_KIND_block)
		device = ((const struct record_block *)record)->device;
	else if (head->kind >= RECORD_KIND_gpu_kernel && head->kind <= RECORD_KIND_gpu_set)
		device = ((const struct gpu_part *)record)->device;
	if (device < 64)
		sink->used_devices |= 1ull << device;
}

/* Keeps a record whose times are plausible by themselves, if they also fit the rest. */
static void settle_record(struct import_sink *sink, uint32_t thread, const void *record)
{
	const struct record_head *head = record;
	uint64_t begin_ticks, end_ticks;
	record_times(record, &begin_ticks, &end_ticks);
	if (begin_ticks) {
		int64_t begin = (int64_t)(begin_ticks - 1), end = (int64_t)(end_ticks - 1);
		if (llabs(begin - sink->middle_ns) > MONTH_NS) {
			import_sink_lose(sink, head->kind, LOSS_BAD_TIME, 1);
			return;
		}
		if (!sink->totals.records || begin < sink->totals.first_ns)
			sink->totals.first_ns = begin;
		if (!sink->totals.records || end > sink->totals.last_ns)
			sink->totals.last_ns = end;
		sink->totals.records++;
		sink->totals.by_kind[head->kind]++;
		note_device(sink, record);
		if (thread && thread <= sink->thread_count) {
			struct sink_thread *t = &sink->threads[thread - 1];
			if (!t->begin_ticks || begin_ticks < t->begin_ticks)
				t->begin_ticks = begin_ticks;
		}
	}
	import_sink_write(sink, thread, record);
}

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

void import_sink_settle(struct import_sink *sink)
{
	if (sink->settled)
		return;
	sink->settled = true;
	int64_t *times = xmalloc((sink->spooled_count + 1) * sizeof(*times));
	size_t count = 0;
	for (size_t i = 0; i < sink->spooled_count; i++) {
		uint64_t begin, end;
		record_times(sink->spool + sink->spooled[i].offset, &begin, &end);
		if (begin)
			times[count++] = (int64_t)(begin - 1);
	}
	qsort(times, count, sizeof(*times), compare_times);
	if (count)
		sink->middle_ns = times[count / 2];
	free(times);
	for (size_t i = 0; i < sink->spooled_count; i++)
		settle_record(sink, sink->spooled[i].thread, sink->spool + sink->spooled[i].offset);
	free(sink->spool);
	free(sink->spooled);
	sink->spool = NULL;
	sink->spooled = NULL;
	sink->spooled_count = 0;
}

static void spool_record(struct import_sink *sink, uint32_t thread, const void *record)
{
	const struct record_head *head = record;
	while (sink->spool_bytes + head->size_bytes > sink->spool_capacity) {
		sink->spool_capacity = sink->spool_capacity ? sink->spool_capacity * 2 : 65536;
		sink->spool = xrealloc(sink->spool, sink->spool_capacity, 1);
	}
	if (sink->spooled_count == sink->spooled_capacity)
		sink->spooled =
			array_grow(sink->spooled, &sink->spooled_capacity, sizeof(*sink->spooled));
	memcpy(sink->spool + sink->spool_bytes, record, head->size_bytes);
	sink->spooled[sink->spooled_count++] =
		(struct sink_spooled){thread, (uint32_t)sink->spool_bytes};
	sink->spool_bytes += head->size_bytes;
}

void import_sink_add(struct import_sink *sink, uint32_t thread, const void *record)
{
	const struct record_head *head = record;
	uint64_t begin, end;
	record_times(record, &begin, &end);
	bool is_event = record_schema_of(head->kind)->time_offset != 0;
	if (is_event) {
		/* Times below 0 have become huge ticks, or 0. */
		if (begin == 1 && end == 1 && head->kind >= RECORD_KIND_gpu_kernel) {
			import_sink_lose(sink, head->kind, LOSS_ZERO_TIME, 1);
			return;
		}
		if (begin == 0 || begin > INT64_MAX || end < begin || end > INT64_MAX ||
		    end - begin > MONTH_NS) {
			import_sink_lose(sink, head->kind, LOSS_BAD_TIME, 1);
			return;
		}
	}
	if (sink->settled) {
		settle_record(sink, thread, record);
		return;
	}
	spool_record(sink, thread, record);
	if (is_event && ++sink->spool_events >= SPOOL_EVENTS)
		import_sink_settle(sink);
}

static void write_losses(struct import_sink *sink)
{
	for (uint16_t kind = 0; kind < RECORD_KIND_LIMIT; kind++) {
		for (uint16_t reason = 1; reason <= LOSS_IMPORT; reason++) {
			if (!sink->losses[kind][reason])
				continue;
			struct record_loss record = {
				.head = {RECORD_KIND_loss, sizeof(record), 0},
				.ticks = import_sink_ticks(sink->totals.last_ns),
				.count = sink->losses[kind][reason],
				.lost_kind = kind,
				.reason = reason,
			};
			import_sink_write(sink, 0, &record);
		}
	}
}

int import_sink_finish(struct import_sink *sink, struct error *err)
{
	import_sink_settle(sink);
	struct record_clock clock = {
		.head = {RECORD_KIND_clock, sizeof(clock), 0},
		.ticks = import_sink_ticks(sink->totals.first_ns),
		.realtime_ns = realtime_of(sink, sink->totals.first_ns),
		.gpu_ns = import_sink_ticks(sink->totals.first_ns),
	};
	import_sink_write(sink, 0, &clock);
	import_sink_write_devices(sink);
	import_sink_write_threads(sink);
	write_losses(sink);
	if (!sink->failed) {
		sink->failed = trace_writer_finish(sink->writer, SESSION_IMPORTED, &sink->failure);
		sink->writer = NULL;
	}
	if (sink->failed && err)
		*err = sink->failure;
	return sink->failed;
}
