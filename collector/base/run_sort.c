/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Natural merge sort: finds the ascending runs, then merges neighbours, from one buffer into the
 * other and back, until one is left.
 */
#include "run_sort.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "xmalloc.h"

struct run_list {
	size_t *starts; /* with the count of items behind the last */
	size_t count, capacity;
};

static void add_start(struct run_list *runs, size_t start)
{
	if (runs->count == runs->capacity)
		runs->starts = array_grow(runs->starts, &runs->capacity, sizeof(*runs->starts));
	runs->starts[runs->count++] = start;
}

static void find_runs(const char *items, size_t count, size_t item_bytes,
		      int (*compare)(const void *, const void *), struct run_list *runs)
{
	add_start(runs, 0);
	for (size_t i = 1; i < count; i++) {
		if (compare(items + (i - 1) * item_bytes, items + i * item_bytes) > 0)
			add_start(runs, i);
	}
	add_start(runs, count);
}

static void merge_two(const char *from, char *to, const size_t bounds[3], size_t item_bytes,
		      int (*compare)(const void *, const void *))
{
	const char *left = from + bounds[0] * item_bytes, *middle = from + bounds[1] * item_bytes;
	const char *right = middle, *end = from + bounds[2] * item_bytes;
	char *out = to + bounds[0] * item_bytes;

	while (left < middle && right < end) {
		const char **next = compare(left, right) <= 0 ? &left : &right;

		memcpy(out, *next, item_bytes);
		*next += item_bytes;
		out += item_bytes;
	}
	memcpy(out, left, (size_t)(middle - left));
	memcpy(out + (middle - left), right, (size_t)(end - right));
}

void run_sort(void *items, size_t count, size_t item_bytes,
	      int (*compare)(const void *left, const void *right))
{
	struct run_list runs = {NULL, 0, 0};
	char *from = items, *to, *buffer;

	if (count < 2)
		return;
	find_runs(items, count, item_bytes, compare, &runs);
	if (runs.count == 2) {
		free(runs.starts);
		return;
	}
	buffer = xmalloc(count * item_bytes);
	to = buffer;
	while (runs.count > 2) {
		size_t kept = 0;
		char *swap = from;

		for (size_t i = 0; i + 1 < runs.count; i += 2) {
			/* An odd run at the end merges with nothing. */
			size_t last = i + 2 < runs.count ? i + 2 : i + 1;
			const size_t bounds[3] = {runs.starts[i], runs.starts[i + 1],
						  runs.starts[last]};

			merge_two(from, to, bounds, item_bytes, compare);
			runs.starts[kept++] = runs.starts[i];
		}
		runs.starts[kept++] = count;
		runs.count = kept;
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, count * item_bytes);
	free(buffer);
	free(runs.starts);
}
