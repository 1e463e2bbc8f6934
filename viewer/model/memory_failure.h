/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests for device memory that failed. One request makes several failed calls (the allocator
 * gives its cache back and tries again) and, from a framework, one report; they count once. A
 * request that then succeeded is "recovered": it cost time, not the run.
 */
#ifndef GPUTRACE_MODEL_MEMORY_FAILURE_H
#define GPUTRACE_MODEL_MEMORY_FAILURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;

struct memory_failure {
	int64_t time_ns;
	uint64_t wanted_bytes;
	uint64_t allocated_bytes, reserved_bytes; /* of the framework; 0 unknown */
	uint64_t device_free_bytes;		  /* UINT64_MAX unknown */
	uint64_t live_bytes;			  /* that the driver had handed out */
	uint32_t call;				  /* MODEL_NONE: only the framework's report */
	uint32_t site;				  /* index of sites, 0 unknown */
	bool is_framework;
};

struct memory_failures {
	uint64_t lasting;	    /* that never succeeded */
	struct memory_failure last; /* of those */
	uint64_t recovered;
	int64_t recovered_ns; /* from the first failed call to the end of the one that fitted */
	uint64_t recovered_bytes;
	uint32_t recovered_call;     /* the one that took longest, MODEL_NONE none */
	uint64_t driver_allocations; /* that succeeded, synchronous ones */
};

void memory_failures_find(const struct model *model, size_t device, struct memory_failures *out);

#endif
