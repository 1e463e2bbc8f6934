/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the records of a source into the model's arrays, in whatever order they come. Descriptions
 * that repeat (kernels, copies of one size, shapes of matrix products, sites) are kept once. Links
 * between the arrays come later, in model_link.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "big_array.h"
#include "error.h"
#include "event_time.h"
#include "kernel_name.h"
#include "model_internal.h"
#include "text.h"
#include "xmalloc.h"

#define LEGACY_STREAM 1u /* cudaStreamLegacy; 0 means the same without per-thread streams */

uint32_t collect_site(struct model_builder *builder, uint64_t id)
{
	struct model *model = builder->model;
	uint64_t *slot;
	uint32_t known;
	bool is_new;

	if (!id)
		return 0;
	if (id_cache_find(&builder->site_cache, id, &known))
		return known;
	slot = map_slot(&builder->sites, id, &is_new);
	if (is_new) {
		if (model->site_count == builder->site_capacity)
			model->sites = array_grow(model->sites, &builder->site_capacity,
						  sizeof(*model->sites));
		*slot = model->site_count;
		model->sites[model->site_count++] = (struct model_site){
			.id = id,
			.record = model->source.site(model->source.context, id),
		};
	}
	id_cache_put(&builder->site_cache, id, (uint32_t)*slot);
	return (uint32_t)*slot;
}

uint16_t collect_api(struct model_builder *builder, uint16_t id)
{
	struct model *model = builder->model;
	const char *name;

	if (!builder->apis)
		builder->apis = xcalloc(UINT16_MAX + 1, sizeof(*builder->apis));
	if (!id || builder->apis[id])
		return builder->apis[id];
	if (model->api_count > UINT16_MAX)
		return 0;
	if (model->api_count == builder->api_capacity)
		model->apis = array_grow(model->apis, &builder->api_capacity, sizeof(*model->apis));
	name = model->source.name(model->source.context, NAME_API, id);
	builder->apis[id] = (uint16_t)model->api_count;
	model->apis[model->api_count++] = name ? name : model->apis[0];
	return builder->apis[id];
}

uint32_t collect_named_kernel(struct model_builder *builder, uint64_t id, const char *name)
{
	struct model *model = builder->model;
	struct model_kernel *kernel;
	uint64_t *slot;
	bool is_new;

	slot = map_slot(&builder->kernels, id, &is_new);
	id_cache_put(&builder->kernel_cache, id,
		     is_new ? (uint32_t)model->kernel_count : (uint32_t)*slot);
	if (!is_new)
		return (uint32_t)*slot;
	if (model->kernel_count == builder->kernel_capacity)
		model->kernels = array_grow(model->kernels, &builder->kernel_capacity,
					    sizeof(*model->kernels));
	*slot = model->kernel_count;
	kernel = &model->kernels[model->kernel_count++];
	memset(kernel, 0, sizeof(*kernel));
	kernel->id = id;
	kernel->name = name ? name : "unknown kernel";
	kernel->short_name = kernel_short_name(kernel->name);
	kernel->traits = kernel_traits_of(kernel->name);
	return (uint32_t)*slot;
}

uint32_t collect_kernel(struct model_builder *builder, uint64_t id)
{
	const struct model *model = builder->model;
	uint32_t known;

	if (id_cache_find(&builder->kernel_cache, id, &known))
		return known;
	return collect_named_kernel(builder, id,
				    id ? model->source.name(model->source.context, NAME_KERNEL, id)
				       : NULL);
}

uint32_t collect_transfer(struct model_builder *builder, const struct transfer *transfer)
{
	struct model *model = builder->model;
	uint64_t kinds =
		(uint64_t)transfer->direction | (uint64_t)transfer->source_kind << 8 |
		(uint64_t)transfer->destination_kind << 16 | (uint64_t)transfer->is_async << 24 |
		(uint64_t)transfer->is_default_stream << 25 | (uint64_t)transfer->peer << 32;
	uint64_t hash = map_mix(map_mix(transfer->size_bytes, transfer->host_address), kinds);
	uint64_t *slot;
	bool is_new;

	/* map_mix is a bijection of neither number, so compare and step on in the rare collision.
	 */
	for (;; hash++) {
		const struct transfer *known;

		slot = map_slot(&builder->transfers, hash, &is_new);
		if (is_new)
			break;
		known = &model->transfers[*slot];
		if (known->size_bytes == transfer->size_bytes &&
		    known->host_address == transfer->host_address &&
		    known->direction == transfer->direction &&
		    known->source_kind == transfer->source_kind &&
		    known->destination_kind == transfer->destination_kind &&
		    known->is_async == transfer->is_async &&
		    known->is_default_stream == transfer->is_default_stream &&
		    known->peer == transfer->peer)
			return (uint32_t)*slot;
	}
	if (model->transfer_count == builder->transfer_capacity)
		model->transfers = array_grow(model->transfers, &builder->transfer_capacity,
					      sizeof(*model->transfers));
	*slot = model->transfer_count;
	model->transfers[model->transfer_count++] = *transfer;
	return (uint32_t)*slot;
}

uint16_t collect_device(struct model_builder *builder, uint32_t ordinal)
{
	struct model *model = builder->model;
	struct model_device *device;
	uint64_t *slot;
	bool is_new;

	if (ordinal == DEVICE_UNKNOWN)
		return MODEL_NO_DEVICE;
	if (builder->has_last_device && builder->last_ordinal == ordinal)
		return builder->last_device;
	slot = map_slot(&builder->devices, ordinal, &is_new);
	builder->has_last_device = true;
	builder->last_ordinal = ordinal;
	builder->last_device = (uint16_t)*slot;
	if (!is_new)
		return (uint16_t)*slot;
	*slot = builder->last_device = MODEL_NO_DEVICE;
	if (model->device_count == MODEL_NO_DEVICE - 1)
		return MODEL_NO_DEVICE;
	if (model->device_count == builder->device_capacity)
		model->devices = array_grow(model->devices, &builder->device_capacity,
					    sizeof(*model->devices));
	*slot = model->device_count;
	builder->last_device = (uint16_t)*slot;
	device = &model->devices[model->device_count++];
	memset(device, 0, sizeof(*device));
	device->ordinal = ordinal;
	device->name = "unknown GPU";
	return (uint16_t)*slot;
}

/* Everything of a call but its times, its numbers and its thread. */
static struct host_call call_of(struct model_builder *builder, uint16_t kind,
				const struct call_part *part)
{
	return (struct host_call){
		.site = collect_site(builder, part->site),
		.status = part->status,
		.api = collect_api(builder, part->api),
		.device = collect_device(builder, part->device),
		.kind = (uint8_t)kind,
		.flags = (uint8_t)(part->flags & (CALL_STREAM_KNOWN - 1)),
	};
}

static void collect_memory(struct model_builder *builder, const struct record_memory *record,
			   struct host_call *call)
{
	struct model *model = builder->model;
	bool is_device =
		record->memory_kind == MEMORY_DEVICE || record->memory_kind == MEMORY_ARRAY ||
		record->memory_kind == MEMORY_MANAGED || record->memory_kind == MEMORY_POOL ||
		record->memory_kind == MEMORY_PHYSICAL;

	if (model->memory_event_count == builder->event_capacity)
		model->memory_events =
			big_array_grow(model->memory_events, &builder->event_capacity,
				       sizeof(*model->memory_events));
	call->detail = (uint32_t)model->memory_event_count;
	model->memory_events[model->memory_event_count++] = (struct memory_event){
		.time_ns = record->op == MEMORY_ALLOC || record->op == MEMORY_MAP ? call->end_ns
										  : call->begin_ns,
		.address = record->address,
		.size_bytes = record->size_bytes,
		.backing = record->backing,
		.call = (uint32_t)(call - model->calls),
		.device = is_device ? call->device : MODEL_NO_DEVICE,
		.op = record->op,
		.kind = record->memory_kind,
	};
}

uint16_t collect_peer(uint32_t peer_device)
{
	return peer_device < MODEL_NO_DEVICE ? (uint16_t)peer_device : MODEL_NO_DEVICE;
}

static bool is_legacy_stream(const struct host_call *call, uint64_t stream)
{
	return stream <= LEGACY_STREAM && !(call->flags & CALL_PER_THREAD_STREAM);
}

static void collect_stream(struct host_call *call, uint64_t stream)
{
	call->flags |= CALL_STREAM_KNOWN;
	if (is_legacy_stream(call, stream))
		call->flags |= CALL_DEFAULT_STREAM;
}

static void collect_copy(struct model_builder *builder, const struct record_copy *record,
			 struct host_call *call)
{
	/* Imported copies have neither addresses nor streams; 0 means nothing there. */
	bool has_addresses = record->source && record->destination;
	struct transfer transfer = {
		.size_bytes = record->size_bytes,
		.host_address = has_addresses && record->direction == COPY_H2D ? record->source : 0,
		.direction = record->direction,
		.source_kind = record->source_kind,
		.destination_kind = record->destination_kind,
		.is_async = (call->flags & CALL_ASYNC) != 0,
		.is_default_stream = has_addresses && is_legacy_stream(call, record->stream),
		.peer = collect_peer(record->peer_device),
	};

	call->detail = collect_transfer(builder, &transfer);
	if (has_addresses)
		collect_stream(call, record->stream);
}

static void collect_launch(struct model_builder *builder, const struct record_launch *record,
			   struct host_call *call)
{
	call->detail = collect_kernel(builder, record->kernel);
	if (!builder->is_imported)
		collect_stream(call, record->stream);
}

struct host_call collect_describe(struct model_builder *builder, uint16_t kind, const void *record)
{
	struct transfer set = {.direction = TRANSFER_SET, .is_async = 1, .peer = MODEL_NO_DEVICE};
	struct host_call call = call_of(builder, kind, record);

	switch (kind) {
	case RECORD_KIND_sync:
		call.detail = ((const struct record_sync *)record)->scope;
		break;
	case RECORD_KIND_launch:
		collect_launch(builder, record, &call);
		break;
	case RECORD_KIND_copy:
		collect_copy(builder, record, &call);
		break;
	case RECORD_KIND_set:
		set.size_bytes = ((const struct record_set *)record)->size_bytes;
		call.detail = collect_transfer(builder, &set);
		break;
	case RECORD_KIND_gemm:
		call.detail = collect_gemm(builder, record);
		break;
	case RECORD_KIND_conv:
		call.detail = collect_conv(builder, record);
		break;
	default:
		break; /* collect_single() */
	}
	return call;
}

bool collect_is_single(const struct model *model, const struct host_call *call)
{
	switch (call->kind) {
	case RECORD_KIND_sync:
	case RECORD_KIND_launch:
	case RECORD_KIND_copy:
	case RECORD_KIND_set:
	case RECORD_KIND_gemm:
	case RECORD_KIND_conv:
		return false;
	case RECORD_KIND_call:
		return !strcmp(model->apis[call->api], "ncclGroupEnd");
	default:
		return true;
	}
}

void collect_single(struct model_builder *builder, const void *record, struct host_call *call)
{
	switch (call->kind) {
	case RECORD_KIND_graph:
		collect_graph_call(builder, record, call);
		if (call->kind == RECORD_KIND_launch)
			collect_stream(call, ((const struct record_graph *)record)->stream);
		break;
	case RECORD_KIND_memory:
		collect_memory(builder, record, call);
		break;
	default:
		collect_communication(builder, record, call);
		break;
	}
}

static int collect_host(struct model_builder *builder, const struct trace_batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		const void *record = (const char *)batch->rows + (size_t)i * batch->row_bytes;
		const struct call_part *part = record;
		uint16_t thread = collect_thread(builder, batch->thread[i]);
		struct host_call *call = call_place(builder, thread);

		if (!call)
			return -EAGAIN;
		*call = collect_describe(builder, batch->kind, record);
		call->thread = thread;
		call->begin_ns = event_time_host(builder->model, part->begin_ticks);
		call->end_ns =
			part->flags & CALL_NO_TIMES
				? call->begin_ns
				: event_time_end(call->begin_ns,
						 event_time_host(builder->model, part->end_ticks));
		call->parent = part->parent_id; /* becomes an index in model_link() */
		call->correlation = part->correlation;
		call->call_id = part->call_id;
		if (collect_is_single(builder->model, call))
			collect_single(builder, record, call);
	}
	return 0;
}

int collect_batch(void *context, const struct trace_batch *batch)
{
	struct model_builder *builder = context;

	if (builder->model->call_count + batch->count >= MODEL_NONE ||
	    builder->model->op_count + batch->count >= MODEL_NONE)
		return -E2BIG;
	switch (batch->kind) {
	case RECORD_KIND_gpu_kernel:
	case RECORD_KIND_gpu_copy:
	case RECORD_KIND_gpu_set:
	case RECORD_KIND_gpu_graph:
		collect_gpu(builder, batch);
		break;
	case RECORD_KIND_gpu_memory:
	case RECORD_KIND_gpu_pool:
		driver_memory_collect(builder, batch);
		break;
	case RECORD_KIND_mark:
		collect_marks(builder, batch);
		break;
	case RECORD_KIND_block:
		collect_blocks(builder, batch);
		break;
	case RECORD_KIND_sample:
		collect_samples(builder, batch);
		break;
	case RECORD_KIND_total:
		collect_totals(builder, batch);
		break;
	case RECORD_KIND_pages:
		collect_pages(builder, batch);
		break;
	default:
		return collect_host(builder, batch);
	}
	return 0;
}

/* The smallest ordinal of a described device from *ordinal on; false when there is none. */
static bool next_ordinal(const struct model_source *source, uint32_t *ordinal)
{
	uint32_t next = DEVICE_UNKNOWN;

	for (size_t i = 0; i < source->device_count(source->context); i++) {
		const struct record_device *record = source->device(source->context, i);

		if (record->ordinal >= *ordinal && record->ordinal < next)
			next = record->ordinal;
	}
	*ordinal = next;
	return next != DEVICE_UNKNOWN;
}

static void collect_descriptions(struct model_builder *builder)
{
	struct model *model = builder->model;
	void *context = model->source.context;

	/* Devices that were described again come last in the file: in order of the ordinals. */
	for (uint32_t ordinal = 0; next_ordinal(&model->source, &ordinal); ordinal++)
		collect_device(builder, ordinal);
	for (size_t i = 0; i < model->source.device_count(context); i++) {
		const struct record_device *record = model->source.device(context, i);
		uint16_t index = collect_device(builder, record->ordinal);

		if (index == MODEL_NO_DEVICE)
			continue;
		model->devices[index].record = record;
		model->devices[index].name = record->name;
		model->devices[index].is_simulated = (record->flags & DEVICE_SIMULATED) != 0;
	}
	for (size_t i = 0; i < model->source.thread_count(context); i++) {
		const struct record_thread *record = model->source.thread(context, i);
		uint16_t index = collect_thread(builder, record->thread);

		model->threads[index].thread_id = record->thread_id;
		model->threads[index].name = record->name;
	}
}

int model_collect(struct model_builder *builder, struct error *err)
{
	struct model *model = builder->model;
	int rc;

	builder->is_imported = model->source.info(model->source.context, "import.source") != NULL;
	collect_descriptions(builder);
	rc = call_places_find(builder, err);
	if (!rc)
		rc = op_places_find(builder, err);
	if (!rc)
		rc = model->source.read(model->source.context, MODEL_KINDS, collect_batch,
					collect_events, builder, err);
	call_places_close(builder);
	if (rc == -EAGAIN)
		return error_set(err, rc, "%s changed while it was read", model->source.path);
	if (rc == -E2BIG)
		return error_set(err, rc, "%s holds more than 4 billion events; split it",
				 model->source.path);
	if (rc)
		return error_because(err, rc, "Cannot read %s", model->source.path);
	return 0;
}
