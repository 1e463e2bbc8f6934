/* SPDX-License-Identifier: Apache-2.0 */
/* No kernel has more than 65536 CPUs; a range beyond that is damage and ends the list. */
#include "cpu_list.h"

#include "small_file.h"

#define NUMBER_LIMIT 65536u

bool cpu_list_next(const char **at, uint32_t *first, uint32_t *last)
{
	uint64_t from, to;

	if (!small_file_number(at, 10, &from))
		return false;
	to = from;
	if (**at == '-') {
		(*at)++;
		if (!small_file_number(at, 10, &to))
			return false;
	}
	if (to < from || to >= NUMBER_LIMIT)
		return false;
	if (**at == ',')
		(*at)++;
	*first = (uint32_t)from;
	*last = (uint32_t)to;
	return true;
}

uint32_t cpu_list_count(const char *list)
{
	uint32_t count = 0, first, last;

	while (cpu_list_next(&list, &first, &last))
		count += last - first + 1;
	return count;
}

bool cpu_list_has(const char *list, uint32_t number)
{
	uint32_t first, last;

	while (cpu_list_next(&list, &first, &last)) {
		if (number >= first && number <= last)
			return true;
	}
	return false;
}

bool cpu_list_overlap(const char *left, const char *right)
{
	uint32_t first, last;

	while (cpu_list_next(&left, &first, &last)) {
		const char *other = right;
		uint32_t other_first, other_last;

		while (cpu_list_next(&other, &other_first, &other_last)) {
			if (first <= other_last && other_first <= last)
				return true;
		}
	}
	return false;
}
