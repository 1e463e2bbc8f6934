/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While recording is switched off (gputrace capture off) CUPTI is too, since its part of the cost
 * of a call is the larger one. Only the thread that fetches CUPTI's records comes here.
 */
#ifndef GPUTRACE_SHIM_GPU_PAUSE_H
#define GPUTRACE_SHIM_GPU_PAUSE_H

#include <stdint.h>

struct thread;

/* There were no GPU times from then until now. */
void gpu_pause_mark(struct thread *thread, uint64_t begin_ticks);

/* Looks at the switch, and follows it. */
void gpu_pause_follow(struct thread *thread);
/* The session ends: a pause that goes on ends with it. */
void gpu_pause_end(struct thread *thread);
/* In a forked child. */
void gpu_pause_forget(void);

#endif
