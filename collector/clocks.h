/* SPDX-License-Identifier: Apache-2.0 */
/* The session's clock as the collector reads it, and the same instant on several clocks. */
#ifndef GPUTRACE_CLOCKS_H
#define GPUTRACE_CLOCKS_H

#include <stdint.h>

#include "record.h"

/* Ticks of enum ring_clock; 0 for a clock that this machine does not have. */
uint64_t clocks_ticks(uint32_t clock_kind);
uint64_t clocks_monotonic_ns(void);
/* Reads the clocks as close together as a few tries allow; gpu_ns stays 0. */
void clocks_sample(uint32_t clock_kind, struct record_clock *clock);

#endif
