/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams: when work may begin, what it comes after, and the stream functions of the API. A stream
 * is a time (its work is over then) and a job number. The legacy default stream waits for all
 * blocking streams of its context and they for it; the context keeps the newest of both, so that
 * this costs nothing per stream.
 */
#include "sim_api.h"
#include "sim_capture.h"

#include <stdlib.h>

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct sim_stream *sim_stream_new(struct sim_context *context, unsigned flags, int priority)
{
	static uint64_t last_unique_id;
	struct sim_stream *stream = sim_pool_new(POOL_STREAM);

	if (!stream)
		return NULL;
	stream->context = context;
	stream->flags = flags;
	stream->priority = priority;
	stream->is_blocking = !(flags & CU_STREAM_NON_BLOCKING);
	stream->unique_id = ++last_unique_id;
	stream->id = context->next_stream_id++;
	stream->next = context->streams;
	context->streams = stream;
	return stream;
}

void sim_stream_free(struct sim_stream *stream)
{
	struct sim_stream **link = &stream->context->streams;

	while (*link != stream)
		link = &(*link)->next;
	sim_capture_forget_stream(stream);
	*link = stream->next;
	free(stream->queue_ends);
	sim_pool_free(POOL_STREAM, stream);
}

static struct sim_stream *stream_of_thread(struct sim_thread *thread, struct sim_context *context)
{
	struct sim_stream *stream;

	if (thread->stream_context_id == context->unique_id)
		return thread->stream;
	for (stream = context->streams; stream && stream->owner != thread; stream = stream->next)
		;
	if (!stream) {
		stream = sim_stream_new(context, CU_STREAM_DEFAULT, 0);
		if (!stream)
			return NULL;
		stream->owner = thread;
	}
	thread->stream_context_id = context->unique_id;
	thread->stream = stream;
	return stream;
}

static struct sim_stream *find_stream(struct sim_call *call, CUstream handle)
{
	struct sim_stream *stream = (struct sim_stream *)handle;

	if (handle == CU_STREAM_PER_THREAD || (!handle && call->is_per_thread))
		return stream_of_thread(call->thread, call->context);
	if (!handle || handle == CU_STREAM_LEGACY)
		return call->context->legacy;
	return sim_pool_holds(POOL_STREAM, handle) && !stream->owner ? stream : NULL;
}

/* Waits for the other processes of an open kernel, so the lock may be given up. */
struct sim_stream *sim_stream_find(struct sim_call *call, CUstream handle)
{
	struct sim_stream *stream = find_stream(call, handle);

	if (!stream || !sim_meeting_is_open(stream))
		return stream;
	sim_meeting_settle_stream(stream);
	return find_stream(call, handle);
}

uint64_t sim_stream_ready_ns(const struct sim_stream *stream)
{
	if (stream->is_legacy)
		return max_of(stream->tail_ns, stream->context->blocking_tail_ns);
	if (stream->is_blocking)
		return max_of(stream->tail_ns, stream->context->legacy->tail_ns);
	return stream->tail_ns;
}

struct sim_after sim_stream_after(const struct sim_stream *stream)
{
	if (stream->is_legacy)
		return sim_worker_join(stream->after, stream->context->blocking_after);
	if (stream->is_blocking)
		return sim_worker_join(stream->after, stream->context->legacy->after);
	return stream->after;
}

void sim_stream_advance(struct sim_stream *stream, uint64_t end_ns, struct sim_after after)
{
	struct sim_context *context = stream->context;

	stream->tail_ns = max_of(stream->tail_ns, end_ns);
	stream->after = sim_worker_join(stream->after, after);
	context->tail_ns = max_of(context->tail_ns, end_ns);
	context->after = sim_worker_join(context->after, after);
	if (stream->is_blocking && !stream->is_legacy) {
		context->blocking_tail_ns = max_of(context->blocking_tail_ns, end_ns);
		context->blocking_after = sim_worker_join(context->blocking_after, after);
	}
}

CUresult sim_stream_create(struct sim_call *call, CUstream *stream, unsigned flags, int priority)
{
	struct sim_stream *created;

	SIM_NOTE(call, "flags=%u", flags);
	if (!stream || flags > CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	if (priority > SIM_PRIORITY_LEAST)
		priority = SIM_PRIORITY_LEAST;
	if (priority < SIM_PRIORITY_GREATEST)
		priority = SIM_PRIORITY_GREATEST;
	created = sim_stream_new(call->context, flags, priority);
	if (!created)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*stream = (CUstream)created;
	SIM_NOTE(call, "stream=0x%llx\tid=%u", sim_handle(created), created->id);
	return CUDA_SUCCESS;
}

/* Work in a destroyed stream still completes, so the context remembers its end. */
CUresult sim_stream_destroy(struct sim_call *call, CUstream handle)
{
	struct sim_stream *stream = (struct sim_stream *)handle;

	SIM_NOTE(call, "stream=0x%llx", sim_handle(handle));
	if (!sim_pool_holds(POOL_STREAM, handle) || stream->owner || stream->is_legacy)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_meeting_settle_stream(stream);
	if (!sim_pool_holds(POOL_STREAM, handle))
		return CUDA_ERROR_INVALID_HANDLE;
	sim_stream_free(stream);
	return CUDA_SUCCESS;
}

CUresult sim_stream_synchronize(struct sim_call *call, CUstream handle)
{
	struct sim_stream *stream = sim_stream_find(call, handle);
	CUresult result;

	SIM_NOTE(call, "stream=0x%llx", sim_handle(handle));
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	result = sim_capture_check(call, stream, CAPTURE_WAITS);
	if (result)
		return result;
	call->is_waiting_without_spin = call->context->flags & CU_CTX_SCHED_BLOCKING_SYNC;
	call->sync_type = SIM_SYNC_STREAM;
	call->sync_stream = stream->id;
	sim_call_wait(call, sim_stream_ready_ns(stream), sim_stream_after(stream));
	return CUDA_SUCCESS;
}

CUresult sim_stream_query(struct sim_call *call, CUstream handle)
{
	struct sim_stream *stream = find_stream(call, handle);
	CUresult result;

	SIM_NOTE(call, "stream=0x%llx", sim_handle(handle));
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_meeting_poll();
	if (sim_meeting_is_open(stream))
		return CUDA_ERROR_NOT_READY;
	result = sim_capture_check(call, stream, CAPTURE_WAITS);
	if (result)
		return result;
	return sim_clock_is_over(sim_stream_ready_ns(stream)) &&
			       sim_worker_is_done(sim_stream_after(stream))
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_NOT_READY;
}

CUresult sim_stream_wait_event(struct sim_call *call, CUstream handle, CUevent event_handle,
			       unsigned flags)
{
	struct sim_stream *stream = sim_stream_find(call, handle);
	struct sim_event *event = (struct sim_event *)event_handle;
	CUresult result;

	SIM_NOTE(call, "stream=0x%llx\tevent=0x%llx", sim_handle(handle), sim_handle(event_handle));
	if (!stream || !sim_pool_holds(POOL_EVENT, event_handle))
		return CUDA_ERROR_INVALID_HANDLE;
	result = sim_capture_check(call, stream, CAPTURE_QUEUES);
	if (result)
		return result;
	if (stream->capture || event->capture_id)
		return sim_capture_wait(stream, event, flags & CU_EVENT_WAIT_EXTERNAL);
	if (event->is_recorded)
		sim_stream_advance(stream, event->time_ns, event->after);
	call->sync_type = SIM_SYNC_STREAM_WAIT_EVENT;
	call->sync_stream = stream->id;
	return CUDA_SUCCESS;
}

CUresult sim_stream_host_function(struct sim_call *call, CUstream handle, CUhostFn function,
				  CUstreamCallback callback, void *data)
{
	struct sim_stream *stream = sim_stream_find(call, handle);
	struct sim_job job = {.type = JOB_HOST,
			      .function = function,
			      .callback = callback,
			      .handle = handle,
			      .data = data};
	CUresult result;

	SIM_NOTE(call, "stream=0x%llx", sim_handle(handle));
	if (!function && !callback)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	result = sim_capture_check(call, stream, CAPTURE_QUEUES);
	if (result)
		return result;
	/* Callbacks of the old kind cannot be captured. */
	if (stream->capture)
		return callback ? sim_capture_refuse(stream)
				: sim_capture_host_function(stream, function, data);
	job.when_ns = max_of(sim_stream_ready_ns(stream), sim_clock_now_ns());
	if (!sim_worker_add(stream, &job))
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_stream_advance(stream, job.when_ns, stream->after);
	return CUDA_SUCCESS;
}

CUresult sim_stream_get(struct sim_call *call, CUstream handle, enum sim_stream_property property,
			void *value)
{
	const struct sim_stream *stream = sim_stream_find(call, handle);

	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	switch (property) {
	case STREAM_CONTEXT:
		*(CUcontext *)value = (CUcontext)stream->context;
		break;
	case STREAM_DEVICE:
		*(CUdevice *)value = stream->context->device->ordinal;
		break;
	case STREAM_FLAGS:
		*(unsigned *)value = stream->flags;
		break;
	case STREAM_PRIORITY:
		*(int *)value = stream->priority;
		break;
	case STREAM_ID:
		*(unsigned long long *)value = stream->unique_id;
		break;
	}
	return CUDA_SUCCESS;
}

CUresult sim_stream_exchange_capture_mode(struct sim_call *call, CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode before = call->thread->capture_mode;

	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	call->thread->capture_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}
