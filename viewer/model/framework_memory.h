/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a framework's caching allocator said of itself: how much of what it took from the driver
 * (reserved) was handed out (allocated), where that was highest and where memory ran out.
 */
#ifndef GPUTRACE_MODEL_FRAMEWORK_MEMORY_H
#define GPUTRACE_MODEL_FRAMEWORK_MEMORY_H

#include <stdint.h>

#define FRAMEWORK_OOMS 8 /* as many are kept; all are counted */

struct framework_oom {
	int64_t time_ns;
	uint64_t wanted_bytes, allocated_bytes, reserved_bytes;
	uint32_t site; /* index of sites */
};

struct framework_memory {
	uint64_t allocations, frees, out_of_memory;
	uint64_t peak_allocated_bytes;
	uint64_t reserved_at_peak_bytes; /* 0 when the allocator does not tell */
	uint64_t peak_reserved_bytes;
	int64_t peak_ns;
	/* A failed driver allocation that then succeeded with the same size: the cache was given
	 * back in between. */
	uint64_t retries;
	struct framework_oom oom[FRAMEWORK_OOMS];
};

#endif
