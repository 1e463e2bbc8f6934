/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the clock of host records once per process. The counter is used where the CPU says that
 * it is invariant and the kernel has not turned away from it.
 */
#include "ticks.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "../collector/format/ring.h"

#define NS_PER_S 1000000000ull

uint32_t ticks_clock_kind;

uint64_t ticks_monotonic(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)
/* A kernel that found the TSC unsteady uses another clock source than these. */
static bool kernel_trusts_counter(void)
{
	char text[32] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		      O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true; /* no sysfs in this container: the CPU's word must do */
	ssize_t count = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (count <= 0)
		return true;
	return !strncmp(text, "tsc", 3) || !strncmp(text, "kvm-clock", 9) ||
	       !strncmp(text, "hyperv", 6) || !strncmp(text, "xen", 3);
}

static bool counter_is_invariant(void)
{
	unsigned int a, b, c, d;
	if (!__get_cpuid(0x80000007u, &a, &b, &c, &d))
		return false;
	return d & (1u << 8);
}

/* A nominal value; the CLOCK records are what converts. */
static uint64_t counter_frequency(void)
{
	uint64_t ticks_begin = __rdtsc(), ns_begin = ticks_monotonic(), ns;
	do {
		ns = ticks_monotonic() - ns_begin;
	} while (ns < 200000);
	return (__rdtsc() - ticks_begin) * NS_PER_S / ns;
}
#endif

uint64_t ticks_init(void)
{
#if defined(__x86_64__)
	if (counter_is_invariant() && kernel_trusts_counter()) {
		ticks_clock_kind = RING_CLOCK_TSC;
		return counter_frequency();
	}
#elif defined(__aarch64__)
	uint64_t hz;
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
	ticks_clock_kind = RING_CLOCK_CNTVCT;
	return hz;
#endif
#if !defined(__aarch64__)
	ticks_clock_kind = RING_CLOCK_MONOTONIC;
	return NS_PER_S;
#endif
}
