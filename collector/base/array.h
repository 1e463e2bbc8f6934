/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing arrays of plain structs. The owner keeps pointer, count and capacity side by side:
 *
 *	if (list->count == list->capacity)
 *		list->items = array_grow(list->items, &list->capacity, sizeof(*list->items));
 *	list->items[list->count++] = item;
 */
#ifndef GPUTRACE_BASE_ARRAY_H
#define GPUTRACE_BASE_ARRAY_H

#include <stddef.h>

/* Raises the capacity by half, at least to 16 items, and returns the moved items. Exits when out of
 * memory. */
void *array_grow(void *items, size_t *capacity, size_t item_bytes);
/* Gives unused capacity back. */
void *array_trim(void *items, size_t *capacity, size_t count, size_t item_bytes);

#endif
