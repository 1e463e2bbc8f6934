/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting groups of N and taking one of each at a place that differs from group to group: a job
 * whose step is N launches long would otherwise show the same kernel again and again. Kept
 * correlation numbers stand in a table of fixed size that any thread may write and read; a number
 * that another one replaces costs the times of one launch and no total.
 */
#include "totals_sample.h"

#include <stdatomic.h>
#include <string.h>

#include "../collector/format/record.h"
#include "hash.h"
#include "mark_name.h"
#include "thread.h"
#include "wrap.h"

#define WINDOWS_PER_S 10u
#define TELL_WINDOWS  10u /* a time of sampling is told in pieces of so many windows */
#define CORRELATIONS  (1u << 18)
#define ONE_OF_MOST   1000000u

static struct {
	uint32_t one_of;
	uint64_t window_launches; /* more than this in a window is sampled; 0 no limit */
	uint64_t window_ticks;
} wanted;
static _Atomic uint8_t is_launch[API_COUNT];
static _Atomic uint32_t kept[CORRELATIONS];

void sample_open(uint32_t one_of, uint32_t launches_per_s, uint64_t ticks_per_s)
{
	wanted.one_of = one_of;
	wanted.window_launches = launches_per_s ? launches_per_s / WINDOWS_PER_S : 0;
	wanted.window_ticks = ticks_per_s / WINDOWS_PER_S;
}

void sample_learn_launch(uint16_t api)
{
	if (api < API_COUNT)
		atomic_store_explicit(&is_launch[api], 1, memory_order_relaxed);
}

uint32_t sample_chosen(uint64_t group, uint32_t one_of)
{
	return one_of > 1 ? (uint32_t)(hash_mix(group + 1) % one_of) : 0;
}

/* "Launches sampled", from when it was last told; value: one of how many. */
void sample_tell(struct sample_state *state, struct thread *thread)
{
	uint64_t name = mark_name_number(
		thread, mark_name_intern(MARK_LAUNCHES_SAMPLED, strlen(MARK_LAUNCHES_SAMPLED)));
	uint64_t domain = mark_name_number(
		thread, mark_name_intern(MARK_OWN_DOMAIN, strlen(MARK_OWN_DOMAIN)));
	struct record_mark *record = thread_reserve(thread, RECORD_KIND_mark, sizeof(*record));
	if (!record)
		return; /* tried again after the next call */
	*record = (struct record_mark){
		.head = {RECORD_KIND_mark, sizeof(*record), 0},
		.begin_ticks = state->untold_begin_ticks,
		.end_ticks = state->untold_end_ticks,
		.name = name,
		.domain = domain,
		.value = state->untold_one_of,
		.type = MARK_SPAN,
		.source = MARK_OWN,
		.peer = MARK_NO_PEER,
	};
	thread_commit(thread);
	state->untold_end_ticks = 0;
}

/* The caller tells it when the call under way has been dealt with. */
static void end_piece(struct sample_state *state, uint64_t end_ticks)
{
	/* What is still untold, for want of room, becomes one piece with this. */
	if (!state->untold_end_ticks)
		state->untold_begin_ticks = state->sampled_since_ticks;
	state->untold_end_ticks = end_ticks;
	state->untold_one_of = state->one_of;
	state->sampled_since_ticks = end_ticks;
}

static void set_one_of(struct sample_state *state, uint32_t one_of)
{
	if (state->one_of == one_of)
		return;
	state->one_of = one_of;
	state->position = 0;
	state->chosen = sample_chosen(++state->groups, one_of);
}

/* Once in a window: as many launches as there were are expected in the next one. */
static void turn_window(struct sample_state *state, uint64_t now_ticks)
{
	uint64_t windows = (now_ticks - state->window_begin_ticks) / wanted.window_ticks;
	uint64_t launches = state->window_launches;
	uint64_t one_of = wanted.one_of ? wanted.one_of : 1;
	/* The first one was begun by no launch before it. */
	if (windows && state->window_begin_ticks) {
		uint64_t by_rate =
			(launches / windows + wanted.window_launches - 1) / wanted.window_launches;
		if (by_rate > one_of)
			one_of = by_rate < ONE_OF_MOST ? by_rate : ONE_OF_MOST;
	}
	bool is_sampling = state->one_of > 1, will_sample = one_of > 1;
	bool is_long = now_ticks - state->sampled_since_ticks > TELL_WINDOWS * wanted.window_ticks;
	if (is_sampling && state->sampled_since_ticks && (!will_sample || is_long))
		end_piece(state, now_ticks);
	if (!is_sampling && will_sample)
		state->sampled_since_ticks = now_ticks;
	if (!will_sample)
		state->sampled_since_ticks = 0;
	set_one_of(state, (uint32_t)one_of);
	state->window_begin_ticks = now_ticks;
	state->window_launches = 0;
}

static bool next_is_kept(struct sample_state *state, uint64_t now_ticks)
{
	if (wanted.window_launches) {
		if (now_ticks - state->window_begin_ticks >= wanted.window_ticks)
			turn_window(state, now_ticks);
		state->window_launches++;
		/* The first window of many launches is cut where it has its share. */
		if (state->one_of <= 1 && state->window_launches > wanted.window_launches) {
			state->sampled_since_ticks = now_ticks;
			set_one_of(state, 2);
		}
	} else {
		set_one_of(state, wanted.one_of);
	}
	if (state->one_of <= 1)
		return true;
	bool is_kept = state->position == state->chosen;
	if (++state->position == state->one_of) {
		state->position = 0;
		state->chosen = sample_chosen(++state->groups, state->one_of);
	}
	return is_kept;
}

bool sample_keeps(struct sample_state *state, const struct thread *thread, uint64_t now_ticks)
{
	if (state->operation == thread->operation)
		return state->is_kept;
	state->operation = thread->operation;
	/* What a function does is known after its first call, which is kept therefore. */
	state->is_kept =
		!atomic_load_explicit(&is_launch[thread->operation_api], memory_order_relaxed) ||
		next_is_kept(state, now_ticks);
	return state->is_kept;
}

void sample_finish(struct sample_state *state, struct thread *thread, uint64_t now_ticks)
{
	if (state->one_of > 1 && state->sampled_since_ticks && wanted.window_launches)
		end_piece(state, now_ticks);
	if (state->untold_end_ticks)
		sample_tell(state, thread);
}

void sample_keep_correlation(uint32_t correlation)
{
	if (correlation)
		atomic_store_explicit(&kept[correlation % CORRELATIONS], correlation,
				      memory_order_relaxed);
}

bool sample_has_correlation(uint32_t correlation)
{
	return !correlation || atomic_load_explicit(&kept[correlation % CORRELATIONS],
						    memory_order_relaxed) == correlation;
}
