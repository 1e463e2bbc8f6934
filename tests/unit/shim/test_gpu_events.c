/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of events on a driver that only keeps times: what is measured, what is not and why, and
 * that no event is touched whose context is gone.
 */
#include "../../../shim/gpu_events.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../../../shim/api/cuda_abi.h"
#include "../../../shim/event_pairs.h"
#include "../../../shim/own_threads.h"
#include "../../../shim/real.h"
#include "../../../shim/session.h"
#include "../../../shim/shim_log.h"
#include "../../../shim/streams.h"
#include "../../../shim/thread.h"
#include "../../../shim/ticks.h"

/* ---- what the component needs of the rest of the shim ---- */

__thread struct thread *thread_now;
struct thread thread_muted;
_Atomic uint32_t streams_open_captures;
uint32_t ticks_clock_kind;
enum shim_log_level shim_log_level;
static struct ring_control control = {.clock_hz = 1000000000};
struct ring_control *session_control = &control;
static struct thread own, reader;
static char told[320];
static bool is_exiting;

uint64_t ticks_monotonic(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool lifecycle_exiting(void)
{
	return is_exiting;
}

void shim_log_write(const char *format, ...)
{
	(void)format;
}

void session_info(const char *key, const char *value)
{
	if (!strcmp(key, "gpu_times.events"))
		snprintf(told, sizeof(told), "%s", value);
}

void session_clock(uint64_t (*read_gpu_ns)(void))
{
	assert_true(read_gpu_ns() > 0);
}

struct thread *thread_attach(void)
{
	return thread_now = &reader;
}

void thread_retire(struct thread *thread)
{
	(void)thread;
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

/* Everything that was written, in order; there is room for all tests. */
static union {
	struct gpu_part gpu;
	struct record_gpu_copy copy;
	struct record_gpu_kernel kernel;
} written[4096];
static _Atomic uint32_t written_count;
static struct ring_header no_ring;

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
	assert_true(size_bytes <= sizeof(written[0]));
	return &written[atomic_fetch_add(&written_count, 1) % 4096];
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
static _Atomic uint32_t event_count_made, driver_calls;
static const char contexts[16];
static _Thread_local const void *current;
static uint64_t busy_until_ns;
static int refuse_create, refuse_record, refuse_query, primary_active;
static _Atomic uint32_t own_records;
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
	atomic_fetch_add(&driver_calls, 1);
	*context = current;
	return 0;
}

static int fake_set_current(const void *context)
{
	current = context;
	return 0;
}

static int fake_create(void **event, unsigned int flags)
{
	(void)flags;
	atomic_fetch_add(&driver_calls, 1);
	if (refuse_create)
		return 2;
	uint32_t number = atomic_fetch_add(&event_count_made, 1);
	assert_true(number < 32768);
	events[number] = (struct fake_event){current, 0, false};
	*event = &events[number];
	return 0;
}

static int fake_record(void *event, const void *stream)
{
	(void)stream;
	atomic_fetch_add(&driver_calls, 1);
	if (refuse_record)
		return 400;
	pthread_mutex_lock(&driver_lock);
	event_at(event)->at_ns = later(ticks_monotonic(), busy_until_ns);
	pthread_mutex_unlock(&driver_lock);
	return 0;
}

static int fake_record_own(void *event, const void *stream)
{
	own_records++;
	return fake_record(event, stream);
}

static int fake_query(void *event)
{
	if (refuse_query)
		return refuse_query;
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
	*active = primary_active;
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

/* ---- a program ---- */

static void begin_call(struct call *call, struct thread *thread, uint16_t flags)
{
	memset(call, 0, sizeof(*call));
	call->thread = thread_now = thread;
	call->flags = flags;
}

static void end_call(struct call *call, const void *stream, int status)
{
	call->status = status;
	call->correlation = call->thread->correlation;
	call->thread->correlation = 0;
	gpu_events_after(call, stream);
}

static void copy_with(struct thread *thread, const void *stream, uint16_t flags, uint64_t took_ns,
		      int status)
{
	struct call call;
	begin_call(&call, thread, flags);
	gpu_events_before(&call, GPU_EVENTS_COPY, stream);
	if (took_ns)
		busy_until_ns = later(ticks_monotonic(), busy_until_ns) + took_ns;
	end_call(&call, stream, status);
	struct record_copy copy = {.call = {.correlation = call.correlation, .flags = flags},
				   .size_bytes = 4096,
				   .direction = COPY_H2D};
	gpu_events_told_copy(thread, &copy);
}

static void copy(uint64_t took_ns)
{
	copy_with(&own, &contexts[0], CALL_ASYNC, took_ns, 0);
}

static void launch(void)
{
	struct call call;
	begin_call(&call, &own, 0);
	gpu_events_before(&call, GPU_EVENTS_LAUNCH, NULL);
	end_call(&call, NULL, 0);
	struct record_launch launch = {.call = {.correlation = call.correlation}, .kernel = 99};
	gpu_events_told_launch(&own, &launch);
	own.last_ticks = ticks_monotonic();
}

static void collect(void)
{
	struct thread *before = thread_now;
	const void *was_current = current;
	thread_now = &reader;
	event_reader_collect(&reader);
	thread_now = before;
	current = was_current;
}

static uint64_t counted(enum event_count what)
{
	return atomic_load(&event_counts[what]);
}

static int begin(void **state)
{
	(void)state;
	gpu_events_forget();
	memset(&own, 0, sizeof(own));
	memset(&reader, 0, sizeof(reader));
	memset(events, 0, sizeof(events));
	reader.ring.header = &no_ring;
	reader.is_live = own.is_live = 1;
	atomic_store(&written_count, 0);
	atomic_store(&event_count_made, 0);
	atomic_store(&driver_calls, 0);
	atomic_store(&streams_open_captures, 0);
	is_exiting = false;
	refuse_create = refuse_record = refuse_query = primary_active = 0;
	own_records = 0;
	busy_until_ns = 0;
	current = &contexts[1];
	thread_now = &own;
	atomic_store(&gpu_events_on, 1);
	return 0;
}

static void wait_until_idle(void)
{
	while (ticks_monotonic() <= busy_until_ns)
		;
}

static void context_goes(const void *context)
{
	gpu_events_drop(context);
	for (uint32_t i = 0; i < event_count_made; i++)
		if (events[i].context == context)
			events[i].is_gone = true;
}

/* ---- tests ---- */

static void a_copy_is_written_with_the_time_between_its_events(void **state)
{
	(void)state;
	copy(1500000); /* the stream is busy from here on */
	copy(2000000);
	collect();
	assert_int_equal(written_count, 0); /* neither is over */
	wait_until_idle();
	collect();
	assert_int_equal(written_count, 2);
	const struct record_gpu_copy *second = &written[1].copy;
	uint64_t took_ns = second->gpu.end_ns - second->gpu.begin_ns;
	assert_in_range(took_ns, 2000000 - 2, 2000000 + 2);
	assert_int_equal(second->gpu.head.kind, RECORD_KIND_gpu_copy);
	assert_int_equal(second->size_bytes, 4096);
	assert_int_equal(second->direction, COPY_H2D);
	assert_int_equal(second->is_async, 1);
	assert_true(written[0].gpu.correlation != second->gpu.correlation);
	/* On the host's clock, up to the width of the anchor. */
	uint64_t doubt_ns = event_reader_doubt_ns() + 200;
	assert_in_range(second->gpu.end_ns, busy_until_ns - doubt_ns, busy_until_ns + doubt_ns);
	assert_int_equal(counted(EVENT_COUNT_COPIES), 2);
}

static void launches_are_sampled_but_those_of_collectives_are_not(void **state)
{
	(void)state;
	own.last_ticks = ticks_monotonic();
	for (int i = 0; i < 20; i++)
		launch();
	collect();
	/* 5000 a second of one thread: one in 200 us. */
	assert_in_range(written_count, 1, 19);
	uint32_t before = written_count;
	own.in_collective = 1;
	for (int i = 0; i < 20; i++)
		launch();
	collect();
	assert_int_equal(written_count, before + 20);
	assert_int_equal(written[before].kernel.kernel, 99);
	assert_int_equal(counted(EVENT_COUNT_LAUNCHES), before + 20);
}

static void the_driver_is_not_called_while_a_capture_is_open_or_at_exit(void **state)
{
	(void)state;
	atomic_store(&streams_open_captures, 1);
	copy(0);
	launch();
	atomic_store(&streams_open_captures, 0);
	is_exiting = true;
	copy(0);
	assert_int_equal(driver_calls, 0);
	assert_int_equal(counted(EVENT_COUNT_CAPTURE), 3);
}

static void a_capture_that_began_inside_the_call_gets_no_event(void **state)
{
	struct call call;
	(void)state;
	begin_call(&call, &own, 0);
	gpu_events_before(&call, GPU_EVENTS_COPY, NULL);
	atomic_store(&streams_open_captures, 1);
	uint32_t before = driver_calls;
	end_call(&call, NULL, 0);
	assert_int_equal(driver_calls, before);
	assert_int_equal(own.event_pair, 0);
	assert_int_equal(counted(EVENT_COUNT_CAPTURE), 1);
}

static void a_call_that_fails_is_not_measured_and_its_events_are_used_again(void **state)
{
	(void)state;
	for (int i = 0; i < 5 * (int)EVENT_PAIRS; i++)
		copy_with(&own, NULL, 0, 0, 1);
	collect();
	assert_int_equal(written_count, 0);
	assert_true(event_count_made <= 2 * EVENT_PAIRS);
	assert_int_equal(counted(EVENT_COUNT_FULL), 0);
}

static void a_full_pool_counts_and_serves_again_when_it_was_read(void **state)
{
	(void)state;
	busy_until_ns = ticks_monotonic() + 400000000;
	for (uint32_t i = 0; i < EVENT_PAIRS + 100; i++)
		copy(0);
	assert_int_equal(counted(EVENT_COUNT_FULL), 100);
	wait_until_idle();
	collect();
	assert_int_equal(written_count, EVENT_PAIRS);
	uint32_t made = event_count_made;
	for (uint32_t i = 0; i < EVENT_PAIRS; i++)
		copy(0);
	collect();
	assert_int_equal(written_count, 2 * EVENT_PAIRS);
	assert_int_equal(event_count_made, made);
}

static void contexts_have_pools_of_their_own_and_a_ninth_is_counted(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i <= EVENT_CONTEXTS; i++) {
			current = &contexts[1 + i];
			copy(0);
		}
		collect();
	}
	assert_int_equal(written_count, 3 * EVENT_CONTEXTS);
	assert_int_equal(counted(EVENT_COUNT_FULL), 3);
	for (uint32_t i = 0; i < event_count_made; i++)
		assert_non_null(events[i].context);
}

static void nothing_of_a_context_that_went_is_touched(void **state)
{
	struct call call;
	(void)state;
	busy_until_ns = ticks_monotonic() + 1000000000;
	copy(0);
	copy(0);
	begin_call(&call, &own, 0);
	gpu_events_before(&call, GPU_EVENTS_COPY, NULL);
	context_goes(&contexts[1]);
	/* event_at() fails the test where an event that is gone is used. */
	end_call(&call, NULL, 0);
	busy_until_ns = 0;
	collect();
	assert_int_equal(written_count, 0);
	assert_int_equal(counted(EVENT_COUNT_GONE), 3);
	/* Another context, perhaps at the same address, begins with events of its own. */
	for (uint32_t i = 0; i < 2 * EVENT_PAIRS; i++) {
		copy(0);
		if (i % 500 == 499)
			collect();
	}
	collect();
	assert_int_equal(written_count, 2 * EVENT_PAIRS);
	for (uint32_t i = 0; i < EVENT_PAIRS; i++)
		assert_int_equal(event_pools[0].pairs[i].state, PAIR_FREE);
}

static void a_primary_context_that_others_hold_keeps_its_events(void **state)
{
	struct call call;
	(void)state;
	gpu_events_learn_primary(&contexts[1], 0);
	copy(0);
	collect();
	uint32_t made = event_count_made;
	for (primary_active = 1; primary_active >= 0; primary_active--) {
		begin_call(&call, &own, 0);
		gpu_events_release();
		call.status = 0;
		gpu_events_released(&call, 0);
		/* One pair is one that the pool made before, or not. */
		for (uint32_t i = 0; i < EVENT_PAIRS; i++)
			copy(0);
		collect();
		assert_true(event_count_made <= (primary_active ? 1u : 2u) * 2 * EVENT_PAIRS + 2);
		assert_true(event_count_made >= made);
	}
	assert_true(event_count_made > 2 * EVENT_PAIRS + 2); /* gone at last: made anew */
	assert_int_equal(written_count, 2 * EVENT_PAIRS + 1);
}

static void the_reader_rests_while_it_is_paused(void **state)
{
	(void)state;
	copy(0);
	event_reader_pause();
	collect();
	assert_int_equal(written_count, 0);
	event_reader_resume();
	collect();
	assert_int_equal(written_count, 1);
}

static void refusals_of_the_driver_are_counted(void **state)
{
	(void)state;
	refuse_create = 1;
	copy(0);
	refuse_create = 0;
	refuse_record = 1;
	copy(0);
	refuse_record = 0;
	assert_int_equal(counted(EVENT_COUNT_FAILED), 2);
	copy(0);
	collect();
	assert_int_equal(written_count, 1);
}

static void an_event_that_cannot_be_read_ends_measuring_in_its_context(void **state)
{
	(void)state;
	copy(0);
	copy(0);
	refuse_query = 700;
	collect();
	refuse_query = 0;
	uint32_t made = event_count_made;
	for (int i = 0; i < 10; i++)
		copy(0);
	collect();
	assert_int_equal(written_count, 0);
	assert_int_equal(counted(EVENT_COUNT_FAILED), 12);
	assert_int_equal(event_count_made, made);
	current = &contexts[2];
	copy(0);
	collect();
	assert_int_equal(written_count, 1);
}

static void a_question_that_a_capture_forbids_is_asked_again(void **state)
{
	(void)state;
	copy(0);
	refuse_query = 900;
	collect();
	refuse_query = 0;
	collect();
	assert_int_equal(written_count, 1);
}

static void default_streams_of_threads_are_theirs(void **state)
{
	(void)state;
	copy_with(&own, NULL, CALL_PER_THREAD_STREAM, 0, 0);
	assert_int_equal(own_records, 2);
	copy_with(&own, NULL, 0, 0, 0);
	copy_with(&own, &contexts[0], CALL_PER_THREAD_STREAM, 0, 0); /* names its stream */
	assert_int_equal(own_records, 2);
	collect();
	assert_int_equal(written_count, 3);
	assert_true(written[0].gpu.stream != 0);
	assert_int_equal(written[1].gpu.stream, 0);
}

static void the_end_tells_what_was_and_was_not_measured(void **state)
{
	(void)state;
	assert_null(gpu_events_start());
	copy(0);
	busy_until_ns = ticks_monotonic() + 60000000000u; /* hangs */
	copy(0);
	atomic_store(&streams_open_captures, 1);
	copy(0);
	atomic_store(&streams_open_captures, 0);
	gpu_events_finish();
	assert_string_equal(told,
			    "1 copies and 0 launches measured, 2 not (while a capture was open "
			    "1, all pairs in use 0, refused by the driver 0, context gone 0, "
			    "not over at the end 1)");
	assert_int_equal(gpu_events_on, 0);
}

static void *copy_for_a_while(void *argument)
{
	struct thread *thread = argument;
	current = &contexts[1 + thread->thread_id % 3];
	for (int i = 0; i < 20000; i++)
		copy_with(thread, NULL, CALL_PER_THREAD_STREAM & (uint16_t) - (i & 1), 0,
			  i % 7 == 0);
	return NULL;
}

static void threads_share_the_pools_with_the_reader(void **state)
{
	static struct thread threads[4];
	pthread_t handles[4];
	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		threads[i] = (struct thread){.is_live = 1, .thread_id = i};
		assert_int_equal(pthread_create(&handles[i], NULL, copy_for_a_while, &threads[i]),
				 0);
	}
	for (int i = 0; i < 50; i++) {
		collect();
		/* Other contexts come and go meanwhile. */
		event_reader_pause();
		event_pool_drop(&contexts[9]);
		event_reader_resume();
	}
	for (int i = 0; i < 4; i++)
		pthread_join(handles[i], NULL);
	collect();
	uint64_t issued = 4 * (20000 - 20000 / 7 - 1);
	assert_int_equal(counted(EVENT_COUNT_COPIES), written_count);
	assert_true(counted(EVENT_COUNT_COPIES) > 0);
	/* A failed call may have found no pair either. */
	assert_true(counted(EVENT_COUNT_COPIES) + counted(EVENT_COUNT_FULL) >= issued);
	assert_true(counted(EVENT_COUNT_COPIES) <= issued);
	assert_int_equal(counted(EVENT_COUNT_FAILED) + counted(EVENT_COUNT_GONE), 0);
	assert_true(event_count_made <= 3 * (2 * EVENT_PAIRS + 1));
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
	const struct CMUnitTest tests[] = {
		TEST(a_copy_is_written_with_the_time_between_its_events),
		TEST(launches_are_sampled_but_those_of_collectives_are_not),
		TEST(the_driver_is_not_called_while_a_capture_is_open_or_at_exit),
		TEST(a_capture_that_began_inside_the_call_gets_no_event),
		TEST(a_call_that_fails_is_not_measured_and_its_events_are_used_again),
		TEST(a_full_pool_counts_and_serves_again_when_it_was_read),
		TEST(contexts_have_pools_of_their_own_and_a_ninth_is_counted),
		TEST(nothing_of_a_context_that_went_is_touched),
		TEST(a_primary_context_that_others_hold_keeps_its_events),
		TEST(the_reader_rests_while_it_is_paused),
		TEST(refusals_of_the_driver_are_counted),
		TEST(an_event_that_cannot_be_read_ends_measuring_in_its_context),
		TEST(a_question_that_a_capture_forbids_is_asked_again),
		TEST(default_streams_of_threads_are_theirs),
		TEST(the_end_tells_what_was_and_was_not_measured),
		TEST(threads_share_the_pools_with_the_reader),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
