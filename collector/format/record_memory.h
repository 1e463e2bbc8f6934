/* SPDX-License-Identifier: Apache-2.0 */
/* The record of memory: what was taken, mapped, given back or told of. Included by record.h alone.
 */
#ifndef GPUTRACE_FORMAT_RECORD_MEMORY_H
#define GPUTRACE_FORMAT_RECORD_MEMORY_H

#include <assert.h>
#include <stdint.h>

#include "record.h"

enum memory_op {
	MEMORY_ALLOC = 1,
	MEMORY_FREE = 2,
	MEMORY_MAP = 3, /* physical memory (backing) became visible at address */
	MEMORY_UNMAP = 4,
	MEMORY_CONTEXT_END = 5, /* of the context at address, with all memory that it backs */
	MEMORY_PRIMARY_END = 6, /* of the device's primary context */
	MEMORY_POOL_TOLD = 7	/* the pool at address holds size_bytes; backing: POOL_RESERVED_ */
};
enum { POOL_RESERVED_NOW = 5, POOL_RESERVED_MOST = 6 };

struct record_memory {
	struct call_part call;
	uint64_t address;
	uint64_t size_bytes; /* ALLOC: requested; FREE: 0, the model knows it */
	uint64_t stream;     /* stream-ordered calls */
	uint8_t op;	     /* enum memory_op */
	uint8_t memory_kind; /* enum memory_kind */
	uint16_t reserved0;
	uint32_t reserved1;
	uint64_t backing; /* handle of pool, allocation (MAP) or context; 0 default or none */
};

static_assert(sizeof(struct record_memory) == 96, "record_memory");

#endif
