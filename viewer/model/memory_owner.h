/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose memory an allocation is: a framework's pool or a library's buffers, as the libraries on its
 * stack tell (memory_owner.def). Programs that allocate themselves have no owner here.
 */
#ifndef GPUTRACE_MODEL_MEMORY_OWNER_H
#define GPUTRACE_MODEL_MEMORY_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live_change;
struct model;

struct memory_owner {
	const char *match, *name;
	bool is_pool;
};

/* By the path of a library or of a Python file; NULL unknown. */
const struct memory_owner *memory_owner_of_file(const char *path);
/* Of the allocation that made it; NULL unknown. */
const struct memory_owner *memory_owner_of(const struct model *model,
					   const struct live_change *change);
/* What one owner holds on a device. `owner` NULL: the program itself, or who is not known. */
struct owner_sum {
	const struct memory_owner *owner;
	uint64_t live_bytes, largest_bytes, segments;
};
#define OWNER_SUMS 12
/* The owners of the device's live memory at a moment, most bytes first; returns how many. What does
 * not fit is added to the last. */
size_t memory_owner_sums(const struct model *model, size_t device, int64_t time_ns,
			 struct owner_sum sums[OWNER_SUMS]);

#endif
