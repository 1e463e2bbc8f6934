/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of host records: the TSC or the virtual counter where it is fit for it, else
 * CLOCK_MONOTONIC. Two plain counter reads are most of what a traced call costs, so no fences.
 */
#ifndef GPUTRACE_SHIM_TICKS_H
#define GPUTRACE_SHIM_TICKS_H

#include <stdint.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* enum ring_clock; 0 before ticks_init(). */
extern uint32_t ticks_clock_kind;

/* Chooses the clock; returns its nominal frequency in Hz. */
uint64_t ticks_init(void);
uint64_t ticks_monotonic(void);

static inline uint64_t ticks_now(void)
{
#if defined(__x86_64__)
	if (__builtin_expect(ticks_clock_kind == 1, 1))
		return __rdtsc();
#elif defined(__aarch64__)
	if (__builtin_expect(ticks_clock_kind == 2, 1)) {
		uint64_t value;
		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
		return value;
	}
#endif
	return ticks_monotonic();
}

#endif
