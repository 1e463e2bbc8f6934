/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which streams are being captured into graphs, as far as the begin and end calls tell: what is
 * issued there is recorded, not executed, and the shim makes no CUDA call meanwhile. A default
 * stream of a thread stands in here as stream_key() of capture.h names it.
 */
#ifndef GPUTRACE_SHIM_STREAMS_H
#define GPUTRACE_SHIM_STREAMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph_table.h"

extern _Atomic uint32_t streams_open_captures;

/* site: of the call that began it. */
void streams_begin_capture(const void *stream, uint64_t site);
/* True when a capture ended, and what it holds. */
bool streams_end_capture(const void *stream, struct graph_origin *captured);
/* One more node in the capture of this stream. */
void streams_count(const void *stream, enum graph_node_kind kind);
/* An event recorded in a captured stream, or a stream that waits for it, joins the capture. */
void streams_join(const void *from, const void *to);
bool streams_is_captured_slow(const void *stream);
void streams_forget(void);

static inline bool streams_is_captured(const void *stream)
{
	return __builtin_expect(
		       atomic_load_explicit(&streams_open_captures, memory_order_relaxed) != 0,
		       0) &&
	       streams_is_captured_slow(stream);
}

#endif
