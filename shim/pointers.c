/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A radix tree over pages says the kind: 512 GiB, 1 GiB, 2 MiB, then 4 KiB pages only where an
 * allocation covers a 2 MiB block in part. Pages are the right grain: pinning works by page, and
 * device memory of one kind shares blocks. Beside it a table from base address to size, sharded
 * under small locks, since a free names the address only.
 */
#include "pointers.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "../collector/format/record.h"
#include "hash.h"
#include "spin.h"

#define PAGE_ONE 16u /* in a page, above its kind: how many allocations touch it */
typedef _Atomic uintptr_t node_slot;

_Atomic uintptr_t pointers_top[POINTERS_FANOUT];
static _Atomic uint32_t incomplete;

#define SHARDS	    64u
#define SHARD_FIRST 64u
struct allocation {
	uint64_t address;
	uint64_t size_kind; /* size << 4 | kind */
};
static struct shard {
	struct spin lock;
	uint32_t capacity, count;
	struct allocation *entries;
} shards[SHARDS];

static void lost_update(void)
{
	atomic_store_explicit(&incomplete, 1, memory_order_relaxed);
}

bool pointers_complete(void)
{
	return !atomic_load_explicit(&incomplete, memory_order_relaxed);
}

void pointers_missed(void)
{
	/* Once is enough, and every call comes here while recording is switched off. */
	if (pointers_complete())
		lost_update();
}

static void *pages(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/* The child array of a slot, made when missing; NULL without memory. */
static void *child(node_slot *slot, size_t bytes)
{
	uintptr_t found = atomic_load_explicit(slot, memory_order_acquire);
	if (found)
		return (void *)found;
	void *fresh = pages(bytes);
	if (!fresh)
		return NULL;
	if (atomic_compare_exchange_strong_explicit(slot, &found, (uintptr_t)fresh,
						    memory_order_acq_rel, memory_order_acquire))
		return fresh;
	munmap(fresh, bytes);
	return (void *)found;
}

/* The page array of a block; one that was of a single kind is spread out first. */
static _Atomic uint16_t *block_pages(node_slot *slot)
{
	uintptr_t found = atomic_load_explicit(slot, memory_order_acquire);
	if (found && !(found & 1))
		return (_Atomic uint16_t *)found;
	_Atomic uint16_t *fresh = pages(POINTERS_FANOUT * sizeof(*fresh));
	if (!fresh)
		return NULL;
	for (unsigned int i = 0; found && i < POINTERS_FANOUT; i++)
		atomic_store_explicit(&fresh[i], (uint16_t)(PAGE_ONE | found >> 1),
				      memory_order_relaxed);
	if (atomic_compare_exchange_strong_explicit(slot, &found, (uintptr_t)fresh,
						    memory_order_acq_rel, memory_order_acquire))
		return fresh;
	munmap((void *)(uintptr_t)fresh, POINTERS_FANOUT * sizeof(*fresh));
	return found & 1 ? block_pages(slot) : (_Atomic uint16_t *)found;
}

static void mark_page(_Atomic uint16_t *page, unsigned int kind, bool add)
{
	uint16_t old = atomic_load_explicit(page, memory_order_relaxed), fresh;
	do {
		unsigned int users = old / PAGE_ONE;
		if (add)
			fresh = (uint16_t)((users < 4000 ? users + 1 : users) * PAGE_ONE | kind);
		else if (users <= 1)
			fresh = 0;
		else
			fresh = (uint16_t)((users - 1) * PAGE_ONE | POINTERS_PAGE_KIND(old));
	} while (!atomic_compare_exchange_weak_explicit(page, &old, fresh, memory_order_relaxed,
							memory_order_relaxed));
}

static void mark_range(uint64_t begin, uint64_t size, unsigned int kind, bool add)
{
	uint64_t end = begin + size;
	if (!size || end < begin || end > POINTERS_LIMIT) {
		if (add)
			lost_update();
		return;
	}
	for (uint64_t at = begin; at < end;) {
		uint64_t block_begin = at >> POINTERS_BLOCK_SHIFT << POINTERS_BLOCK_SHIFT;
		uint64_t block_end = block_begin + (1ull << POINTERS_BLOCK_SHIFT);
		uint64_t stop = block_end < end ? block_end : end;
		node_slot *middle = child(&pointers_top[pointers_index(at, POINTERS_TOP_SHIFT)],
					  POINTERS_FANOUT * sizeof(node_slot));
		node_slot *blocks =
			middle ? child(&middle[pointers_index(at, POINTERS_MIDDLE_SHIFT)],
				       POINTERS_FANOUT * sizeof(node_slot))
			       : NULL;
		if (!blocks) {
			lost_update();
			return;
		}
		node_slot *slot = &blocks[pointers_index(at, POINTERS_BLOCK_SHIFT)];
		uintptr_t whole = atomic_load_explicit(slot, memory_order_acquire);
		if (at == block_begin && stop == block_end && (!whole || whole & 1)) {
			atomic_store_explicit(slot, add ? (uintptr_t)kind << 1 | 1 : 0,
					      memory_order_release);
		} else {
			_Atomic uint16_t *page = block_pages(slot);
			if (!page) {
				lost_update();
				return;
			}
			for (uint64_t p = at >> POINTERS_PAGE_SHIFT;
			     p <= (stop - 1) >> POINTERS_PAGE_SHIFT; p++)
				mark_page(&page[p & (POINTERS_FANOUT - 1)], kind, add);
		}
		at = stop;
	}
}

static struct shard *shard_of(uint64_t address)
{
	return &shards[hash_mix(address) % SHARDS];
}

static uint32_t place(const struct shard *shard, uint64_t address)
{
	return (uint32_t)(hash_mix(address) >> 8) & (shard->capacity - 1);
}

/* With the lock: the entry of the address, or the empty one where it would go. */
static struct allocation *seek(const struct shard *shard, uint64_t address)
{
	uint32_t at = place(shard, address);
	while (shard->entries[at].address && shard->entries[at].address != address)
		at = (at + 1) & (shard->capacity - 1);
	return &shard->entries[at];
}

static bool shard_grow(struct shard *shard)
{
	if (shard->entries && shard->count < shard->capacity / 2)
		return true;
	struct shard larger = {.capacity = shard->entries ? shard->capacity * 2 : SHARD_FIRST};
	larger.entries = pages(larger.capacity * sizeof(*larger.entries));
	if (!larger.entries)
		return false;
	for (uint32_t i = 0; shard->entries && i < shard->capacity; i++) {
		if (shard->entries[i].address)
			*seek(&larger, shard->entries[i].address) = shard->entries[i];
	}
	if (shard->entries)
		munmap(shard->entries, shard->capacity * sizeof(*shard->entries));
	shard->entries = larger.entries;
	shard->capacity = larger.capacity;
	return true;
}

/* With the lock: removal that keeps every other entry findable. */
static void erase(struct shard *shard, struct allocation *entry)
{
	uint32_t hole = (uint32_t)(entry - shard->entries), at = hole;
	for (;;) {
		at = (at + 1) & (shard->capacity - 1);
		if (!shard->entries[at].address)
			break;
		uint32_t home = place(shard, shard->entries[at].address);
		if (((at - home) & (shard->capacity - 1)) >=
		    ((at - hole) & (shard->capacity - 1))) {
			shard->entries[hole] = shard->entries[at];
			hole = at;
		}
	}
	shard->entries[hole].address = 0;
	shard->count--;
}

void pointers_add(const void *pointer, size_t size_bytes, unsigned int kind)
{
	uint64_t address = (uintptr_t)pointer, old = 0;
	struct shard *shard = shard_of(address);
	if (!address)
		return;
	if (!spin_take(&shard->lock)) {
		lost_update();
		return;
	}
	bool stored = shard_grow(shard);
	if (stored) {
		struct allocation *entry = seek(shard, address);
		old = entry->address ? entry->size_kind : 0;
		shard->count += !entry->address;
		*entry = (struct allocation){address, (uint64_t)size_bytes << 4 | kind};
	}
	spin_give(&shard->lock);
	if (!stored) {
		lost_update();
		return;
	}
	if (old >> 4)
		mark_range(address, old >> 4, old & 15, false);
	mark_range(address, size_bytes, kind, true);
}

void pointers_remove(const void *pointer)
{
	uint64_t address = (uintptr_t)pointer, old = 0;
	struct shard *shard = shard_of(address);
	if (!address)
		return;
	if (!spin_take(&shard->lock)) {
		lost_update();
		return;
	}
	if (shard->entries) {
		struct allocation *entry = seek(shard, address);
		if (entry->address) {
			old = entry->size_kind;
			erase(shard, entry);
		}
	}
	spin_give(&shard->lock);
	if (old >> 4)
		mark_range(address, old >> 4, old & 15, false);
}

void pointers_remove_all(void)
{
	for (uint32_t i = 0; i < SHARDS; i++) {
		struct shard *shard = &shards[i];
		for (;;) {
			uint64_t address = 0;
			if (!spin_take(&shard->lock)) {
				lost_update();
				break;
			}
			for (uint32_t at = 0; at < shard->capacity && !address; at++)
				address = shard->entries[at].address;
			spin_give(&shard->lock);
			if (!address)
				break;
			pointers_remove((const void *)(uintptr_t)address);
		}
	}
}

void pointers_after_fork(void)
{
	for (uint32_t i = 0; i < SHARDS; i++)
		spin_give(&shards[i].lock);
}
