/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool of event pairs, between the threads that record them (gpu_events.c) and the one that
 * reads them (event_reader.c).
 */
#ifndef GPUTRACE_SHIM_EVENT_PAIRS_H
#define GPUTRACE_SHIM_EVENT_PAIRS_H

#include <stdatomic.h>
#include <stdint.h>

#include "../collector/format/record.h"

#define EVENT_PAIRS 2048u

enum pair_state {
	PAIR_FREE,    /* may have events of `context` already */
	PAIR_OPEN,    /* being recorded by its thread */
	PAIR_PENDING, /* recorded and described; the reader's */
	PAIR_LOST     /* its context is gone, and its events with it */
};

struct event_pair {
	_Atomic uint32_t state; /* enum pair_state */
	_Atomic(const void *) context;
	void *begin, *end; /* CUevent */
	uint64_t stream;
	union {
		struct record_gpu_copy copy;
		struct record_gpu_kernel kernel;
		struct gpu_part gpu;
	} record; /* all but its times */
};

extern struct event_pair event_pairs[EVENT_PAIRS];

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
	F(capture_mode, cuThreadExchangeStreamCaptureMode, (int *))

struct event_functions {
#define EVENT_FIELD(field, symbol, params) int(*field) params;
	EVENT_FUNCTIONS(EVENT_FIELD)
#undef EVENT_FIELD
};
extern struct event_functions event_functions;

/* event_reader.c, on a thread of ours: writes what is over. Times are CLOCK_MONOTONIC_RAW. */
struct thread;
void event_reader_collect(struct thread *thread);
void event_reader_drop(const void *context);
void event_reader_forget(void);

#endif
