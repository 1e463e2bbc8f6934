/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session's shared memory, of fixed size, whose pages are allocated ring by ring. Used by
 * session.c and collector_start.c only; threads get rings through session.h.
 */
#ifndef GPUTRACE_SHIM_SESSION_MEMORY_H
#define GPUTRACE_SHIM_SESSION_MEMORY_H

#include <stdint.h>

struct ring_control;

/* Creates memory with room for memory_bytes of rings and maps its control region, zeroed. 0 or
 * -errno; *fd is close-on-exec and above the numbers that programs use, or -1: only a thread of the
 * process can collect. */
int session_memory_create(uint64_t memory_bytes, struct ring_control **control, int *fd);
/* What the memory is, where it is no memfd; NULL: it is one. */
const char *session_memory_kind(void);
/* The whole memory where it has no descriptor, else NULL. */
void *session_memory_base(uint64_t *size_bytes);
/* In a forked child. */
void session_memory_forget(void);

#endif
