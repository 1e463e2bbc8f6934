/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gets a collector for the session: a process of its own that the traced program never sees, or a
 * thread of this process where that cannot be.
 */
#ifndef GPUTRACE_SHIM_COLLECTOR_START_H
#define GPUTRACE_SHIM_COLLECTOR_START_H

#include <stdbool.h>

/* 0 when a collector is attached. *reason: why it is a thread and not a process, NULL for a
 * process; a text that stays. */
int collector_start(int memfd, const char **reason);

/* Whether the collector's process has ended; false for a thread. Two system calls; keeps errno. */
bool collector_is_gone(void);
/* Whether a thread collects or is about to: a busy machine may not have run it yet. */
bool collector_has_thread(void);
/* In a forked child: it has none. */
void collector_forget(void);

#endif
