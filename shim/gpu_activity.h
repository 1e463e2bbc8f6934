/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU times from CUPTI. Everything here is optional: without CUPTI, or with CUPTI in another tool's
 * hands, the host trace goes on and the trace says why there are no GPU times.
 */
#ifndef GPUTRACE_SHIM_GPU_ACTIVITY_H
#define GPUTRACE_SHIM_GPU_ACTIVITY_H

/* At session start, from a thread with a ring. */
void gpu_activity_start(void);
/* Writes what finished buffers hold, from the calling thread. */
void gpu_activity_drain(void);
/* Our thread turns now, not at the end of its period. */
void gpu_activity_wake(void);
/* At exit, while CUDA is alive: fetches everything, waits at most 2 s. */
void gpu_activity_finish(void);
/* In a forked child: CUPTI is not touched there. */
void gpu_activity_forget(void);

#endif
