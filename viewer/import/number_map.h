/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map from numbers that a profiler gave out one after the other (correlations, autograd's
 * numbers, calls of a thread) to numbers other than 0. Four bytes each, in pages of neighbours that
 * lie in a big_array: who asks in the order of the numbers may have more of them than memory holds.
 * Numbers from anywhere work too, at the price of an ordinary map, so hostile ones gain nothing.
 */
#ifndef GPUTRACE_NUMBER_MAP_H
#define GPUTRACE_NUMBER_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "map.h"

#define NUMBER_MAP_PAGE 256u

struct number_map {
	struct map page_map; /* number of the page -> index + 1 */
	uint32_t (*pages)[NUMBER_MAP_PAGE];
	size_t page_count, page_capacity;
	uint64_t last_number; /* of the page that was used last, and its index + 1 */
	size_t last_page;
	size_t count;	   /* numbers in pages */
	struct map strays; /* numbers that would leave pages nearly empty */
};

void number_map_init(struct number_map *map);
void number_map_fini(struct number_map *map);
/* 0 when the number is not there. */
uint32_t number_map_get(struct number_map *map, uint64_t number);
/* value: not 0. */
void number_map_set(struct number_map *map, uint64_t number, uint32_t value);

#endif
