/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: which one is current on a thread, as far as the program made it itself, and records of
 * what ends with one. Memory that is not the primary context's carries its context, so that
 * destroying it is told from freeing. Each thread keeps the stack that the driver keeps for it; a
 * process that makes no context of its own only pays a look at a counter.
 */
#include "capture_context.h"

#include <stdatomic.h>
#include <string.h>

#include "capture.h"
#include "device.h"
#include "gpu_events.h"

#define OWN_CONTEXTS 64u
#define DEVICES	     64u

static _Atomic uintptr_t own[OWN_CONTEXTS]; /* made by the program, not destroyed; 0 empty */
static _Atomic uint32_t own_count;
static _Atomic int32_t retained[DEVICES]; /* primary contexts, since the session began */

static bool is_own(uintptr_t context)
{
	for (uint32_t i = 0; context && i < OWN_CONTEXTS; i++) {
		if (atomic_load_explicit(&own[i], memory_order_relaxed) == context)
			return true;
	}
	return false;
}

static void add_own(uintptr_t context)
{
	for (uint32_t i = 0; i < OWN_CONTEXTS; i++) {
		uintptr_t empty = 0;
		if (atomic_compare_exchange_strong(&own[i], &empty, context)) {
			atomic_fetch_add(&own_count, 1);
			return;
		}
	}
}

static void remove_own(uintptr_t context)
{
	for (uint32_t i = 0; i < OWN_CONTEXTS; i++) {
		uintptr_t expected = context;
		if (atomic_compare_exchange_strong(&own[i], &expected, 0)) {
			atomic_fetch_sub(&own_count, 1);
			return;
		}
	}
}

/* ---- the thread's stack, whose depth goes on where its places end ---- */

static void push(struct thread *thread, uintptr_t context)
{
	if (thread->context_depth < THREAD_CONTEXTS)
		thread->contexts[thread->context_depth] = context;
	thread->context_depth++;
}

static void pop(struct thread *thread)
{
	if (thread->context_depth > 0)
		thread->context_depth--;
}

static uintptr_t top(const struct thread *thread)
{
	uint32_t depth = thread->context_depth;
	return depth > 0 && depth <= THREAD_CONTEXTS ? thread->contexts[depth - 1] : 0;
}

uint64_t capture_context_own(const struct call *call)
{
	if (__builtin_expect(!atomic_load_explicit(&own_count, memory_order_relaxed), 1))
		return 0;
	uintptr_t context = top(call->thread);
	return is_own(context) ? context : 0;
}

/* An unknown device is asked for at the end of the next call. */
static void device_changed(struct thread *thread, uint32_t device)
{
	thread->device = device;
	thread->ask_again_at = thread->call_count;
}

/* ---- records ---- */

/* Everything ends that lives in a context: the one that is given, or (NULL) a device's primary. */
static void write_end(struct call *call, unsigned int op, const void *context, uint32_t device)
{
	uint32_t current = call->thread->device;
	if (!call->status)
		call->thread->device = device;
	struct record_memory *memory = call_record(call, RECORD_KIND_memory, sizeof(*memory));
	call->thread->device = current;
	if (!memory)
		return;
	memset((char *)memory + sizeof(memory->call), 0, sizeof(*memory) - sizeof(memory->call));
	memory->address = (uintptr_t)context;
	memory->op = (uint8_t)op;
	call_commit(call);
}

void capture_context_create(struct call *call, const void *out, CUdevice device)
{
	const void *context = NULL;
	if (!call->status && out)
		memcpy(&context, out, sizeof(context));
	if (context) {
		device_learn_context(context, device);
		call->thread->device = (uint32_t)device; /* it is current now */
		add_own((uintptr_t)context);
		push(call->thread, (uintptr_t)context);
	}
	capture_plain(call, context);
}

void capture_context_destroy(struct call *call, CUcontext context)
{
	device_forget_contexts();
	if (!call->status) {
		remove_own((uintptr_t)context);
		if (top(call->thread) == (uintptr_t)context)
			pop(call->thread);
	}
	write_end(call, MEMORY_CONTEXT_END, context, call->thread->device);
	device_changed(call->thread, DEVICE_UNKNOWN);
}

/* Frequent, and nothing but what is current depends on these three: no record. */
void capture_context_set(struct call *call, CUcontext context)
{
	if (call->status)
		return;
	pop(call->thread);
	if (context)
		push(call->thread, (uintptr_t)context);
	device_changed(call->thread, device_of_context(context));
}

void capture_context_push(struct call *call, CUcontext context)
{
	if (call->status)
		return;
	push(call->thread, (uintptr_t)context);
	device_changed(call->thread, device_of_context(context));
}

void capture_context_pop(struct call *call)
{
	if (!call->status)
		pop(call->thread);
	device_changed(call->thread, DEVICE_UNKNOWN);
}

/* ---- primary contexts, which end with the last one who holds them ---- */

void capture_context_retain(struct call *call, const void *out, CUdevice device)
{
	const void *context = NULL;
	if (!call->status && out)
		memcpy(&context, out, sizeof(context));
	if (context) {
		device_learn_context(context, device);
		gpu_events_learn_primary(context, device);
	}
	if (!call->status && (unsigned int)device < DEVICES)
		atomic_fetch_add(&retained[device], 1);
	capture_plain(call, context);
}

void capture_context_release(struct call *call, CUdevice device)
{
	bool is_last = !call->status && (unsigned int)device < DEVICES &&
		       atomic_fetch_sub(&retained[device], 1) == 1;
	if (is_last)
		write_end(call, MEMORY_PRIMARY_END, NULL, (uint32_t)device);
	else
		capture_plain(call, NULL);
	device_changed(call->thread, DEVICE_UNKNOWN);
}

void capture_context_reset(struct call *call, CUdevice device)
{
	write_end(call, MEMORY_PRIMARY_END, NULL, (uint32_t)device);
	/* Inside cudaDeviceReset the current device stays what it is. */
	if (!call->parent)
		device_changed(call->thread, DEVICE_UNKNOWN);
}
