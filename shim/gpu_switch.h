/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switches kinds of CUPTI's records while the session runs: kernels in windows (GPUTRACE_DUTY), and
 * graphs between wholes and nodes (`gputrace capture nodes`). Used by the GPU thread alone.
 */
#ifndef GPUTRACE_SHIM_GPU_SWITCH_H
#define GPUTRACE_SHIM_GPU_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

struct thread;

/* At session start, before the GPU thread runs. */
void gpu_switch_open(uint32_t version, bool graphs_are_whole);
/* Whether this CUPTI survives it that kinds are switched. */
bool gpu_switch_is_safe(void);
/* Milliseconds until the next switch, at most `most_ms`. */
long gpu_switch_wait_ms(long most_ms);
/* Inside of a visit to CUPTI, behind a flush: switches what is due. */
void gpu_switch_turn(void);
/* Behind the visit: writes what was not recorded since the last time. */
void gpu_switch_tell(struct thread *thread, bool is_last);

#endif
