/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts what is nearly sorted: a few long ascending runs one after the other, as records come out
 * of a trace chunk by chunk. Stable. A sorted array costs one pass, r runs cost log2(r) passes.
 */
#ifndef GPUTRACE_BASE_RUN_SORT_H
#define GPUTRACE_BASE_RUN_SORT_H

#include <stddef.h>

/* compare as for qsort; an item has at most 256 bytes. Takes memory for what neighbouring runs
 * overlap while it runs, a copy of half of the items at most. */
void run_sort(void *items, size_t count, size_t item_bytes,
	      int (*compare)(const void *left, const void *right));

#endif
