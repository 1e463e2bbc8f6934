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

/* 0 once the mode is OFF or ENDED, or when calls are recorded by other means than the wrappers: all
 * that a call costs then is this look. */
extern uint32_t lifecycle_calls_matter;
/* The same for what marks and allocators report, which come on ways of their own. */
extern uint32_t lifecycle_reports_matter;
/* The driver loaded us (injection.h): calls come from CUPTI's callbacks, where CUDA must not be
 * called. Set once, before the session opens. */
extern uint32_t lifecycle_is_injected;

/* Nonzero: the next recorded call that ends has something to do (call_attend). */
extern int lifecycle_attention;

/* Decides UNSET; cheap afterwards. True when look-ups are to be answered with wrappers. */
bool lifecycle_is_in_charge(void);
/* IDLE -> RECORDING if this thread wins; true when recording. */
bool lifecycle_open(void);
/* Whether a copy that was not preloaded may take the second way in: not switched off, not under
 * AT_SECURE, and no other copy is there. */
bool lifecycle_may_inject(void);
/* OFF -> RECORDING, if it can. */
void lifecycle_open_injected(void);
/* After the first outermost recorded call: CUDA is initialised, so our exit handler runs first. */
void lifecycle_arm_exit(void);
/* True once exit handlers run: no CUDA call of our own any more. */
bool lifecycle_exiting(void);
/* Registers the fork handler once; call before any state exists that a child must not use. */
void lifecycle_watch_forks(void);
/* After a fork that ran no handlers: same effect as the handler. */
void lifecycle_after_fork(void);

#endif
