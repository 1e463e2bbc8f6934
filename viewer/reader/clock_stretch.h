/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stretch of a clock's line, for who converts many times that are near each other: the same
 * arithmetic as trace_clock_ns(), without finding the stretch again for each.
 */
#ifndef GPUTRACE_CLOCK_STRETCH_H
#define GPUTRACE_CLOCK_STRETCH_H

#include <stdbool.h>
#include <stdint.h>

struct clock_stretch {
	uint64_t first, last; /* times that it holds for */
	uint64_t from;	      /* is at to_ns */
	int64_t to_ns;	      /* since the session's start */
	double slope;	      /* ns per unit of `from` */
};

static inline bool clock_stretch_holds(const struct clock_stretch *stretch, uint64_t time)
{
	return time >= stretch->first && time <= stretch->last;
}

/* Half a nanosecond goes away from zero, as llround() has it. */
static inline int64_t clock_stretch_round(double ns)
{
	int64_t whole;
	double rest;

	if (ns >= 9.2e18)
		return INT64_MAX;
	if (ns <= -9.2e18)
		return INT64_MIN;
	whole = (int64_t)ns;
	rest = ns - (double)whole;
	return whole + (rest >= 0.5) - (rest <= -0.5);
}

/* ns since the session's start of a time that the stretch holds for. */
static inline int64_t clock_stretch_ns(const struct clock_stretch *stretch, uint64_t time)
{
	/* The difference is small, so a double holds it exactly. */
	double distance = time >= stretch->from ? (double)(time - stretch->from)
						: -(double)(stretch->from - time);
	int64_t ns = clock_stretch_round(distance * stretch->slope), sum;

	if (!__builtin_add_overflow(stretch->to_ns, ns, &sum))
		return sum;
	return ns < 0 ? INT64_MIN : INT64_MAX;
}

#endif
