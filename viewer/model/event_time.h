/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of events, within bounds: a file may say anything, and no sum or difference of these can
 * overflow.
 */
#ifndef GPUTRACE_MODEL_EVENT_TIME_H
#define GPUTRACE_MODEL_EVENT_TIME_H

#include "model.h"

#define EVENT_EARLIEST_NS     (-((int64_t)1 << 50))
#define EVENT_LATEST_NS	      ((int64_t)1 << 54)
#define EVENT_LENGTH_LIMIT_NS ((int64_t)1 << 46)

/* Nanoseconds since the session's start: at most 13 days before it and 208 days after it. */
int64_t event_time_host(const struct model *model, uint64_t ticks);
int64_t event_time_gpu(const struct model *model, uint64_t gpu_ns);
/* The end of something that begins at begin_ns: not before that, nor more than 19 hours behind. */
static inline int64_t event_time_end(int64_t begin_ns, int64_t end_ns)
{
	if (end_ns < begin_ns)
		return begin_ns;
	return end_ns - begin_ns > EVENT_LENGTH_LIMIT_NS ? begin_ns + EVENT_LENGTH_LIMIT_NS
							 : end_ns;
}

/* Converts times that are near each other: the same results, sooner. */
struct event_clock {
	const struct model *model;
	bool is_gpu;
	struct clock_stretch stretch; /* of the last time */
};

struct event_clock event_clock_host(const struct model *model);
struct event_clock event_clock_gpu(const struct model *model);
int64_t event_clock_find(struct event_clock *clock, uint64_t time);

static inline int64_t event_time_bounded(int64_t ns)
{
	if (ns > EVENT_LATEST_NS)
		return EVENT_LATEST_NS;
	return ns < EVENT_EARLIEST_NS ? EVENT_EARLIEST_NS : ns;
}

static inline int64_t event_clock_ns(struct event_clock *clock, uint64_t time)
{
	if (!clock_stretch_holds(&clock->stretch, time))
		return event_clock_find(clock, time);
	return event_time_bounded(clock_stretch_ns(&clock->stretch, time));
}

#endif
