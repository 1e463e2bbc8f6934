/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bench for shim/gpu_events.c and what belongs to it: a driver that only keeps times, and what
 * was written. Every test begins with event_bench_begin() as its cmocka setup.
 */
#ifndef GPUTRACE_TESTS_EVENT_BENCH_H
#define GPUTRACE_TESTS_EVENT_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../shim/event_pairs.h"
#include "../../../shim/streams.h"
#include "../../../shim/thread.h"
#include "../../../shim/ticks.h"

union bench_record {
	struct gpu_part gpu;
	struct record_gpu_copy copy;
	struct record_gpu_kernel kernel;
};

/* Everything that was written, in order. */
extern union bench_record bench_written[4096];
extern _Atomic uint32_t bench_written_count;

/* The program's thread and the reader's; what the trace was told at the end; whether exit began. */
extern struct thread bench_own, bench_reader;
extern char bench_told[320];
extern bool bench_is_exiting;

/* The driver: what it was asked, what it refuses with which error, until when its stream is busy.
 */
extern _Atomic uint32_t bench_events_made, bench_driver_calls, bench_own_records;
extern int bench_refuse_create, bench_refuse_record, bench_refuse_query, bench_primary_active;
extern uint64_t bench_busy_until_ns;
extern const char bench_contexts[16]; /* their addresses are contexts */
extern _Thread_local const void *bench_current;

int event_bench_begin(void **state);
/* Tells the component, and then every event of the context is gone. */
void event_bench_context_goes(const void *context);

#endif
