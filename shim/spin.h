/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock for rare updates of tables of ours. It is never held across a call of anybody else's, and
 * taking it gives up after about 10 ms of yielding (a signal handler may have interrupted the
 * holder), in which case the update is left out and what depends on it is "unknown". That is longer
 * than the scheduler's time slice: a holder that only lost its CPU gets it back.
 */
#ifndef GPUTRACE_SHIM_SPIN_H
#define GPUTRACE_SHIM_SPIN_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct spin {
	_Atomic uint32_t taken;
};

static inline bool spin_take(struct spin *spin)
{
	for (int try = 0; try < 40000; try++) {
		if (!atomic_exchange_explicit(&spin->taken, 1, memory_order_acquire))
			return true;
		if (try >= 100)
			sched_yield();
	}
	return false;
}

static inline void spin_give(struct spin *spin)
{
	atomic_store_explicit(&spin->taken, 0, memory_order_release);
}

#endif
