/* SPDX-License-Identifier: Apache-2.0 */
/* Device records pass through as they are and are kept, so that they can be told again with the
 * facts of sysfs; a later record about the same device replaces an earlier one. */
#include "drain.h"

#include <stdio.h>
#include <string.h>

#include "bytes.h"
#include "clocks.h"
#include "device_link.h"
#include "error.h"
#include "record_check.h"
#include "small_file.h"
#include "trace_writer.h"

static void write_records(struct drain *drain, uint32_t thread, const void *records, size_t bytes)
{
	struct error err = {0};
	int rc = trace_writer_add(drain->writer, thread, records, bytes, &err);

	/* The writer has counted what it could not keep; the owner says so in its log. */
	if (rc < 0)
		drain->write_error = rc;
}

static bool read_comm(const struct drain *drain, uint32_t thread_id, char *name, size_t size)
{
	char path[96];

	if (drain->pid == 0)
		snprintf(path, sizeof(path), "/proc/self/task/%u/comm", thread_id);
	else
		snprintf(path, sizeof(path), "/proc/%d/task/%u/comm", (int)drain->pid, thread_id);
	return small_file_line(path, name, size);
}

static void tell_thread(struct drain *drain, uint32_t thread, uint32_t thread_id,
			uint64_t begin_ticks, const char *name)
{
	_Alignas(8) char buffer[sizeof(struct record_thread) + 32] = {0};
	struct record_thread *record = (struct record_thread *)buffer;
	size_t length = strnlen(name, 24);

	record->head.kind = RECORD_KIND_thread;
	record->head.size_bytes =
		(uint16_t)((offsetof(struct record_thread, name) + length + 7) / 8 * 8);
	record->thread = thread;
	record->thread_id = thread_id;
	record->begin_ticks = begin_ticks;
	record->name_bytes = (uint32_t)length;
	memcpy(record->name, name, length);
	write_records(drain, 0, buffer, record->head.size_bytes);
}

static void take_thread(void *context, uint32_t thread, uint32_t thread_id, uint64_t claimed_ticks)
{
	struct drain *drain = context;
	char name[32] = "";

	read_comm(drain, thread_id, name, sizeof(name));
	tell_thread(drain, thread, thread_id, claimed_ticks, name);
}

/* Keeps a copy of a device record; NULL when it does not fit. */
static struct record_device *keep_device(struct drain *drain, const void *bytes, size_t size)
{
	const struct record_device *device = bytes;

	if (size > DRAIN_DEVICE_BYTES)
		return NULL;
	for (uint32_t i = 0; i < drain->device_count; i++) {
		struct record_device *kept = (struct record_device *)drain->devices[i];

		if (kept->ordinal == device->ordinal)
			return memcpy(kept, bytes, size);
	}
	if (drain->device_count == DRAIN_MAX_DEVICES)
		return NULL;
	return memcpy(drain->devices[drain->device_count++], bytes, size);
}

/* What the collector itself wants to know of a record. */
static void look_into(struct drain *drain, const uint8_t *at, size_t bytes)
{
	struct record_device *device;
	uint16_t kind, size_bytes;

	if (record_check(at, bytes, &kind, &size_bytes) != RECORD_GOOD)
		return;
	if (kind == RECORD_KIND_device) {
		device = keep_device(drain, at, size_bytes);
		if (device && device_link_update(device, drain->root, false))
			write_records(drain, 0, device, device->head.size_bytes);
	} else if (drain->watch) {
		drain->watch(drain->watch_context, kind, at);
	}
}

static void take_records(void *context, uint32_t thread, const void *records, size_t bytes)
{
	struct drain *drain = context;
	const uint8_t *at = records;
	const uint8_t *end = at + bytes;

	drain->records_bytes += bytes;
	write_records(drain, thread, records, bytes);
	while (at < end) {
		/* The ring reader has found whole records; only those below are looked into. */
		uint16_t kind = bytes_load16(at);

		if (kind == RECORD_KIND_device || kind == RECORD_KIND_copy ||
		    kind == RECORD_KIND_launch)
			look_into(drain, at, (size_t)(end - at));
		at += bytes_load16(at + offsetof(struct record_head, size_bytes));
	}
}

static void take_loss(void *context, uint16_t kind, uint16_t reason, uint64_t count)
{
	struct drain *drain = context;
	struct record_loss loss = {
		.head = {.kind = RECORD_KIND_loss, .size_bytes = sizeof(loss)},
		.ticks = clocks_ticks(drain->reader->clock_kind),
		.count = count,
		.lost_kind = kind,
		.reason = reason,
	};

	write_records(drain, 0, &loss, sizeof(loss));
}

static struct ring_sink sink_of(struct drain *drain)
{
	return (struct ring_sink){
		.context = drain,
		.thread = take_thread,
		.records = take_records,
		.lost = take_loss,
	};
}

void drain_init(struct drain *drain, struct trace_writer *writer, struct ring_reader *reader,
		pid_t pid, const char *root)
{
	memset(drain, 0, sizeof(*drain));
	drain->writer = writer;
	drain->reader = reader;
	drain->pid = pid;
	drain->root = root;
}

void drain_watch(struct drain *drain, drain_record_fn *watch, void *context)
{
	drain->watch = watch;
	drain->watch_context = context;
}

size_t drain_run(struct drain *drain)
{
	const struct ring_sink sink = sink_of(drain);

	return ring_reader_drain(drain->reader, &sink);
}

void drain_totals(struct drain *drain, struct totals_reader *totals, uint64_t now_ticks,
		  enum totals_look look)
{
	const struct ring_sink sink = sink_of(drain);

	totals_reader_run(totals, &sink, now_ticks, look);
}

void drain_count_drops(struct drain *drain)
{
	const struct ring_sink sink = sink_of(drain);

	ring_reader_count_drops(drain->reader, &sink);
}

void drain_refresh(struct drain *drain)
{
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++) {
		const struct ring_view *view = &drain->reader->views[i];
		struct drain_thread *told = &drain->threads[i];
		uint32_t state = atomic_load_explicit(&ring_slots(drain->reader->control)[i].state,
						      memory_order_relaxed);
		char name[32];

		if (!view->known || state != RING_SLOT_LIVE ||
		    !read_comm(drain, view->thread_id, name, sizeof(name)))
			continue;
		name[sizeof(told->name) - 1] = '\0';
		if (told->thread == view->thread && strcmp(told->name, name) == 0)
			continue;
		told->thread = view->thread;
		memcpy(told->name, name, sizeof(told->name));
		tell_thread(drain, view->thread, view->thread_id, view->claimed_ticks, name);
	}
	for (uint32_t i = 0; i < drain->device_count; i++) {
		struct record_device *device = (struct record_device *)drain->devices[i];

		if (device_link_update(device, drain->root, false))
			write_records(drain, 0, device, device->head.size_bytes);
	}
}
