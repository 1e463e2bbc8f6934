/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this process is recorded: decides once whether the shim is in charge, opens the session
 * at the first GPU call, ends it at exit, starts over in a forked child.
 */
#ifndef GPUTRACE_SHIM_LIFECYCLE_H
#define GPUTRACE_SHIM_LIFECYCLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum lifecycle_mode {
	LIFECYCLE_UNSET = 0, /* nothing decided yet */
	LIFECYCLE_OFF,	     /* switched off, not preloaded, second copy, or could not start */
	LIFECYCLE_IDLE,	     /* waiting for the first GPU call */
	LIFECYCLE_OPENING,   /* one thread is opening the session */
	LIFECYCLE_RECORDING,
	LIFECYCLE_ENDED, /* exit has come */
};
extern _Atomic uint32_t lifecycle_mode;

/* 0 once the mode is OFF or ENDED: all that a call costs then is this look. */
extern uint32_t lifecycle_calls_matter;

/* Nonzero: the next recorded call that ends has something to do (call_attend). */
extern int lifecycle_attention;

/* Decides UNSET; cheap afterwards. True when look-ups are to be answered with wrappers. */
bool lifecycle_is_in_charge(void);
/* IDLE -> RECORDING if this thread wins; true when recording. */
bool lifecycle_open(void);
/* After the first outermost recorded call: CUDA is initialised, so our exit handler runs first. */
void lifecycle_arm_exit(void);
/* True once exit handlers run: no CUDA call of our own any more. */
bool lifecycle_exiting(void);
/* Registers the fork handler once; call before any state exists that a child must not use. */
void lifecycle_watch_forks(void);
/* After a fork that ran no handlers: same effect as the handler. */
void lifecycle_after_fork(void);

#endif
