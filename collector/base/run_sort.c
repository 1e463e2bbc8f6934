/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the ascending runs, in which what strays a little is put right at once, then merges
 * neighbours in their place until one run is left. Of two neighbours only what overlaps is touched,
 * which is found from the seam outwards: chunks of one stream overlap by little, so that all merges
 * together move less than the array once.
 */
#include "run_sort.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "big_array.h"

#define NEAR	 24
#define ITEM_MAX 256

struct sorter {
	char *items;
	size_t count, item_bytes;
	int (*compare)(const void *, const void *);
	size_t *starts; /* of runs, with the count of items behind the last */
	size_t start_count, start_capacity;
	char *spare; /* one side of what is being merged */
	size_t spare_items;
};

static char *item(const struct sorter *sorter, size_t index)
{
	return sorter->items + index * sorter->item_bytes;
}

static bool is_behind(const struct sorter *sorter, size_t left, size_t right)
{
	return sorter->compare(item(sorter, left), item(sorter, right)) > 0;
}

static void add_start(struct sorter *sorter, size_t start)
{
	if (sorter->start_count == sorter->start_capacity)
		sorter->starts = array_grow(sorter->starts, &sorter->start_capacity,
					    sizeof(*sorter->starts));
	sorter->starts[sorter->start_count++] = start;
}

/* Puts the item at `at` where it belongs among those before it in its run. False: that is further
 * away than an item strays within a stream. */
static bool insert(const struct sorter *sorter, size_t first, size_t at)
{
	char moved[ITEM_MAX];
	size_t to = at - 1;

	while (to > first && is_behind(sorter, to - 1, at)) {
		if (at - to == NEAR)
			return false;
		to--;
	}
	memcpy(moved, item(sorter, at), sorter->item_bytes);
	memmove(item(sorter, to + 1), item(sorter, to), (at - to) * sorter->item_bytes);
	memcpy(item(sorter, to), moved, sorter->item_bytes);
	return true;
}

static void find_runs(struct sorter *sorter)
{
	size_t first = 0;

	add_start(sorter, 0);
	for (size_t i = 1; i < sorter->count; i++) {
		if (!is_behind(sorter, i - 1, i) || insert(sorter, first, i))
			continue;
		add_start(sorter, i);
		first = i;
	}
	add_start(sorter, sorter->count);
}

/* The first item of [first, middle) that belongs behind the one at `middle`. */
static size_t overlap_begin(const struct sorter *sorter, size_t first, size_t middle)
{
	size_t low = first, high = middle, reach = 1;

	/* The seam's left neighbour does belong behind it. */
	while (high - low > reach && is_behind(sorter, high - 1 - reach, middle)) {
		high -= reach;
		reach *= 2;
	}
	if (high - low > reach)
		low = high - reach;
	while (low < high) {
		size_t probe = low + (high - low) / 2;

		if (is_behind(sorter, probe, middle))
			high = probe;
		else
			low = probe + 1;
	}
	return low;
}

/* One behind the last item of [middle, limit) that belongs before the one at middle - 1. */
static size_t overlap_end(const struct sorter *sorter, size_t middle, size_t limit)
{
	size_t low = middle, high = limit, reach = 1;

	while (high - low > reach && is_behind(sorter, middle - 1, low + reach)) {
		low += reach;
		reach *= 2;
	}
	if (high - low > reach)
		high = low + reach;
	while (low < high) {
		size_t probe = low + (high - low) / 2;

		if (is_behind(sorter, middle - 1, probe))
			low = probe + 1;
		else
			high = probe;
	}
	return low;
}

static void keep_aside(struct sorter *sorter, size_t first, size_t count)
{
	if (count > sorter->spare_items) {
		big_array_free(sorter->spare);
		sorter->spare_items = count + count / 4;
		sorter->spare = big_array_take(sorter->spare_items, sorter->item_bytes);
	}
	memcpy(sorter->spare, item(sorter, first), count * sorter->item_bytes);
}

/* The left side is the shorter one: it waits aside while the place fills from the front. */
static void merge_forwards(struct sorter *sorter, size_t first, size_t middle, size_t limit)
{
	size_t bytes = sorter->item_bytes;
	char *out = item(sorter, first), *right = item(sorter, middle), *end = item(sorter, limit);
	char *left, *left_end;

	keep_aside(sorter, first, middle - first);
	left = sorter->spare;
	left_end = left + (middle - first) * bytes;
	while (left < left_end && right < end) {
		char **next = sorter->compare(left, right) <= 0 ? &left : &right;

		memcpy(out, *next, bytes);
		*next += bytes;
		out += bytes;
	}
	memcpy(out, left, (size_t)(left_end - left));
}

/* The right side is the shorter one: the place fills from the back. */
static void merge_backwards(struct sorter *sorter, size_t first, size_t middle, size_t limit)
{
	size_t bytes = sorter->item_bytes;
	char *out = item(sorter, limit), *begin = item(sorter, first), *left = item(sorter, middle);
	char *right;

	keep_aside(sorter, middle, limit - middle);
	right = sorter->spare + (limit - middle) * bytes;
	while (right > sorter->spare && left > begin) {
		char **next = sorter->compare(left - bytes, right - bytes) <= 0 ? &right : &left;

		*next -= bytes;
		out -= bytes;
		memcpy(out, *next, bytes);
	}
	memcpy(begin, sorter->spare, (size_t)(right - sorter->spare));
}

static void merge_two(struct sorter *sorter, size_t first, size_t middle, size_t limit)
{
	if (!is_behind(sorter, middle - 1, middle))
		return;
	first = overlap_begin(sorter, first, middle);
	limit = overlap_end(sorter, middle, limit);
	if (middle - first <= limit - middle)
		merge_forwards(sorter, first, middle, limit);
	else
		merge_backwards(sorter, first, middle, limit);
}

static void merge_runs(struct sorter *sorter)
{
	while (sorter->start_count > 2) {
		const size_t *starts = sorter->starts;
		size_t kept = 0;

		for (size_t i = 0; i + 1 < sorter->start_count; i += 2) {
			/* An odd run at the end merges with nothing. */
			if (i + 2 < sorter->start_count)
				merge_two(sorter, starts[i], starts[i + 1], starts[i + 2]);
			sorter->starts[kept++] = starts[i];
		}
		sorter->starts[kept++] = sorter->count;
		sorter->start_count = kept;
	}
}

void run_sort(void *items, size_t count, size_t item_bytes,
	      int (*compare)(const void *left, const void *right))
{
	struct sorter sorter = {
		.items = items, .count = count, .item_bytes = item_bytes, .compare = compare};

	assert(item_bytes <= ITEM_MAX);
	if (count < 2)
		return;
	find_runs(&sorter);
	merge_runs(&sorter);
	big_array_free(sorter.spare);
	free(sorter.starts);
}
