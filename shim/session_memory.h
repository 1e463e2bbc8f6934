/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session's shared memory: a sealed memfd of fixed size whose pages are allocated ring by ring.
 * Used by session.c only; threads get rings through session.h.
 */
#ifndef GPUTRACE_SHIM_SESSION_MEMORY_H
#define GPUTRACE_SHIM_SESSION_MEMORY_H

#include <stdint.h>

struct ring_control;

/* Creates the memfd with room for memory_bytes of rings and maps its control region, zeroed.
 * 0 or -errno; *fd is close-on-exec and above the numbers that programs use. */
int session_memory_create(uint64_t memory_bytes, struct ring_control **control, int *fd);
/* In a forked child. */
void session_memory_forget(void);

#endif
