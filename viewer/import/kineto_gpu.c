/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels, copies, sets and synchronisations of a PyTorch recording, and its GPUs.
 */
#define _GNU_SOURCE /* memmem */
#include "kineto_import.h"

#include <string.h>

static uint32_t to_u32(int64_t value)
{
	return value < 0 || value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static uint64_t to_size(int64_t value)
{
	return value < 0 ? 0 : (uint64_t)value;
}

static uint32_t device_of(const struct kineto_event *e)
{
	/* The GPU is the "process" of its events. */
	int64_t device = e->has & HAS_DEVICE ? e->device : e->has & HAS_PROCESS ? e->process : -1;
	return device < 0 || device > 4096 ? DEVICE_UNKNOWN : (uint32_t)device;
}

static bool fill_gpu(struct kineto *k, uint16_t kind, uint16_t size, struct gpu_part *gpu)
{
	const struct kineto_event *e = &k->event;
	int64_t begin, end;
	if (!kineto_times(k, kind, &begin, &end))
		return false;
	gpu->head.kind = kind;
	gpu->head.size_bytes = size;
	gpu->begin_ns = import_sink_ticks(begin);
	gpu->end_ns = import_sink_ticks(end);
	gpu->correlation = (uint32_t)e->correlation;
	gpu->device = device_of(e);
	gpu->context = to_u32(e->context);
	gpu->stream = e->has & HAS_STREAM ? (uint32_t)e->stream : to_u32(e->thread);
	gpu->graph = to_u32(e->graph);
	gpu->graph_node = to_size(e->graph_node);
	return true;
}

static void add_kernel(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	struct record_gpu_kernel r = {0};
	if (!fill_gpu(k, RECORD_KIND_gpu_kernel, sizeof(r), &r.gpu))
		return;
	struct json_slice name = kineto_text(k, &e->name);
	r.kernel = import_sink_name(k->sink, NAME_KERNEL, name.at, name.length);
	import_join_kernel(k->join, r.gpu.correlation, r.kernel, name.at, name.length);
	for (int i = 0; i < 3; i++) {
		r.grid[i] = to_u32(e->grid[i]);
		r.block[i] = to_u32(e->block[i]);
	}
	/* Kineto writes the sum of static and dynamic shared memory. */
	r.shared_static_bytes = to_u32(e->shared_bytes);
	r.registers = e->registers > 0 && e->registers <= UINT16_MAX ? (uint16_t)e->registers : 0;
	import_sink_add(k->sink, 0, &r);
}

static void add_copy(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	struct record_gpu_copy r = {0};
	if (!fill_gpu(k, RECORD_KIND_gpu_copy, sizeof(r), &r.gpu))
		return;
	struct copy_kinds kinds = import_copy_kinds(e->name.at, e->name.length);
	r.size_bytes = to_size(e->bytes);
	r.direction = kinds.direction;
	r.source_kind = kinds.source;
	r.destination_kind = kinds.destination;
	r.is_async = 1;
	r.peer_device = kinds.direction == COPY_PEER ? to_u32(e->to_device) : DEVICE_UNKNOWN;
	import_sink_add(k->sink, 0, &r);
	struct join_facts facts = {
		.size_bytes = r.size_bytes,
		.device = r.gpu.device,
		.peer_device = r.peer_device,
		.direction = r.direction,
		.source_kind = r.source_kind,
		.destination_kind = r.destination_kind,
	};
	if (!r.gpu.graph_node)
		import_join_gpu(k->join, r.gpu.correlation, &facts);
}

static void add_set(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	struct record_gpu_set r = {0};
	if (!fill_gpu(k, RECORD_KIND_gpu_set, sizeof(r), &r.gpu))
		return;
	r.size_bytes = to_size(e->bytes);
	r.memory_kind = MEMORY_DEVICE;
	import_sink_add(k->sink, 0, &r);
	struct join_facts facts = {
		.size_bytes = r.size_bytes, .device = r.gpu.device, .peer_device = DEVICE_UNKNOWN};
	if (!r.gpu.graph_node)
		import_join_gpu(k->join, r.gpu.correlation, &facts);
}

static void add_sync(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	struct record_gpu_sync r = {0};
	if (!fill_gpu(k, RECORD_KIND_gpu_sync, sizeof(r), &r.gpu))
		return;
	if (json_is(&e->name, "Stream Wait Event"))
		r.scope = 4;
	else if (memmem(e->name.at, e->name.length, "Event", 5))
		r.scope = SYNC_EVENT;
	else if (memmem(e->name.at, e->name.length, "Stream", 6))
		r.scope = SYNC_STREAM;
	else
		r.scope = SYNC_DEVICE;
	import_sink_add(k->sink, 0, &r);
}

void kineto_gpu_event(struct kineto *k)
{
	switch (k->event.category) {
	case KINETO_KERNEL:
		add_kernel(k);
		break;
	case KINETO_COPY:
		add_copy(k);
		break;
	case KINETO_SET:
		add_set(k);
		break;
	default:
		add_sync(k);
		break;
	}
}

static void read_device(struct kineto *k, struct json_cursor *cursor)
{
	struct record_device r = {.numa_node = -1};
	struct json_slice key, value, name = {"", 0, true, false};
	bool is_first = true, done = false;
	int64_t ordinal = -1;
	while (json_member(cursor, &is_first, &key, &done) == JSON_OK && !done) {
		if (json_value(cursor, &value) != JSON_OK)
			return;
		int64_t number = 0;
		bool is_number = json_to_int(&value, &number) && number >= 0;
		if (json_is(&key, "name") && value.is_string)
			name = value;
		else if (!is_number)
			continue;
		else if (json_is(&key, "id"))
			ordinal = number;
		else if (json_is(&key, "totalGlobalMem"))
			r.memory_bytes = (uint64_t)number;
		else if (json_is(&key, "numSms"))
			r.sm_count = to_u32(number);
		else if (json_is(&key, "computeMajor") && number < 1000)
			r.cc_major = (uint16_t)number;
		else if (json_is(&key, "computeMinor") && number < 1000)
			r.cc_minor = (uint16_t)number;
	}
	if (!done || ordinal < 0 || ordinal > 4096)
		return;
	r.ordinal = (uint32_t)ordinal;
	name = kineto_text(k, &name);
	if (memmem(name.at, name.length, "AMD", 3) || memmem(name.at, name.length, "Radeon", 6))
		k->has_amd = true;
	import_sink_device(k->sink, &r, name.at, name.length);
}

void kineto_devices(struct kineto *k, const struct json_slice *value)
{
	struct json_cursor cursor = {value->at, value->at + value->length};
	bool is_first = true, done = false;
	while (json_element(&cursor, &is_first, &done) == JSON_OK && !done) {
		struct json_slice element;
		if (json_value(&cursor, &element) != JSON_OK)
			return;
		struct json_cursor inner = {element.at, element.at + element.length};
		read_device(k, &inner);
	}
}
