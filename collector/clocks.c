/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample is two tick readings around the other clocks; of several tries the one with the smallest
 * distance wins, which leaves out those where the thread was interrupted.
 */
#include "clocks.h"

#include <time.h>

#include "ring.h"

#define SAMPLE_TRIES 7

static uint64_t read_clock(clockid_t which)
{
	struct timespec now = {0};

	clock_gettime(which, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clocks_monotonic_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t clocks_ticks(uint32_t clock_kind)
{
	switch (clock_kind) {
#if defined(__x86_64__)
	case RING_CLOCK_TSC:
		return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	case RING_CLOCK_CNTVCT: {
		uint64_t ticks;

		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
		return ticks;
	}
#endif
	case RING_CLOCK_MONOTONIC:
		return clocks_monotonic_ns();
	default:
		return 0;
	}
}

void clocks_sample(uint32_t clock_kind, struct record_clock *clock)
{
	uint64_t best = UINT64_MAX;

	*clock = (struct record_clock){
		.head = {.kind = RECORD_KIND_clock, .size_bytes = sizeof(*clock)},
	};
	for (int i = 0; i < SAMPLE_TRIES; i++) {
		uint64_t before = clocks_ticks(clock_kind);
		uint64_t monotonic_ns = read_clock(CLOCK_MONOTONIC_RAW);
		uint64_t realtime_ns = read_clock(CLOCK_REALTIME);
		uint64_t after = clocks_ticks(clock_kind);

		if (after - before >= best)
			continue;
		best = after - before;
		/* The two calls take the same time: the middle between the readings is the end of
		 * the first and the begin of the second. */
		clock->ticks = before + best / 2;
		clock->monotonic_ns = monotonic_ns;
		clock->realtime_ns = realtime_ns;
	}
}
