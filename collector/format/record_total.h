/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of like calls, or of like work of the GPU, summed over an interval: what a session in
 * summary mode has instead of single records, and one that samples launches beside them. Part of
 * record.h, which includes it: include that one.
 */
#ifndef GPUTRACE_FORMAT_RECORD_TOTAL_H
#define GPUTRACE_FORMAT_RECORD_TOTAL_H

#include <assert.h>
#include <stdint.h>

#include "record.h"

/* Names of marks of source OWN: what was not recorded singly in a time. */
#define MARK_CALLS_SUMMED     "calls summed"	 /* calls and work of the GPU */
#define MARK_LAUNCHES_SAMPLED "launches sampled" /* launches; value: one of how many was */

enum total_flag {
	TOTAL_NESTED = 1,   /* inside another intercepted call, which is summed too */
	TOTAL_CAPTURED = 2, /* recorded into a graph, not executed */
	TOTAL_OTHER = 4,    /* of many sites and details, for which the table had no room */
};

/* Everything before `count` is the same for all that is summed; sums are of the interval. */
struct record_total {
	struct record_head head;
	uint64_t begin_ticks; /* of the interval */
	uint64_t end_ticks;
	uint64_t site;	 /* of calls: record_site.id, 0 unknown */
	uint64_t detail; /* depends on total_of, see FORMAT.md */
	uint64_t count;
	uint64_t failed;     /* calls that returned an error; they are in count too */
	uint64_t size_bytes; /* of what did not fail */
	uint64_t duration;   /* ticks; of GPU work ns */
	uint64_t longest;    /* likewise; the longest one since the row was made */
	uint32_t device;     /* ordinal, DEVICE_UNKNOWN */
	uint16_t api;	     /* of calls: NAME_API number */
	uint16_t variant;    /* likewise */
	uint8_t total_of;    /* enum record_kind: of what */
	uint8_t flags;	     /* enum total_flag */
	uint8_t reserved0[6];
};

static_assert(sizeof(struct record_total) == 96, "record_total");

/* Sizes of copies and sets are told apart by their power of two: 0 none, n up to 2^n - 1 bytes. */
static inline unsigned int total_size_class(uint64_t size_bytes)
{
	return size_bytes ? 64u - (unsigned int)__builtin_clzll(size_bytes) : 0;
}

#endif
