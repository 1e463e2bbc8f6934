/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the modelled GPU. It starts equal to CLOCK_REALTIME and then follows
 * CLOCK_MONOTONIC, so that it never jumps; SIMCUDA_TIME_SCALE stretches the wall clock that a
 * modelled second takes. Waiting sleeps first and spins only through the last stretch that a sleep
 * would overshoot.
 */
#include "sim_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum { SPIN_NS = 70000 }; /* the kernel's timer slack of 50 us and a wake-up */

static int64_t realtime_minus_monotonic_ns;
static uint64_t base_ns;
static double time_scale = 1.0;

static uint64_t read_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

uint64_t sim_clock_monotonic_ns(void)
{
	return read_clock_ns(CLOCK_MONOTONIC);
}

static uint64_t wall_ns(void)
{
	return read_clock_ns(CLOCK_MONOTONIC) + (uint64_t)realtime_minus_monotonic_ns;
}

__attribute__((constructor)) static void start_clock(void)
{
	realtime_minus_monotonic_ns =
		(int64_t)(read_clock_ns(CLOCK_REALTIME) - read_clock_ns(CLOCK_MONOTONIC));
	base_ns = wall_ns();
}

void sim_clock_load(void)
{
	const char *text = getenv("SIMCUDA_TIME_SCALE");
	char *end;
	double value;

	if (!text || !*text)
		return;
	value = strtod(text, &end);
	if (*end == '\0' && value >= 0.0 && value <= 1e6)
		time_scale = value;
}

uint64_t sim_clock_now_ns(void)
{
	uint64_t now = wall_ns();

	/* Exactly these two values mean that the clocks run alike. */
	if (time_scale <= 0.0 || (time_scale >= 1.0 && time_scale <= 1.0))
		return now;
	return base_ns + (uint64_t)((double)(now - base_ns) / time_scale);
}

uint64_t simcuda_gpu_clock_ns(void)
{
	return sim_clock_now_ns();
}

bool sim_clock_is_over(uint64_t ns)
{
	return time_scale <= 0.0 || sim_clock_now_ns() >= ns;
}

uint64_t sim_clock_wall_deadline_ns(uint64_t ns)
{
	uint64_t wall = ns;

	if (time_scale <= 0.0 || ns <= base_ns)
		return 0;
	if (time_scale < 1.0 || time_scale > 1.0)
		wall = base_ns + (uint64_t)((double)(ns - base_ns) * time_scale) + 1;
	return wall - (uint64_t)realtime_minus_monotonic_ns;
}

void sim_clock_wait(uint64_t ns, bool may_spin)
{
	uint64_t deadline = sim_clock_wall_deadline_ns(ns);
	uint64_t sleep_until = deadline - (may_spin && deadline > SPIN_NS ? SPIN_NS : 0);

	if (deadline == 0)
		return;
	if (read_clock_ns(CLOCK_MONOTONIC) < sleep_until) {
		struct timespec until = {.tv_sec = (time_t)(sleep_until / 1000000000U),
					 .tv_nsec = (long)(sleep_until % 1000000000U)};

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
			;
	}
	while (!sim_clock_is_over(ns)) {
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
	}
}
