/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an event will be, guessed from those before it: programs repeat themselves, so the call
 * behind a call is the one that followed last time, and it takes about as long as it did. Encoder
 * and decoder go through the same steps, so every one here is part of the format (FORMAT.md, 2.7):
 * integers only, nothing that a compiler may round.
 *
 * An event is a pattern (all that repeats of a record: kind, who called, kernel, sizes) and what
 * does not repeat: two times and a few numbers.
 */
#ifndef GPUTRACE_FORMAT_EVENT_MODEL_H
#define GPUTRACE_FORMAT_EVENT_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define EVENT_PATTERN_LIMIT 32768u /* numbers of patterns are below this; 0 is none */
#define EVENT_CHAIN_LIMIT   64u
#define EVENT_CONTEXT_BITS  15u
#define EVENT_ESTIMATE_MAX  (1 << 30)

/* What the bytes of `control` say: what of an event was not as guessed and follows in `extras`. */
enum event_control {
	EVENT_PATTERN = 1,     /* another pattern */
	EVENT_GAP = 2,	       /* the gap's surprise has more than 16 bits */
	EVENT_DURATION = 4,    /* the duration's likewise */
	EVENT_CHANGES = 8,     /* columns differ from the pattern */
	EVENT_NUMBERS = 16,    /* call_id or parent_id */
	EVENT_DRIFT_SHIFT = 5, /* zigzag of the correlation's surprise; 7: it follows */
	EVENT_DRIFT_FOLLOWS = 7
};

enum event_pattern_flag {
	EVENT_ENCLOSES = 1,  /* the call encloses the event before it: begins before its begin */
	EVENT_CORRELATED = 2 /* has a correlation number */
};

/* What is known of a pattern while a chunk is read; at its start what the dictionary says. */
struct event_state {
	int32_t gap, duration; /* estimates */
	uint32_t correlation_step, correlation_last;
	uint32_t call_step, call_last;
	uint32_t parent_back, parent_last; /* call_id - parent_id, 0 outermost */
	uint32_t next;			   /* the pattern that followed last time */
	uint16_t flags;			   /* enum event_pattern_flag */
	uint16_t chain;			   /* 0: that of the lane */
};

/* Events of which each is timed from the one before. */
struct event_chain {
	uint64_t begin, end;
	uint32_t correlation;
};

/* One thread of a chunk. */
struct event_lane {
	struct event_chain chain;
	uint64_t history; /* the last three patterns, 16 bits each */
	uint32_t call_id;
};

/* What followed three patterns. */
struct event_context {
	uint16_t check; /* of which three: others may share the place */
	uint16_t next;	/* 0: not yet seen */
};

struct event_model {
	struct event_context contexts[1u << EVENT_CONTEXT_BITS];
	struct event_chain chains[EVENT_CHAIN_LIMIT];
};

/* The place of the lane's last three patterns, and what must stand there. */
struct event_place {
	struct event_context *context;
	uint16_t check;
};

static inline void event_model_start(struct event_model *model)
{
	memset(model, 0, sizeof(*model));
}

static inline struct event_place event_model_place(struct event_model *model,
						   const struct event_lane *lane)
{
	uint64_t hash = lane->history * 0x9e3779b97f4a7c15ull;

	hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93ull;
	return (struct event_place){&model->contexts[hash >> (64 - EVENT_CONTEXT_BITS)],
				    (uint16_t)hash};
}

static inline uint32_t event_model_guess(struct event_place place, const struct event_lane *lane,
					 const struct event_state *states)
{
	if (place.context->next && place.context->check == place.check)
		return place.context->next;
	return states[lane->history & 0xffff].next;
}

static inline void event_model_follow(struct event_place place, struct event_lane *lane,
				      struct event_state *states, uint32_t pattern)
{
	*place.context = (struct event_context){place.check, (uint16_t)pattern};
	states[lane->history & 0xffff].next = pattern;
	lane->history = (lane->history << 16 | pattern) & 0xffffffffffffull;
}

static inline struct event_chain *event_model_chain(struct event_model *model,
						    struct event_lane *lane,
						    const struct event_state *state)
{
	return state->chain ? &model->chains[state->chain] : &lane->chain;
}

/* A quarter of the way to what was seen, which counts as no further away than twice the estimate
 * or nothing at all. */
static inline int32_t event_estimate_move(int32_t estimate, uint64_t seen)
{
	int64_t error = (int64_t)(seen - (uint64_t)(int64_t)estimate);
	int64_t most = (estimate < 0 ? -(int64_t)estimate : estimate) + 16;
	int64_t moved;

	error = error < -most ? -most : error;
	error = error > most ? most : error;
	moved = estimate + error / 4;
	moved = moved < -EVENT_ESTIMATE_MAX ? -EVENT_ESTIMATE_MAX : moved;
	return (int32_t)(moved < EVENT_ESTIMATE_MAX ? moved : EVENT_ESTIMATE_MAX);
}

static inline int32_t event_estimate_first(uint64_t seen)
{
	int64_t value = (int64_t)seen;

	value = value < -EVENT_ESTIMATE_MAX ? -EVENT_ESTIMATE_MAX : value;
	return (int32_t)(value < EVENT_ESTIMATE_MAX ? value : EVENT_ESTIMATE_MAX);
}

/* A number that is believed when it was seen twice in a row. */
static inline void event_number_learn(uint32_t *believed, uint32_t *last, uint32_t seen)
{
	*believed = seen == *last ? seen : *believed;
	*last = seen;
}

/* Goes on from a row: `step` is that of the correlation number. */
static inline void event_model_learn_times(struct event_state *state, uint64_t gap,
					   uint64_t duration, uint32_t step)
{
	state->gap = event_estimate_move(state->gap, gap);
	state->duration = event_estimate_move(state->duration, duration);
	event_number_learn(&state->correlation_step, &state->correlation_last, step);
}

/* What only calls have; `back` is the parent's distance. */
static inline void event_model_learn_numbers(struct event_state *state, struct event_lane *lane,
					     uint32_t call_id, uint32_t back)
{
	event_number_learn(&state->call_step, &state->call_last, call_id - lane->call_id);
	event_number_learn(&state->parent_back, &state->parent_last, back);
	lane->call_id = call_id;
}

static inline void event_model_learn(struct event_state *state, struct event_lane *lane,
				     uint64_t gap, uint64_t duration, uint32_t step,
				     uint32_t call_id, uint32_t back)
{
	event_model_learn_times(state, gap, duration, step);
	event_model_learn_numbers(state, lane, call_id, back);
}

/* What the dictionary says of a pattern, as the state at a chunk's start. */
static inline struct event_state event_state_of(uint32_t pattern, int32_t gap, int32_t duration,
						uint32_t correlation_step, uint32_t call_step,
						uint32_t parent_back, uint16_t flags,
						uint16_t chain)
{
	return (struct event_state){
		.gap = gap,
		.duration = duration,
		.correlation_step = correlation_step,
		.correlation_last = correlation_step,
		.call_step = call_step,
		.call_last = call_step,
		.parent_back = parent_back,
		.parent_last = parent_back,
		/* Patterns are numbered as they appear: the next one probably followed. */
		.next = pattern + 1,
		.flags = flags,
		.chain = chain,
	};
}

#endif
