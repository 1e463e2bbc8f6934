/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tables of fixed size with open addressing. A communicator that was destroyed keeps its entry
 * until its handle comes back, since a call of another thread may still be using it.
 */
#include "comm_table.h"

#include <stddef.h>

#include "hash.h"

#define COMMS	 512u
#define COUNTERS 4096u

static struct comm_entry comms[COMMS];
static struct {
	_Atomic uint64_t key;
	_Atomic uint32_t count;
} counters[COUNTERS];

static struct comm_entry *place_of(const void *handle, bool make)
{
	uint32_t at = (uint32_t)hash_mix((uintptr_t)handle) % COMMS;

	for (uint32_t step = 0; step < COMMS; step++, at = (at + 1) % COMMS) {
		uintptr_t found = atomic_load_explicit(&comms[at].handle, memory_order_acquire);

		if (found == (uintptr_t)handle)
			return &comms[at];
		if (found)
			continue;
		if (!make)
			return NULL;
		if (atomic_compare_exchange_strong(&comms[at].handle, &found, (uintptr_t)handle) ||
		    found == (uintptr_t)handle)
			return &comms[at];
	}
	return NULL;
}

struct comm_entry *comm_table_set(const void *handle, uint64_t hash, uint32_t rank,
				  uint32_t rank_count)
{
	struct comm_entry *entry = handle ? place_of(handle, true) : NULL;

	if (!entry)
		return NULL;
	atomic_store_explicit(&entry->hash, hash, memory_order_relaxed);
	atomic_store_explicit(&entry->rank, rank, memory_order_relaxed);
	atomic_store_explicit(&entry->rank_count, rank_count, memory_order_relaxed);
	atomic_store_explicit(&entry->collectives, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->splits, 0, memory_order_relaxed);
	return entry;
}

struct comm_entry *comm_table_find(const void *handle)
{
	return handle ? place_of(handle, false) : NULL;
}

uint32_t comm_table_next_message(const struct comm_entry *entry, bool is_send, uint32_t peer)
{
	uint64_t hash = atomic_load_explicit(&entry->hash, memory_order_relaxed);
	uint64_t key = hash_mix(hash ^ hash_mix(((uint64_t)peer << 1 | is_send) + 1)) | 1;
	uint32_t at = (uint32_t)key % COUNTERS;

	if (!hash)
		return 0;
	/* Another rank's counter of this process, if it has several, must not be this one. */
	key ^= (uint64_t)atomic_load_explicit(&entry->rank, memory_order_relaxed) << 32;
	for (uint32_t step = 0; step < COUNTERS / 4; step++, at = (at + 1) % COUNTERS) {
		uint64_t found = atomic_load_explicit(&counters[at].key, memory_order_relaxed);

		if (!found && atomic_compare_exchange_strong(&counters[at].key, &found, key))
			found = key;
		if (found == key)
			return atomic_fetch_add_explicit(&counters[at].count, 1,
							 memory_order_relaxed) +
			       1;
	}
	return 0;
}

void comm_table_forget(void)
{
	for (uint32_t i = 0; i < COMMS; i++)
		atomic_store_explicit(&comms[i].handle, 0, memory_order_relaxed);
	for (uint32_t i = 0; i < COUNTERS; i++) {
		atomic_store_explicit(&counters[i].key, 0, memory_order_relaxed);
		atomic_store_explicit(&counters[i].count, 0, memory_order_relaxed);
	}
}
