/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from 64-bit keys to 64-bit values: open addressing, linear probing. Keys come from
 * files and are hostile, so the hash is mixed with a seed of its own.
 */
#ifndef GPUTRACE_BASE_MAP_H
#define GPUTRACE_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry {
	uint64_t key;
	uint64_t value;
	bool is_used;
};

struct map {
	struct map_entry *entries;
	size_t capacity; /* power of two, or 0 */
	size_t count;
};

void map_init(struct map *map);
void map_fini(struct map *map);
/* The value's place; created as 0 and *is_new set when the key was not there. Valid until the next
 * map_slot() or map_remove(). */
uint64_t *map_slot(struct map *map, uint64_t key, bool *is_new);
/* NULL when the key is not there. */
const uint64_t *map_find(const struct map *map, uint64_t key);
/* False when the key was not there. */
bool map_remove(struct map *map, uint64_t key, uint64_t *value);

/* A good 64-bit mix of two numbers, for composed keys. */
uint64_t map_mix(uint64_t a, uint64_t b);
/* The same for bytes. */
uint64_t map_hash_bytes(const void *bytes, size_t count);

#endif
