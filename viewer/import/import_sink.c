/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the first 4096 events wait in memory. Their median time tells which times belong to
 * the recording: profilers have written events with a zero or a garbage time, and one of these
 * would otherwise stretch a session over decades. Everything later is judged against that median as
 * it comes. Ticks are the recording's nanoseconds plus one, so that 0 keeps its meaning of
 * "unknown".
 */
#include "import_sink.h"

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
#define RECORD_MAX   65528u

struct thread {
	int64_t process, thread;
	uint32_t call_count;
	char *name;
	uint64_t begin_ticks;
};

struct name {
	char *text;
	size_t length;
	uint64_t id;
	uint16_t space;
	uint32_t next; /* with the same hash, index + 1 */
};

struct spooled {
	uint32_t thread;
	uint32_t offset;
};

struct import_sink {
	int dir_fd;
	char *file_name;
	struct trace_writer *writer;
	int failed;
	struct error failure;

	bool settled;
	int64_t middle_ns; /* the median of the first events */
	bool has_realtime;
	int64_t realtime_offset_ns;

	unsigned char *spool;
	size_t spool_bytes, spool_capacity, spool_events;
	struct spooled *spooled;
	size_t spooled_count, spooled_capacity;

	struct map name_map; /* hash of space and text -> index + 1 */
	struct name *names;
	size_t name_count, name_capacity;
	uint64_t last_id[8]; /* by space */

	struct map thread_map; /* hash of process and thread -> index + 1 */
	struct thread *threads;
	size_t thread_count, thread_capacity;

	uint64_t losses[RECORD_KIND_LIMIT][LOSS_IMPORT + 1];
	uint64_t devices; /* bit per ordinal below 64 */
	struct import_totals totals;
	_Alignas(8) char record[RECORD_MAX]; /* where long records are put together */
};

struct import_sink *import_sink_new(int dir_fd, const char *name)
{
	struct import_sink *sink = xcalloc(1, sizeof(*sink));
	sink->dir_fd = dir_fd;
	sink->file_name = xstrdup(name);
	map_init(&sink->name_map);
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
	free(sink->file_name);
	map_fini(&sink->name_map);
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

static void write_record(struct import_sink *sink, uint32_t thread, const void *record)
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
		if (thread && thread <= sink->thread_count) {
			struct thread *t = &sink->threads[thread - 1];
			if (!t->begin_ticks || begin_ticks < t->begin_ticks)
				t->begin_ticks = begin_ticks;
		}
	}
	write_record(sink, thread, record);
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
		(struct spooled){thread, (uint32_t)sink->spool_bytes};
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

uint64_t import_sink_name(struct import_sink *sink, uint16_t space, const char *text, size_t length)
{
	struct record_name *record = (struct record_name *)sink->record;
	uint64_t hash = map_mix(map_hash_bytes(text, length), space);
	bool is_new;
	uint64_t *slot = map_slot(&sink->name_map, hash, &is_new);

	for (size_t at = *slot; at; at = sink->names[at - 1].next) {
		const struct name *n = &sink->names[at - 1];
		if (n->space == space && n->length == length && !memcmp(n->text, text, length))
			return n->id;
	}
	if (sink->name_count == sink->name_capacity)
		sink->names = array_grow(sink->names, &sink->name_capacity, sizeof(*sink->names));
	struct name *n = &sink->names[sink->name_count++];
	*n = (struct name){xmalloc(length + 1), length, ++sink->last_id[space % 8], space,
			   (uint32_t)*slot};
	memcpy(n->text, text, length);
	n->text[length] = 0;
	*slot = sink->name_count;

	/* A name longer than a record is cut: nobody reads 64 KiB of template arguments. */
	size_t kept = length;
	if (kept > RECORD_MAX - sizeof(*record))
		kept = RECORD_MAX - sizeof(*record);
	size_t size = (sizeof(*record) + kept + 7) & ~(size_t)7;
	memset(record, 0, sizeof(*record));
	record->head.kind = RECORD_KIND_name;
	record->head.size_bytes = (uint16_t)size;
	record->id = n->id;
	record->space = space;
	record->text_bytes = (uint32_t)kept;
	memcpy(record->text, text, kept);
	memset(record->text + kept, 0, size - sizeof(*record) - kept);
	import_sink_add(sink, 0, record);
	return n->id;
}

uint32_t import_sink_thread(struct import_sink *sink, int64_t process, int64_t thread)
{
	bool is_new;
	uint64_t *slot =
		map_slot(&sink->thread_map, map_mix((uint64_t)process, (uint64_t)thread), &is_new);
	if (!is_new)
		return (uint32_t)*slot;
	if (sink->thread_count == sink->thread_capacity)
		sink->threads =
			array_grow(sink->threads, &sink->thread_capacity, sizeof(*sink->threads));
	sink->threads[sink->thread_count++] = (struct thread){.process = process, .thread = thread};
	*slot = sink->thread_count;
	return (uint32_t)*slot;
}

void import_sink_name_thread(struct import_sink *sink, uint32_t thread, const char *name,
			     size_t length)
{
	if (!thread || thread > sink->thread_count)
		return;
	struct thread *t = &sink->threads[thread - 1];
	free(t->name);
	if (length > 255)
		length = 255;
	t->name = xmalloc(length + 1);
	memcpy(t->name, name, length);
	t->name[length] = 0;
}

uint32_t import_sink_next_call(struct import_sink *sink, uint32_t thread)
{
	return thread && thread <= sink->thread_count ? ++sink->threads[thread - 1].call_count : 0;
}

size_t import_sink_thread_count(const struct import_sink *sink)
{
	return sink->thread_count;
}

void import_sink_info(struct import_sink *sink, const char *key, const char *format, ...)
{
	_Alignas(8) char buffer[sizeof(struct record_info) + 4096];
	struct record_info *record = (struct record_info *)buffer;
	size_t key_length = strlen(key), space = 4096 - key_length;
	va_list arguments;

	memset(buffer, 0, sizeof(buffer));
	memcpy(record->text, key, key_length);
	va_start(arguments, format);
	int length = vsnprintf(record->text + key_length, space, format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	size_t kept = (size_t)length < space ? (size_t)length : space - 1;
	record->head.kind = RECORD_KIND_info;
	record->head.size_bytes =
		(uint16_t)((sizeof(*record) + key_length + kept + 7) & ~(size_t)7);
	record->key_bytes = (uint16_t)key_length;
	record->value_bytes = (uint32_t)kept;
	import_sink_add(sink, 0, record);
}

void import_sink_device(struct import_sink *sink, const struct record_device *device,
			const char *name, size_t name_length)
{
	_Alignas(8) char buffer[sizeof(*device) + 264];
	struct record_device *record = (struct record_device *)buffer;
	if (name_length > 255)
		name_length = 255;
	memset(buffer, 0, sizeof(buffer));
	*record = *device;
	record->head.kind = RECORD_KIND_device;
	record->head.size_bytes = (uint16_t)((sizeof(*record) + name_length + 7) & ~(size_t)7);
	record->head.reserved = 0;
	record->name_bytes = (uint32_t)name_length;
	memcpy(record->name, name, name_length);
	if (device->ordinal < 64)
		sink->devices |= 1ull << device->ordinal;
	import_sink_add(sink, 0, record);
}

bool import_sink_has_device(const struct import_sink *sink, uint32_t ordinal)
{
	return ordinal < 64 && sink->devices >> ordinal & 1;
}

static void write_threads(struct import_sink *sink)
{
	for (size_t i = 0; i < sink->thread_count; i++) {
		_Alignas(8) char buffer[sizeof(struct record_thread) + 264] = {0};
		struct record_thread *record = (struct record_thread *)buffer;
		const struct thread *t = &sink->threads[i];
		size_t length = t->name ? strlen(t->name) : 0;
		record->head.kind = RECORD_KIND_thread;
		record->head.size_bytes = (uint16_t)((sizeof(*record) + length + 7) & ~(size_t)7);
		record->thread = (uint32_t)(i + 1);
		record->thread_id = (uint32_t)t->thread;
		record->begin_ticks = t->begin_ticks;
		record->name_bytes = (uint32_t)length;
		if (length)
			memcpy(record->name, t->name, length);
		write_record(sink, (uint32_t)(i + 1), record);
	}
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
			write_record(sink, 0, &record);
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
	write_record(sink, 0, &clock);
	write_threads(sink);
	write_losses(sink);
	if (!sink->failed) {
		sink->failed = trace_writer_finish(sink->writer, SESSION_IMPORTED, &sink->failure);
		sink->writer = NULL;
	}
	if (sink->failed && err)
		*err = sink->failure;
	return sink->failed;
}
