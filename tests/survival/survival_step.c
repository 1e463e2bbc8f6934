/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded behind the shim: in the process the calendar clock jumps an hour ahead and two hours
 * back again, every 50 ms, as a badly set up time service does. The machine's own clock is left
 * alone.
 */
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HOUR_S	3600
#define STEP_NS 50000000ull

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now)
{
	struct timespec steady;
	int rc = (int)syscall(SYS_clock_gettime, clock, now);

	if (rc || clock != CLOCK_REALTIME || syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &steady))
		return rc;
	uint64_t steady_ns = (uint64_t)steady.tv_sec * 1000000000u + (uint64_t)steady.tv_nsec;
	now->tv_sec += steady_ns / STEP_NS % 2 ? HOUR_S : -HOUR_S;
	return 0;
}
