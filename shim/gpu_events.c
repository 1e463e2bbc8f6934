/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records the pairs, on the program's threads, and runs the thread that reads them. Events are made
 * when a place of the pool is first used in a context and are kept: a context is not asked to make
 * the same events again.
 */
#include "gpu_events.h"

#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../collector/format/ring.h"
#include "api/cuda_abi.h"
#include "event_pairs.h"
#include "own_threads.h"
#include "real.h"
#include "session.h"
#include "shim_log.h"
#include "streams.h"

#define PERIOD_MS	 50
#define FINISH_LIMIT_NS	 2000000000ull
#define LAUNCHES_PER_SEC 5000u /* of a thread, at most: two events cost about a launch */
#define TRIES		 64u

struct event_pair event_pairs[EVENT_PAIRS];
struct event_functions event_functions;
_Atomic uint32_t gpu_events_on;
static _Atomic uint32_t stop, stopped, next_pair;
enum { FUNCTIONS_FOUND = 1, FUNCTIONS_LACKING };
static _Atomic uint32_t functions_state;
static _Atomic uint64_t copies, launches, not_measured;

/* The driver is loaded by the time that something is issued to a stream, not always before. */
static bool find_functions(void)
{
	uint32_t known = atomic_load_explicit(&functions_state, memory_order_acquire);
	if (known)
		return known == FUNCTIONS_FOUND;
	struct event_functions found;
#define EVENT_FIND(field, symbol, params)                                                          \
	do {                                                                                       \
		union {                                                                            \
			void *object;                                                              \
			int(*function) params;                                                     \
		} convert = {real_driver_symbol(#symbol)};                                         \
		found.field = convert.function;                                                    \
	} while (0);
	EVENT_FUNCTIONS(EVENT_FIND)
#undef EVENT_FIND
	bool is_whole = found.current && found.set_current && found.create && found.record &&
			found.query && found.synchronize && found.elapsed && found.stream;
	/* Threads that come at the same time store the same pointers. */
	event_functions = found;
	atomic_store_explicit(&functions_state, is_whole ? FUNCTIONS_FOUND : FUNCTIONS_LACKING,
			      memory_order_release);
	return is_whole;
}

/* ---- the program's threads ---- */

static bool record(void *event, const struct call *call, const void *stream)
{
	bool is_own = !stream && (call->flags & CALL_PER_THREAD_STREAM) != 0;
	return !(is_own && event_functions.record_own ? event_functions.record_own(event, stream)
						      : event_functions.record(event, stream));
}

/* Events belong to a context: a place without any gets them, one with another context's is not for
 * us. */
static bool fit(struct event_pair *pair, const void *context)
{
	if (atomic_load(&pair->context) == context)
		return true;
	if (atomic_load(&pair->context))
		return false;
	if (event_functions.create(&pair->begin, 0) || event_functions.create(&pair->end, 0))
		return false;
	atomic_store(&pair->context, context);
	return true;
}

static struct event_pair *take(const void *context)
{
	uint32_t first = atomic_fetch_add_explicit(&next_pair, 1, memory_order_relaxed);
	for (uint32_t i = 0; i < TRIES; i++) {
		struct event_pair *pair = &event_pairs[(first + i) % EVENT_PAIRS];
		uint32_t expected = PAIR_FREE;
		if (atomic_load_explicit(&pair->state, memory_order_relaxed) != PAIR_FREE ||
		    !atomic_compare_exchange_strong(&pair->state, &expected, PAIR_OPEN))
			continue;
		if (fit(pair, context))
			return pair;
		atomic_store(&pair->state, PAIR_FREE);
	}
	return NULL;
}

static void give_back(struct thread *thread)
{
	struct event_pair *pair = &event_pairs[thread->event_pair - 1];
	uint32_t expected = PAIR_OPEN;
	thread->event_pair = 0;
	atomic_compare_exchange_strong(&pair->state, &expected, PAIR_FREE);
}

/* Launches by themselves are sampled; those of a collective are all measured. */
static bool is_due(struct thread *thread, enum gpu_events_what what)
{
	if (what == GPU_EVENTS_COPY || thread->in_collective)
		return true;
	uint64_t apart = session_control ? session_control->clock_hz / LAUNCHES_PER_SEC : 0;
	if (thread->last_ticks - thread->sampled_ticks < apart)
		return false;
	thread->sampled_ticks = thread->last_ticks;
	return true;
}

static struct event_pair *open_pair(struct call *call, const void *stream)
{
	const void *context = NULL;
	struct event_pair *pair = NULL;
	if (!event_functions.current(&context) && context)
		pair = take(context);
	if (pair && !record(pair->begin, call, stream)) {
		atomic_store(&pair->state, PAIR_FREE);
		return NULL;
	}
	return pair;
}

void gpu_events_open(struct call *call, enum gpu_events_what what, const void *stream)
{
	struct thread *thread = call->thread;
	static _Atomic uint32_t last_number;
	if (thread->event_pair)
		give_back(thread);
	/* The default stream of another kind cannot be captured, but what captures may run beside
	 * it: there the driver forbids more than it says. */
	if (lifecycle_exiting() ||
	    atomic_load_explicit(&streams_open_captures, memory_order_relaxed)) {
		atomic_fetch_add_explicit(&not_measured, 1, memory_order_relaxed);
		return;
	}
	if (!is_due(thread, what))
		return;
	thread_mute();
	struct event_pair *pair = find_functions() ? open_pair(call, stream) : NULL;
	thread_unmute(thread);
	if (!pair) {
		atomic_fetch_add_explicit(&not_measured, 1, memory_order_relaxed);
		return;
	}
	thread->event_pair = (uint32_t)(pair - event_pairs) + 1;
	/* The number that ties host and GPU record, which CUPTI would have given. */
	thread->correlation = atomic_fetch_add(&last_number, 1) + 1;
	memset(&pair->record, 0, sizeof(pair->record));
	pair->record.gpu.correlation = thread->correlation;
	pair->stream = (uintptr_t)stream;
}

void gpu_events_close(struct call *call, const void *stream)
{
	struct thread *thread = call->thread;
	struct event_pair *pair = &event_pairs[thread->event_pair - 1];
	thread_mute();
	bool is_recorded = !call->status && record(pair->end, call, stream);
	thread_unmute(thread);
	if (!is_recorded)
		give_back(thread);
}

static void publish(struct thread *thread, unsigned int kind, size_t size_bytes,
		    const struct call_part *call)
{
	struct event_pair *pair = &event_pairs[thread->event_pair - 1];
	uint32_t expected = PAIR_OPEN;
	pair->record.gpu.head = (struct record_head){(uint16_t)kind, (uint16_t)size_bytes, 0};
	pair->record.gpu.device = call->device;
	/* CUPTI numbers streams; here the handle must do. */
	pair->record.gpu.stream = (uint32_t)(pair->stream ^ pair->stream >> 32);
	thread->event_pair = 0;
	/* Pairs with event_reader_collect(). */
	atomic_compare_exchange_strong_explicit(&pair->state, &expected, PAIR_PENDING,
						memory_order_release, memory_order_relaxed);
}

/* A record of another call than the one that was measured: its own was dropped. */
static bool is_of(struct thread *thread, const struct call_part *call)
{
	if (event_pairs[thread->event_pair - 1].record.gpu.correlation == call->correlation)
		return true;
	give_back(thread);
	return false;
}

void gpu_events_tell_copy(struct thread *thread, const struct record_copy *copy)
{
	struct record_gpu_copy *out = &event_pairs[thread->event_pair - 1].record.copy;
	if (!is_of(thread, &copy->call))
		return;
	out->size_bytes = copy->size_bytes;
	out->direction = copy->direction;
	out->source_kind = copy->source_kind;
	out->destination_kind = copy->destination_kind;
	out->is_async = 1;
	out->peer_device = copy->peer_device;
	publish(thread, RECORD_KIND_gpu_copy, sizeof(*out), &copy->call);
	atomic_fetch_add_explicit(&copies, 1, memory_order_relaxed);
}

void gpu_events_tell_launch(struct thread *thread, const struct record_launch *launch)
{
	struct record_gpu_kernel *out = &event_pairs[thread->event_pair - 1].record.kernel;
	if (!is_of(thread, &launch->call))
		return;
	out->kernel = launch->kernel;
	memcpy(out->grid, launch->grid, sizeof(out->grid));
	memcpy(out->block, launch->block, sizeof(out->block));
	out->shared_dynamic_bytes = launch->shared_bytes;
	publish(thread, RECORD_KIND_gpu_kernel, sizeof(*out), &launch->call);
	atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed);
}

void gpu_events_drop(const void *context)
{
	if (!atomic_load(&gpu_events_on))
		return;
	for (uint32_t i = 0; i < EVENT_PAIRS; i++) {
		const void *of = atomic_load(&event_pairs[i].context);
		if (of && (of == context || !context))
			atomic_store(&event_pairs[i].state, PAIR_LOST);
	}
	event_reader_drop(context);
}

/* ---- the thread ---- */

static uint64_t read_clock(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static void tell(void)
{
	char text[256];
	snprintf(text, sizeof(text),
		 "%llu copies and %llu launches measured, %llu not (a capture was open, or all "
		 "pairs were in use)",
		 (unsigned long long)atomic_load(&copies),
		 (unsigned long long)atomic_load(&launches),
		 (unsigned long long)atomic_load(&not_measured));
	session_info("gpu_times.events", text);
}

static void *events_thread(void *unused)
{
	(void)unused;
	struct thread *thread = thread_attach();
	if (thread)
		thread->is_own = 1;
	while (thread && !atomic_load_explicit(&stop, memory_order_acquire) &&
	       !own_threads_are_last()) {
		struct timespec period = {0, PERIOD_MS * 1000000};
		syscall(SYS_futex, &stop, FUTEX_WAIT_PRIVATE, 0, &period, NULL, 0);
		if (atomic_load(&functions_state) == FUNCTIONS_FOUND)
			event_reader_collect(thread);
		session_clock(read_clock);
	}
	if (thread) {
		tell();
		thread_retire(thread);
	}
	atomic_store_explicit(&stopped, 1, memory_order_release);
	return NULL;
}

const char *gpu_events_start(void)
{
	atomic_store(&stop, 0);
	atomic_store(&stopped, 0);
	if (own_threads_start("gputrace-gpu", events_thread))
		return "no thread could be started to read events";
	atomic_store(&gpu_events_on, 1);
	return NULL;
}

void gpu_events_finish(void)
{
	if (!atomic_exchange(&gpu_events_on, 0))
		return;
	uint64_t begin_ns = ticks_monotonic();
	atomic_store_explicit(&stop, 1, memory_order_release);
	syscall(SYS_futex, &stop, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	while (!atomic_load_explicit(&stopped, memory_order_acquire) &&
	       ticks_monotonic() - begin_ns < FINISH_LIMIT_NS) {
		struct timespec pause = {0, 1000000};
		nanosleep(&pause, NULL);
	}
	if (!atomic_load(&stopped))
		SHIM_LOG(WARN, "events were not read within 2 s");
}

void gpu_events_forget(void)
{
	atomic_store(&gpu_events_on, 0);
	memset((void *)event_pairs, 0, sizeof(event_pairs));
	event_reader_forget();
}
