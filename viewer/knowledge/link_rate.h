/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a PCIe link carries: raw, what large pinned copies reach on it, and what they reach at
 * least. Attainable rates are not ceilings: a run may do a little better.
 */
#ifndef GPUTRACE_KNOWLEDGE_LINK_RATE_H
#define GPUTRACE_KNOWLEDGE_LINK_RATE_H

#include <stdint.h>

struct link_rate {
	double raw_gbs;	       /* one direction after encoding, 1e9 bytes/s; 0: link unknown */
	double attainable_gbs; /* large pinned copies, as measured on healthy systems */
	double minimum_gbs;    /* what a system that is not exceptional reaches */
};

struct link_rate link_rate_of(uint16_t generation, uint16_t width);
/* The same for all NVLinks of a GPU, one direction, from struct gpu_row's nvlink_gbs (both
 * directions): attainable is the bus bandwidth of large all-reduces in a ring. Switches that reduce
 * themselves (NVLS, H100 and later, 8 GPUs) reach up to 107 % of raw. */
struct link_rate link_rate_of_nvlink(double both_directions_gbs);

/* Copies of pageable memory go through a staging buffer, at the speed of one thread's memcpy,
 * whatever the link: the published range, 1e9 bytes/s. */
#define LINK_PAGEABLE_LOW_GBS  3.0
#define LINK_PAGEABLE_HIGH_GBS 12.0

#endif
