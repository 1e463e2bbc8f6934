/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a trace by time: which chunks lie outside, which rows of the others. */
#ifndef GPUTRACE_TRACE_WINDOW_H
#define GPUTRACE_TRACE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "chunk_load.h"
#include "trace_clock.h"
#include "trace_reader.h"

struct trace_window {
	bool is_set; /* false: everything is inside */
	int64_t begin_ns, end_ns;
};

/* A COLUMNS chunk of events that all begin outside the window. */
bool trace_window_is_outside(const struct trace_window *window, const struct trace_clock *clock,
			     const struct chunk_header *header);
/* Keeps the rows that begin inside; the batch stands in the loader's buffers. */
void trace_window_filter(const struct trace_window *window, const struct trace_clock *clock,
			 struct trace_batch *batch, struct chunk_loader *loader);
void trace_window_filter_events(const struct trace_window *window, const struct trace_clock *clock,
				struct trace_events *events);

#endif
