/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pause is a moment in both clocks while it lasts, and a part of a sum when it is over.
 */
#include "cupti_pauses.h"

#include <stdatomic.h>

#include "ticks.h"

static _Atomic uint64_t begun_ns, begun_ticks, over_ns;
static _Atomic uint32_t count;

void cupti_pauses_begin(void)
{
	atomic_store(&begun_ticks, ticks_now());
	atomic_store(&begun_ns, ticks_monotonic());
	atomic_fetch_add(&count, 1);
}

void cupti_pauses_end(void)
{
	uint64_t since_ns = atomic_exchange(&begun_ns, 0);
	if (since_ns)
		atomic_fetch_add(&over_ns, ticks_monotonic() - since_ns);
}

bool cupti_pauses_since(uint64_t *begin_ticks)
{
	*begin_ticks = atomic_load(&begun_ticks);
	return atomic_load(&begun_ns) != 0;
}

uint32_t cupti_pauses_count(uint64_t *total_ns)
{
	uint64_t since_ns = atomic_load(&begun_ns);
	*total_ns = atomic_load(&over_ns) + (since_ns ? ticks_monotonic() - since_ns : 0);
	return atomic_load(&count);
}

void cupti_pauses_forget(void)
{
	atomic_store(&begun_ns, 0);
	atomic_store(&begun_ticks, 0);
	atomic_store(&over_ns, 0);
	atomic_store(&count, 0);
}
