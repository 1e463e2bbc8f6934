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

#define CONTEXTS	  16u
#define ANCHOR_AGE_NS	  2000000000ull /* then a float still tells 0.12 us apart */
#define STREAM_NO_WAITING 1u		/* CU_STREAM_NON_BLOCKING */
#define CAPTURE_RELAXED	  2
#define WAIT_LIMIT_NS	  200000000ull

static struct anchor {
	_Atomic(const void *) context;
	void *stream; /* of our own, that waits for no other */
	void *event;
	uint64_t at_ns; /* CLOCK_MONOTONIC_RAW, 0: none yet */
} anchors[CONTEXTS];
static _Atomic uint32_t is_reading, is_dropping;

static uint64_t clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* The narrowest of a few tries: the event was stamped between the two looks at the clock. */
static bool renew(struct anchor *anchor)
{
	uint64_t best = UINT64_MAX;
	if (anchor->at_ns && clock_ns() - anchor->at_ns < ANCHOR_AGE_NS)
		return true;
	for (int try = 0; try < 3; try++) {
		uint64_t before_ns = clock_ns();
		if (event_functions.record(anchor->event, anchor->stream) ||
		    event_functions.synchronize(anchor->event))
			return false;
		uint64_t after_ns = clock_ns();
		/* Only the last record counts, so the last try is the one to keep unless it was
		 * disturbed much more than the ones before. */
		if (after_ns - before_ns <= best + best / 2 || try == 2) {
			best = after_ns - before_ns;
			anchor->at_ns = before_ns + best / 2;
		}
	}
	return true;
}

static struct anchor *anchor_of(const void *context)
{
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		struct anchor *anchor = &anchors[i];
		const void *of = atomic_load(&anchor->context);
		if (of && of != context)
			continue;
		if (event_functions.set_current(context))
			return NULL;
		if (!of && (event_functions.stream(&anchor->stream, STREAM_NO_WAITING) ||
			    event_functions.create(&anchor->event, 0)))
			return NULL;
		if (!of)
			anchor->at_ns = 0;
		atomic_store(&anchor->context, context);
		return renew(anchor) ? anchor : NULL;
	}
	return NULL;
}

/* False: not over yet. */
static bool read_pair(struct event_pair *pair, const struct anchor *anchor, bool *is_usable)
{
	float since_ms, took_ms;
	int status = event_functions.query(pair->end);
	*is_usable = false;
	if (status == 600) /* CUDA_ERROR_NOT_READY */
		return false;
	if (status || event_functions.elapsed(&since_ms, anchor->event, pair->begin) ||
	    event_functions.elapsed(&took_ms, pair->begin, pair->end) || took_ms < 0)
		return true;
	int64_t begin_ns = (int64_t)anchor->at_ns + (int64_t)((double)since_ms * 1e6);
	pair->record.gpu.begin_ns = (uint64_t)begin_ns;
	pair->record.gpu.end_ns = (uint64_t)begin_ns + (uint64_t)((double)took_ms * 1e6);
	*is_usable = begin_ns > 0;
	return true;
}

static void write_pair(struct thread *thread, const struct event_pair *pair)
{
	const struct record_head *head = &pair->record.gpu.head;
	void *out = thread_reserve(thread, head->kind, head->size_bytes);
	if (!out)
		return;
	memcpy(out, &pair->record, head->size_bytes);
	thread_commit(thread);
}

static void collect_one(struct thread *thread, struct event_pair *pair)
{
	uint32_t expected = PAIR_PENDING;
	bool is_usable;
	thread_mute();
	const struct anchor *anchor = anchor_of(atomic_load(&pair->context));
	bool is_over = !anchor || read_pair(pair, anchor, &is_usable);
	thread_unmute(thread);
	if (!is_over)
		return;
	if (anchor && is_usable)
		write_pair(thread, pair);
	atomic_compare_exchange_strong(&pair->state, &expected, PAIR_FREE);
}

void event_reader_collect(struct thread *thread)
{
	int mode = CAPTURE_RELAXED;
	atomic_store(&is_reading, 1);
	/* Questions of this thread are then no harm to a capture of another one. */
	if (event_functions.capture_mode) {
		thread_mute();
		event_functions.capture_mode(&mode);
		thread_unmute(thread);
	}
	for (uint32_t i = 0; i < EVENT_PAIRS && !atomic_load(&is_dropping); i++) {
		/* Pairs with publish() in gpu_events.c. */
		if (atomic_load_explicit(&event_pairs[i].state, memory_order_acquire) ==
		    PAIR_PENDING)
			collect_one(thread, &event_pairs[i]);
	}
	atomic_store(&is_reading, 0);
}

void event_reader_drop(const void *context)
{
	uint64_t begin_ns = ticks_monotonic();
	atomic_store(&is_dropping, 1);
	while (atomic_load(&is_reading) && ticks_monotonic() - begin_ns < WAIT_LIMIT_NS) {
		struct timespec pause = {0, 50000};
		nanosleep(&pause, NULL);
	}
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		const void *of = atomic_load(&anchors[i].context);
		if (of && (of == context || !context))
			atomic_store(&anchors[i].context, NULL);
	}
	/* Their events went with the context: such places begin anew. */
	for (uint32_t i = 0; i < EVENT_PAIRS; i++) {
		if (atomic_load(&event_pairs[i].state) != PAIR_LOST)
			continue;
		atomic_store(&event_pairs[i].context, NULL);
		atomic_store(&event_pairs[i].state, PAIR_FREE);
	}
	atomic_store(&is_dropping, 0);
}

void event_reader_forget(void)
{
	memset((void *)anchors, 0, sizeof(anchors));
	atomic_store(&is_reading, 0);
	atomic_store(&is_dropping, 0);
}
