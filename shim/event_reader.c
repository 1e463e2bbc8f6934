/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads finished pairs, on one thread of ours that makes their contexts current for itself. An
 * event says only how long after another one it came, as a float of milliseconds; so each context
 * has an anchor whose time on the host's clock is known, renewed before the float gets coarse.
 */
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "event_pairs.h"
#include "thread.h"
#include "ticks.h"
#include "totals.h"

#define ANCHOR_AGE_NS	  2000000000ull /* then a float still tells 0.12 us apart */
#define ANCHOR_WIDTH_NS	  20000u	/* an anchor known better than this is not tried again */
#define ANCHOR_TRIES	  8
#define STREAM_NO_WAITING 1u /* CU_STREAM_NON_BLOCKING */
#define CAPTURE_RELAXED	  2
#define WAIT_LIMIT_NS	  200000000ull
#define NOT_READY	  600
#define CAPTURE_ERROR(s)  ((s) >= 900 && (s) <= 908)

static _Atomic uint32_t is_reading, pauses;
static _Atomic uint64_t doubt_ns;

static uint64_t clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* The event was stamped between two looks at the clock. Only its last record counts, so it is
 * recorded until the looks were near each other, or often enough. */
static bool renew(struct event_anchor *anchor)
{
	uint64_t width_ns = UINT64_MAX;
	if (anchor->at_ns && clock_ns() - anchor->at_ns < ANCHOR_AGE_NS)
		return true;
	for (int try = 0; try < ANCHOR_TRIES && width_ns > ANCHOR_WIDTH_NS; try++) {
		uint64_t before_ns = clock_ns();
		if (event_functions.record(anchor->event, anchor->stream) ||
		    event_functions.synchronize(anchor->event))
			return false;
		width_ns = clock_ns() - before_ns;
		anchor->at_ns = before_ns + width_ns / 2;
	}
	if (width_ns / 2 > atomic_load(&doubt_ns))
		atomic_store(&doubt_ns, width_ns / 2);
	return true;
}

static bool make_anchor(struct event_pool *pool)
{
	struct event_anchor *anchor = &pool->anchor;
	if (event_functions.set_current(atomic_load(&pool->context)))
		return false;
	if ((!anchor->stream && event_functions.stream(&anchor->stream, STREAM_NO_WAITING)) ||
	    (!anchor->event && event_functions.create(&anchor->event, 0)))
		return false;
	return renew(anchor);
}

enum reading { READ_LATER, READ_DONE, READ_FAILED };

static enum reading read_pair(struct event_pair *pair, const struct event_anchor *anchor)
{
	float since_ms, took_ms;
	int status = event_functions.query(pair->end);
	if (status == NOT_READY || CAPTURE_ERROR(status))
		return READ_LATER;
	if (status || event_functions.elapsed(&since_ms, anchor->event, pair->begin) ||
	    event_functions.elapsed(&took_ms, pair->begin, pair->end) || !(took_ms >= 0))
		return READ_FAILED;
	int64_t begin_ns = (int64_t)anchor->at_ns + (int64_t)((double)since_ms * 1e6);
	if (begin_ns <= 0)
		return READ_FAILED;
	pair->record.gpu.begin_ns = (uint64_t)begin_ns;
	pair->record.gpu.end_ns = (uint64_t)begin_ns + (uint64_t)((double)took_ms * 1e6);
	return READ_DONE;
}

static void write_pair(struct thread *thread, const struct event_pair *pair)
{
	const struct record_head *head = &pair->record.gpu.head;
	void *out = totals_reserve_gpu(thread, head->kind, head->size_bytes);
	if (!out)
		return;
	memcpy(out, &pair->record, head->size_bytes);
	totals_commit_gpu(thread);
	event_count(head->kind == RECORD_KIND_gpu_copy ? EVENT_COUNT_COPIES : EVENT_COUNT_LAUNCHES);
}

/* An event that cannot be read means that its context is broken or gone: no more is asked of it. */
static void collect_one(struct thread *thread, struct event_pool *pool, struct event_pair *pair)
{
	uint32_t expected = PAIR_PENDING;
	thread_mute();
	bool has_anchor = !atomic_load(&pool->is_closed) && make_anchor(pool);
	enum reading reading = has_anchor ? read_pair(pair, &pool->anchor) : READ_FAILED;
	thread_unmute(thread);
	if (reading == READ_LATER)
		return;
	if (reading == READ_DONE) {
		write_pair(thread, pair);
	} else {
		event_count(EVENT_COUNT_FAILED);
		atomic_store(&pool->is_closed, 1);
	}
	atomic_compare_exchange_strong(&pair->state, &expected, PAIR_FREE);
}

static void collect_pool(struct thread *thread, struct event_pool *pool)
{
	for (uint32_t i = 0; i < EVENT_PAIRS && !atomic_load(&pauses); i++) {
		/* Pairs with event_pool_publish(). */
		if (atomic_load_explicit(&pool->pairs[i].state, memory_order_acquire) ==
		    PAIR_PENDING)
			collect_one(thread, pool, &pool->pairs[i]);
	}
}

void event_reader_collect(struct thread *thread)
{
	int mode = CAPTURE_RELAXED;
	atomic_store(&is_reading, 1);
	/* Questions of this thread are then no harm to a capture of another one. */
	if (event_functions.capture_mode && !atomic_load(&pauses)) {
		thread_mute();
		event_functions.capture_mode(&mode);
		thread_unmute(thread);
	}
	for (uint32_t i = 0; i < EVENT_CONTEXTS && !atomic_load(&pauses); i++)
		if (atomic_load(&event_pools[i].context))
			collect_pool(thread, &event_pools[i]);
	atomic_store(&is_reading, 0);
}

void event_reader_pause(void)
{
	uint64_t begin_ns = ticks_monotonic();
	atomic_fetch_add(&pauses, 1);
	while (atomic_load(&is_reading) && ticks_monotonic() - begin_ns < WAIT_LIMIT_NS) {
		struct timespec pause = {0, 50000};
		nanosleep(&pause, NULL);
	}
}

void event_reader_resume(void)
{
	atomic_fetch_sub(&pauses, 1);
}

uint64_t event_reader_doubt_ns(void)
{
	return atomic_load(&doubt_ns);
}

void event_reader_forget(void)
{
	atomic_store(&is_reading, 0);
	atomic_store(&pauses, 0);
	atomic_store(&doubt_ns, 0);
}
