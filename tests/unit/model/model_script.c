/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps hand-made records in one array per kind and plays them to the model as a source.
 */
#include "model_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "xmalloc.h"

#define NAME_LIMIT 512
#define SITE_LIMIT 16

struct rows {
	char *bytes;
	uint32_t *threads;
	size_t count, capacity, row_bytes;
};

struct script {
	struct record_site *sites[SITE_LIMIT];
	size_t site_count;
	struct rows rows[RECORD_KIND_LIMIT];
	char *names[NAME_LIMIT]; /* index + 1 is the id, in every space */
	size_t name_count;
	char *infos[64][2];
	size_t info_count;
	struct record_device *devices[16];
	size_t device_count;
	struct trace_health health;
	uint32_t next_call_id, next_correlation;
	uint32_t gpu_stream, peer_device;
	uint64_t copy_source, copy_destination, copy_stream, launch_stream;
};

static uint64_t name_id(struct script *script, const char *name)
{
	for (size_t i = 0; i < script->name_count; i++) {
		if (!strcmp(script->names[i], name))
			return i + 1;
	}
	if (script->name_count == NAME_LIMIT)
		abort();
	script->names[script->name_count] = xstrdup(name);
	return ++script->name_count;
}

static void add_row(struct script *script, uint16_t kind, void *record, size_t bytes,
		    uint32_t thread)
{
	struct rows *rows = &script->rows[kind];
	struct record_head head = {kind, (uint16_t)bytes, 0};

	memcpy(record, &head, sizeof(head));
	if (rows->count == rows->capacity) {
		rows->capacity = rows->capacity ? rows->capacity * 2 : 64;
		rows->bytes = xrealloc(rows->bytes, rows->capacity, bytes);
		rows->threads = xrealloc(rows->threads, rows->capacity, sizeof(*rows->threads));
	}
	rows->row_bytes = bytes;
	memcpy(rows->bytes + rows->count * bytes, record, bytes);
	rows->threads[rows->count++] = thread;
}

static const char *source_name(void *context, uint16_t space, uint64_t id)
{
	struct script *script = context;

	(void)space;
	return id && id <= script->name_count ? script->names[id - 1] : NULL;
}

static const struct record_site *source_site(void *context, uint64_t id)
{
	struct script *script = context;

	for (size_t i = 0; i < script->site_count; i++) {
		if (script->sites[i]->id == id)
			return script->sites[i];
	}
	return NULL;
}

static const char *source_info(void *context, const char *key)
{
	struct script *script = context;

	for (size_t i = 0; i < script->info_count; i++) {
		if (!strcmp(script->infos[i][0], key))
			return script->infos[i][1];
	}
	return NULL;
}

static int64_t source_ns(void *context, uint64_t ticks)
{
	(void)context;
	return (int64_t)ticks;
}

static size_t source_device_count(void *context)
{
	return ((struct script *)context)->device_count;
}

static const struct record_device *source_device(void *context, size_t index)
{
	return ((struct script *)context)->devices[index];
}

static size_t source_thread_count(void *context)
{
	(void)context;
	return 0;
}

static const struct record_thread *source_thread(void *context, size_t index)
{
	(void)context;
	(void)index;
	return NULL;
}

static int source_read(void *context, uint64_t kind_mask,
		       int (*fn)(void *context, const struct trace_batch *batch),
		       int (*events_fn)(void *context, const struct trace_events *events),
		       void *fn_context, struct error *err)
{
	struct script *script = context;

	(void)events_fn, (void)err;
	for (uint16_t kind = 1; kind < RECORD_KIND_LIMIT; kind++) {
		struct rows *rows = &script->rows[kind];
		struct trace_batch batch = {kind, (uint16_t)rows->row_bytes, (uint32_t)rows->count,
					    rows->bytes, rows->threads};
		int rc = rows->count && (kind_mask >> kind & 1) ? fn(fn_context, &batch) : 0;

		if (rc)
			return rc;
	}
	return 0;
}

struct record_device *script_add_device(struct script *script, const char *gpu_name,
					uint16_t link_gen, uint16_t link_width)
{
	size_t length = strlen(gpu_name);
	struct record_device *device = xcalloc(1, sizeof(*device) + length + 1);

	device->ordinal = (uint32_t)script->device_count;
	device->link_gen = device->link_gen_max = link_gen;
	device->link_width = device->link_width_max = link_width;
	device->name_bytes = (uint32_t)length;
	memcpy(device->name, gpu_name, length);
	script->devices[script->device_count++] = device;
	return device;
}

struct script *script_new(const char *gpu_name, uint32_t sm_count, uint16_t link_gen,
			  uint16_t link_width)
{
	struct script *script = xcalloc(1, sizeof(*script));

	script->health.session_end = 1;
	script->gpu_stream = 7;
	script->peer_device = DEVICE_UNKNOWN;
	if (gpu_name)
		script_add_device(script, gpu_name, link_gen, link_width)->sm_count = sm_count;
	return script;
}

void script_use_stream(struct script *script, uint32_t stream)
{
	script->gpu_stream = stream;
}

void script_use_launch_stream(struct script *script, uint64_t stream)
{
	script->launch_stream = stream;
}

void script_use_copy(struct script *script, uint64_t source, uint64_t destination, uint64_t stream,
		     uint32_t peer_device)
{
	script->copy_source = source;
	script->copy_destination = destination;
	script->copy_stream = stream;
	script->peer_device = peer_device;
}

void script_free(struct script *script)
{
	for (size_t i = 0; i < RECORD_KIND_LIMIT; i++) {
		free(script->rows[i].bytes);
		free(script->rows[i].threads);
	}
	for (size_t i = 0; i < script->name_count; i++)
		free(script->names[i]);
	for (size_t i = 0; i < script->info_count; i++) {
		free(script->infos[i][0]);
		free(script->infos[i][1]);
	}
	for (size_t i = 0; i < script->device_count; i++)
		free(script->devices[i]);
	for (size_t i = 0; i < script->site_count; i++)
		free(script->sites[i]);
	free(script);
}

struct model_source script_source(struct script *script)
{
	return (struct model_source){
		.context = script,
		.name = source_name,
		.site = source_site,
		.info = source_info,
		.host_ns = source_ns,
		.gpu_ns = source_ns,
		.device_count = source_device_count,
		.device = source_device,
		.thread_count = source_thread_count,
		.thread = source_thread,
		.read = source_read,
		.path = "hand-made",
		.health = &script->health,
	};
}

struct model *script_model(struct script *script)
{
	struct model_source source = script_source(script);
	struct model *model = NULL;
	struct error err = {0, ""};

	if (model_build(&source, &model, &err)) {
		fprintf(stderr, "model_build: %s\n", err.text);
		abort();
	}
	return model;
}

struct trace_health *script_health(struct script *script)
{
	return &script->health;
}

struct record_device *script_device(struct script *script, size_t index)
{
	return script->devices[index];
}

void script_info(struct script *script, const char *key, const char *value)
{
	script->infos[script->info_count][0] = xstrdup(key);
	script->infos[script->info_count][1] = xstrdup(value);
	script->info_count++;
}

uint32_t script_next_correlation(struct script *script)
{
	return ++script->next_correlation;
}

static struct call_part call_part_of(struct script *script, const struct script_call *call)
{
	struct call_part part;

	memset(&part, 0, sizeof(part));
	part.begin_ticks = (uint64_t)call->begin_ns;
	part.end_ticks = (uint64_t)call->end_ns;
	part.site = call->site;
	part.call_id = ++script->next_call_id;
	part.parent_id = call->parent_id;
	part.correlation = call->correlation;
	part.status = call->status;
	part.api = call->api ? (uint16_t)name_id(script, call->api) : 0;
	part.flags = call->flags;
	part.device = call->device;
	return part;
}

uint32_t script_add_launch(struct script *script, const struct script_call *call,
			   const char *kernel)
{
	struct record_launch record;

	memset(&record, 0, sizeof(record));
	record.call = call_part_of(script, call);
	record.kernel = name_id(script, kernel);
	record.stream = script->launch_stream;
	add_row(script, RECORD_KIND_launch, &record, sizeof(record), call->thread);
	return record.call.call_id;
}

uint32_t script_add_copy(struct script *script, const struct script_call *call, uint8_t direction,
			 uint64_t bytes, uint8_t source_kind, uint8_t destination_kind)
{
	struct record_copy record;

	memset(&record, 0, sizeof(record));
	record.call = call_part_of(script, call);
	record.size_bytes = bytes;
	record.direction = direction;
	record.source_kind = source_kind;
	record.destination_kind = destination_kind;
	record.source = script->copy_source;
	record.destination = script->copy_destination;
	record.stream = script->copy_stream;
	record.peer_device = script->peer_device;
	add_row(script, RECORD_KIND_copy, &record, sizeof(record), call->thread);
	return record.call.call_id;
}

uint32_t script_add_sync(struct script *script, const struct script_call *call, uint32_t scope)
{
	struct record_sync record;

	memset(&record, 0, sizeof(record));
	record.call = call_part_of(script, call);
	record.scope = scope;
	add_row(script, RECORD_KIND_sync, &record, sizeof(record), call->thread);
	return record.call.call_id;
}

uint32_t script_add_call_record(struct script *script, const struct script_call *call,
				uint16_t kind, void *record, size_t bytes)
{
	struct call_part *part = record;

	*part = call_part_of(script, call);
	add_row(script, kind, record, bytes, call->thread);
	return part->call_id;
}

uint32_t script_add_memory(struct script *script, const struct script_call *call, uint8_t op,
			   uint8_t kind, uint64_t address, uint64_t bytes)
{
	struct record_memory record;

	memset(&record, 0, sizeof(record));
	record.call = call_part_of(script, call);
	record.op = op;
	record.memory_kind = kind;
	record.address = address;
	record.size_bytes = bytes;
	record.backing = call->backing;
	add_row(script, RECORD_KIND_memory, &record, sizeof(record), call->thread);
	return record.call.call_id;
}

uint32_t script_add_gemm(struct script *script, const struct script_call *call,
			 const struct record_gemm *gemm)
{
	struct record_gemm record = *gemm;

	record.call = call_part_of(script, call);
	add_row(script, RECORD_KIND_gemm, &record, sizeof(record), call->thread);
	return record.call.call_id;
}

uint32_t script_add_plain(struct script *script, const struct script_call *call)
{
	struct record_call record;

	memset(&record, 0, sizeof(record));
	record.call = call_part_of(script, call);
	add_row(script, RECORD_KIND_call, &record, sizeof(record), call->thread);
	return record.call.call_id;
}

void script_add_record(struct script *script, uint16_t kind, void *record, size_t bytes)
{
	add_row(script, kind, record, bytes, 0);
}

void script_add_mark(struct script *script, const char *name, int64_t begin_ns, int64_t end_ns)
{
	script_add_mark_of(script, MARK_NVTX, name, begin_ns, end_ns);
}

static struct record_site *add_site(struct script *script, uint64_t id, uint32_t count)
{
	struct record_site *site = xcalloc(1, sizeof(*site) + count * sizeof(site->frames[0]));

	if (script->site_count == SITE_LIMIT)
		abort();
	site->id = id;
	site->frame_count = count;
	script->sites[script->site_count++] = site;
	return site;
}

void script_add_site(struct script *script, uint64_t id, const char *python)
{
	script_add_stack(script, id, &python, 1);
}

void script_add_stack(struct script *script, uint64_t id, const char *const *frames, uint32_t count)
{
	struct record_site *site = add_site(script, id, count);

	for (uint32_t i = 0; i < count; i++) {
		bool is_python = strchr(frames[i], '\x1f') != NULL;

		site->frames[i].type = is_python		 ? FRAME_PYTHON
				       : !strcmp(frames[i], "?") ? FRAME_TRUNCATED
				       : !strcmp(frames[i], "^") ? FRAME_WAITING
								 : FRAME_OPERATOR;
		site->frames[i].line = is_python ? i + 1 : 0;
		site->frames[i].value = name_id(script, frames[i]);
	}
}

void script_add_native(struct script *script, uint64_t id, const uint64_t *addresses,
		       uint32_t count)
{
	struct record_site *site = add_site(script, id, count);

	for (uint32_t i = 0; i < count; i++) {
		site->frames[i].type = FRAME_NATIVE;
		site->frames[i].value = addresses[i];
	}
}

void script_add_block(struct script *script, const struct record_block *block)
{
	struct record_block record = *block;

	add_row(script, RECORD_KIND_block, &record, sizeof(record), 1);
}

void script_add_mark_of(struct script *script, uint8_t source, const char *name, int64_t begin_ns,
			int64_t end_ns)
{
	struct record_mark record;

	memset(&record, 0, sizeof(record));
	record.begin_ticks = (uint64_t)begin_ns;
	record.end_ticks = (uint64_t)end_ns;
	record.name = name_id(script, name);
	record.type = MARK_RANGE;
	record.source = source;
	add_row(script, RECORD_KIND_mark, &record, sizeof(record), 1);
}

static struct gpu_part gpu_part_of(const struct script *script, uint32_t device,
				   uint32_t correlation, int64_t begin_ns, int64_t end_ns)
{
	struct gpu_part part;

	memset(&part, 0, sizeof(part));
	part.begin_ns = (uint64_t)begin_ns;
	part.end_ns = (uint64_t)end_ns;
	part.correlation = correlation;
	part.device = device;
	part.stream = script->gpu_stream;
	return part;
}

void script_add_kernel(struct script *script, uint32_t device, const char *name,
		       uint32_t correlation, int64_t begin_ns, int64_t end_ns)
{
	struct record_gpu_kernel record;

	memset(&record, 0, sizeof(record));
	record.gpu = gpu_part_of(script, device, correlation, begin_ns, end_ns);
	record.kernel = name_id(script, name);
	add_row(script, RECORD_KIND_gpu_kernel, &record, sizeof(record), 0);
}

void script_add_gpu_copy(struct script *script, uint32_t device, uint8_t direction, uint64_t bytes,
			 uint8_t source_kind, uint8_t destination_kind, uint32_t correlation,
			 int64_t begin_ns, int64_t end_ns)
{
	struct record_gpu_copy record;

	memset(&record, 0, sizeof(record));
	record.gpu = gpu_part_of(script, device, correlation, begin_ns, end_ns);
	record.size_bytes = bytes;
	record.direction = direction;
	record.source_kind = source_kind;
	record.destination_kind = destination_kind;
	record.peer_device = script->peer_device;
	add_row(script, RECORD_KIND_gpu_copy, &record, sizeof(record), 0);
}

void script_add_gpu_set(struct script *script, uint32_t device, uint64_t bytes,
			uint32_t correlation, int64_t begin_ns, int64_t end_ns)
{
	struct record_gpu_set record;

	memset(&record, 0, sizeof(record));
	record.gpu = gpu_part_of(script, device, correlation, begin_ns, end_ns);
	record.size_bytes = bytes;
	add_row(script, RECORD_KIND_gpu_set, &record, sizeof(record), 0);
}
