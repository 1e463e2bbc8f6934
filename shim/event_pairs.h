/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pools of event pairs, one per context, between the threads that record pairs (gpu_events.c)
 * and the one that reads them (event_reader.c). Events belong to a context and are made when a
 * place of its pool is first used; they are used again until the context goes.
 */
#ifndef GPUTRACE_SHIM_EVENT_PAIRS_H
#define GPUTRACE_SHIM_EVENT_PAIRS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../collector/format/record.h"

#define EVENT_CONTEXTS 8u    /* measured at the same time; others are counted as not measured */
#define EVENT_PAIRS    1024u /* of a context; the reader frees them every 50 ms */

enum pair_state {
	PAIR_FREE,
	PAIR_OPEN,    /* being recorded by its thread */
	PAIR_PENDING, /* recorded and described; the reader's */
	PAIR_LOST     /* was open when its context went: its thread frees it */
};

struct event_pair {
	_Atomic uint32_t state; /* enum pair_state */
	uint32_t has_events;
	void *begin, *end; /* CUevent */
	uint64_t stream;
	union {
		struct record_gpu_copy copy;
		struct record_gpu_kernel kernel;
		struct gpu_part gpu;
	} record; /* all but its times */
};

/* An event whose time on the host's clock is known; the reader's own. */
struct event_anchor {
	void *stream; /* of our own, that waits for no other */
	void *event;
	uint64_t at_ns; /* CLOCK_MONOTONIC_RAW, 0: none yet */
};

struct event_pool {
	_Atomic(const void *) context; /* NULL: free */
	_Atomic uint32_t is_closed;    /* its context goes, or its events fail: nothing is taken */
	_Atomic uint32_t next;
	struct event_anchor anchor;
	struct event_pair pairs[EVENT_PAIRS];
};

extern struct event_pool event_pools[EVENT_CONTEXTS];

/* What became of what should have been measured, for the trace. */
enum event_count {
	EVENT_COUNT_COPIES,
	EVENT_COUNT_LAUNCHES,
	EVENT_COUNT_CAPTURE, /* not measured: a capture was open, or exit had begun */
	EVENT_COUNT_FULL,    /* all pairs in use, or too many contexts */
	EVENT_COUNT_FAILED,  /* the driver refused an event */
	EVENT_COUNT_GONE,    /* their context went before they were read */
	EVENT_COUNTS
};
extern _Atomic uint64_t event_counts[EVENT_COUNTS];

static inline void event_count(enum event_count what)
{
	atomic_fetch_add_explicit(&event_counts[what], 1, memory_order_relaxed);
}

/* The functions of the driver that are called on our own account. */
#define EVENT_FUNCTIONS(F)                                                                         \
	F(current, cuCtxGetCurrent, (const void **))                                               \
	F(set_current, cuCtxSetCurrent, (const void *))                                            \
	F(create, cuEventCreate, (void **, unsigned int))                                          \
	F(record, cuEventRecord, (void *, const void *))                                           \
	F(record_own, cuEventRecord_ptsz, (void *, const void *))                                  \
	F(query, cuEventQuery, (void *))                                                           \
	F(synchronize, cuEventSynchronize, (void *))                                               \
	F(elapsed, cuEventElapsedTime, (float *, void *, void *))                                  \
	F(stream, cuStreamCreate, (void **, unsigned int))                                         \
	F(capture_mode, cuThreadExchangeStreamCaptureMode, (int *))                                \
	F(primary_state, cuDevicePrimaryCtxGetState, (int, unsigned int *, int *))

struct event_functions {
#define EVENT_FIELD(field, symbol, params) int(*field) params;
	EVENT_FUNCTIONS(EVENT_FIELD)
#undef EVENT_FIELD
};
extern struct event_functions event_functions;

/* ---- event_pool.c ---- */

/* An open pair with events of the context, for the calling thread alone; NULL, counted: none. */
struct event_pair *event_pool_take(const void *context);
/* Nothing will be read of it. Its events are used again. */
void event_pool_give_back(struct event_pair *pair);
/* The reader may have it. */
void event_pool_publish(struct event_pair *pair);
/* A number for a pair, never 0, and back. */
uint32_t event_pool_number(const struct event_pair *pair);
struct event_pair *event_pool_pair(uint32_t number);
/* The context and its events are gone, or go now; all contexts with NULL. The reader is paused. */
void event_pool_drop(const void *context);
void event_pool_forget(void);

/* ---- event_reader.c, on a thread of ours ---- */

struct thread;
/* Writes what is over. Times are CLOCK_MONOTONIC_RAW. */
void event_reader_collect(struct thread *thread);
/* On any thread: waits, bounded, until the reader touches no event, and keeps it so. */
void event_reader_pause(void);
void event_reader_resume(void);
/* The widest anchor so far: by so much a time may lie beside the host's clock. */
uint64_t event_reader_doubt_ns(void);
void event_reader_forget(void);

#endif
