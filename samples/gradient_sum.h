/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One flat buffer of gradients that the ranks of a data-parallel sample sum: all of it after each
 * backward pass, or, overlapped, part after part on a stream of its own while the backward pass
 * goes on. With one rank there is none, and nothing is called.
 */
#ifndef GPUTRACE_SAMPLES_GRADIENT_SUM_H
#define GPUTRACE_SAMPLES_GRADIENT_SUM_H

#include <stdbool.h>

#include "rank_group.h"

struct gradient_sum {
	struct rank_group group;
	float *gradients;
	size_t words; /* 0: one rank */
	bool is_overlapped;
	gpu_stream stream; /* of the sums, where they are overlapped */
	gpu_event ready, done;
};

/* Before any CUDA call; returns in every rank. */
static inline void gradient_sum_fork(struct gradient_sum *sum, long ranks)
{
	memset(sum, 0, sizeof(*sum));
	if (ranks > 1)
		rank_group_fork(&sum->group, (int)ranks);
}

static inline void gradient_sum_open(struct gradient_sum *sum, long kib, bool is_overlapped,
				     gpu_stream compute)
{
	size_t bytes = (size_t)kib << 10;

	if (sum->group.ranks < 2)
		return;
	rank_group_join(&sum->group);
	sum->words = bytes / sizeof(float);
	GPU_TRY(gpu_alloc(&sum->gradients, bytes));
	GPU_TRY(gpu_set_async(sum->gradients, 0, bytes, compute));
	sum->is_overlapped = is_overlapped;
	if (!is_overlapped)
		return;
	GPU_TRY(gpu_stream_open(&sum->stream));
	GPU_TRY(gpu_event_open(&sum->ready));
	GPU_TRY(gpu_event_open(&sum->done));
}

/* Part `index` of `count` of the gradients is final when `compute` gets here. */
static inline void gradient_sum_part(struct gradient_sum *sum, long index, long count,
				     gpu_stream compute)
{
	size_t words = sum->words / (size_t)count;

	if (sum->words == 0 || !sum->is_overlapped)
		return;
	GPU_TRY(gpu_event_record(sum->ready, compute));
	GPU_TRY(gpu_stream_wait_event(sum->stream, sum->ready));
	GPU_TRY(gpu_all_reduce(&sum->group, sum->gradients + (size_t)index * words, words,
			       sum->stream));
}

/* After the backward pass: what follows on `compute` sees all gradients summed. */
static inline void gradient_sum_finish(struct gradient_sum *sum, gpu_stream compute)
{
	if (sum->words == 0)
		return;
	if (!sum->is_overlapped) {
		GPU_TRY(gpu_all_reduce(&sum->group, sum->gradients, sum->words, compute));
		return;
	}
	GPU_TRY(gpu_event_record(sum->done, sum->stream));
	GPU_TRY(gpu_stream_wait_event(compute, sum->done));
}

static inline void gradient_sum_close(struct gradient_sum *sum)
{
	if (sum->words == 0)
		return;
	rank_group_leave(&sum->group);
	if (sum->is_overlapped) {
		GPU_TRY(gpu_event_close(sum->done));
		GPU_TRY(gpu_event_close(sum->ready));
		GPU_TRY(gpu_stream_close(sum->stream));
	}
	GPU_TRY(gpu_free(sum->gradients));
}

#endif
