/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the program's profiler has had CUPTI: begun by whoever takes it, ended by our thread. Atomic
 * words only.
 */
#ifndef GPUTRACE_SHIM_CUPTI_PAUSES_H
#define GPUTRACE_SHIM_CUPTI_PAUSES_H

#include <stdbool.h>
#include <stdint.h>

void cupti_pauses_begin(void);
void cupti_pauses_end(void);
/* When the program took CUPTI, the last time that it did, in ticks; and whether it has it now. */
bool cupti_pauses_since(uint64_t *begin_ticks);
/* How often and how long the program has had CUPTI, the present time included. */
uint32_t cupti_pauses_count(uint64_t *total_ns);
/* In the child of a fork. */
void cupti_pauses_forget(void);

#endif
