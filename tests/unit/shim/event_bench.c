/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pairs of events need around them to be tested alone: the rest of the shim, and a driver with
 * one stream whose work takes what a test says. An event of a context that is gone fails the test.
 */
#include "event_bench.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../../shim/api/cuda_abi.h"
#include "../../../shim/gpu_events.h"
#include "../../../shim/bound_past.h"
#include "../../../shim/own_threads.h"
#include "../../../shim/real.h"
#include "../../../shim/session.h"
#include "../../../shim/shim_log.h"
#include "../../../shim/totals.h"

/* ---- what the component needs of the rest of the shim ---- */

__thread struct thread *thread_now;
struct thread thread_muted;
_Atomic uint32_t streams_open_captures;
uint32_t ticks_clock_kind;
enum shim_log_level shim_log_level;
static struct ring_control control = {.clock_hz = 1000000000};
struct ring_control *session_control = &control;
struct thread bench_own, bench_reader;
char bench_told[320];
bool bench_is_exiting;

uint64_t ticks_monotonic(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool lifecycle_exiting(void)
{
	return bench_is_exiting;
}

void shim_log_write(const char *format, ...)
{
	(void)format;
}

void session_info(const char *key, const char *value)
{
	if (!strcmp(key, "gpu_times.events"))
		snprintf(bench_told, sizeof(bench_told), "%s", value);
}

void session_clock(uint64_t (*read_gpu_ns)(void))
{
	assert_true(read_gpu_ns() > 0);
}

struct thread *thread_attach(void)
{
	return thread_now = &bench_reader;
}

void thread_retire(struct thread *thread)
{
	(void)thread;
}

void bound_past_turn(void)
{
}

bool own_threads_are_last(void)
{
	return false;
}

int own_threads_start(const char *name, void *(*run)(void *))
{
	pthread_t thread;
	(void)name;
	if (pthread_create(&thread, NULL, run, NULL))
		return 1;
	return pthread_detach(thread);
}

/* Everything that was bench_written, in order; there is room for all tests. */
union bench_record bench_written[4096];
_Atomic uint32_t bench_written_count;
static struct ring_header no_ring;

/* A thread without totals. */
void *totals_reserve_gpu(struct thread *thread, unsigned int kind, size_t size_bytes)
{
	return thread_reserve(thread, kind, size_bytes);
}

void totals_commit_gpu(struct thread *thread)
{
	thread_commit(thread);
}

/* The writer has no room at all, so that every record comes to thread_reserve_full(). */
void *ring_writer_reserve_slow(struct ring_writer *writer, size_t size_bytes)
{
	(void)writer;
	(void)size_bytes;
	return NULL;
}

void *thread_reserve_full(struct thread *thread, unsigned int kind, size_t size_bytes)
{
	(void)thread;
	(void)kind;
	assert_true(size_bytes <= sizeof(bench_written[0]));
	return &bench_written[atomic_fetch_add(&bench_written_count, 1) % 4096];
}

void *thread_reserve_refused(struct thread *thread, unsigned int kind)
{
	(void)thread;
	(void)kind;
	return NULL;
}

/* ---- a driver with one stream per context, whose work takes what a test says ---- */

struct fake_event {
	const void *context;
	uint64_t at_ns;
	bool is_gone;
};
static struct fake_event events[32768];
_Atomic uint32_t bench_events_made, bench_driver_calls;
const char bench_contexts[16];
_Thread_local const void *bench_current;
uint64_t bench_busy_until_ns;
int bench_refuse_create, bench_refuse_record, bench_refuse_query, bench_primary_active;
_Atomic uint32_t bench_own_records;
static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static struct fake_event *event_at(void *event)
{
	struct fake_event *found = event;
	assert_non_null(found);
	assert_false(found->is_gone);
	return found;
}

static int fake_current(const void **context)
{
	atomic_fetch_add(&bench_driver_calls, 1);
	*context = bench_current;
	return 0;
}

static int fake_set_current(const void *context)
{
	bench_current = context;
	return 0;
}

static int fake_create(void **event, unsigned int flags)
{
	(void)flags;
	atomic_fetch_add(&bench_driver_calls, 1);
	if (bench_refuse_create)
		return 2;
	uint32_t number = atomic_fetch_add(&bench_events_made, 1);
	assert_true(number < 32768);
	events[number] = (struct fake_event){bench_current, 0, false};
	*event = &events[number];
	return 0;
}

static int fake_record(void *event, const void *stream)
{
	(void)stream;
	atomic_fetch_add(&bench_driver_calls, 1);
	if (bench_refuse_record)
		return 400;
	pthread_mutex_lock(&driver_lock);
	event_at(event)->at_ns = later(ticks_monotonic(), bench_busy_until_ns);
	pthread_mutex_unlock(&driver_lock);
	return 0;
}

static int fake_record_own(void *event, const void *stream)
{
	bench_own_records++;
	return fake_record(event, stream);
}

static int fake_query(void *event)
{
	if (bench_refuse_query)
		return bench_refuse_query;
	pthread_mutex_lock(&driver_lock);
	uint64_t at_ns = event_at(event)->at_ns;
	pthread_mutex_unlock(&driver_lock);
	return at_ns > ticks_monotonic() ? 600 : 0;
}

static int fake_synchronize(void *event)
{
	/* The anchor's stream waits for no other: its event is over at once. */
	event_at(event)->at_ns = ticks_monotonic();
	return 0;
}

static int fake_elapsed(float *ms, void *from, void *to)
{
	pthread_mutex_lock(&driver_lock);
	*ms = (float)((double)(int64_t)(event_at(to)->at_ns - event_at(from)->at_ns) * 1e-6);
	pthread_mutex_unlock(&driver_lock);
	return 0;
}

static int fake_stream(void **stream, unsigned int flags)
{
	static char handle;
	assert_int_equal(flags, 1);
	*stream = &handle;
	return 0;
}

static int fake_capture_mode(int *mode)
{
	assert_int_equal(*mode, 2);
	return 0;
}

static int fake_primary_state(int device, unsigned int *flags, int *active)
{
	(void)device;
	*flags = 0;
	*active = bench_primary_active;
	return 0;
}

void *real_driver_symbol(const char *name)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} functions[] = {
		{"cuCtxGetCurrent", (void (*)(void))fake_current},
		{"cuCtxSetCurrent", (void (*)(void))fake_set_current},
		{"cuEventCreate", (void (*)(void))fake_create},
		{"cuEventRecord", (void (*)(void))fake_record},
		{"cuEventRecord_ptsz", (void (*)(void))fake_record_own},
		{"cuEventQuery", (void (*)(void))fake_query},
		{"cuEventSynchronize", (void (*)(void))fake_synchronize},
		{"cuEventElapsedTime", (void (*)(void))fake_elapsed},
		{"cuStreamCreate", (void (*)(void))fake_stream},
		{"cuThreadExchangeStreamCaptureMode", (void (*)(void))fake_capture_mode},
		{"cuDevicePrimaryCtxGetState", (void (*)(void))fake_primary_state},
	};
	union {
		void (*function)(void);
		void *object;
	} convert = {NULL};
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(functions[i].name, name))
			convert.function = functions[i].function;
	return convert.object;
}

int event_bench_begin(void **state)
{
	(void)state;
	gpu_events_forget();
	memset(&bench_own, 0, sizeof(bench_own));
	memset(&bench_reader, 0, sizeof(bench_reader));
	memset(events, 0, sizeof(events));
	bench_reader.ring.header = &no_ring;
	bench_reader.is_live = bench_own.is_live = 1;
	atomic_store(&bench_written_count, 0);
	atomic_store(&bench_events_made, 0);
	atomic_store(&bench_driver_calls, 0);
	atomic_store(&streams_open_captures, 0);
	bench_is_exiting = false;
	bench_refuse_create = bench_refuse_record = bench_refuse_query = bench_primary_active = 0;
	bench_own_records = 0;
	bench_busy_until_ns = 0;
	bench_current = &bench_contexts[1];
	thread_now = &bench_own;
	atomic_store(&gpu_events_on, 1);
	return 0;
}

void event_bench_context_goes(const void *context)
{
	gpu_events_drop(context);
	for (uint32_t i = 0; i < bench_events_made; i++)
		if (events[i].context == context)
			events[i].is_gone = true;
}
