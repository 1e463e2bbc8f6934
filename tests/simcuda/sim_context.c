/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: the primary one of each device, those that the application makes, and the stack of
 * current contexts of each thread. A destroyed context stays on other threads' stacks and is
 * recognised there by its number.
 */
#include "sim_api.h"

#include <string.h>

enum { FIRST_STREAM_ID = 13, API_VERSION = 3020 };

static uint64_t last_unique_id;

struct sim_context *sim_context_current(struct sim_thread *thread)
{
	struct sim_context *context;

	if (thread->depth == 0)
		return NULL;
	context = thread->contexts[thread->depth - 1];
	if (!context || !context->object.is_live)
		return NULL;
	/* A primary context that was reset and retained again is the same one for all threads. */
	if (context->is_primary)
		return context->unique_id != 0 ? context : NULL;
	return context->unique_id == thread->context_ids[thread->depth - 1] ? context : NULL;
}

static struct sim_context *find_context(CUcontext handle)
{
	return sim_pool_holds(POOL_CONTEXT, handle) ? (struct sim_context *)handle : NULL;
}

static bool open_context(struct sim_context *context, struct sim_device *device, unsigned flags)
{
	static uint32_t last_id;

	if (!sim_heap_reserve(&device->heap, 2 * device->memory_bytes))
		return false;
	context->device = device;
	context->unique_id = ++last_unique_id;
	context->id = ++last_id;
	context->flags = flags;
	context->api_version = API_VERSION;
	context->next_stream_id = SIM_LEGACY_STREAM_ID;
	context->limits[CU_LIMIT_STACK_SIZE] = 1024;
	context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
	context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
	context->legacy = sim_stream_new(context, CU_STREAM_DEFAULT, 0);
	if (!context->legacy)
		return false;
	context->legacy->is_legacy = true;
	context->next_stream_id = FIRST_STREAM_ID;
	return true;
}

/* All that belongs to the context goes; its handle stays taken while it is primary. */
static void close_context(struct sim_context *context)
{
	while (context->events)
		sim_event_free(context->events);
	while (context->streams)
		sim_stream_free(context->streams);
	sim_module_drop_context(context);
	sim_memory_drop_context(context);
	context->unique_id = 0;
}

static CUresult push(struct sim_thread *thread, struct sim_context *context)
{
	if (thread->depth == SIM_CONTEXT_DEPTH_MAX)
		return CUDA_ERROR_OUT_OF_MEMORY;
	thread->contexts[thread->depth] = context;
	thread->context_ids[thread->depth++] = context ? context->unique_id : 0;
	return CUDA_SUCCESS;
}

CUresult sim_context_create(struct sim_call *call, CUcontext *context, unsigned flags,
			    CUdevice ordinal)
{
	struct sim_device *device = sim_device_get(ordinal);
	struct sim_context *created;

	if (!context || (flags & ~(unsigned)CU_CTX_FLAGS_MASK))
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	created = sim_pool_new(POOL_CONTEXT);
	if (!created)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!open_context(created, device, flags) || push(call->thread, created)) {
		sim_pool_free(POOL_CONTEXT, created);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*context = (CUcontext)created;
	return CUDA_SUCCESS;
}

CUresult sim_context_destroy(struct sim_call *call, CUcontext handle)
{
	struct sim_context *context = find_context(handle);
	struct sim_thread *thread = call->thread;

	if (!context || context->is_primary)
		return handle ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
	sim_meeting_settle_context(context);
	sim_call_wait_now(call, context->tail_ns, context->after);
	if (find_context(handle) != context)
		return CUDA_ERROR_INVALID_CONTEXT;
	close_context(context);
	sim_pool_free(POOL_CONTEXT, context);
	if (thread->depth > 0 && thread->contexts[thread->depth - 1] == context)
		thread->depth--;
	sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_context_retain_primary(CUcontext *context, CUdevice ordinal)
{
	struct sim_device *device = sim_device_get(ordinal);
	struct sim_context *primary;

	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	primary = device->primary;
	if (!primary) {
		primary = sim_pool_new(POOL_CONTEXT);
		if (!primary)
			return CUDA_ERROR_OUT_OF_MEMORY;
		primary->is_primary = true;
		device->primary = primary;
	}
	if (primary->unique_id == 0 && !open_context(primary, device, device->primary_flags))
		return CUDA_ERROR_OUT_OF_MEMORY;
	device->primary_count++;
	*context = (CUcontext)primary;
	return CUDA_SUCCESS;
}

/* What stays of a primary context is its handle, as the real driver gives the same one again. */
static void reopen_as_empty(struct sim_context *primary)
{
	close_context(primary);
	memset(&primary->device, 0, sizeof(*primary) - offsetof(struct sim_context, device));
	primary->is_primary = true;
}

CUresult sim_context_release_primary(struct sim_call *call, CUdevice ordinal, bool reset)
{
	struct sim_device *device = sim_device_get(ordinal);
	struct sim_context *primary;

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	primary = device->primary;
	if (!primary || primary->unique_id == 0)
		return reset ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
	if (!reset && (device->primary_count == 0 || --device->primary_count > 0))
		return device->primary_count == 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
	sim_meeting_settle_context(primary);
	sim_call_wait_now(call, primary->tail_ns, primary->after);
	if (primary->unique_id != 0)
		reopen_as_empty(primary);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_context_primary_state(CUdevice ordinal, unsigned *flags, int *active)
{
	const struct sim_device *device = sim_device_get(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = device->primary_flags;
	*active = device->primary && device->primary->unique_id != 0;
	return CUDA_SUCCESS;
}

CUresult sim_context_primary_set_flags(CUdevice ordinal, unsigned flags)
{
	struct sim_device *device = sim_device_get(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	device->primary_flags = flags;
	if (device->primary)
		device->primary->flags = flags;
	return CUDA_SUCCESS;
}

CUresult sim_context_push(struct sim_call *call, CUcontext handle)
{
	struct sim_context *context = find_context(handle);

	if (!context || context->unique_id == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	return push(call->thread, context);
}

CUresult sim_context_pop(struct sim_call *call, CUcontext *context)
{
	struct sim_thread *thread = call->thread;

	if (thread->depth == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	thread->depth--;
	if (context)
		*context = (CUcontext)thread->contexts[thread->depth];
	return CUDA_SUCCESS;
}

CUresult sim_context_set_current(struct sim_call *call, CUcontext handle)
{
	struct sim_context *context = find_context(handle);
	struct sim_thread *thread = call->thread;

	if (handle && (!context || context->unique_id == 0))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (thread->depth > 0)
		thread->depth--;
	return context ? push(thread, context) : CUDA_SUCCESS;
}

CUresult sim_context_get_current(struct sim_call *call, CUcontext *context)
{
	const struct sim_thread *thread = call->thread;

	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	*context = thread->depth > 0 ? (CUcontext)thread->contexts[thread->depth - 1] : NULL;
	return CUDA_SUCCESS;
}

CUresult sim_context_synchronize(struct sim_call *call, CUcontext handle)
{
	struct sim_context *context = handle ? find_context(handle) : call->context;

	if (!context || context->unique_id == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	call->context = context;
	call->is_waiting_without_spin = context->flags & CU_CTX_SCHED_BLOCKING_SYNC;
	call->sync_type = SIM_SYNC_CONTEXT;
	sim_meeting_settle_context(context);
	sim_call_wait(call, context->tail_ns, context->after);
	return CUDA_SUCCESS;
}

CUresult sim_context_get(struct sim_call *call, CUcontext handle,
			 enum sim_context_property property, void *value)
{
	const struct sim_context *context = handle ? find_context(handle) : call->context;

	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!context || context->unique_id == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	switch (property) {
	case CONTEXT_DEVICE:
		*(CUdevice *)value = context->device->ordinal;
		break;
	case CONTEXT_FLAGS:
		*(unsigned *)value = context->flags;
		break;
	case CONTEXT_API_VERSION:
		*(unsigned *)value = context->api_version;
		break;
	case CONTEXT_ID:
		*(unsigned long long *)value = context->unique_id;
		break;
	case CONTEXT_CACHE_CONFIG:
		*(CUfunc_cache *)value = context->cache_config;
		break;
	}
	return CUDA_SUCCESS;
}

CUresult sim_context_limit(struct sim_call *call, CUlimit limit, size_t *value, size_t wanted)
{
	if ((unsigned)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	if (value)
		*value = call->context->limits[limit];
	else
		call->context->limits[limit] = wanted;
	return CUDA_SUCCESS;
}

CUresult sim_context_set_cache_config(struct sim_call *call, CUfunc_cache config)
{
	if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	call->context->cache_config = config;
	return CUDA_SUCCESS;
}

CUresult sim_context_priorities(int *least, int *greatest)
{
	if (least)
		*least = SIM_PRIORITY_LEAST;
	if (greatest)
		*greatest = SIM_PRIORITY_GREATEST;
	return CUDA_SUCCESS;
}
