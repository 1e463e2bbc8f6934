/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a caching allocator's memory lies in its segments at one instant. Free bytes are of two
 * sorts: those of wholly free segments can be given back to the driver (releasable); those beside a
 * live block cannot (fragmented).
 */
#ifndef GPUTRACE_MODEL_MEMORY_MAP_H
#define GPUTRACE_MODEL_MEMORY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;

enum memory_pool { POOL_LARGE, POOL_SMALL, POOL_PRIVATE, POOL_COUNT };

struct pool_numbers {
	uint64_t reserved_bytes;   /* all segments */
	uint64_t allocated_bytes;  /* live blocks, and those that a stream still uses */
	uint64_t releasable_bytes; /* wholly free segments */
	uint64_t fragmented_bytes; /* free, in segments that hold a live block */
	uint64_t largest_free_bytes;
	uint64_t segments, free_segments, mixed_segments; /* mixed: live blocks and free bytes */
};

#define MEMORY_HOLDERS 5
#define MEMORY_STRIP   48 /* segments drawn, those with most fragmented bytes first */

/* A site whose live blocks keep segments from being given back. */
struct memory_holder {
	uint32_t site; /* index of model->sites */
	uint64_t blocks, live_bytes;
	uint64_t blocked_bytes; /* its part of the free bytes beside its blocks */
};

enum memory_map_source { MEMORY_MAP_NONE = 0, MEMORY_MAP_HELD, MEMORY_MAP_REPLAYED };

struct memory_map {
	enum memory_map_source source;
	struct pool_numbers pools[POOL_COUNT], total;
	struct memory_holder blocking[MEMORY_HOLDERS]; /* by blocked bytes */
	size_t blocking_count;
	struct memory_holder live[MEMORY_HOLDERS]; /* by live bytes */
	size_t live_count;
	uint64_t stray_bytes;	      /* live blocks in no known segment */
	uint64_t outside_bytes;	      /* the driver's live allocations that never held a block */
	bool is_expandable;	      /* some segment is */
	char strip[MEMORY_STRIP + 1]; /* per segment: '#' full, '.' free, digits: tenths live */
};

/* The state that the file holds at its end (BLOCK_HELD_*); source NONE when there is none. */
void memory_map_held(const struct model *model, size_t device, struct memory_map *map);
/* The state right before time_ns, from the blocks and the driver's allocations until then. */
void memory_map_at(const struct model *model, size_t device, int64_t time_ns,
		   struct memory_map *map);
/* 1 - largest free block / all free bytes: 0 is one hole, close to 1 is many small ones. */
double memory_pool_scatter(const struct pool_numbers *pool);
const char *memory_pool_name(enum memory_pool pool);

#endif
