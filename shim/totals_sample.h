/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which launches are recorded singly: one of each N, chosen by their number in their thread, so
 * that the same run chooses the same ones. An operation is chosen as a whole, with the calls inside
 * it and its work on the GPU.
 */
#ifndef GPUTRACE_SHIM_TOTALS_SAMPLE_H
#define GPUTRACE_SHIM_TOTALS_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

struct thread;

/* Of one thread; zeros are a start. */
struct sample_state {
	uint32_t operation; /* the one that was decided last, by the id of its outermost call */
	bool is_kept;
	uint32_t one_of;   /* launches at present; 0 and 1: all of them */
	uint32_t position; /* in the present group of one_of launches */
	uint32_t chosen;   /* position of the one that is kept */
	uint64_t groups;
	/* By rate. */
	uint64_t window_begin_ticks;
	uint64_t window_launches;
	uint64_t sampled_since_ticks; /* one_of > 1 since then, or since the last piece; 0 no */
	/* A piece of that time that is to be told; end 0: none. */
	uint64_t untold_begin_ticks, untold_end_ticks;
	uint32_t untold_one_of;
};

/* one_of 0: no fixed number; rate 0: no limit. */
void sample_open(uint32_t one_of, uint32_t launches_per_s, uint64_t ticks_per_s);
/* Whether the operation that is open on this thread is recorded call by call. */
bool sample_keeps(struct sample_state *state, const struct thread *thread, uint64_t now_ticks);
/* Writes the mark of a time that is to be told (untold_end_ticks). */
void sample_tell(struct sample_state *state, struct thread *thread);
/* An outermost call of this function launched something. */
void sample_learn_launch(uint16_t api);
/* The next launch of n, of the group `group`: which position is kept. For tests. */
uint32_t sample_chosen(uint64_t group, uint32_t one_of);
/* The thread ends: tells the last time of sampling. */
void sample_finish(struct sample_state *state, struct thread *thread, uint64_t now_ticks);

/* Work of the GPU is kept with the call that launched it. */
void sample_keep_correlation(uint32_t correlation);
bool sample_has_correlation(uint32_t correlation);

#endif
