/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From ticks and GPU nanoseconds to nanoseconds since the session's start: straight lines between
 * the clock records, continued beyond the first and the last. The GPU's clock may be set while it
 * is recorded: then a line ends and another one begins, and a time is taken to be on the nearer
 * one. Times that a clock which was set back has shown twice are taken for the later ones.
 */
#ifndef GPUTRACE_TRACE_CLOCK_H
#define GPUTRACE_TRACE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "clock_stretch.h"
#include "record.h"

struct clock_point {
	uint64_t from; /* ticks, or GPU ns */
	int64_t to_ns; /* since the session's start */
};

struct clock_line {
	struct clock_point *points; /* both coordinates grow, `from` within a part only */
	size_t count;
	size_t *parts; /* first points of the stretches between which the clock was set; NULL: one
			*/
	size_t part_count;
	double default_slope; /* ns per unit of `from`, with fewer than two points */
};

struct trace_clock {
	struct clock_line host, gpu;
	struct record_clock *records; /* as found, until trace_clock_settle() */
	size_t count, capacity;
	uint64_t start_realtime_ns;
	uint64_t last_gpu_ns; /* of the last record that has it, 0: none has */
	uint64_t gpu_steps;   /* how often the GPU's clock was set */
};

/* 0 or -ENOMEM. */
int trace_clock_add(struct trace_clock *clock, const struct record_clock *record);
/* All records are there. clock_kind and start_realtime_ns: of the file head; start_ticks and
 * ticks_per_second: what the session said of its clock, 0 unknown. 0 or -ENOMEM. */
int trace_clock_settle(struct trace_clock *clock, uint32_t clock_kind, uint64_t start_realtime_ns,
		       uint64_t start_ticks, double ticks_per_second);
struct clock_stretch trace_clock_stretch(const struct clock_line *line, uint64_t from);
int64_t trace_clock_ns(const struct clock_line *line, uint64_t from);
void trace_clock_fini(struct trace_clock *clock);

#endif
