/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All calls of a model in the order of their begin: the model has them thread by thread. Of calls
 * that begin at one instant the one with the lower index comes first.
 */
#ifndef GPUTRACE_MODEL_CALL_MERGE_H
#define GPUTRACE_MODEL_CALL_MERGE_H

#include <stddef.h>
#include <stdint.h>

struct model;
struct merge_head;

struct call_merge {
	const struct model *model;
	struct merge_head *heads; /* a heap: the thread whose next call is the earliest first */
	size_t count;
};

void call_merge_init(struct call_merge *merge, const struct model *model);
/* Index of calls; MODEL_NONE behind the last. */
uint32_t call_merge_next(struct call_merge *merge);
void call_merge_fini(struct call_merge *merge);

#endif
