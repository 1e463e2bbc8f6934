/* SPDX-License-Identifier: Apache-2.0 */
/* Records that more than one part of the shim writes. */
#ifndef GPUTRACE_SHIM_THREAD_WRITE_H
#define GPUTRACE_SHIM_THREAD_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread;

/* A NAME record; false when it was dropped. */
bool thread_write_name(struct thread *thread, uint16_t space, uint64_t id, const char *text,
		       size_t text_bytes);

#endif
