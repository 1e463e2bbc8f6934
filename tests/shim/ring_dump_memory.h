/* SPDX-License-Identifier: Apache-2.0 */
/* The part of ring_dump that prints what CUPTI tells of allocations and pools. */
#ifndef GPUTRACE_TESTS_RING_DUMP_MEMORY_H
#define GPUTRACE_TESTS_RING_DUMP_MEMORY_H

#include <stdio.h>

#include "../../collector/format/record.h"

/* How a gpu_memory, gpu_pool or gpu_graph record is called. */
const char *ring_dump_memory_kind(const struct record_head *head);
/* The fields of a gpu_memory or gpu_pool record, after those of every GPU record; of others
 * nothing. */
void ring_dump_memory(FILE *out, const struct record_head *head);

#endif
