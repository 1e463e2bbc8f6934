/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of numbers in eight: count, mean, deviation, quartiles, as pandas' describe() has them.
 */
#ifndef GPUTRACE_MODEL_VALUE_STATS_H
#define GPUTRACE_MODEL_VALUE_STATS_H

#include <stddef.h>

struct value_stats {
	size_t count;
	double mean, std; /* sample deviation; NaN with fewer than two values */
	double min, p25, p50, p75, max;
};

/* A list that grows. */
struct value_list {
	double *items;
	size_t count, capacity;
};
void value_list_add(struct value_list *list, double value);
void value_list_free(struct value_list *list);

/* Sorts the list. All are NaN when it is empty. */
struct value_stats value_stats_of(struct value_list *list);

#endif
