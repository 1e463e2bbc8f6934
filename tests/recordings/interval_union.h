/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of time intervals: the yardstick of the recordings suite, independent of the model. */
#ifndef GPUTRACE_TEST_INTERVAL_UNION_H
#define GPUTRACE_TEST_INTERVAL_UNION_H

#include <stddef.h>
#include <stdint.h>

struct interval {
	int64_t begin_ns, end_ns;
};

struct interval_set {
	struct interval *items;
	size_t count, capacity;
};

void interval_add(struct interval_set *set, int64_t begin_ns, int64_t end_ns);
/* Appends everything of `from`. */
void interval_add_all(struct interval_set *set, const struct interval_set *from);
/* Sorts and joins what overlaps or touches. */
void interval_join(struct interval_set *set);
int64_t interval_length(const struct interval_set *joined);
/* Length of the part of `one` that is not in `two`; both joined. */
int64_t interval_length_without(const struct interval_set *one, const struct interval_set *two);
void interval_free(struct interval_set *set);

#endif
