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
	uint64_t off_since_ticks;    /* 0: recording is on */
	uint64_t summed_since_ticks; /* end of the last mark of live_marks_summed() */
};

/* To be called often; cheap when nothing has changed. `ticks`: now. */
void live_marks_poll(struct live_marks *marks, struct ring_control *control,
		     struct trace_writer *writer, uint64_t ticks);
/* The session ends: a pause that goes on ends with it. */
void live_marks_finish(struct live_marks *marks, struct trace_writer *writer, uint64_t ticks);

/* Of a session that sums all calls, or samples all launches: says so of the time since the last
 * mark.
 */
void live_marks_summed(struct live_marks *marks, const struct ring_control *control,
		       struct trace_writer *writer, uint64_t ticks);

#endif
