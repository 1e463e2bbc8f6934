/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU times without CUPTI (GPUTRACE_GPU=events): a pair of events around every copy, around the
 * kernels of every collective, and around some launches. What a pair measures includes what its
 * stream waits for in between, such as its turn on a copy engine; around a blocking copy also the
 * way back to the program.
 *
 * No pair is recorded while any capture is open, after exit began, or when all pairs are in use;
 * what is left out is counted. A pair is recorded in the stream of the work itself, so it orders
 * nothing that the work does not.
 */
#ifndef GPUTRACE_SHIM_GPU_EVENTS_H
#define GPUTRACE_SHIM_GPU_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_abi.h"
#include "call.h"

enum gpu_events_what { GPU_EVENTS_COPY = 1, GPU_EVENTS_LAUNCH = 2 };

extern _Atomic uint32_t gpu_events_on;

/* At session start: NULL, or why it cannot be. */
const char *gpu_events_start(void);
void gpu_events_finish(void);
void gpu_events_forget(void);
/* Before a context goes, or a device's primary one: its events are not touched any more. */
void gpu_events_drop(const void *context);
void gpu_events_drop_primary(int device);
/* Around a release of a primary context, which goes with its last holder; and which one it is. */
void gpu_events_release(void);
void gpu_events_released(const struct call *call, int device);
void gpu_events_learn_primary(const void *context, int device);

void gpu_events_open(struct call *call, enum gpu_events_what what, const void *stream);
void gpu_events_close(struct call *call, const void *stream);
/* What the pair that was closed last on this thread is of; only now it is read. */
void gpu_events_tell_copy(struct thread *thread, const struct record_copy *copy);
void gpu_events_tell_launch(struct thread *thread, const struct record_launch *launch);

/* Around the real call of a row that issues work to a stream. */
static inline void gpu_events_before(struct call *call, enum gpu_events_what what,
				     const void *stream)
{
	if (__builtin_expect(atomic_load_explicit(&gpu_events_on, memory_order_relaxed), 0))
		gpu_events_open(call, what, stream);
}

static inline void gpu_events_after(struct call *call, const void *stream)
{
	if (__builtin_expect(call->thread->event_pair != 0, 0))
		gpu_events_close(call, stream);
}

/* A configuration is read only where its stream is wanted: the call may fail because of it. */
static inline const void *gpu_events_stream_of(const CUlaunchConfig *config)
{
	bool is_wanted = atomic_load_explicit(&gpu_events_on, memory_order_relaxed) != 0;
	return is_wanted && config ? config->hStream : NULL;
}

/* Where a call's record is made. */
static inline void gpu_events_told_copy(struct thread *thread, const struct record_copy *copy)
{
	if (__builtin_expect(thread->event_pair != 0, 0))
		gpu_events_tell_copy(thread, copy);
}

static inline void gpu_events_told_launch(struct thread *thread, const struct record_launch *launch)
{
	if (__builtin_expect(thread->event_pair != 0, 0))
		gpu_events_tell_launch(thread, launch);
}

#endif
