/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries whose calls into CUDA do not come by us, although they were linked in the ordinary way:
 * those opened with RTLD_DEEPBIND see their own dependencies before any preloaded library.
 */
#ifndef GPUTRACE_SHIM_BOUND_PAST_H
#define GPUTRACE_SHIM_BOUND_PAST_H

/* Looks through the loaded modules, within 20 ms, and says in the session what it found. */
void bound_past_report(void);
/* The same on a thread of ours while the session goes on, for a job that will be killed: when other
 * modules are loaded than at the last look, and ever more seldom, at last every 32 s. */
void bound_past_turn(void);

#endif
