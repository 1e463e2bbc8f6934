/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events: a moment in a stream's modelled time. Recording computes it at once, since the end of all
 * work before it is already known.
 */
#include "sim_api.h"
#include "sim_capture.h"

static struct sim_event *find_event(CUevent handle)
{
	return sim_pool_holds(POOL_EVENT, handle) ? (struct sim_event *)handle : NULL;
}

CUresult sim_event_create(struct sim_call *call, CUevent *event, unsigned flags)
{
	const unsigned known =
		CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
	struct sim_event *created;

	SIM_NOTE(call, "flags=%u", flags);
	if (!event || (flags & ~known) ||
	    ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING)))
		return CUDA_ERROR_INVALID_VALUE;
	created = sim_pool_new(POOL_EVENT);
	if (!created)
		return CUDA_ERROR_OUT_OF_MEMORY;
	created->context = call->context;
	created->flags = flags;
	created->next = call->context->events;
	if (created->next)
		created->next->previous = created;
	call->context->events = created;
	*event = (CUevent)created;
	SIM_NOTE(call, "event=0x%llx", sim_handle(created));
	return CUDA_SUCCESS;
}

void sim_event_free(struct sim_event *event)
{
	if (event->next)
		event->next->previous = event->previous;
	if (event->previous)
		event->previous->next = event->next;
	else
		event->context->events = event->next;
	sim_capture_forget_event(event);
	sim_pool_free(POOL_EVENT, event);
}

CUresult sim_event_destroy(struct sim_call *call, CUevent handle)
{
	struct sim_event *event = find_event(handle);

	SIM_NOTE(call, "event=0x%llx", sim_handle(handle));
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_event_free(event);
	return CUDA_SUCCESS;
}

CUresult sim_event_record(struct sim_call *call, CUevent handle, CUstream stream_handle,
			  unsigned flags)
{
	struct sim_stream *stream = sim_stream_find(call, stream_handle);
	struct sim_event *event = find_event(handle);
	uint64_t now, ready;
	CUresult result;

	SIM_NOTE(call, "event=0x%llx\tstream=0x%llx", sim_handle(handle),
		 sim_handle(stream_handle));
	if (flags > CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	if (!event || !stream || event->context != stream->context)
		return CUDA_ERROR_INVALID_HANDLE;
	result = sim_capture_check(call, stream, CAPTURE_QUEUES);
	if (result)
		return result;
	if (stream->capture)
		return sim_capture_record(stream, event, flags & CU_EVENT_RECORD_EXTERNAL);
	sim_capture_forget_event(event);
	now = sim_clock_now_ns();
	ready = sim_stream_ready_ns(stream);
	event->time_ns = ready > now ? ready : now;
	event->after = sim_stream_after(stream);
	event->is_recorded = true;
	return CUDA_SUCCESS;
}

static bool is_complete(const struct sim_event *event)
{
	return !event->is_recorded ||
	       (sim_clock_is_over(event->time_ns) && sim_worker_is_done(event->after));
}

CUresult sim_event_query(struct sim_call *call, CUevent handle)
{
	const struct sim_event *event = find_event(handle);

	SIM_NOTE(call, "event=0x%llx", sim_handle(handle));
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->capture_id)
		return sim_capture_check_event(event);
	return is_complete(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult sim_event_synchronize(struct sim_call *call, CUevent handle)
{
	const struct sim_event *event = find_event(handle);

	SIM_NOTE(call, "event=0x%llx", sim_handle(handle));
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->capture_id)
		return sim_capture_check_event(event);
	call->context = event->context;
	call->is_waiting_without_spin = event->flags & CU_EVENT_BLOCKING_SYNC;
	call->sync_type = SIM_SYNC_EVENT;
	if (event->is_recorded)
		sim_call_wait(call, event->time_ns, event->after);
	return CUDA_SUCCESS;
}

CUresult sim_event_elapsed(struct sim_call *call, float *milliseconds, CUevent start_handle,
			   CUevent end_handle)
{
	const struct sim_event *start = find_event(start_handle), *end = find_event(end_handle);

	SIM_NOTE(call, "start=0x%llx\tend=0x%llx", sim_handle(start_handle),
		 sim_handle(end_handle));
	if (!milliseconds)
		return CUDA_ERROR_INVALID_VALUE;
	if (start && start->capture_id)
		return sim_capture_check_event(start);
	if (end && end->capture_id)
		return sim_capture_check_event(end);
	if (!start || !end || ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) ||
	    !start->is_recorded || !end->is_recorded)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!is_complete(start) || !is_complete(end))
		return CUDA_ERROR_NOT_READY;
	*milliseconds = (float)((double)(int64_t)(end->time_ns - start->time_ns) * 1e-6);
	return CUDA_SUCCESS;
}
