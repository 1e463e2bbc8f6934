/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of what the GPU did. Part of record.h, which includes it: include that one.
 */
#ifndef GPUTRACE_FORMAT_RECORD_GPU_H
#define GPUTRACE_FORMAT_RECORD_GPU_H

#include <assert.h>
#include <stdint.h>

#include "record.h"

/* Common part. begin_ns == end_ns == 0 never appears: such records are counted as LOSS_ZERO_TIME.
 */
struct gpu_part {
	struct record_head head;
	uint64_t begin_ns; /* GPU clock */
	uint64_t end_ns;
	uint32_t correlation;
	uint32_t device;
	uint32_t context;
	uint32_t stream;     /* CUPTI's stream number, not the handle */
	uint64_t graph_node; /* 0: not from a graph */
	uint32_t graph;
	uint32_t reserved0;
};

struct record_gpu_kernel {
	struct gpu_part gpu;
	uint64_t kernel; /* NAME_KERNEL number */
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t shared_static_bytes;
	uint32_t shared_dynamic_bytes;
	uint16_t registers;
	uint16_t reserved0;
	uint32_t reserved1;
};

struct record_gpu_copy {
	struct gpu_part gpu;
	uint64_t size_bytes;
	uint8_t direction;   /* enum copy_direction */
	uint8_t source_kind; /* enum memory_kind */
	uint8_t destination_kind;
	uint8_t is_async;
	uint32_t peer_device; /* destination device of COPY_PEER, else DEVICE_UNKNOWN */
};

struct record_gpu_set {
	struct gpu_part gpu;
	uint64_t size_bytes;
	uint32_t value;
	uint32_t memory_kind;
};

/* Host-side wait as CUPTI measured it. */
struct record_gpu_sync {
	struct gpu_part gpu;
	uint32_t scope; /* enum sync_scope; 4: stream wait event */
	uint32_t reserved0;
};

/* One launch of a whole graph (CUPTI's GRAPH_TRACE): its nodes have no records of their own. */
struct record_gpu_graph {
	struct gpu_part gpu; /* graph: CUPTI's number of the executable */
	uint64_t reserved0;
};

/* Memory that the driver gave or took back, from CUPTI: also what no recorded call asked for. The
 * instant is begin_ns and end_ns; correlation is that of the call. */
struct record_gpu_memory {
	struct gpu_part gpu;
	uint64_t address;
	uint64_t size_bytes;
	uint64_t pool;		      /* 0: of no pool */
	uint64_t pool_reserved_bytes; /* of that pool, after this; 0 unknown: another process's */
	uint64_t pool_used_bytes;
	uint8_t op;	     /* enum memory_op: MEMORY_ALLOC or MEMORY_FREE */
	uint8_t memory_kind; /* enum memory_kind */
	uint8_t is_async;
	uint8_t reserved0;
	uint32_t reserved1;
};

enum gpu_pool_op { GPU_POOL_CREATE = 1, GPU_POOL_DESTROY = 2, GPU_POOL_TRIM = 3 };

/* A pool of stream-ordered memory changed; the instant is begin_ns and end_ns. */
struct record_gpu_pool {
	struct gpu_part gpu; /* context and stream 0 */
	uint64_t pool;
	uint64_t reserved_bytes; /* after this; 0 unknown: another process's */
	uint64_t used_bytes;
	uint64_t threshold_bytes; /* what it keeps when the program waits for the device */
	uint8_t op;		  /* enum gpu_pool_op */
	uint8_t is_imported;	  /* of another process */
	uint16_t reserved0;
	uint32_t reserved1;
};

static_assert(sizeof(struct gpu_part) == 56, "gpu_part");
static_assert(sizeof(struct record_gpu_kernel) == 104, "record_gpu_kernel");
static_assert(sizeof(struct record_gpu_graph) == 64, "record_gpu_graph");
static_assert(sizeof(struct record_gpu_memory) == 104, "record_gpu_memory");
static_assert(sizeof(struct record_gpu_pool) == 96, "record_gpu_pool");

#endif
