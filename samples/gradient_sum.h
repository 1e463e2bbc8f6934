/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One flat buffer of gradients that the ranks of a data-parallel sample sum after each backward
 * pass. With one rank there is none, and nothing is called.
 */
#ifndef GPUTRACE_SAMPLES_GRADIENT_SUM_H
#define GPUTRACE_SAMPLES_GRADIENT_SUM_H

#include "rank_group.h"

struct gradient_sum {
	struct rank_group group;
	float *gradients;
	size_t words; /* 0: one rank */
};

/* Before any CUDA call; returns in every rank. */
static inline void gradient_sum_fork(struct gradient_sum *sum, long ranks)
{
	memset(sum, 0, sizeof(*sum));
	if (ranks > 1)
		rank_group_fork(&sum->group, (int)ranks);
}

static inline void gradient_sum_open(struct gradient_sum *sum, long kib, gpu_stream stream)
{
	size_t bytes = (size_t)kib << 10;

	if (sum->group.ranks < 2)
		return;
	rank_group_join(&sum->group);
	sum->words = bytes / sizeof(float);
	GPU_TRY(gpu_alloc(&sum->gradients, bytes));
	GPU_TRY(gpu_set_async(sum->gradients, 0, bytes, stream));
}

static inline void gradient_sum_run(struct gradient_sum *sum, gpu_stream stream)
{
	if (sum->words > 0)
		GPU_TRY(gpu_all_reduce(&sum->group, sum->gradients, sum->words, stream));
}

static inline void gradient_sum_close(struct gradient_sum *sum)
{
	if (sum->words == 0)
		return;
	rank_group_leave(&sum->group);
	GPU_TRY(gpu_free(sum->gradients));
}

#endif
