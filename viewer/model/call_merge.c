/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One head per thread that has calls. Calls come in bursts of one thread, so that most steps find
 * the first head in its place.
 */
#include "call_merge.h"

#include <stdlib.h>

#include "model.h"
#include "xmalloc.h"

struct merge_head {
	int64_t begin_ns; /* of the next call */
	uint32_t next, limit;
};

static bool is_before(const struct merge_head *a, const struct merge_head *b)
{
	return a->begin_ns != b->begin_ns ? a->begin_ns < b->begin_ns : a->next < b->next;
}

static void sift_down(struct call_merge *merge, size_t at)
{
	struct merge_head *heads = merge->heads, moved = heads[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < merge->count && is_before(&heads[child + 1], &heads[child]))
			child++;
		if (child >= merge->count || !is_before(&heads[child], &moved))
			break;
		heads[at] = heads[child];
		at = child;
	}
	heads[at] = moved;
}

void call_merge_init(struct call_merge *merge, const struct model *model)
{
	merge->model = model;
	merge->count = 0;
	merge->heads = xcalloc(model->thread_count + 1, sizeof(*merge->heads));
	for (size_t t = 0; t < model->thread_count; t++) {
		const struct model_thread *thread = &model->threads[t];

		if (!thread->call_count)
			continue;
		merge->heads[merge->count++] = (struct merge_head){
			.begin_ns = model->calls[thread->first_call].begin_ns,
			.next = (uint32_t)thread->first_call,
			.limit = (uint32_t)(thread->first_call + thread->call_count),
		};
	}
	for (size_t at = merge->count / 2; at-- > 0;)
		sift_down(merge, at);
}

uint32_t call_merge_next(struct call_merge *merge)
{
	struct merge_head *first = merge->heads;
	uint32_t call;

	if (!merge->count)
		return MODEL_NONE;
	call = first->next++;
	if (first->next < first->limit)
		first->begin_ns = merge->model->calls[first->next].begin_ns;
	else
		*first = merge->heads[--merge->count];
	if (merge->count)
		sift_down(merge, 0);
	return call;
}

void call_merge_fini(struct call_merge *merge)
{
	free(merge->heads);
}
