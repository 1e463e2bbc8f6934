/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rare parts of an intercepted call: the first call of a thread or process, calls that failed,
 * the current device when it is not known, and the common part of every call record.
 */
#include "call.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/cuda_abi.h"
#include "device.h"
#include "pointers.h"
#include "session.h"
#include "streams.h"
#include "thread_write.h"

/* How often the driver is asked for the current device while it has no answer. */
#define ASK_EVERY_CALLS 1000

/* Names that the trace holds already, by API number; emptied when a session begins. */
static _Atomic uint8_t api_named[API_COUNT];
static uint64_t api_named_session;

struct thread *call_thread_slow(unsigned int effect)
{
	/* Recording is switched off, the commonest reason to be here. A thread's block is wiped in
	 * every kind of forked child, so a live one belongs to this process. */
	if (thread_now->is_live) {
		pointers_missed();
		return NULL;
	}
	if (thread_now == &thread_muted || !lifecycle_is_in_charge())
		return NULL;
	uint32_t mode = atomic_load_explicit(&lifecycle_mode, memory_order_acquire);
	if (mode == LIFECYCLE_IDLE || mode == LIFECYCLE_OPENING) {
		if (mode == LIFECYCLE_IDLE && !(effect & EFFECT_OPENS))
			return NULL;
		if (!lifecycle_open()) {
			session_count_unrecorded();
			return NULL;
		}
	} else if (mode != LIFECYCLE_RECORDING) {
		return NULL;
	}
	if (session_pid != getpid()) {
		/* Forked without fork handlers: the parent's session is not ours. */
		lifecycle_after_fork();
		return call_thread_slow(effect);
	}
	/* Also while recording is switched off, so that the next call of this thread is cheap. */
	struct thread *thread = thread_attach();
	if (!atomic_load_explicit(thread_capture_switch, memory_order_relaxed)) {
		pointers_missed();
		return NULL;
	}
	if (!thread)
		session_count_unrecorded();
	return thread;
}

/*
 * Out of memory, or an error after which the context, and often the process, is lost: the job may
 * end any moment, so what led here is written now. The numbers are those of runtime and driver;
 * cuBLAS has none of them.
 */
void call_failed(const struct call *call)
{
	switch (call->status) {
	case ABI_CUDA_OUT_OF_MEMORY:
	case 214: /* uncorrectable ECC */
	case 700: /* illegal address */
	case 702: /* launch timeout */
	case 709: /* context destroyed */
	case 710: /* assertion in a kernel */
	case 714:
	case 715:
	case 716:
	case 717:
	case 718: /* hardware stack, instruction, address */
	case 719: /* launch failure */
	case 721:
	case 999:
		if (!call->parent)
			session_flush_wait();
		break;
	default:
		break;
	}
}

void call_attend(struct call *call)
{
	int saved_errno = errno;
	struct thread *thread = call->thread;
	/* A signal handler's call, while this thread may be inside the loader on our account. */
	if (thread->is_attending || lifecycle_is_injected)
		return;
	thread->is_attending = 1;
	atomic_signal_fence(memory_order_seq_cst);
	bool may_ask = !lifecycle_exiting() &&
		       !atomic_load_explicit(&streams_open_captures, memory_order_relaxed);
	if (lifecycle_attention && !call->parent && may_ask) {
		lifecycle_attention = 0;
		lifecycle_arm_exit();
		device_describe_all();
	}
	if (thread->device == DEVICE_UNKNOWN && may_ask &&
	    (int32_t)(thread->call_count - thread->ask_again_at) >= 0) {
		thread->device = device_current();
		thread->ask_again_at = thread->call_count + ASK_EVERY_CALLS;
	}
	atomic_signal_fence(memory_order_seq_cst);
	thread->is_attending = 0;
	errno = saved_errno;
}

/* Writes the function's name once per session. */
static void name_api(struct thread *thread, uint16_t api, enum record_kind kind)
{
	uint64_t session = session_control ? session_control->start_ticks : 0;
	if (api_named_session != session) {
		memset((void *)(uintptr_t)api_named, 0, sizeof(api_named));
		api_named_session = session;
	}
	site_learn_kind(api, kind);
	const char *text = wrap_api_name(api);
	if (thread_write_name(thread, NAME_API, api, text, strlen(text)))
		atomic_store_explicit(&api_named[api], 1, memory_order_relaxed);
}

/* Writes between two of these stay apart. Fields of struct call that were stored one by one and are
 * loaded as one wider word make the processor wait until the stores are through. */
#define KEEP_APART() atomic_signal_fence(memory_order_seq_cst)

static inline void *fill_part(const struct call *call, struct call_part *part,
			      enum record_kind kind, size_t size_bytes)
{
	part->head.kind = (uint16_t)kind;
	part->head.size_bytes = (uint16_t)size_bytes;
	part->head.reserved = 0;
	part->begin_ticks = call->begin_ticks;
	KEEP_APART();
	part->end_ticks = call->end_ticks;
	part->site = call->site;
	part->call_id = call->id;
	KEEP_APART();
	part->parent_id = call->parent;
	part->correlation = call->correlation;
	part->status = call->status;
	part->api = call->api;
	KEEP_APART();
	part->flags = call->flags;
	part->device = call->thread->device;
	return part;
}

/* The first record of a function, no room right away, or a thread with totals. Apart, so that the
 * usual way needs no registers that a caller wants back. */
static __attribute__((noinline)) void *call_record_slow(struct call *call, enum record_kind kind,
							size_t size_bytes)
{
	struct thread *thread = call->thread;
	if (!atomic_load_explicit(&api_named[call->api], memory_order_relaxed))
		name_api(thread, call->api, kind);
	struct call_part *part = thread->totals ? totals_scratch(thread, kind, size_bytes)
						: thread_reserve(thread, kind, size_bytes);
	return part ? fill_part(call, part, kind, size_bytes) : NULL;
}

void *call_record(struct call *call, enum record_kind kind, size_t size_bytes)
{
	struct call_part *part;
	if (__builtin_expect(!atomic_load_explicit(&api_named[call->api], memory_order_relaxed) ||
				     call->thread->totals,
			     0))
		return call_record_slow(call, kind, size_bytes);
	part = thread_reserve_quick(call->thread, size_bytes);
	if (__builtin_expect(!part, 0))
		return call_record_slow(call, kind, size_bytes);
	return fill_part(call, part, kind, size_bytes);
}

void call_after_fork(void)
{
	memset((void *)(uintptr_t)api_named, 0, sizeof(api_named));
}
