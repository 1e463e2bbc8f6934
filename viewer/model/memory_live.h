/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was live at every moment, by device and kind, from the calls alone. A change is one thing
 * that came or went; the sums after all of them are zero when a program freed everything.
 */
#ifndef GPUTRACE_MODEL_MEMORY_LIVE_H
#define GPUTRACE_MODEL_MEMORY_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;

/* LIVE_KIND(name, key, label). PINNED and REGISTERED are host memory; ADDRESSES and MAPPED are
 * addresses, whose memory is under PHYSICAL; IMPORTED belongs to another process. */
#define LIVE_KINDS(LIVE_KIND)                                                                      \
	LIVE_KIND(PLAIN, "plain", "plain allocations")                                             \
	LIVE_KIND(ARRAY, "array", "arrays")                                                        \
	LIVE_KIND(POOL, "pool", "stream-ordered pools, in use")                                    \
	LIVE_KIND(PHYSICAL, "physical", "physical memory (cuMemCreate)")                           \
	LIVE_KIND(MANAGED, "managed", "managed memory")                                            \
	LIVE_KIND(ADDRESSES, "addresses", "reserved addresses")                                    \
	LIVE_KIND(MAPPED, "mapped", "of them mapped")                                              \
	LIVE_KIND(PINNED, "pinned", "pinned host memory")                                          \
	LIVE_KIND(IMPORTED, "imported", "memory of other processes")

enum live_kind {
#define LIVE_KIND(name, key, label) LIVE_##name,
	LIVE_KINDS(LIVE_KIND)
#undef LIVE_KIND
		LIVE_KIND_COUNT
};

struct live_change {
	int64_t time_ns;
	uint64_t address, size_bytes;
	uint32_t event;	 /* that changed it, index of memory_events; MODEL_NONE: a device reset */
	uint32_t origin; /* that made it */
	uint16_t device; /* index of devices; of host memory the current one then */
	uint8_t kind;	 /* enum live_kind */
	bool is_added;
};

/* The kinds that the program took from the device itself. */
static inline bool live_kind_is_of_device(enum live_kind kind)
{
	return kind == LIVE_PLAIN || kind == LIVE_ARRAY || kind == LIVE_POOL ||
	       kind == LIVE_PHYSICAL || kind == LIVE_MANAGED;
}

/* The kinds that have an address where blocks of an allocator can lie. */
static inline bool live_kind_is_addressed(enum live_kind kind)
{
	return kind == LIVE_PLAIN || kind == LIVE_POOL || kind == LIVE_MANAGED ||
	       kind == LIVE_MAPPED;
}

const char *live_kind_key(enum live_kind kind);
const char *live_kind_label(enum live_kind kind);

/* What pools held when the program asked them, since no call tells it otherwise: the sum of what
 * each said last, and the largest sum. False: it never asked. */
bool memory_live_pools(const struct model *model, size_t device, uint64_t *last_bytes,
		       uint64_t *most_bytes);

/* Sums by kind after all changes up to time_ns (INT64_MAX: at the end) on one device. */
void memory_live_sums(const struct model *model, size_t device, int64_t time_ns,
		      uint64_t sums[LIVE_KIND_COUNT]);

#endif
