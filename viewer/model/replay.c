/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over calls and operations in the order in which they happened. What an operation waited
 * for is read off the recording: its launch, the operation before it on its stream, or what ended
 * just before it on another stream; whichever was last. The rest of its delay stays as it was.
 *
 * The host's calls move together: all threads that launch for the device have one shift, which only
 * the end of a wait changes. Threads that take turns (forward and backward) are right that way;
 * threads that are independent of each other are held together more than they were.
 */
#include "replay.h"

#include <stdlib.h>
#include <string.h>

#include "big_array.h"
#include "call_merge.h"
#include "map.h"
#include "model.h"
#include "run_sort.h"
#include "xmalloc.h"

/* GPU and host clocks agree to this. */
#define CLOCK_SLACK_NS 20000
/* An operation on another stream that ended so shortly before is what was waited for. */
#define DEPENDENCY_NS 20000
/* A launch blocks while the queue is full (about a thousand); a long one beside so much work did.
 */
#define FULL_QUEUE     512
#define SLOW_LAUNCH_NS 100000

struct replay_call {
	int64_t begin_ns, end_ns;
	int64_t new_begin_ns;
	uint32_t own_op;  /* the last one that it launched, MODEL_NONE none */
	uint32_t awaited; /* operation that a wait ended with, MODEL_NONE: no wait */
	bool is_blocking, is_launch;
};

struct replay_op {
	uint32_t call;	   /* index of calls, MODEL_NONE: not in the file */
	uint32_t previous; /* on its stream, MODEL_NONE: first, or overlapping */
	uint32_t other;	   /* on another stream, MODEL_NONE: none */
	uint8_t part;	   /* enum ledger_part */
	int64_t delay_ns;  /* from the last of these to its begin */
	int64_t new_begin_ns, new_end_ns;
};

struct replay {
	const struct model *model;
	const struct model_device *device;
	const struct gpu_op *source; /* the device's operations */
	struct replay_op *ops;
	size_t op_count;
	struct replay_call *calls; /* by begin: launches for the device, and waits */
	size_t call_count;
	uint32_t *waits; /* of calls, by end: those with an awaited operation */
	size_t wait_count;
};

/* ---- reading the dependencies off the recording ---- */

/* Marks the outermost calls that launch for the device, and the threads that make them. */
static void find_launches(const struct replay *replay, uint32_t *index_of, bool *is_launching)
{
	for (size_t i = 0; i < replay->op_count; i++) {
		uint32_t root;

		if (replay->source[i].call == MODEL_NONE)
			continue;
		root = model_call_root(replay->model, replay->source[i].call);
		index_of[root] = 1;
		is_launching[replay->model->calls[root].thread] = true;
	}
}

/* These calls, and all blocking ones of the threads that launch, by time. index_of becomes their
 * index, plus one. */
static void collect_calls(struct replay *replay, uint32_t *index_of, const bool *is_launching)
{
	const struct model *model = replay->model;
	struct call_merge merge;
	size_t capacity = 0;

	call_merge_init(&merge, model);
	for (uint32_t i; (i = call_merge_next(&merge)) != MODEL_NONE;) {
		const struct host_call *call = &model->calls[i];
		bool is_blocking = call->parent == MODEL_NONE && (call->flags & CALL_BLOCKS) &&
				   is_launching[call->thread];

		if (!index_of[i] && !is_blocking)
			continue;
		if (replay->call_count == capacity)
			replay->calls =
				big_array_grow(replay->calls, &capacity, sizeof(*replay->calls));
		replay->calls[replay->call_count++] = (struct replay_call){
			.begin_ns = call->begin_ns,
			.end_ns = call->end_ns,
			.own_op = MODEL_NONE,
			.awaited = MODEL_NONE,
			.is_blocking = is_blocking,
			.is_launch = call->kind == RECORD_KIND_launch,
		};
		index_of[i] = (uint32_t)replay->call_count;
	}
	call_merge_fini(&merge);
}

static void link_calls(struct replay *replay)
{
	const struct model *model = replay->model;
	uint32_t *index_of = big_array_new(model->call_count + 1, sizeof(*index_of));
	bool *is_launching = xcalloc(model->thread_count + 1, sizeof(*is_launching));

	find_launches(replay, index_of, is_launching);
	collect_calls(replay, index_of, is_launching);
	for (size_t i = 0; i < replay->op_count; i++) {
		uint32_t call = replay->source[i].call;

		replay->ops[i].call = MODEL_NONE;
		if (call == MODEL_NONE)
			continue;
		replay->ops[i].call = index_of[model_call_root(model, call)] - 1;
		replay->calls[replay->ops[i].call].own_op = (uint32_t)i;
	}
	big_array_free(index_of);
	free(is_launching);
}

struct sort_key {
	int64_t time_ns;
	uint32_t index;
};

static int compare_keys(const void *left, const void *right)
{
	const struct sort_key *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

/* ends: the operations by their end. */
static void link_ops(struct replay *replay, const struct sort_key *ends)
{
	struct map last; /* stream -> index of its latest operation, plus one */
	size_t ended = 0;

	map_init(&last);
	for (size_t i = 0; i < replay->op_count; i++) {
		const struct gpu_op *source = &replay->source[i];
		struct replay_op *op = &replay->ops[i];
		uint64_t *slot = map_slot(&last, source->stream, NULL);
		int64_t base_ns = INT64_MIN;
		uint32_t other;

		op->part = (uint8_t)ledger_part_of_op(replay->model, source);
		op->previous = op->other = MODEL_NONE;
		if (op->call != MODEL_NONE)
			base_ns = replay->calls[op->call].begin_ns;
		if (*slot && replay->source[*slot - 1].end_ns <= source->begin_ns) {
			op->previous = (uint32_t)(*slot - 1);
			if (replay->source[op->previous].end_ns > base_ns)
				base_ns = replay->source[op->previous].end_ns;
		}
		while (ended < replay->op_count && ends[ended].time_ns <= source->begin_ns)
			ended++;
		other = ended ? ends[ended - 1].index : MODEL_NONE;
		if (other != MODEL_NONE && other < i && other != op->previous &&
		    source->begin_ns - replay->source[other].end_ns <= DEPENDENCY_NS &&
		    replay->source[other].end_ns > base_ns) {
			op->other = other;
			base_ns = replay->source[other].end_ns;
		}
		op->delay_ns = base_ns == INT64_MIN ? 0 : source->begin_ns - base_ns;
		if (!*slot || source->end_ns >= replay->source[*slot - 1].end_ns)
			*slot = i + 1;
	}
	map_fini(&last);
}

/* Launches that began so far against operations that did, at each slow launch. */
static void find_full_queues(struct replay *replay)
{
	size_t begun = 0;

	for (size_t i = 0; i < replay->call_count; i++) {
		struct replay_call *call = &replay->calls[i];

		while (begun < replay->op_count && replay->source[begun].begin_ns < call->begin_ns)
			begun++;
		if (call->is_launch && call->end_ns - call->begin_ns >= SLOW_LAUNCH_NS &&
		    i > begun + FULL_QUEUE)
			call->is_blocking = true;
	}
}

/* A blocking copy waits for itself, as far as it does: one of pageable memory returns when the last
 * piece is staged. Any other call waited for what had ended last when it returned. */
static uint32_t awaited_op(const struct replay *replay, const struct replay_call *call,
			   const struct sort_key *ends, size_t ended)
{
	uint32_t own = call->own_op;

	if (own != MODEL_NONE && !call->is_launch && replay->source[own].begin_ns < call->end_ns)
		return own;
	/* What began after the return was not waited for. */
	while (ended > 0 && replay->source[ends[ended - 1].index].begin_ns >= call->end_ns)
		ended--;
	return ended ? ends[ended - 1].index : MODEL_NONE;
}

static void link_waits(struct replay *replay, const struct sort_key *ends)
{
	struct sort_key *returns = big_array_take(replay->call_count + 1, sizeof(*returns));
	size_t count = 0, ended = 0;

	find_full_queues(replay);
	for (size_t i = 0; i < replay->call_count; i++) {
		if (replay->calls[i].is_blocking)
			returns[count++] = (struct sort_key){replay->calls[i].end_ns, (uint32_t)i};
	}
	run_sort(returns, count, sizeof(*returns), compare_keys);
	replay->waits = big_array_take(count + 1, sizeof(*replay->waits));
	for (size_t i = 0; i < count; i++) {
		struct replay_call *call = &replay->calls[returns[i].index];
		uint32_t awaited;

		while (ended < replay->op_count &&
		       ends[ended].time_ns <= call->end_ns + CLOCK_SLACK_NS)
			ended++;
		awaited = awaited_op(replay, call, ends, ended);
		if (awaited == MODEL_NONE || replay->source[awaited].end_ns <= call->begin_ns)
			continue;
		call->awaited = awaited;
		replay->waits[replay->wait_count++] = returns[i].index;
	}
	big_array_free(returns);
}

struct replay *replay_new(const struct model *model, size_t device)
{
	struct replay *replay = xcalloc(1, sizeof(*replay));
	struct sort_key *ends;

	replay->model = model;
	replay->device = &model->devices[device];
	replay->source = model->ops + replay->device->first_op;
	replay->op_count = replay->device->op_count;
	replay->ops = big_array_take(replay->op_count + 1, sizeof(*replay->ops));
	ends = big_array_take(replay->op_count + 1, sizeof(*ends));
	for (size_t i = 0; i < replay->op_count; i++)
		ends[i] = (struct sort_key){replay->source[i].end_ns, (uint32_t)i};
	run_sort(ends, replay->op_count, sizeof(*ends), compare_keys);
	link_calls(replay);
	link_ops(replay, ends);
	link_waits(replay, ends);
	big_array_free(ends);
	return replay;
}

void replay_free(struct replay *replay)
{
	if (!replay)
		return;
	big_array_free(replay->ops);
	big_array_free(replay->calls);
	big_array_free(replay->waits);
	free(replay);
}

/* ---- playing ---- */

struct player {
	struct replay *replay;
	const double *removed;
	size_t op, call, wait; /* next ones */
	int64_t shift_ns;      /* of the host, 0 or below */
};

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void play_op(struct player *player)
{
	struct replay *replay = player->replay;
	const struct gpu_op *source = &replay->source[player->op];
	struct replay_op *op = &replay->ops[player->op++];
	int64_t base_ns = INT64_MIN, launch_ns = INT64_MIN;
	double length_ns = (double)(source->end_ns - source->begin_ns);

	if (op->call != MODEL_NONE) {
		/* By clocks that disagree a little it may begin before its launch. */
		launch_ns = op->call < player->call
				    ? replay->calls[op->call].new_begin_ns
				    : replay->calls[op->call].begin_ns + player->shift_ns;
		base_ns = launch_ns;
	}
	if (op->previous != MODEL_NONE)
		base_ns = later(base_ns, replay->ops[op->previous].new_end_ns);
	if (op->other != MODEL_NONE)
		base_ns = later(base_ns, replay->ops[op->other].new_end_ns);
	op->new_begin_ns =
		base_ns == INT64_MIN ? source->begin_ns + player->shift_ns : base_ns + op->delay_ns;
	op->new_end_ns = op->new_begin_ns + (int64_t)(length_ns * (1 - player->removed[op->part]));
}

static void play_wait(struct player *player)
{
	struct replay *replay = player->replay;
	const struct replay_call *call = &replay->calls[replay->waits[player->wait++]];
	int64_t rest_ns = call->end_ns - replay->source[call->awaited].end_ns;
	int64_t done_ns;

	while (player->op <= call->awaited)
		play_op(player);
	done_ns = replay->ops[call->awaited].new_end_ns;
	player->shift_ns = later(call->new_begin_ns, done_ns) + rest_ns - call->end_ns;
}

static void play(struct player *player)
{
	struct replay *replay = player->replay;

	for (;;) {
		int64_t call_ns = player->call < replay->call_count
					  ? replay->calls[player->call].begin_ns
					  : INT64_MAX;
		int64_t op_ns = player->op < replay->op_count ? replay->source[player->op].begin_ns
							      : INT64_MAX;
		int64_t wait_ns = player->wait < replay->wait_count
					  ? replay->calls[replay->waits[player->wait]].end_ns
					  : INT64_MAX;

		if (call_ns == INT64_MAX && op_ns == INT64_MAX && wait_ns == INT64_MAX)
			break;
		/* A call at the moment of another one's return follows it. */
		if (wait_ns <= call_ns && wait_ns < op_ns &&
		    replay->waits[player->wait] < player->call) {
			play_wait(player);
		} else if (call_ns <= op_ns && call_ns != INT64_MAX) {
			replay->calls[player->call].new_begin_ns = call_ns + player->shift_ns;
			player->call++;
		} else if (op_ns != INT64_MAX) {
			play_op(player);
		} else {
			play_wait(player);
		}
	}
}

/* New length of a window: to the first operation behind it where the next one begins there, else
 * to its own last end. */
static int64_t new_length_ns(const struct replay *replay, const struct step_window *window)
{
	size_t first, limit;
	int64_t end_ns = INT64_MIN;

	model_ops_between(replay->model, (size_t)(replay->device - replay->model->devices),
			  window->begin_ns, window->end_ns, &first, &limit);
	first -= replay->device->first_op;
	limit -= replay->device->first_op;
	if (first >= limit)
		return window->end_ns - window->begin_ns;
	if (limit < replay->op_count && replay->source[limit].begin_ns == window->end_ns)
		return replay->ops[limit].new_begin_ns - replay->ops[first].new_begin_ns;
	for (size_t i = first; i < limit; i++)
		end_ns = later(end_ns, replay->ops[i].new_end_ns);
	return end_ns - replay->ops[first].new_begin_ns;
}

double replay_gain_ms(struct replay *replay, const double removed[LEDGER_PART_COUNT])
{
	const struct step_list *steps = &replay->model->steps;
	const struct device_ledger *ledger = &replay->device->ledger;
	struct player player = {.replay = replay, .removed = removed};
	int64_t gain_ns = 0;

	play(&player);
	for (size_t s = 0; s < steps->count; s++) {
		const struct step_window *window = &ledger->windows[s];

		if (steps->items[s].kind == STEP_STEADY && window->begin_ns < window->end_ns)
			gain_ns +=
				window->end_ns - window->begin_ns - new_length_ns(replay, window);
	}
	return ledger->steady_count ? (double)gain_ns / 1e6 / (double)ledger->steady_count : 0;
}
