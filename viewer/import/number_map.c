/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first pages are made for whoever comes. After these a new page is made only while those that
 * are there are filled to a sixteenth; what comes instead goes astray, and stays there also when
 * its page is made later. So pages never take more than a few times what an ordinary map would.
 */
#include "number_map.h"

#include <string.h>

#include "big_array.h"

#define FREE_PAGES 1024u
#define LEAST_FILL (NUMBER_MAP_PAGE / 16)

void number_map_init(struct number_map *map)
{
	memset(map, 0, sizeof(*map));
	map_init(&map->page_map);
	map_init(&map->strays);
}

void number_map_fini(struct number_map *map)
{
	map_fini(&map->page_map);
	map_fini(&map->strays);
	big_array_free(map->pages);
	memset(map, 0, sizeof(*map));
}

static uint32_t *find(struct number_map *map, uint64_t number)
{
	uint64_t page = number / NUMBER_MAP_PAGE;
	if (!map->last_page || map->last_number != page) {
		const uint64_t *found = map_find(&map->page_map, page);
		if (!found)
			return NULL;
		map->last_number = page;
		map->last_page = (size_t)*found;
	}
	return &map->pages[map->last_page - 1][number % NUMBER_MAP_PAGE];
}

uint32_t number_map_get(struct number_map *map, uint64_t number)
{
	const uint32_t *value = find(map, number);
	const uint64_t *stray;
	if (value && *value)
		return *value;
	stray = map->strays.count ? map_find(&map->strays, number) : NULL;
	return stray ? (uint32_t)*stray : 0;
}

static uint32_t *make(struct number_map *map, uint64_t number)
{
	bool is_new;
	if (map->page_count == map->page_capacity)
		map->pages = big_array_grow(map->pages, &map->page_capacity, sizeof(*map->pages));
	memset(map->pages[map->page_count++], 0, sizeof(*map->pages));
	*map_slot(&map->page_map, number / NUMBER_MAP_PAGE, &is_new) = map->page_count;
	return find(map, number);
}

void number_map_set(struct number_map *map, uint64_t number, uint32_t value)
{
	uint32_t *place = find(map, number);
	bool is_new;
	if (!place && (map->page_count < FREE_PAGES || map->count / LEAST_FILL >= map->page_count))
		place = make(map, number);
	if (!place || (!*place && map->strays.count && map_find(&map->strays, number))) {
		*map_slot(&map->strays, number, &is_new) = value;
		return;
	}
	map->count += !*place;
	*place = value;
}
