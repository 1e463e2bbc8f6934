/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks that come from outside the job while it runs: the text of `gputrace capture mark`, and the
 * time during which recording was switched off.
 */
#ifndef GPUTRACE_LIVE_MARKS_H
#define GPUTRACE_LIVE_MARKS_H

#include <stdint.h>

struct ring_control;
struct trace_writer;

/* Zeros before the first poll. */
struct live_marks {
	uint64_t off_since_ticks; /* 0: recording is on */
};

/* To be called often; cheap when nothing has changed. `ticks`: now. */
void live_marks_poll(struct live_marks *marks, struct ring_control *control,
		     struct trace_writer *writer, uint64_t ticks);
/* The session ends: a pause that goes on ends with it. */
void live_marks_finish(struct live_marks *marks, struct trace_writer *writer, uint64_t ticks);

#endif
