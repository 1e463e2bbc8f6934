/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI tells of memory (records gpu_memory and gpu_pool), by device: what pools hold for
 * later, which no call tells, and memory that no recorded call asked for.
 */
#ifndef GPUTRACE_MODEL_DRIVER_MEMORY_H
#define GPUTRACE_MODEL_DRIVER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct model_builder;
struct trace_batch;

/* One record of the two kinds; by time once the model is built. */
struct driver_event {
	int64_t time_ns;
	uint64_t address, size_bytes; /* 0: a pool's own event */
	uint64_t pool, reserved_bytes, used_bytes;
	uint16_t device;
	uint8_t op;   /* enum memory_op; of a pool 0, or MEMORY_FREE: it is gone */
	uint8_t kind; /* enum memory_kind */
};

struct driver_memory {
	uint64_t allocations, frees; /* of the device's own memory */
	bool has_pools;
	/* Of all pools together. */
	uint64_t reserved_peak_bytes, reserved_bytes, used_peak_bytes, used_bytes;
	/* Allocations that no call in the file made; not judged when calls about memory were lost.
	 */
	bool is_unseen_judged;
	uint64_t unseen, unseen_peak_bytes, unseen_bytes; /* how many; live at most, at the end */
};

void driver_memory_collect(struct model_builder *builder, const struct trace_batch *batch);
/* After the calls' own memory is known. */
void driver_memory_build(struct model *model);

#endif
