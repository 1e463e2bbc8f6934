/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing with linear probing, at most half full; removal shifts the run back so that no
 * tombstones gather in an allocation ledger that lives for millions of frees.
 */
#include "map.h"

#include <string.h>
#include <stdlib.h>

#include "xmalloc.h"

uint64_t map_mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15ull ^ (b + 0x7f4a7c159e3779b9ull + (a << 6) + (a >> 2));

	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

uint64_t map_hash_bytes(const void *bytes, size_t count)
{
	const unsigned char *at = bytes;
	uint64_t hash = 0xcbf29ce484222325ull ^ count;

	while (count >= 8) {
		uint64_t word;

		memcpy(&word, at, 8);
		hash = map_mix(hash, word);
		at += 8;
		count -= 8;
	}
	while (count--)
		hash = map_mix(hash, *at++);
	return hash;
}

void map_init(struct map *map)
{
	memset(map, 0, sizeof(*map));
}

void map_fini(struct map *map)
{
	free(map->entries);
	memset(map, 0, sizeof(*map));
}

static size_t map_home(const struct map *map, uint64_t key)
{
	return (size_t)map_mix(key, 0x5bd1e995u) & (map->capacity - 1);
}

static struct map_entry *map_probe(const struct map *map, uint64_t key)
{
	size_t at = map_home(map, key);

	while (map->entries[at].is_used && map->entries[at].key != key)
		at = (at + 1) & (map->capacity - 1);
	return &map->entries[at];
}

static void map_resize(struct map *map, size_t capacity)
{
	struct map old = *map;

	map->entries = xcalloc(capacity, sizeof(*map->entries));
	map->capacity = capacity;
	for (size_t i = 0; i < old.capacity; i++) {
		if (old.entries[i].is_used)
			*map_probe(map, old.entries[i].key) = old.entries[i];
	}
	free(old.entries);
}

uint64_t *map_slot(struct map *map, uint64_t key, bool *is_new)
{
	struct map_entry *entry;

	if (map->count * 2 >= map->capacity)
		map_resize(map, map->capacity ? map->capacity * 2 : 64);
	entry = map_probe(map, key);
	if (is_new)
		*is_new = !entry->is_used;
	if (!entry->is_used) {
		entry->is_used = true;
		entry->key = key;
		entry->value = 0;
		map->count++;
	}
	return &entry->value;
}

const uint64_t *map_find(const struct map *map, uint64_t key)
{
	const struct map_entry *entry;

	if (!map->capacity)
		return NULL;
	entry = map_probe(map, key);
	return entry->is_used ? &entry->value : NULL;
}

bool map_remove(struct map *map, uint64_t key, uint64_t *value)
{
	size_t mask = map->capacity - 1;
	struct map_entry *entry;
	size_t hole, at;

	if (!map->capacity)
		return false;
	entry = map_probe(map, key);
	if (!entry->is_used)
		return false;
	if (value)
		*value = entry->value;
	hole = (size_t)(entry - map->entries);
	/* An entry may move into the hole when its home is not between the hole and itself. */
	for (at = (hole + 1) & mask; map->entries[at].is_used; at = (at + 1) & mask) {
		size_t home = map_home(map, map->entries[at].key);

		if (((at - home) & mask) >= ((at - hole) & mask)) {
			map->entries[hole] = map->entries[at];
			hole = at;
		}
	}
	map->entries[hole].is_used = false;
	map->count--;
	return true;
}
