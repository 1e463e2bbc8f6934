/* SPDX-License-Identifier: Apache-2.0 */
/* Plain sorting and sweeping: written to be obviously right, not fast. */
#include "interval_union.h"

#include <stdlib.h>

#include "array.h"

void interval_add(struct interval_set *set, int64_t begin_ns, int64_t end_ns)
{
	if (set->count == set->capacity)
		set->items = array_grow(set->items, &set->capacity, sizeof(*set->items));
	set->items[set->count++] = (struct interval){begin_ns, end_ns};
}

void interval_add_all(struct interval_set *set, const struct interval_set *from)
{
	for (size_t i = 0; i < from->count; i++)
		interval_add(set, from->items[i].begin_ns, from->items[i].end_ns);
}

static int compare(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

void interval_join(struct interval_set *set)
{
	size_t kept = 0;
	if (!set->count)
		return;
	qsort(set->items, set->count, sizeof(*set->items), compare);
	for (size_t i = 1; i < set->count; i++) {
		struct interval *last = &set->items[kept];
		if (set->items[i].begin_ns > last->end_ns)
			set->items[++kept] = set->items[i];
		else if (set->items[i].end_ns > last->end_ns)
			last->end_ns = set->items[i].end_ns;
	}
	set->count = kept + 1;
}

int64_t interval_length(const struct interval_set *joined)
{
	int64_t sum = 0;
	for (size_t i = 0; i < joined->count; i++)
		sum += joined->items[i].end_ns - joined->items[i].begin_ns;
	return sum;
}

int64_t interval_length_without(const struct interval_set *one, const struct interval_set *two)
{
	int64_t sum = interval_length(one);
	size_t j = 0;
	for (size_t i = 0; i < one->count; i++) {
		while (j < two->count && two->items[j].end_ns <= one->items[i].begin_ns)
			j++;
		for (size_t k = j; k < two->count && two->items[k].begin_ns < one->items[i].end_ns;
		     k++) {
			int64_t begin = two->items[k].begin_ns, end = two->items[k].end_ns;
			if (begin < one->items[i].begin_ns)
				begin = one->items[i].begin_ns;
			if (end > one->items[i].end_ns)
				end = one->items[i].end_ns;
			sum -= end - begin;
		}
	}
	return sum;
}

void interval_free(struct interval_set *set)
{
	free(set->items);
	*set = (struct interval_set){0};
}
