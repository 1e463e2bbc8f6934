/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other records refer to by number, each written once: names, sites, threads; and the facts
 * and GPUs of the session.
 */
#include "import_sink_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "xmalloc.h"

uint64_t import_sink_name(struct import_sink *sink, uint16_t space, const char *text, size_t length)
{
	struct record_name *record = (struct record_name *)sink->record;
	uint64_t hash = map_mix(map_hash_bytes(text, length), space);
	bool is_new;
	uint64_t *slot = map_slot(&sink->name_map, hash, &is_new);

	for (size_t at = *slot; at; at = sink->names[at - 1].next) {
		const struct sink_name *n = &sink->names[at - 1];
		if (n->space == space && n->length == length && !memcmp(n->text, text, length))
			return n->id;
	}
	if (sink->name_count == sink->name_capacity)
		sink->names = array_grow(sink->names, &sink->name_capacity, sizeof(*sink->names));
	struct sink_name *n = &sink->names[sink->name_count++];
	*n = (struct sink_name){xmalloc(length + 1), length, ++sink->last_id[space % 8], space,
				(uint32_t)*slot};
	memcpy(n->text, text, length);
	n->text[length] = 0;
	*slot = sink->name_count;

	/* A name longer than a record is cut: nobody reads 64 KiB of template arguments. */
	size_t kept = length;
	if (kept > SINK_RECORD_MAX - sizeof(*record))
		kept = SINK_RECORD_MAX - sizeof(*record);
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

uint64_t import_sink_site(struct import_sink *sink, const struct site_frame *frames, size_t count)
{
	struct record_site *record = (struct record_site *)sink->record;
	bool is_cut = count > IMPORT_MAX_FRAMES;
	uint64_t hash = 0;
	bool is_new;

	if (!count)
		return 0;
	if (is_cut)
		count = IMPORT_MAX_FRAMES;
	for (size_t i = 0; i < count; i++)
		hash = map_mix(map_mix(hash, frames[i].value),
			       (uint64_t)frames[i].type << 32 | frames[i].line);
	if (!hash)
		hash = 1;
	map_slot(&sink->site_map, hash, &is_new);
	if (!is_new)
		return hash;
	memset(record, 0, sizeof(*record));
	memcpy(record->frames, frames, count * sizeof(*frames));
	if (is_cut)
		record->frames[count++] = (struct site_frame){.type = FRAME_TRUNCATED};
	record->head.kind = RECORD_KIND_site;
	record->head.size_bytes = (uint16_t)(sizeof(*record) + count * sizeof(*frames));
	record->id = hash;
	record->frame_count = (uint32_t)count;
	import_sink_add(sink, 0, record);
	return hash;
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
	sink->threads[sink->thread_count++] =
		(struct sink_thread){.process = process, .thread = thread};
	*slot = sink->thread_count;
	return (uint32_t)*slot;
}

void import_sink_name_thread(struct import_sink *sink, uint32_t thread, const char *name,
			     size_t length)
{
	if (!thread || thread > sink->thread_count)
		return;
	struct sink_thread *t = &sink->threads[thread - 1];
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

static bool has_device(const struct import_sink *sink, uint32_t ordinal)
{
	for (size_t i = 0; i < sink->device_count; i++) {
		if (sink->devices[i].ordinal == ordinal)
			return true;
	}
	return false;
}

void import_sink_device(struct import_sink *sink, const struct record_device *device,
			const char *name, size_t name_length)
{
	if (has_device(sink, device->ordinal) || sink->device_count == 4096)
		return;
	if (sink->device_count == sink->device_capacity)
		sink->devices =
			array_grow(sink->devices, &sink->device_capacity, sizeof(*sink->devices));
	struct sink_device *d = &sink->devices[sink->device_count++];
	struct record_device *record = (struct record_device *)d->record;
	memset(d, 0, sizeof(*d));
	d->ordinal = device->ordinal;
	if (name_length > 255)
		name_length = 255;
	*record = *device;
	record->head.kind = RECORD_KIND_device;
	record->head.size_bytes = (uint16_t)((sizeof(*record) + name_length + 7) & ~(size_t)7);
	record->name_bytes = (uint32_t)name_length;
	memcpy(record->name, name, name_length);
}

/* Recordings list every GPU of the machine; a trace is about those that its process used. One that
 * the recording does not describe gets no record: readers then say that it is unknown. */
void import_sink_write_devices(struct import_sink *sink)
{
	for (size_t i = 0; i < sink->device_count; i++) {
		uint32_t ordinal = sink->devices[i].ordinal;
		if (!sink->used_devices || (ordinal < 64 && sink->used_devices >> ordinal & 1))
			import_sink_write(sink, 0, sink->devices[i].record);
	}
}

void import_sink_write_threads(struct import_sink *sink)
{
	for (size_t i = 0; i < sink->thread_count; i++) {
		_Alignas(8) char buffer[sizeof(struct record_thread) + 264] = {0};
		struct record_thread *record = (struct record_thread *)buffer;
		const struct sink_thread *t = &sink->threads[i];
		size_t length = t->name ? strlen(t->name) : 0;
		record->head.kind = RECORD_KIND_thread;
		record->head.size_bytes = (uint16_t)((sizeof(*record) + length + 7) & ~(size_t)7);
		record->thread = (uint32_t)(i + 1);
		record->thread_id = (uint32_t)t->thread;
		record->begin_ticks = t->begin_ticks;
		record->name_bytes = (uint32_t)length;
		if (length)
			memcpy(record->name, t->name, length);
		import_sink_write(sink, (uint32_t)(i + 1), record);
	}
}
