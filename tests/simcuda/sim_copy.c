/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and sets: when they happen on the modelled GPU, and the bytes. A small one with nothing
 * before it is done by the caller at once; a large asynchronous one goes to the worker thread, so
 * that the call returns as fast as a real one; a blocking one is the caller's own work. Each device
 * has one copy engine per direction, which all its streams share.
 */
#include "sim_api.h"

#include <stdlib.h>
#include <string.h>

enum { DO_NOW_BYTES = 128 << 10 };

enum { H2D = 1, D2H = 2, D2D = 8, H2H = 9, P2P = 10 }; /* CUpti_ActivityMemcpyKind */

/* CUpti_ActivityMemoryKind of our kinds. */
static const int cupti_memory_kinds[] = {
	[SIM_DEVICE] = 3,  [SIM_HOST] = 2,     [SIM_REGISTERED] = 2,
	[SIM_MANAGED] = 5, [SIM_PAGEABLE] = 1,
};

struct copy {
	struct sim_place to, from;
	struct sim_stream *stream;
	struct sim_device *device;
	size_t bytes;
	int direction;
	bool is_async, is_pageable;
	uint64_t begin_ns, end_ns;
	struct sim_copy_cost cost;
};

static bool is_on_device(const struct sim_place *place)
{
	return place->kind == SIM_DEVICE || place->kind == SIM_MANAGED;
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
	if (to && copy->to.kind == SIM_DEVICE)
		copy->device = copy->to.device;
	if (from && copy->from.kind == SIM_DEVICE)
		copy->device = copy->from.device;
	copy->is_pageable = copy->to.kind == SIM_PAGEABLE || copy->from.kind == SIM_PAGEABLE;
}

static void schedule(struct copy *copy)
{
	uint64_t begin = sim_clock_now_ns(), ready = sim_stream_ready_ns(copy->stream);
	uint64_t *engine = NULL;

	copy->cost = sim_model_copy(copy->device, copy->bytes, copy->direction, copy->is_pageable);
	begin += copy->cost.start_ns;
	if (copy->direction != D2D)
		engine = &copy->device->engine_tail_ns[copy->direction != H2D];
	if (ready > begin)
		begin = ready;
	if (engine && *engine > begin)
		begin = *engine;
	copy->begin_ns = begin;
	copy->end_ns = begin + copy->cost.busy_ns;
	if (engine)
		*engine = copy->end_ns;
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
		.source_kind = cupti_memory_kinds[copy->from.kind],
		.destination_kind = cupti_memory_kinds[copy->to.kind],
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

/* Moves the bytes, or sees to it that they will be moved. */
static CUresult move(struct sim_call *call, const struct copy *copy)
{
	struct sim_job move = {.type = JOB_MOVE,
			       .to = copy->to.bytes,
			       .from = copy->from.bytes,
			       .bytes = copy->bytes};

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
	if (copy->cost.is_in_command) {
		move.owned = malloc(copy->bytes);
		if (!move.owned)
			return CUDA_ERROR_OUT_OF_MEMORY;
		memcpy(move.owned, copy->from.bytes, copy->bytes);
		move.from = move.owned;
	}
	if (!sim_worker_add(copy->stream, &move)) {
		free(move.owned);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

static const char *direction_text(int direction)
{
	return direction == H2D	  ? "h2d"
	       : direction == D2H ? "d2h"
	       : direction == H2H ? "h2h"
				  : "d2d";
}

CUresult sim_copy(struct sim_call *call, uint64_t to, uint64_t from, size_t bytes, CUstream stream,
		  unsigned flags)
{
	struct copy copy = {.bytes = bytes, .is_async = flags & COPY_ASYNC};
	CUresult result;

	SIM_NOTE(call, "dst=0x%llx\tsrc=0x%llx\tbytes=%zu\tstream=0x%llx\tasync=%d",
		 (unsigned long long)to, (unsigned long long)from, bytes, sim_handle(stream),
		 copy.is_async);
	copy.stream = sim_stream_find(call, stream);
	if (!copy.stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (bytes == 0)
		return CUDA_SUCCESS;
	if (!to || !from || !sim_memory_place(to, bytes, &copy.to) ||
	    !sim_memory_place(from, bytes, &copy.from))
		return CUDA_ERROR_INVALID_VALUE;
	if ((copy.to.kind == SIM_PAGEABLE && (flags & COPY_TO_KNOWN)) ||
	    (copy.from.kind == SIM_PAGEABLE && (flags & COPY_FROM_KNOWN)))
		return CUDA_ERROR_INVALID_VALUE;
	classify(&copy);
	SIM_NOTE(call, "direction=%s", direction_text(copy.direction));
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

CUresult sim_copy_set(struct sim_call *call, uint64_t to, uint32_t value, unsigned width,
		      size_t count, CUstream stream_handle, bool is_async)
{
	struct sim_job set = {.type = JOB_SET, .value = value, .width = width};
	struct sim_stream *stream = sim_stream_find(call, stream_handle);
	struct simcuda_activity activity = {.kind = 3};
	size_t bytes = count * width;
	struct sim_place place;
	uint64_t begin;

	SIM_NOTE(call, "dst=0x%llx\tvalue=%u\tbytes=%zu\tstream=0x%llx\tasync=%d",
		 (unsigned long long)to, value, bytes, sim_handle(stream_handle), is_async);
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (count == 0)
		return CUDA_SUCCESS;
	if (to % width != 0 || bytes / width != count || !sim_memory_place(to, bytes, &place) ||
	    place.kind == SIM_PAGEABLE)
		return CUDA_ERROR_INVALID_VALUE;
	set.to = place.bytes;
	set.bytes = bytes;
	set.is_device_memory = place.kind == SIM_DEVICE;
	if (sim_worker_is_idle() && bytes <= DO_NOW_BYTES) {
		sim_worker_run_now(&set);
	} else if (!sim_worker_add(stream, &set)) {
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	begin = sim_clock_now_ns() + sim_model_launch_latency_ns();
	if (sim_stream_ready_ns(stream) > begin)
		begin = sim_stream_ready_ns(stream);
	activity.begin_ns = begin;
	activity.end_ns = begin + sim_model_set_ns(stream->context->device, bytes);
	activity.correlation = call->correlation;
	activity.device = (uint32_t)stream->context->device->ordinal;
	activity.context = stream->context->id;
	activity.stream = stream->id;
	activity.bytes = bytes;
	activity.value = value;
	activity.destination_kind = cupti_memory_kinds[place.kind];
	activity.is_async = is_async;
	sim_stream_advance(stream, activity.end_ns, stream->after);
	sim_activity_add(&activity);
	return CUDA_SUCCESS;
}
