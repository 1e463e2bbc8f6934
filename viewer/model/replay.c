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
#define REPLAY_ANSWERS 8
#define SLOW_LAUNCH_NS 100000

enum replay_call_flag { REPLAY_BLOCKING = 1, REPLAY_LAUNCH = 2 };

/* What an operation follows. */
struct replay_link {
	int64_t delay_ns;  /* from the last of these to its begin */
	uint32_t call;	   /* index of calls, MODEL_NONE: not in the file */
	uint32_t previous; /* on its stream, MODEL_NONE: first, or overlapping */
	uint32_t other;	   /* on another stream, MODEL_NONE: none */
	uint8_t part;	   /* enum ledger_part */
};

struct replay_wait {
	uint32_t call;	  /* index of calls */
	uint32_t awaited; /* operation that it ended with */
};

/* What every play writes stands in arrays of its own, small enough to stay in memory. */
struct replay {
	const struct model *model;
	const struct model_device *device;
	const struct gpu_op *source; /* the device's operations */
	struct replay_link *links;
	int64_t *new_end_ns;
	size_t op_count;
	uint32_t *calls; /* of the model, by begin: launches for the device, and waits */
	uint8_t *call_flags;
	int64_t *new_begin_ns;
	size_t call_count;
	struct replay_wait *waits; /* by the end of their calls */
	size_t wait_count;
	/* Findings alone and together ask for the same now and then. */
	struct replay_answer {
		double removed[LEDGER_PART_COUNT];
		double gain_ms;
	} answers[REPLAY_ANSWERS];
	size_t answer_count;
};

static const struct host_call *call_at(const struct replay *replay, size_t index)
{
	return &replay->model->calls[replay->calls[index]];
}

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
	size_t capacity = 0, flag_capacity = 0;

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
		if (replay->call_count == flag_capacity)
			replay->call_flags = big_array_grow(replay->call_flags, &flag_capacity,
							    sizeof(*replay->call_flags));
		replay->call_flags[replay->call_count] =
			(uint8_t)((is_blocking ? REPLAY_BLOCKING : 0) |
				  (call->kind == RECORD_KIND_launch ? REPLAY_LAUNCH : 0));
		replay->calls[replay->call_count++] = i;
		index_of[i] = (uint32_t)replay->call_count;
	}
	call_merge_fini(&merge);
}

/* own_ops: the last one that each call launched, MODEL_NONE none. */
static uint32_t *link_calls(struct replay *replay)
{
	const struct model *model = replay->model;
	uint32_t *index_of = big_array_new(model->call_count + 1, sizeof(*index_of)), *own_ops;
	bool *is_launching = xcalloc(model->thread_count + 1, sizeof(*is_launching));

	find_launches(replay, index_of, is_launching);
	collect_calls(replay, index_of, is_launching);
	own_ops = big_array_take(replay->call_count + 1, sizeof(*own_ops));
	memset(own_ops, 0xff, (replay->call_count + 1) * sizeof(*own_ops));
	for (size_t i = 0; i < replay->op_count; i++) {
		uint32_t call = replay->source[i].call;

		replay->links[i].call = MODEL_NONE;
		if (call == MODEL_NONE)
			continue;
		replay->links[i].call = index_of[model_call_root(model, call)] - 1;
		own_ops[replay->links[i].call] = (uint32_t)i;
	}
	big_array_free(index_of);
	free(is_launching);
	return own_ops;
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
	uint64_t *slot = NULL;
	uint32_t stream = 0; /* of the slot */

	map_init(&last);
	for (size_t i = 0; i < replay->op_count; i++) {
		const struct gpu_op *source = &replay->source[i];
		struct replay_link *link = &replay->links[i];
		int64_t base_ns = INT64_MIN;
		uint32_t other;

		if (!slot || source->stream != stream)
			slot = map_slot(&last, source->stream, NULL);
		stream = source->stream;
		link->part = (uint8_t)ledger_part_of_op(replay->model, source);
		link->previous = link->other = MODEL_NONE;
		if (link->call != MODEL_NONE)
			base_ns = call_at(replay, link->call)->begin_ns;
		if (*slot && replay->source[*slot - 1].end_ns <= source->begin_ns) {
			link->previous = (uint32_t)(*slot - 1);
			if (replay->source[link->previous].end_ns > base_ns)
				base_ns = replay->source[link->previous].end_ns;
		}
		while (ended < replay->op_count && ends[ended].time_ns <= source->begin_ns)
			ended++;
		other = ended ? ends[ended - 1].index : MODEL_NONE;
		if (other != MODEL_NONE && other < i && other != link->previous &&
		    source->begin_ns - replay->source[other].end_ns <= DEPENDENCY_NS &&
		    replay->source[other].end_ns > base_ns) {
			link->other = other;
			base_ns = replay->source[other].end_ns;
		}
		link->delay_ns = base_ns == INT64_MIN ? 0 : source->begin_ns - base_ns;
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
		const struct host_call *call = call_at(replay, i);

		while (begun < replay->op_count && replay->source[begun].begin_ns < call->begin_ns)
			begun++;
		if ((replay->call_flags[i] & REPLAY_LAUNCH) &&
		    call->end_ns - call->begin_ns >= SLOW_LAUNCH_NS && i > begun + FULL_QUEUE)
			replay->call_flags[i] |= REPLAY_BLOCKING;
	}
}

/* A blocking copy waits for itself, as far as it does: one of pageable memory returns when the last
 * piece is staged. Any other call waited for what had ended last when it returned. */
static uint32_t awaited_op(const struct replay *replay, uint32_t index, uint32_t own,
			   const struct sort_key *ends, size_t ended)
{
	int64_t end_ns = call_at(replay, index)->end_ns;

	if (own != MODEL_NONE && !(replay->call_flags[index] & REPLAY_LAUNCH) &&
	    replay->source[own].begin_ns < end_ns)
		return own;
	/* What began after the return was not waited for. */
	while (ended > 0 && replay->source[ends[ended - 1].index].begin_ns >= end_ns)
		ended--;
	return ended ? ends[ended - 1].index : MODEL_NONE;
}

static void link_waits(struct replay *replay, const struct sort_key *ends, const uint32_t *own_ops)
{
	struct sort_key *returns = NULL;
	size_t count = 0, capacity = 0, ended = 0;

	find_full_queues(replay);
	for (size_t i = 0; i < replay->call_count; i++) {
		if (!(replay->call_flags[i] & REPLAY_BLOCKING))
			continue;
		if (count == capacity)
			returns = big_array_grow(returns, &capacity, sizeof(*returns));
		returns[count++] = (struct sort_key){call_at(replay, i)->end_ns, (uint32_t)i};
	}
	run_sort(returns, count, sizeof(*returns), compare_keys);
	replay->waits = big_array_take(count + 1, sizeof(*replay->waits));
	for (size_t i = 0; i < count; i++) {
		const struct host_call *call = call_at(replay, returns[i].index);
		uint32_t awaited;

		while (ended < replay->op_count &&
		       ends[ended].time_ns <= call->end_ns + CLOCK_SLACK_NS)
			ended++;
		awaited = awaited_op(replay, returns[i].index, own_ops[returns[i].index], ends,
				     ended);
		if (awaited == MODEL_NONE || replay->source[awaited].end_ns <= call->begin_ns)
			continue;
		replay->waits[replay->wait_count++] =
			(struct replay_wait){returns[i].index, awaited};
	}
	big_array_free(returns);
}

struct replay *replay_new(const struct model *model, size_t device)
{
	struct replay *replay = xcalloc(1, sizeof(*replay));
	struct sort_key *ends;
	uint32_t *own_ops;

	replay->model = model;
	replay->device = &model->devices[device];
	replay->source = model->ops + replay->device->first_op;
	replay->op_count = replay->device->op_count;
	replay->links = big_array_take(replay->op_count + 1, sizeof(*replay->links));
	ends = big_array_take(replay->op_count + 1, sizeof(*ends));
	for (size_t i = 0; i < replay->op_count; i++)
		ends[i] = (struct sort_key){replay->source[i].end_ns, (uint32_t)i};
	run_sort(ends, replay->op_count, sizeof(*ends), compare_keys);
	own_ops = link_calls(replay);
	link_ops(replay, ends);
	link_waits(replay, ends, own_ops);
	big_array_free(ends);
	big_array_free(own_ops);
	replay->new_end_ns = big_array_take(replay->op_count + 1, sizeof(*replay->new_end_ns));
	replay->new_begin_ns =
		big_array_take(replay->call_count + 1, sizeof(*replay->new_begin_ns));
	return replay;
}

void replay_free(struct replay *replay)
{
	if (!replay)
		return;
	big_array_free(replay->links);
	big_array_free(replay->new_end_ns);
	big_array_free(replay->calls);
	big_array_free(replay->call_flags);
	big_array_free(replay->new_begin_ns);
	big_array_free(replay->waits);
	free(replay);
}

/* ---- playing ---- */

struct player {
	struct replay *replay;
	const double *removed;
	size_t op, call, wait;		 /* next ones */
	int64_t op_ns, call_ns, wait_ns; /* when they were, INT64_MAX none is left */
	int64_t shift_ns;		 /* of the host, 0 or below */
};

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void look_at_op(struct player *player)
{
	const struct replay *replay = player->replay;

	player->op_ns =
		player->op < replay->op_count ? replay->source[player->op].begin_ns : INT64_MAX;
}

static void look_at_call(struct player *player)
{
	const struct replay *replay = player->replay;

	player->call_ns = player->call < replay->call_count
				  ? call_at(replay, player->call)->begin_ns
				  : INT64_MAX;
}

static void look_at_wait(struct player *player)
{
	const struct replay *replay = player->replay;

	player->wait_ns = player->wait < replay->wait_count
				  ? call_at(replay, replay->waits[player->wait].call)->end_ns
				  : INT64_MAX;
}

static int64_t new_op_length_ns(const struct replay *replay, size_t op, const double *removed)
{
	double length_ns = (double)(replay->source[op].end_ns - replay->source[op].begin_ns);

	return (int64_t)(length_ns * (1 - removed[replay->links[op].part]));
}

static void play_op(struct player *player)
{
	struct replay *replay = player->replay;
	size_t op = player->op++;
	const struct replay_link *link = &replay->links[op];
	int64_t base_ns = INT64_MIN, begin_ns;

	if (link->call != MODEL_NONE)
		/* By clocks that disagree a little it may begin before its launch. */
		base_ns = link->call < player->call
				  ? replay->new_begin_ns[link->call]
				  : call_at(replay, link->call)->begin_ns + player->shift_ns;
	if (link->previous != MODEL_NONE)
		base_ns = later(base_ns, replay->new_end_ns[link->previous]);
	if (link->other != MODEL_NONE)
		base_ns = later(base_ns, replay->new_end_ns[link->other]);
	begin_ns = base_ns == INT64_MIN ? replay->source[op].begin_ns + player->shift_ns
					: base_ns + link->delay_ns;
	replay->new_end_ns[op] = begin_ns + new_op_length_ns(replay, op, player->removed);
	look_at_op(player);
}

static void play_wait(struct player *player)
{
	struct replay *replay = player->replay;
	const struct replay_wait *wait = &replay->waits[player->wait++];
	int64_t end_ns = call_at(replay, wait->call)->end_ns;
	int64_t rest_ns = end_ns - replay->source[wait->awaited].end_ns;

	while (player->op <= wait->awaited)
		play_op(player);
	player->shift_ns =
		later(replay->new_begin_ns[wait->call], replay->new_end_ns[wait->awaited]) +
		rest_ns - end_ns;
	look_at_wait(player);
}

static void play(struct player *player)
{
	struct replay *replay = player->replay;

	look_at_op(player);
	look_at_call(player);
	look_at_wait(player);
	for (;;) {
		if (player->call_ns == INT64_MAX && player->op_ns == INT64_MAX &&
		    player->wait_ns == INT64_MAX)
			break;
		/* A call at the moment of another one's return follows it. */
		if (player->wait_ns <= player->call_ns && player->wait_ns < player->op_ns &&
		    replay->waits[player->wait].call < player->call) {
			play_wait(player);
		} else if (player->call_ns <= player->op_ns && player->call_ns != INT64_MAX) {
			replay->new_begin_ns[player->call++] = player->call_ns + player->shift_ns;
			look_at_call(player);
		} else if (player->op_ns != INT64_MAX) {
			play_op(player);
		} else {
			play_wait(player);
		}
	}
}

/* New length of a window: to the first operation behind it where the next one begins there, else
 * to its own last end. */
static int64_t new_length_ns(const struct replay *replay, const struct step_window *window,
			     const double *removed)
{
	size_t first, limit;
	int64_t begin_ns, end_ns = INT64_MIN;

	model_ops_between(replay->model, (size_t)(replay->device - replay->model->devices),
			  window->begin_ns, window->end_ns, &first, &limit);
	first -= replay->device->first_op;
	limit -= replay->device->first_op;
	if (first >= limit)
		return window->end_ns - window->begin_ns;
	begin_ns = replay->new_end_ns[first] - new_op_length_ns(replay, first, removed);
	if (limit < replay->op_count && replay->source[limit].begin_ns == window->end_ns)
		return replay->new_end_ns[limit] - new_op_length_ns(replay, limit, removed) -
		       begin_ns;
	for (size_t i = first; i < limit; i++)
		end_ns = later(end_ns, replay->new_end_ns[i]);
	return end_ns - begin_ns;
}

static double play_for_gain_ms(struct replay *replay, const double *removed)
{
	const struct step_list *steps = &replay->model->steps;
	const struct device_ledger *ledger = &replay->device->ledger;
	struct player player = {.replay = replay, .removed = removed};
	int64_t gain_ns = 0;

	play(&player);
	for (size_t s = 0; s < steps->count; s++) {
		const struct step_window *window = &ledger->windows[s];

		if (steps->items[s].kind == STEP_STEADY && window->begin_ns < window->end_ns)
			gain_ns += window->end_ns - window->begin_ns -
				   new_length_ns(replay, window, removed);
	}
	return ledger->steady_count ? (double)gain_ns / 1e6 / (double)ledger->steady_count : 0;
}

double replay_gain_ms(struct replay *replay, const double removed[LEDGER_PART_COUNT])
{
	struct replay_answer answer;

	for (size_t i = 0; i < replay->answer_count && i < REPLAY_ANSWERS; i++) {
		if (memcmp(replay->answers[i].removed, removed, sizeof(answer.removed)) == 0)
			return replay->answers[i].gain_ms;
	}
	memcpy(answer.removed, removed, sizeof(answer.removed));
	answer.gain_ms = play_for_gain_ms(replay, removed);
	replay->answers[replay->answer_count++ % REPLAY_ANSWERS] = answer;
	return answer.gain_ms;
}
