/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records the pairs, on the program's threads, and runs the thread that reads them. Knows when a
 * context goes, so that no event of it is touched any more.
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
#include "bound_past.h"
#include "api/cuda_abi.h"
#include "capture.h"
#include "event_pairs.h"
#include "own_threads.h"
#include "real.h"
#include "session.h"
#include "shim_log.h"
#include "streams.h"

#define PERIOD_MS	 50
#define FINISH_LIMIT_NS	 2000000000ull
#define LAUNCHES_PER_SEC 5000u /* of a thread, at most: two events cost about a launch */
#define DEVICES		 64

struct event_functions event_functions;
_Atomic uint32_t gpu_events_on;
static _Atomic uint32_t stop, stopped;
enum { FUNCTIONS_FOUND = 1, FUNCTIONS_LACKING };
static _Atomic uint32_t functions_state;
static _Atomic(const void *) primaries[DEVICES]; /* primary contexts, as far as seen */

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

static struct event_pair *held(const struct thread *thread)
{
	return event_pool_pair(thread->event_pair);
}

static void give_back(struct thread *thread)
{
	event_pool_give_back(held(thread));
	thread->event_pair = 0;
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
	if (event_functions.current(&context) || !context)
		return NULL; /* the call itself will fail, or makes the context */
	struct event_pair *pair = event_pool_take(context);
	if (pair && !record(pair->begin, call, stream)) {
		event_count(EVENT_COUNT_FAILED);
		event_pool_give_back(pair);
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
		event_count(EVENT_COUNT_CAPTURE);
		return;
	}
	if (!is_due(thread, what))
		return;
	thread_mute();
	bool can = find_functions();
	struct event_pair *pair = can ? open_pair(call, stream) : NULL;
	thread_unmute(thread);
	if (!can)
		event_count(EVENT_COUNT_FAILED);
	if (!pair)
		return;
	thread->event_pair = event_pool_number(pair);
	/* The number that ties host and GPU record, which CUPTI would have given. */
	thread->correlation = atomic_fetch_add(&last_number, 1) + 1;
	memset(&pair->record, 0, sizeof(pair->record));
	pair->record.gpu.correlation = thread->correlation;
	pair->stream = (uintptr_t)stream_key(call, stream);
}

void gpu_events_close(struct call *call, const void *stream)
{
	struct thread *thread = call->thread;
	struct event_pair *pair = held(thread);
	/* A call that failed issued nothing. The stream may have begun to be captured meanwhile, or
	 * its context to go. */
	if (call->status || lifecycle_exiting() ||
	    atomic_load_explicit(&streams_open_captures, memory_order_relaxed) ||
	    atomic_load(&pair->state) != PAIR_OPEN) {
		if (!call->status)
			event_count(EVENT_COUNT_CAPTURE);
		give_back(thread);
		return;
	}
	thread_mute();
	bool is_recorded = record(pair->end, call, stream);
	thread_unmute(thread);
	if (is_recorded)
		return;
	event_count(EVENT_COUNT_FAILED);
	give_back(thread);
}

static void publish(struct thread *thread, unsigned int kind, size_t size_bytes,
		    const struct call_part *call)
{
	struct event_pair *pair = held(thread);
	pair->record.gpu.head = (struct record_head){(uint16_t)kind, (uint16_t)size_bytes, 0};
	pair->record.gpu.device = call->device;
	/* CUPTI numbers streams; here the handle must do. */
	pair->record.gpu.stream = (uint32_t)(pair->stream ^ pair->stream >> 32);
	thread->event_pair = 0;
	event_pool_publish(pair);
}

/* A record of another call than the one that was measured: its own was dropped. */
static bool is_of(struct thread *thread, const struct call_part *call)
{
	if (held(thread)->record.gpu.correlation == call->correlation)
		return true;
	give_back(thread);
	return false;
}

void gpu_events_tell_copy(struct thread *thread, const struct record_copy *copy)
{
	struct record_gpu_copy *out = &held(thread)->record.copy;
	if (!is_of(thread, &copy->call))
		return;
	out->size_bytes = copy->size_bytes;
	out->direction = copy->direction;
	out->source_kind = copy->source_kind;
	out->destination_kind = copy->destination_kind;
	out->is_async = (copy->call.flags & CALL_ASYNC) != 0;
	out->peer_device = copy->peer_device;
	publish(thread, RECORD_KIND_gpu_copy, sizeof(*out), &copy->call);
}

void gpu_events_tell_launch(struct thread *thread, const struct record_launch *launch)
{
	struct record_gpu_kernel *out = &held(thread)->record.kernel;
	if (!is_of(thread, &launch->call))
		return;
	out->kernel = launch->kernel;
	memcpy(out->grid, launch->grid, sizeof(out->grid));
	memcpy(out->block, launch->block, sizeof(out->block));
	out->shared_dynamic_bytes = launch->shared_bytes;
	publish(thread, RECORD_KIND_gpu_kernel, sizeof(*out), &launch->call);
}

/* ---- contexts that go ---- */

void gpu_events_drop(const void *context)
{
	if (!atomic_load(&gpu_events_on))
		return;
	event_reader_pause();
	event_pool_drop(context);
	event_reader_resume();
}

void gpu_events_learn_primary(const void *context, int device)
{
	if (device >= 0 && device < DEVICES)
		atomic_store(&primaries[device], context);
}

/* NULL, which stands for all contexts, where it was never seen. */
static const void *primary_of(int device)
{
	return device >= 0 && device < DEVICES ? atomic_load(&primaries[device]) : NULL;
}

void gpu_events_drop_primary(int device)
{
	gpu_events_drop(primary_of(device));
}

void gpu_events_release(void)
{
	event_reader_pause();
}

void gpu_events_released(const struct call *call, int device)
{
	unsigned int flags = 0;
	int is_active = 0;
	/* Released is not gone: somebody else may hold it too. */
	if (!call->status && atomic_load(&gpu_events_on)) {
		thread_mute();
		if (!lifecycle_exiting() && find_functions() && event_functions.primary_state &&
		    event_functions.primary_state(device, &flags, &is_active))
			is_active = 0;
		thread_unmute(call->thread);
		if (!is_active)
			event_pool_drop(primary_of(device));
	}
	event_reader_resume();
}

/* ---- the thread ---- */

static uint64_t read_clock(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static unsigned long long counted(enum event_count what)
{
	return atomic_load_explicit(&event_counts[what], memory_order_relaxed);
}

static unsigned long long count_pending(void)
{
	unsigned long long pending = 0;
	for (uint32_t i = 0; i < EVENT_CONTEXTS; i++)
		for (uint32_t k = 0; atomic_load(&event_pools[i].context) && k < EVENT_PAIRS; k++)
			pending += atomic_load(&event_pools[i].pairs[k].state) == PAIR_PENDING;
	return pending;
}

/* Once a second, where anything was added, and at the end. */
static void tell(bool is_last)
{
	static uint64_t told_at_ns, told;
	uint64_t now_ns = ticks_monotonic(), sum = 0;
	char text[320];
	unsigned long long captured = counted(EVENT_COUNT_CAPTURE),
			   full = counted(EVENT_COUNT_FULL);
	unsigned long long failed = counted(EVENT_COUNT_FAILED), gone = counted(EVENT_COUNT_GONE);
	unsigned long long pending = count_pending();
	for (int what = 0; what < EVENT_COUNTS; what++)
		sum += counted((enum event_count)what);
	if (!is_last && (sum == told || now_ns - told_at_ns < 1000000000u))
		return;
	told = sum;
	told_at_ns = now_ns;
	snprintf(
		text, sizeof(text),
		"%llu copies and %llu launches measured, %llu not (while a capture was open %llu, "
		"all pairs in use %llu, refused by the driver %llu, context gone %llu, not over at "
		"the end %llu)",
		counted(EVENT_COUNT_COPIES), counted(EVENT_COUNT_LAUNCHES),
		captured + full + failed + gone + pending, captured, full, failed, gone, pending);
	session_info("gpu_times.events", text);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)event_reader_doubt_ns());
	session_info("gpu_times.events_doubt_ns", text);
}

static void read_what_is_over(struct thread *thread)
{
	if (atomic_load(&functions_state) == FUNCTIONS_FOUND)
		event_reader_collect(thread);
	session_clock(read_clock);
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
		if (atomic_load(&stop))
			continue;
		read_what_is_over(thread);
		tell(false);
		bound_past_turn();
	}
	if (thread) {
		read_what_is_over(thread);
		tell(true);
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
	event_pool_forget();
	event_reader_forget();
}
