/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host-link copies of one device: what they carried per steady step, how fast, by direction and
 * kind of host memory, and by the call that asked for them.
 */
#ifndef GPUTRACE_MODEL_COPY_STATS_H
#define GPUTRACE_MODEL_COPY_STATS_H

#include "model.h"

#define COPY_LARGE_BYTES (1024u * 1024) /* smaller copies say nothing about a link */

struct copy_lane_stats {
	uint64_t copies, bytes; /* steady steps */
	int64_t busy_ns;	/* summed, steady steps */
	double best_gbs; /* fastest copy of at least COPY_LARGE_BYTES in the whole run, 0 none */
};

/* Copies of steady steps that one call site made. */
struct copy_group {
	uint32_t call; /* one of them */
	enum copy_lane lane;
	bool is_async; /* the call says that it does not wait */
	uint64_t copies, bytes;
	uint64_t large_copies, large_bytes; /* of at least 64 KiB */
	int64_t busy_ns, large_busy_ns;
	uint64_t smallest_bytes, largest_bytes;
};

struct copy_stats {
	struct copy_lane_stats lanes[COPY_LANE_COUNT];
	struct copy_group *groups; /* by time, longest first */
	size_t group_count;
};

void copy_stats_build(const struct model *model, size_t device, struct copy_stats *stats);
void copy_stats_free(struct copy_stats *stats);
bool copy_lane_is_pageable(enum copy_lane lane);
/* The lane of the same direction that is not pageable. */
enum copy_lane copy_lane_pinned(enum copy_lane lane);
/* Bytes per second of the busy time, in 1e9; 0 without any. */
double copy_rate_gbs(uint64_t bytes, int64_t busy_ns);

#endif
