/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and sets: when they happen on the modelled GPU, and the bytes. A small one with nothing
 * before it is done by the caller at once; a large asynchronous one goes to the worker thread, so
 * that the call returns as fast as a real one; a blocking one is the caller's own work. Each device
 * has one copy engine per direction, which all its streams share.
 */
#include "sim_graph.h"

#include <stdlib.h>
#include <string.h>

enum { DO_NOW_BYTES = 128 << 10 };

enum { H2D = 1, D2H = 2, D2D = 8, H2H = 9, P2P = 10 }; /* CUpti_ActivityMemcpyKind */

struct copy {
	struct sim_place to, from;
	struct sim_stream *stream;
	struct sim_device *device;
	struct sim_box box;
	size_t bytes;
	int direction;
	bool is_async, is_pageable;
	uint64_t begin_ns, end_ns;
	struct sim_copy_cost cost;
};

/* CUpti_ActivityMemoryKind of our kinds. */
static int cupti_memory_kind(enum sim_memory_kind kind)
{
	switch (kind) {
	case SIM_PAGEABLE:
		return 1;
	case SIM_HOST:
	case SIM_REGISTERED:
		return 2;
	case SIM_MANAGED:
		return 5;
	default:
		return 3;
	}
}

static bool is_on_device(const struct sim_place *place)
{
	switch (place->kind) {
	case SIM_PAGEABLE:
	case SIM_HOST:
	case SIM_REGISTERED:
		return false;
	default:
		return true;
	}
}

static void classify(struct copy *copy)
{
	bool to = is_on_device(&copy->to), from = is_on_device(&copy->from);

	copy->device = copy->stream->context->device;
	if (to && from)
		copy->direction = copy->to.device == copy->from.device ? D2D : P2P;
	else if (to)
		copy->direction = H2D;
	else
		copy->direction = from ? D2H : H2H;
	if (to && copy->to.kind != SIM_MANAGED)
		copy->device = copy->to.device;
	if (from && copy->from.kind != SIM_MANAGED)
		copy->device = copy->from.device;
	copy->is_pageable = copy->to.kind == SIM_PAGEABLE || copy->from.kind == SIM_PAGEABLE;
}

/* Peer access that either side has enabled lets the engines of one device reach the other. */
static bool is_direct(const struct copy *copy)
{
	return (copy->from.device->peers >> copy->to.device->ordinal & 1) ||
	       (copy->to.device->peers >> copy->from.device->ordinal & 1);
}

/* Which engines the copy needs; returns how many. */
static int find_engines(const struct copy *copy, uint64_t **engines)
{
	switch (copy->direction) {
	case D2D:
		return 0;
	case P2P:
		engines[0] = &copy->from.device->engine_tail_ns[1];
		engines[1] = &copy->to.device->engine_tail_ns[0];
		return is_direct(copy) ? 1 : 2;
	default:
		engines[0] = &copy->device->engine_tail_ns[copy->direction != H2D];
		return 1;
	}
}

/* The node of the host's memory. Pageable memory goes through the driver's own buffer, which the
 * caller fills or empties: so where the caller runs counts. */
static int host_node(const struct copy *copy)
{
	const struct sim_place *host = copy->direction == H2D ? &copy->from : &copy->to;

	return host->kind == SIM_PAGEABLE ? sim_link_node_of_caller() : host->node;
}

static uint64_t find_end(const struct copy *copy)
{
	int device = copy->device->physical;

	if (!sim_link_is_described() || copy->direction == D2D || copy->direction == H2H)
		return copy->begin_ns + copy->cost.busy_ns;
	if (copy->direction == P2P)
		return sim_link_peer_copy(copy->from.device->physical, copy->to.device->physical,
					  is_direct(copy), copy->bytes, copy->begin_ns);
	return sim_link_copy(device, copy->direction == D2H, copy->bytes, host_node(copy),
			     copy->cost.link_share, copy->cost.rate_limit, copy->begin_ns);
}

static void schedule(struct copy *copy)
{
	uint64_t begin = sim_clock_now_ns(), ready = sim_stream_ready_ns(copy->stream);
	uint64_t *engines[2] = {NULL, NULL};
	int count = find_engines(copy, engines);

	copy->cost = sim_model_copy(copy->device, copy->bytes, copy->direction, copy->is_pageable);
	if (copy->direction == P2P)
		copy->cost.busy_ns = sim_model_peer_ns(copy->from.device, copy->to.device,
						       is_direct(copy), copy->bytes);
	begin += copy->cost.start_ns;
	if (ready > begin)
		begin = ready;
	for (int i = 0; i < count; i++) {
		if (*engines[i] > begin)
			begin = *engines[i];
	}
	copy->begin_ns = begin;
	copy->end_ns = find_end(copy);
	for (int i = 0; i < count; i++)
		*engines[i] = copy->end_ns;
}

static void report(const struct sim_call *call, const struct copy *copy)
{
	struct simcuda_activity activity = {
		.kind = 2,
		.begin_ns = copy->begin_ns,
		.end_ns = copy->end_ns,
		.correlation = call->correlation,
		.device = (uint32_t)copy->device->ordinal,
		.context = copy->stream->context->id,
		.stream = copy->stream->id,
		.bytes = copy->bytes,
		.direction = copy->direction,
		.source_kind = cupti_memory_kind(copy->from.kind),
		.destination_kind = cupti_memory_kind(copy->to.kind),
		.is_async = copy->is_async,
	};

	if (copy->direction == P2P) {
		activity.source_device = (uint32_t)copy->from.device->ordinal;
		activity.destination_device = (uint32_t)copy->to.device->ordinal;
	}
	sim_activity_add(&activity);
}

/* Until when the caller is held: 0 for an asynchronous copy, or inside the device. */
static uint64_t host_is_free_ns(const struct copy *copy)
{
	if (copy->direction == D2D || copy->direction == P2P || copy->cost.is_in_command)
		return 0;
	if (copy->is_async && !copy->is_pageable)
		return 0;
	return copy->end_ns - copy->cost.unstaged_ns;
}

/* What the caller may overwrite at once is kept aside, row after row. */
static bool keep_aside(struct sim_job *move)
{
	struct sim_job keep = *move;

	move->owned = malloc(sim_box_bytes(&move->box));
	if (!move->owned)
		return false;
	keep.to = move->owned;
	keep.box.to_pitch = keep.box.width;
	keep.box.to_slice = keep.box.width * keep.box.rows;
	sim_worker_run_now(&keep);
	move->from = move->owned;
	move->box.from_pitch = keep.box.to_pitch;
	move->box.from_slice = keep.box.to_slice;
	return true;
}

/* Moves the bytes, or sees to it that they will be moved. */
static CUresult move(struct sim_call *call, const struct copy *copy)
{
	struct sim_job move = {.type = JOB_MOVE,
			       .to = copy->to.bytes,
			       .from = copy->from.bytes,
			       .bytes = copy->bytes,
			       .box = copy->box};

	if (host_is_free_ns(copy) > 0) {
		sim_call_wait_now(call, 0, sim_stream_after(copy->stream));
		sim_unlock();
		sim_worker_run_now(&move);
		sim_lock();
		return CUDA_SUCCESS;
	}
	if (sim_worker_is_idle() && copy->bytes <= DO_NOW_BYTES) {
		sim_worker_run_now(&move);
		return CUDA_SUCCESS;
	}
	if (copy->cost.is_in_command && !keep_aside(&move))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!sim_worker_add(copy->stream, &move)) {
		free(move.owned);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

static const char *direction_text(const struct copy *copy, unsigned flags)
{
	switch (copy->direction) {
	case H2D:
		return "h2d";
	case D2H:
		return "d2h";
	case H2H:
		return "h2h";
	default:
		return flags & COPY_IS_PEER ? "peer" : "d2d";
	}
}

/* The copy as a node, with the sides as the driver sees them. */
static CUresult capture_copy(struct sim_stream *stream, const struct copy *copy, uint64_t to,
			     uint64_t from)
{
	struct sim_node_work work = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
	const struct sim_box *box = &copy->box;

	work.copy = (CUDA_MEMCPY3D){
		.srcMemoryType =
			is_on_device(&copy->from) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
		.dstMemoryType =
			is_on_device(&copy->to) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
		.srcHost = (const void *)(uintptr_t)from,
		.srcDevice = from,
		.srcPitch = box->from_pitch,
		.srcHeight = box->from_pitch ? box->from_slice / box->from_pitch : 0,
		.dstHost = (void *)(uintptr_t)to,
		.dstDevice = to,
		.dstPitch = box->to_pitch,
		.dstHeight = box->to_pitch ? box->to_slice / box->to_pitch : 0,
		.WidthInBytes = box->width,
		.Height = box->rows,
		.Depth = box->slices,
	};
	return sim_capture_add(stream, &work);
}

static CUresult capture_set(struct sim_stream *stream, uint64_t to, uint32_t value, unsigned width,
			    const struct sim_box *box)
{
	struct sim_node_work work = {.type = CU_GRAPH_NODE_TYPE_MEMSET};

	if (box->slices > 1)
		return sim_capture_refuse(stream);
	work.set = (CUDA_MEMSET_NODE_PARAMS){.dst = to,
					     .pitch = box->to_pitch,
					     .value = value,
					     .elementSize = width,
					     .width = box->width / width,
					     .height = box->rows};
	return sim_capture_add(stream, &work);
}

static bool find_places(struct copy *copy, uint64_t to, uint64_t from, unsigned flags)
{
	const struct sim_box *box = &copy->box;

	if (!to || !from ||
	    !sim_memory_place(to, sim_box_span(box, box->to_pitch, box->to_slice), &copy->to) ||
	    !sim_memory_place(from, sim_box_span(box, box->from_pitch, box->from_slice),
			      &copy->from))
		return false;
	return !(copy->to.kind == SIM_PAGEABLE && (flags & COPY_TO_KNOWN)) &&
	       !(copy->from.kind == SIM_PAGEABLE && (flags & COPY_FROM_KNOWN));
}

CUresult sim_copy_box(struct sim_call *call, uint64_t to, uint64_t from, const struct sim_box *box,
		      CUstream stream, unsigned flags, const char **direction)
{
	struct copy copy = {
		.box = *box, .bytes = sim_box_bytes(box), .is_async = flags & COPY_ASYNC};
	CUresult result;

	copy.stream = sim_stream_find(call, stream);
	if (!copy.stream)
		return CUDA_ERROR_INVALID_HANDLE;
	result = sim_capture_check(call, copy.stream,
				   copy.is_async ? CAPTURE_QUEUES : CAPTURE_WAITS);
	if (result)
		return result;
	if (copy.bytes == 0)
		return CUDA_SUCCESS;
	if (!find_places(&copy, to, from, flags))
		return CUDA_ERROR_INVALID_VALUE;
	classify(&copy);
	*direction = direction_text(&copy, flags);
	if (copy.stream->capture)
		return capture_copy(copy.stream, &copy, to, from);
	schedule(&copy);
	/* The stream is advanced before the lock can be given up. */
	sim_stream_advance(copy.stream, copy.end_ns, copy.stream->after);
	report(call, &copy);
	result = move(call, &copy);
	if (result)
		return result;
	sim_call_wait(call, host_is_free_ns(&copy), (struct sim_after){0});
	return CUDA_SUCCESS;
}

CUresult sim_copy(struct sim_call *call, uint64_t to, uint64_t from, size_t bytes, CUstream stream,
		  unsigned flags)
{
	struct sim_box box = sim_box_of_bytes(bytes);
	const char *direction = NULL;
	CUresult result;

	SIM_NOTE(call, "dst=0x%llx\tsrc=0x%llx\tbytes=%zu\tstream=0x%llx\tasync=%d",
		 (unsigned long long)to, (unsigned long long)from, bytes, sim_handle(stream),
		 (flags & COPY_ASYNC) != 0);
	result = sim_copy_box(call, to, from, &box, stream, flags, &direction);
	if (direction)
		SIM_NOTE(call, "direction=%s", direction);
	return result;
}

static void report_set(const struct sim_call *call, struct sim_stream *stream, size_t bytes,
		       uint32_t value, enum sim_memory_kind kind, bool is_async)
{
	uint64_t begin = sim_clock_now_ns() + sim_model_launch_latency_ns();
	struct simcuda_activity activity = {
		.kind = 3,
		.correlation = call->correlation,
		.device = (uint32_t)stream->context->device->ordinal,
		.context = stream->context->id,
		.stream = stream->id,
		.bytes = bytes,
		.value = value,
		.destination_kind = cupti_memory_kind(kind),
		.is_async = is_async,
	};

	if (sim_stream_ready_ns(stream) > begin)
		begin = sim_stream_ready_ns(stream);
	activity.begin_ns = begin;
	activity.end_ns = begin + sim_model_set_ns(stream->context->device, bytes);
	sim_stream_advance(stream, activity.end_ns, stream->after);
	sim_activity_add(&activity);
}

CUresult sim_copy_set_box(struct sim_call *call, uint64_t to, uint32_t value, unsigned width,
			  const struct sim_box *box, CUstream stream_handle, bool is_async)
{
	struct sim_stream *stream = sim_stream_find(call, stream_handle);
	size_t bytes = sim_box_bytes(box);
	struct sim_job set = {
		.type = JOB_SET, .value = value, .width = width, .bytes = bytes, .box = *box};
	struct sim_place place;
	CUresult result;

	SIM_NOTE(call, "dst=0x%llx\tvalue=%u\tbytes=%zu\tstream=0x%llx\tasync=%d",
		 (unsigned long long)to, value, bytes, sim_handle(stream_handle), is_async);
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	result = sim_capture_check(call, stream, is_async ? CAPTURE_QUEUES : CAPTURE_WAITS);
	if (result)
		return result;
	if (bytes == 0)
		return CUDA_SUCCESS;
	if (to % width != 0 || box->to_pitch % width != 0 ||
	    !sim_memory_place(to, sim_box_span(box, box->to_pitch, box->to_slice), &place) ||
	    place.kind == SIM_PAGEABLE)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->capture)
		return capture_set(stream, to, value, width, box);
	set.to = place.bytes;
	set.is_device_memory = place.kind == SIM_DEVICE;
	if (sim_worker_is_idle() && bytes <= DO_NOW_BYTES) {
		sim_worker_run_now(&set);
	} else if (!sim_worker_add(stream, &set)) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	report_set(call, stream, bytes, value, place.kind, is_async);
	return CUDA_SUCCESS;
}

CUresult sim_copy_set(struct sim_call *call, uint64_t to, uint32_t value, unsigned width,
		      size_t count, CUstream stream, bool is_async)
{
	struct sim_box box = sim_box_of_bytes(count * width);

	if (count * width / width != count)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_copy_set_box(call, to, value, width, &box, stream, is_async);
}
