/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes for the deviation; quartiles by linear interpolation between neighbours.
 */
#include "value_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "big_array.h"
#include "number_sort.h"

void value_list_add(struct value_list *list, double value)
{
	if (list->count == list->capacity)
		list->items = big_array_grow(list->items, &list->capacity, sizeof(*list->items));
	list->items[list->count++] = value;
}

void value_list_free(struct value_list *list)
{
	big_array_free(list->items);
	memset(list, 0, sizeof(*list));
}

static double quantile(const struct value_list *sorted, double share)
{
	double at = share * (double)(sorted->count - 1);
	size_t below = (size_t)at;
	size_t above = below + 1 < sorted->count ? below + 1 : below;

	return sorted->items[below] +
	       (at - (double)below) * (sorted->items[above] - sorted->items[below]);
}

struct value_stats value_stats_of(struct value_list *list)
{
	struct value_stats stats = {list->count, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	double sum = 0, squares = 0;

	if (!list->count)
		return stats;
	number_sort(list->items, list->count);
	for (size_t i = 0; i < list->count; i++)
		sum += list->items[i];
	stats.mean = sum / (double)list->count;
	for (size_t i = 0; i < list->count; i++)
		squares += (list->items[i] - stats.mean) * (list->items[i] - stats.mean);
	if (list->count > 1)
		stats.std = sqrt(squares / (double)(list->count - 1));
	stats.min = list->items[0];
	stats.p25 = quantile(list, 0.25);
	stats.p50 = quantile(list, 0.5);
	stats.p75 = quantile(list, 0.75);
	stats.max = list->items[list->count - 1];
	return stats;
}
