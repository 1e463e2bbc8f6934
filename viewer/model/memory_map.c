/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments and blocks are gathered, from the final state or by replaying events, sorted by address
 * and swept once: what a segment does not hold as live blocks is free. Neighbouring free blocks
 * count as one hole, as the allocator merges them.
 */
#include "memory_map.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "model_internal.h"
#include "xmalloc.h"

#define SMALL_SEGMENT (2u << 20) /* the caching allocator's segments for blocks up to 1 MiB */

struct piece {
	uint64_t address, size_bytes;
	int64_t time_ns; /* when it came to be */
	uint32_t site;
	uint8_t pool;
	bool had_blocks; /* segments: a block lay in it once */
	bool is_mapped;	 /* segments: of virtual memory, an expandable one */
};

struct pieces {
	struct piece *items;
	size_t count, capacity;
};

struct sweep {
	struct pieces segments, blocks;
	struct map sites; /* index of model->sites -> index of holders + 1 */
	struct memory_holder *holders;
	size_t holder_count, holder_capacity;
	struct strip_cell {
		uint64_t fragmented_bytes;
		char mark;
	} * cells;
	size_t cell_count;
};

const char *memory_pool_name(enum memory_pool pool)
{
	static const char *const names[] = {"large", "small", "private"};

	return names[pool];
}

double memory_pool_scatter(const struct pool_numbers *pool)
{
	double free_bytes = (double)pool->releasable_bytes + (double)pool->fragmented_bytes;

	return free_bytes > 0 ? 1 - (double)pool->largest_free_bytes / free_bytes : 0;
}

static void add_piece(struct pieces *to, struct piece piece)
{
	if (to->count == to->capacity)
		to->items = array_grow(to->items, &to->capacity, sizeof(*to->items));
	to->items[to->count++] = piece;
}

static int compare_pieces(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static void sort_pieces(struct pieces *pieces)
{
	if (pieces->count)
		qsort(pieces->items, pieces->count, sizeof(*pieces->items), compare_pieces);
}

static struct memory_holder *holder_of(struct sweep *sweep, uint32_t site)
{
	uint64_t *slot = map_slot(&sweep->sites, site, NULL);

	if (!*slot) {
		if (sweep->holder_count == sweep->holder_capacity)
			sweep->holders = array_grow(sweep->holders, &sweep->holder_capacity,
						    sizeof(*sweep->holders));
		sweep->holders[sweep->holder_count++] = (struct memory_holder){.site = site};
		*slot = sweep->holder_count;
	}
	return &sweep->holders[*slot - 1];
}

static void raise_to(uint64_t *value, uint64_t candidate)
{
	if (candidate > *value)
		*value = candidate;
}

static char mark_of(uint64_t live_bytes, uint64_t size_bytes)
{
	return live_bytes == size_bytes ? '#'
	       : !live_bytes		? '.'
			     : (char)('0' + (int)(10 * (double)live_bytes / (double)size_bytes));
}

/* The blocks of one segment; *at is the first block that is not below it. */
static void sweep_segment(struct sweep *sweep, const struct piece *segment, size_t *at,
			  struct memory_map *map)
{
	struct pool_numbers *pool = &map->pools[segment->pool];
	uint64_t end = segment->address + segment->size_bytes, free_from = segment->address;
	uint64_t live = 0, largest = 0, free_bytes;
	size_t first = *at;

	for (; *at < sweep->blocks.count && sweep->blocks.items[*at].address < end; (*at)++) {
		const struct piece *block = &sweep->blocks.items[*at];
		uint64_t left = end - block->address;
		uint64_t size_bytes = block->size_bytes < left ? block->size_bytes : left;

		if (block->address > free_from)
			raise_to(&largest, block->address - free_from);
		if (block->address + size_bytes > free_from)
			free_from = block->address + size_bytes;
		live += size_bytes;
	}
	raise_to(&largest, end - free_from);
	if (live > segment->size_bytes) /* blocks that overlap: frees were lost */
		live = segment->size_bytes;
	free_bytes = segment->size_bytes - live;
	pool->segments++;
	pool->reserved_bytes += segment->size_bytes;
	pool->allocated_bytes += live;
	raise_to(&pool->largest_free_bytes, largest);
	sweep->cells[sweep->cell_count++] =
		(struct strip_cell){live ? free_bytes : 0, mark_of(live, segment->size_bytes)};
	if (!live) {
		pool->free_segments++;
		pool->releasable_bytes += free_bytes;
		return;
	}
	pool->fragmented_bytes += free_bytes;
	pool->mixed_segments += free_bytes > 0;
	for (size_t i = first; i < *at; i++) {
		const struct piece *block = &sweep->blocks.items[i];
		struct memory_holder *holder = holder_of(sweep, block->site);

		holder->blocks++;
		holder->live_bytes += block->size_bytes;
		holder->blocked_bytes +=
			(uint64_t)((double)free_bytes * (double)block->size_bytes / (double)live);
	}
}

static int compare_blocked(const void *left, const void *right)
{
	const struct memory_holder *a = left, *b = right;

	if (a->blocked_bytes != b->blocked_bytes)
		return a->blocked_bytes < b->blocked_bytes ? 1 : -1;
	return (a->site > b->site) - (a->site < b->site);
}

static int compare_live(const void *left, const void *right)
{
	const struct memory_holder *a = left, *b = right;

	if (a->live_bytes != b->live_bytes)
		return a->live_bytes < b->live_bytes ? 1 : -1;
	return (a->site > b->site) - (a->site < b->site);
}

static int compare_cells(const void *left, const void *right)
{
	const struct strip_cell *a = left, *b = right;

	if (a->fragmented_bytes != b->fragmented_bytes)
		return a->fragmented_bytes < b->fragmented_bytes ? 1 : -1;
	return (a->mark < b->mark) - (a->mark > b->mark);
}

static size_t keep_top(const struct sweep *sweep, struct memory_holder *to,
		       int (*compare)(const void *, const void *))
{
	size_t count = sweep->holder_count < MEMORY_HOLDERS ? sweep->holder_count : MEMORY_HOLDERS;

	if (sweep->holder_count)
		qsort(sweep->holders, sweep->holder_count, sizeof(*sweep->holders), compare);
	if (count)
		memcpy(to, sweep->holders, count * sizeof(*to));
	return count;
}

static void add_pool(struct pool_numbers *to, const struct pool_numbers *from)
{
	to->reserved_bytes += from->reserved_bytes;
	to->allocated_bytes += from->allocated_bytes;
	to->releasable_bytes += from->releasable_bytes;
	to->fragmented_bytes += from->fragmented_bytes;
	raise_to(&to->largest_free_bytes, from->largest_free_bytes);
	to->segments += from->segments;
	to->free_segments += from->free_segments;
	to->mixed_segments += from->mixed_segments;
}

/* Segments that never held a block are not the framework's. */
static void sweep_all(struct sweep *sweep, struct memory_map *map)
{
	size_t at = 0;

	sort_pieces(&sweep->segments);
	sort_pieces(&sweep->blocks);
	sweep->cells = xcalloc(sweep->segments.count + 1, sizeof(*sweep->cells));
	for (size_t i = 0; i < sweep->segments.count; i++) {
		const struct piece *segment = &sweep->segments.items[i];

		if (!segment->had_blocks) {
			map->outside_bytes += segment->size_bytes;
			continue;
		}
		for (;
		     at < sweep->blocks.count && sweep->blocks.items[at].address < segment->address;
		     at++) {
			map->stray_bytes += sweep->blocks.items[at].size_bytes;
			holder_of(sweep, sweep->blocks.items[at].site)->live_bytes +=
				sweep->blocks.items[at].size_bytes;
		}
		sweep_segment(sweep, segment, &at, map);
	}
	for (; at < sweep->blocks.count; at++)
		map->stray_bytes += sweep->blocks.items[at].size_bytes;
	for (size_t i = 0; i < POOL_COUNT; i++)
		add_pool(&map->total, &map->pools[i]);
	map->blocking_count = keep_top(sweep, map->blocking, compare_blocked);
	while (map->blocking_count && !map->blocking[map->blocking_count - 1].blocked_bytes)
		map->blocking_count--;
	map->live_count = keep_top(sweep, map->live, compare_live);
	qsort(sweep->cells, sweep->cell_count, sizeof(*sweep->cells), compare_cells);
	for (size_t i = 0; i < sweep->cell_count && i < MEMORY_STRIP; i++)
		map->strip[i] = sweep->cells[i].mark;
}

static void sweep_fini(struct sweep *sweep)
{
	free(sweep->segments.items);
	free(sweep->blocks.items);
	free(sweep->holders);
	free(sweep->cells);
	map_fini(&sweep->sites);
}

static uint8_t pool_of(const struct block_event *block)
{
	return block->flags & BLOCK_PRIVATE_POOL ? POOL_PRIVATE
	       : block->flags & BLOCK_SMALL_POOL ? POOL_SMALL
						 : POOL_LARGE;
}

void memory_map_held(const struct model *model, size_t device, struct memory_map *map)
{
	struct sweep sweep;

	memset(map, 0, sizeof(*map));
	memset(&sweep, 0, sizeof(sweep));
	for (size_t i = 0; i < model->block_count; i++) {
		const struct block_event *block = &model->blocks[i];
		struct piece piece = {.address = block->address,
				      .size_bytes = block->size_bytes,
				      .site = block->site,
				      .pool = pool_of(block),
				      .had_blocks = true};

		if (block->device != device || block->address > UINT64_MAX - block->size_bytes)
			continue;
		if (block->op == BLOCK_HELD_SEGMENT) {
			map->is_expandable |= (block->flags & BLOCK_EXPANDABLE) != 0;
			add_piece(&sweep.segments, piece);
		} else if (block->op == BLOCK_HELD_LIVE || block->op == BLOCK_HELD_PENDING) {
			add_piece(&sweep.blocks, piece);
		}
	}
	if (sweep.segments.count) {
		map->source = MEMORY_MAP_HELD;
		sweep_all(&sweep, map);
	}
	sweep_fini(&sweep);
}

/* Mappings that touch are one segment: an allocator that grows one lets blocks cross them. */
static void join_mappings(struct pieces *pieces)
{
	size_t kept = 0;

	sort_pieces(pieces);
	for (size_t i = 0; i < pieces->count; i++) {
		struct piece *last = kept ? &pieces->items[kept - 1] : NULL;
		const struct piece *next = &pieces->items[i];

		if (last && last->is_mapped && next->is_mapped &&
		    last->address + last->size_bytes == next->address) {
			last->size_bytes += next->size_bytes;
			if (next->time_ns < last->time_ns)
				last->time_ns = next->time_ns;
		} else {
			pieces->items[kept++] = *next;
		}
	}
	pieces->count = kept;
}

/* What the driver has handed out and not taken back, where blocks can lie. */
static void replay_driver(const struct model *model, size_t device, int64_t time_ns,
			  struct pieces *to)
{
	struct map live; /* address -> index of the change + 1 */

	map_init(&live);
	for (size_t i = 0; i < model->live_change_count; i++) {
		const struct live_change *change = &model->live_changes[i];

		if (change->time_ns >= time_ns)
			break;
		if (change->device != device ||
		    !live_kind_is_addressed((enum live_kind)change->kind) ||
		    change->address > UINT64_MAX - change->size_bytes)
			continue;
		if (change->is_added)
			*map_slot(&live, change->address, NULL) = i + 1;
		else
			map_remove(&live, change->address, NULL);
	}
	for (size_t i = 0; i < live.capacity; i++) {
		const struct live_change *change;

		if (!live.entries[i].is_used)
			continue;
		change = &model->live_changes[live.entries[i].value - 1];
		add_piece(to, (struct piece){.address = change->address,
					     .size_bytes = change->size_bytes,
					     .time_ns = change->time_ns,
					     .is_mapped = change->kind == LIVE_MAPPED,
					     .pool = change->size_bytes <= SMALL_SEGMENT &&
								     change->kind != LIVE_MAPPED
							     ? POOL_SMALL
							     : POOL_LARGE});
	}
	map_fini(&live);
	join_mappings(to);
}

/* The last segment that begins at or below the address, and holds it. */
static struct piece *segment_around(const struct pieces *segments, uint64_t address)
{
	size_t low = 0, high = segments->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (segments->items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	low--;
	return address - segments->items[low].address < segments->items[low].size_bytes
		       ? &segments->items[low]
		       : NULL;
}

static void replay_blocks(const struct model *model, size_t device, int64_t time_ns,
			  struct sweep *sweep)
{
	struct map live;

	map_init(&live);
	for (size_t i = 0; i < model->block_count; i++) {
		const struct block_event *block = &model->blocks[i];
		struct piece *segment;

		if (block->time_ns >= time_ns)
			break;
		if (block->device != device || !block->address ||
		    block->address > UINT64_MAX - block->size_bytes)
			continue;
		if (block->op == BLOCK_ALLOC) {
			*map_slot(&live, block->address, NULL) = i + 1;
			segment = segment_around(&sweep->segments, block->address);
			if (segment && block->time_ns >= segment->time_ns)
				segment->had_blocks = true;
		} else if (block->op == BLOCK_FREE) {
			map_remove(&live, block->address, NULL);
		}
	}
	for (size_t i = 0; i < live.capacity; i++) {
		const struct block_event *block;

		if (!live.entries[i].is_used)
			continue;
		block = &model->blocks[live.entries[i].value - 1];
		add_piece(&sweep->blocks, (struct piece){.address = block->address,
							 .size_bytes = block->size_bytes,
							 .time_ns = block->time_ns,
							 .site = block->site});
	}
	map_fini(&live);
}

void memory_map_at(const struct model *model, size_t device, int64_t time_ns,
		   struct memory_map *map)
{
	struct sweep sweep;

	memset(map, 0, sizeof(*map));
	memset(&sweep, 0, sizeof(sweep));
	replay_driver(model, device, time_ns, &sweep.segments);
	replay_blocks(model, device, time_ns, &sweep);
	for (size_t i = 0; i < sweep.segments.count; i++)
		map->is_expandable |=
			sweep.segments.items[i].is_mapped && sweep.segments.items[i].had_blocks;
	sweep_all(&sweep, map);
	/* Without a segment that held blocks, the driver's allocations say nothing of a pool. */
	if (map->total.segments)
		map->source = MEMORY_MAP_REPLAYED;
	sweep_fini(&sweep);
}
