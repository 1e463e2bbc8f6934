/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing arrays. Growth by half keeps the waste of a 50 million event trace below a third.
 */
#include "array.h"

#include "xmalloc.h"

void *array_grow(void *items, size_t *capacity, size_t item_bytes)
{
	size_t wanted = *capacity + *capacity / 2;

	if (wanted < 16)
		wanted = 16;
	*capacity = wanted;
	return xrealloc(items, wanted, item_bytes);
}

void *array_trim(void *items, size_t *capacity, size_t count, size_t item_bytes)
{
	*capacity = count;
	return xrealloc(items, count, item_bytes);
}
