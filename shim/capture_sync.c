/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of waits and of calls without a payload; the current device; streams that join captures.
 */
#include "capture.h"

#include <string.h>

#include "device.h"
#include "pointers.h"
#include "streams.h"

void capture_sync(struct call *call, const void *object, unsigned int scope)
{
	struct record_sync *sync = call_record(call, RECORD_KIND_sync, sizeof(*sync));
	if (!sync)
		return;
	sync->object = (uintptr_t)object;
	sync->scope = scope;
	sync->reserved0 = 0;
	call_commit(call);
}

void capture_plain(struct call *call, const void *object)
{
	struct record_call *record = call_record(call, RECORD_KIND_call, sizeof(*record));
	if (!record)
		return;
	record->object = (uintptr_t)object;
	call_commit(call);
}

void capture_query(struct call *call, const void *object)
{
	if (call->status != ABI_CUDA_NOT_READY)
		capture_plain(call, object);
}

void capture_queued(struct call *call, const void *stream)
{
	call->flags |= (uint16_t)(CALL_ASYNC | captured_flag(call, stream, GRAPH_NODE_OTHER));
	capture_plain(call, stream);
}

static const void *returned(const struct call *call, const void *out)
{
	const void *handle = NULL;
	if (!call->status && out)
		memcpy(&handle, out, sizeof(handle));
	return handle;
}

void capture_create(struct call *call, const void *out)
{
	capture_plain(call, returned(call, out));
}

void capture_wait_event(struct call *call, const void *stream, const void *event)
{
	if (__builtin_expect(atomic_load_explicit(&streams_open_captures, memory_order_relaxed), 0))
		streams_join(event, stream_key(call, stream));
	call->flags |= CALL_ASYNC;
	capture_plain(call, stream);
}

void capture_record_event(struct call *call, const void *event, const void *stream)
{
	if (__builtin_expect(atomic_load_explicit(&streams_open_captures, memory_order_relaxed), 0))
		streams_join(stream_key(call, stream), event);
	call->flags |= CALL_ASYNC;
	capture_plain(call, event);
}

void capture_set_device(struct call *call, int device)
{
	if (!call->status)
		call->thread->device = (uint32_t)device;
	capture_plain(call, (const void *)(uintptr_t)(uint32_t)device);
}

void capture_device_reset(struct call *call)
{
	/* Written first: the record says which device it was. */
	capture_plain(call, NULL);
	if (!call->status) {
		pointers_remove_all();
		device_forget_contexts();
	}
}
