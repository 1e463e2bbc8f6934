/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of events, within bounds: a file may say anything, and no sum or difference of these can
 * overflow.
 */
#ifndef GPUTRACE_MODEL_EVENT_TIME_H
#define GPUTRACE_MODEL_EVENT_TIME_H

#include "model.h"

/* Nanoseconds since the session's start: at most 13 days before it and 208 days after it. */
int64_t event_time_host(const struct model *model, uint64_t ticks);
int64_t event_time_gpu(const struct model *model, uint64_t gpu_ns);
/* The end of something that begins at begin_ns: not before that, nor more than 19 hours behind. */
int64_t event_time_end(int64_t begin_ns, int64_t end_ns);

#endif
