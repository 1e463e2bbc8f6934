/* SPDX-License-Identifier: Apache-2.0 */
/* Turns CUPTI's activity records into ours. */
#ifndef GPUTRACE_SHIM_GPU_RECORDS_H
#define GPUTRACE_SHIM_GPU_RECORDS_H

#include <stddef.h>
#include <stdint.h>

struct cupti;
struct thread;

/* Writes every record of a finished buffer to the thread's ring; unusable ones are counted. */
void gpu_records_convert(const struct cupti *cupti, struct thread *thread, uint8_t *buffer,
			 size_t valid_size);
/* Adds to the losses that CUPTI itself reports. */
void gpu_records_count_dropped(uint64_t count);
/* Writes the losses since the last time as records. */
void gpu_records_write_losses(struct thread *thread);

/* What CUPTI says it cost the program's threads itself. */
uint64_t gpu_records_overhead_ns(void);

#endif
