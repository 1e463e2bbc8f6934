/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An intercepted call: who, when, inside which other call. A wrapper does
 *
 *	if (!call_begin(call, api, flags, effect, frame_address)) forward only;
 *	call_start(call); status = real(...); call_end(call, status); capture_...(call, ...);
 *
 * These are inline because together they are the price of every traced call.
 */
#ifndef GPUTRACE_SHIM_CALL_H
#define GPUTRACE_SHIM_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "../collector/format/record.h"
#include "lifecycle.h"
#include "site.h"
#include "thread.h"
#include "ticks.h"
#include "totals.h"
#include "wrap.h"

struct call {
	struct thread *thread;
	uint64_t begin_ticks, end_ticks;
	uint64_t site;
	uint32_t id, parent;
	uint32_t correlation, outer_correlation;
	int32_t status;
	uint16_t api, flags;
	uint8_t freed_kind; /* enum memory_kind, from before a free */
};

/* The slow parts, in call.c. */
struct thread *call_thread_slow(unsigned int effect);
void call_attend(struct call *call);
/* After the record of a call that failed. */
void call_failed(const struct call *call);
/* In a forked child. */
void call_after_fork(void);
/* Reserves a record of `kind` for this call and fills in its common part; NULL: dropped, counted.
 * The caller fills in the rest and calls call_commit(call). */
void *call_record(struct call *call, enum record_kind kind, size_t size_bytes);

static inline void call_commit(struct call *call)
{
	if (__builtin_expect(call->thread->totals != NULL, 0))
		totals_take_call(call->thread, call->parent != 0);
	else
		thread_commit(call->thread);
}

/* The call that begins now becomes the innermost one of its thread. */
static inline void call_open(struct call *call, struct thread *thread, uint16_t api, uint16_t flags,
			     const void *frame)
{
	call->thread = thread;
	call->api = api;
	call->flags = flags;
	call->parent = thread->current_call;
	if (__builtin_expect(call->parent && frame >= thread->outermost, 0))
		call->parent = 0;
	call->id = ++thread->call_count;
	thread->current_call = call->id;
	call->outer_correlation = thread->correlation;
	thread->correlation = 0;
	if (!call->parent) {
		thread->outermost = frame;
		thread->operation = call->id;
		thread->operation_api = api;
		thread->site = site_of_call(thread, api, frame);
	}
	call->site = thread->site;
}

/* False: nothing is recorded, forward. */
static inline bool call_begin(struct call *call, uint16_t api, uint16_t flags, unsigned int effect,
			      const void *frame)
{
	if (__builtin_expect(!lifecycle_calls_matter, 0))
		return false;
	struct thread *thread = thread_now;
	if (__builtin_expect(!thread_records(thread), 0)) {
		thread = call_thread_slow(effect);
		if (!thread)
			return false;
	}
	call_open(call, thread, api, flags, frame);
	return true;
}

static inline void call_start(struct call *call)
{
	call->begin_ticks = ticks_now();
}

static inline void call_end(struct call *call, int status)
{
	struct thread *thread = call->thread;
	call->end_ticks = thread->last_ticks = ticks_now();
	call->status = status;
	call->correlation = thread->correlation;
	/* A runtime call and the driver calls inside it share an id; a library's call has none. */
	thread->correlation = call->outer_correlation;
	thread->current_call = call->parent;
	if (__builtin_expect((thread->device == DEVICE_UNKNOWN) | lifecycle_attention, 0))
		call_attend(call);
}

#endif
