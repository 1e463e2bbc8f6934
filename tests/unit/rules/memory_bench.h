/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hand-made allocators for the tests of the rules about memory: segments that the driver hands out,
 * blocks in them, failures, and a training loop to hang allocations on.
 */
#ifndef GPUTRACE_TESTS_MEMORY_BENCH_H
#define GPUTRACE_TESTS_MEMORY_BENCH_H

#include "rule_bench.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* An A100 with so much memory. */
void memory_bench_init(struct bench *bench, uint64_t capacity_bytes);
/* cudaMalloc and cudaFree of thread 1, now; a status other than 0 fails. */
void memory_malloc(struct bench *bench, uint64_t address, uint64_t bytes, int32_t status);
void memory_free(struct bench *bench, uint64_t address);
/* Of the framework, with its totals as they are then. */
void memory_block(struct bench *bench, uint8_t op, uint64_t address, uint64_t bytes, uint64_t site,
		  uint64_t allocated_bytes, uint64_t reserved_bytes);
/* One training step: work, optimizer, wait. */
void memory_step(struct bench *bench);
/* `count` segments of 20 MiB, each with one live block of 1 MiB from site 7, then a request of 512
 * MiB that fails. */
void memory_fragmented_failure(struct bench *bench, unsigned int count);
/* What every verdict on a failure owes: silence where nothing failed, and no judgement of a failure
 * on a device whose capacity is not in the file. */
void memory_check_run_without_failure(const char *rule_id);
void memory_check_unknown_device(const char *rule_id);

#endif
