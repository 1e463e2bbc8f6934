/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets of eight entries, each guarded by a version that is odd while it is written: a reader
 * that sees it change has read nothing. Writers share a lock; they are rare (captures,
 * instantiations), readers are the launches.
 */
#include "graph_table.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "hash.h"
#include "spin.h"

#define BUCKETS	     512u
#define BUCKET_SLOTS 8u

static struct entry {
	_Atomic uintptr_t handle;
	_Atomic uint32_t version;
	_Atomic uint32_t nodes, kernels, copies, sets;
	_Atomic uint64_t site;
} entries[BUCKETS][BUCKET_SLOTS];
static uint8_t victims[BUCKETS]; /* with the lock: the entry to give up next */
static struct spin lock;
static _Atomic uint32_t is_used; /* something was put into the table */

static uint32_t bucket_of(const void *handle)
{
	return (uint32_t)hash_mix((uintptr_t)handle) & (BUCKETS - 1);
}

static struct entry *find(const void *handle)
{
	struct entry *bucket = entries[bucket_of(handle)];
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		if (atomic_load_explicit(&bucket[i].handle, memory_order_acquire) ==
		    (uintptr_t)handle)
			return &bucket[i];
	}
	return NULL;
}

bool graph_table_find(const void *handle, struct graph_origin *origin)
{
	struct entry *entry = handle ? find(handle) : NULL;
	memset(origin, 0, sizeof(*origin));
	if (!entry)
		return false;
	/* Pairs with the release stores of write_entry(): the fields belong to this version. */
	uint32_t before = atomic_load_explicit(&entry->version, memory_order_acquire);
	struct graph_origin seen = {
		.site = atomic_load_explicit(&entry->site, memory_order_relaxed),
		.nodes = atomic_load_explicit(&entry->nodes, memory_order_relaxed),
		.kernels = atomic_load_explicit(&entry->kernels, memory_order_relaxed),
		.copies = atomic_load_explicit(&entry->copies, memory_order_relaxed),
		.sets = atomic_load_explicit(&entry->sets, memory_order_relaxed),
	};
	uintptr_t owner = atomic_load_explicit(&entry->handle, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	if ((before & 1) || owner != (uintptr_t)handle ||
	    atomic_load_explicit(&entry->version, memory_order_relaxed) != before)
		return false;
	*origin = seen;
	return true;
}

/* With the lock. */
static void write_entry(struct entry *entry, const void *handle, const struct graph_origin *origin)
{
	uint32_t version = atomic_load_explicit(&entry->version, memory_order_relaxed);
	atomic_store_explicit(&entry->version, version + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&entry->handle, (uintptr_t)handle, memory_order_relaxed);
	atomic_store_explicit(&entry->site, origin->site, memory_order_relaxed);
	atomic_store_explicit(&entry->nodes, origin->nodes, memory_order_relaxed);
	atomic_store_explicit(&entry->kernels, origin->kernels, memory_order_relaxed);
	atomic_store_explicit(&entry->copies, origin->copies, memory_order_relaxed);
	atomic_store_explicit(&entry->sets, origin->sets, memory_order_relaxed);
	/* Pairs with the acquire load of graph_table_find(). */
	atomic_store_explicit(&entry->version, version + 2, memory_order_release);
}

/* With the lock: the handle's entry, an empty one, or the one to give up. */
static struct entry *place(const void *handle)
{
	struct entry *entry = find(handle);
	if (entry)
		return entry;
	uint32_t at = bucket_of(handle);
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		if (!atomic_load_explicit(&entries[at][i].handle, memory_order_relaxed))
			return &entries[at][i];
	}
	return &entries[at][victims[at]++ % BUCKET_SLOTS];
}

void graph_table_put(const void *handle, const struct graph_origin *origin)
{
	atomic_store_explicit(&is_used, 1, memory_order_relaxed);
	if (!handle || !spin_take(&lock))
		return;
	write_entry(place(handle), handle, origin);
	spin_give(&lock);
}

void graph_table_count(const void *graph, enum graph_node_kind kind)
{
	struct graph_origin origin;
	if (!graph || !spin_take(&lock))
		return;
	if (graph_table_find(graph, &origin)) {
		origin.nodes++;
		origin.kernels += kind == GRAPH_NODE_KERNEL;
		origin.copies += kind == GRAPH_NODE_COPY;
		origin.sets += kind == GRAPH_NODE_SET;
		write_entry(find(graph), graph, &origin);
	}
	spin_give(&lock);
}

void graph_table_copy(const void *from, const void *to)
{
	struct graph_origin origin;
	if (graph_table_find(from, &origin))
		graph_table_put(to, &origin);
	else
		graph_table_remove(to); /* what is known of the handle is of an older one */
}

void graph_table_remove(const void *handle)
{
	static const struct graph_origin nothing;
	struct entry *entry;
	if (!handle || !spin_take(&lock))
		return;
	entry = find(handle);
	if (entry)
		write_entry(entry, NULL, &nothing);
	spin_give(&lock);
}

void graph_table_forget(void)
{
	spin_give(&lock); /* its holder may not exist here */
	/* Writing to a table that was never used would cost the child a page fault for each page.
	 */
	if (!atomic_exchange_explicit(&is_used, 0, memory_order_relaxed))
		return;
	for (uint32_t i = 0; i < BUCKETS; i++) {
		for (uint32_t k = 0; k < BUCKET_SLOTS; k++)
			atomic_store_explicit(&entries[i][k].handle, 0, memory_order_relaxed);
	}
}
