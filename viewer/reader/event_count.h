/* SPDX-License-Identifier: Apache-2.0 */
/* How many events of which thread are in a chunk, from its head alone. */
#ifndef GPUTRACE_EVENT_COUNT_H
#define GPUTRACE_EVENT_COUNT_H

#include "chunk_load.h"

/* Calls fn for every run of rows of an EVENTS chunk until it returns non-zero, which becomes
 * *answer. 0, -EBADMSG (nothing was told), -ENOMEM. */
int event_count_runs(struct chunk_loader *loader, const struct trace_file *file,
		     const struct trace_chunk *chunk,
		     int (*fn)(void *context, uint32_t thread, uint32_t rows), void *context,
		     int *answer);

#endif
