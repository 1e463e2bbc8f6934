/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of the shim inside the traced process: they take no signals and do not keep the process
 * alive.
 */
#ifndef GPUTRACE_SHIM_OWN_THREADS_H
#define GPUTRACE_SHIM_OWN_THREADS_H

#include <stdbool.h>

/* Starts a detached thread with every signal blocked; the name begins with "gputrace". 0 or errno.
 */
int own_threads_start(const char *name, void *(*run)(void *));
/* Whether the program's own threads, the main one included, have all ended. */
bool own_threads_are_last(void);

#endif
