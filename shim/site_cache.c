// SPDX-License-Identifier: Apache-2.0
/*
 * The cache of known stacks, one per thread.
 *
 * A stack is kept with the stack words that determine it: the slot of every return address and,
 * where a frame's size is not fixed, the saved frame pointer (or aligned copy of the stack pointer)
 * that gives it. If the exported function's frame is at the same address, returns to the same place
 * and all those words are unchanged, every step of the unwinding would read the same words and come
 * to the same frames; so equal words are the same stack, not just probably. A step hangs only on
 * words that the earlier steps have proved to be live, so comparing in order reads no dead memory.
 */
#include "site_cache.h"
#include "site_unwind.h"

#include <string.h>

#define SETS 64
#define WAYS 8
#define WORD_LIMIT (2 * (SITE_NATIVE_DEPTH + 1)) /* a stack that needs more is not kept */

/* Time for unwinding that a thread may spend at once, and what share of its time fills it up. */
#define CREDIT_US    200000
#define CREDIT_SHARE 50
/* Estimates: libunwind on a known address, and with the unwind data to be read first. */
#define STEP_NS       700
#define RECOGNISED_NS 15

struct word {
	uintptr_t address;
	uintptr_t value;
};

struct known_stack {
	const uintptr_t *frame;
	uintptr_t stop_begin; /* walks that end elsewhere are other stacks */
	uint64_t hash;
	uint32_t frame_count;
	uint32_t word_count;
	bool is_truncated;
	uintptr_t frames[SITE_NATIVE_DEPTH];
	struct word words[WORD_LIMIT];
};

struct set {
	uint64_t keys[WAYS]; /* 0: empty */
	uint32_t next;       /* to be replaced */
};

struct site_cache_thread {
	struct set sets[SETS];
	uint64_t credit_until_ticks; /* as if the time up to here had been spent on unwinding */
	uintptr_t frames[SITE_NATIVE_DEPTH]; /* of a stack that is not kept */
	struct unwind_frame unwound[SITE_NATIVE_DEPTH + 1];
	struct known_stack stacks[SETS][WAYS];
};

size_t site_cache_bytes(void)
{
	return sizeof(struct site_cache_thread);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ (hash >> 29);
}

static bool is_unchanged(const struct known_stack *known)
{
	for (uint32_t i = 0; i < known->word_count; i++) {
		if (*(const uintptr_t *)known->words[i].address != known->words[i].value)
			return false;
	}
	return true;
}

static void give(const struct known_stack *known, struct site_native_stack *stack)
{
	stack->hash = known->hash;
	stack->frames = known->frames;
	stack->frame_count = known->frame_count;
	stack->is_truncated = known->is_truncated;
	stack->cost_ns = RECOGNISED_NS + known->word_count;
}

static bool recognise(struct site_cache_thread *me, uint64_t key,
		      const struct site_native_request *request, struct site_native_stack *stack)
{
	const struct set *set = &me->sets[key % SETS];

	for (uint32_t way = 0; way < WAYS; way++) {
		const struct known_stack *known = &me->stacks[key % SETS][way];

		if (set->keys[way] == key && known->frame == request->frame &&
		    known->frames[0] == request->frame[1] &&
		    known->stop_begin == request->stop_begin && is_unchanged(known)) {
			give(known, stack);
			return true;
		}
	}
	return false;
}

/* Whether the time that unwinding took so far leaves room for another walk: a burst of new stacks
 * at the start is fine, a program that never repeats one is not. */
static bool has_credit(struct site_cache_thread *me, const struct site_native_request *request)
{
	uint64_t limit = CREDIT_US * request->ticks_per_us;

	if (request->ticks_per_us == 0)
		return true;
	if (me->credit_until_ticks < request->now_ticks)
		me->credit_until_ticks = request->now_ticks;
	return me->credit_until_ticks - request->now_ticks <= limit * CREDIT_SHARE;
}

static void spend(struct site_cache_thread *me, const struct site_native_request *request,
		  uint64_t cost_ns)
{
	me->credit_until_ticks += cost_ns * request->ticks_per_us / 1000 * CREDIT_SHARE;
}

/* The words that the place of one frame hangs on. False: nothing fixes it, or there is no room. */
static bool add_words(struct known_stack *known, const struct unwind_frame *frame)
{
	const uintptr_t addresses[] = {frame->base_slot, frame->base_slot_2};
	uint32_t bases = frame->base == UNWIND_BASE_REGISTER  ? 1
			 : frame->base == UNWIND_BASE_ALIGNED ? 2
							      : 0;

	if (frame->base == UNWIND_BASE_UNKNOWN || known->word_count + bases + 1 > WORD_LIMIT)
		return false;
	for (uint32_t i = 0; i < bases; i++)
		known->words[known->word_count++] =
			(struct word){addresses[i], *(const uintptr_t *)addresses[i]};
	known->words[known->word_count++] = (struct word){frame->slot, frame->pc};
	return true;
}

/* Keeps a stack that was unwound, unless it cannot be recognised again. */
static void keep(struct site_cache_thread *me, uint64_t key,
		 const struct site_native_request *request, uint32_t unwound_count,
		 const struct site_native_stack *stack)
{
	struct set *set = &me->sets[key % SETS];
	uint32_t way = set->next;
	struct known_stack *known = &me->stacks[key % SETS][way];

	set->keys[way] = 0;
	known->frame = request->frame;
	known->stop_begin = request->stop_begin;
	known->hash = stack->hash;
	known->frame_count = stack->frame_count;
	known->is_truncated = stack->is_truncated;
	known->word_count = 0;
	memcpy(known->frames, stack->frames, stack->frame_count * sizeof(stack->frames[0]));
	for (uint32_t i = 1; i < unwound_count; i++) {
		if (!add_words(known, &me->unwound[i]))
			return;
	}
	set->keys[way] = key;
	set->next = (way + 1) % WAYS;
}

static void unwind(struct site_cache_thread *me, uint64_t key,
		   const struct site_native_request *request, struct site_native_stack *stack)
{
	uint64_t hash = 0x6e6174697665u; /* "native" */
	bool is_complete = false;
	uint32_t unwound = 0, count;

	stack->cost_ns = RECOGNISED_NS;
	if (has_credit(me, request)) {
		unwound = site_unwind(request->frame, request->stop_begin, request->stop_end,
				      request->may_use_loader, me->unwound, SITE_NATIVE_DEPTH + 1,
				      &is_complete);
		stack->cost_ns = STEP_NS * (unwound + 8);
		spend(me, request, stack->cost_ns);
	}
	me->frames[0] = request->frame[1];
	count = unwound ? unwound : 1;
	for (uint32_t i = 1; i < count && i < SITE_NATIVE_DEPTH; i++)
		me->frames[i] = me->unwound[i].pc;
	/* The frame in the stop range is compared like the others, but it is not one of them; one
	 * beyond the depth only says that there is more. */
	if (count > 1 && ((me->unwound[count - 1].pc >= request->stop_begin &&
			   me->unwound[count - 1].pc < request->stop_end) ||
			  count > SITE_NATIVE_DEPTH))
		count--;
	for (uint32_t i = 0; i < count; i++)
		hash = mix(hash, me->frames[i]);
	stack->hash = mix(hash, is_complete ? 1 : 2);
	stack->frames = me->frames;
	stack->frame_count = count;
	stack->is_truncated = !is_complete;
	if (unwound)
		keep(me, key, request, unwound, stack);
}

void site_cache_walk(struct site_cache_thread *me, const struct site_native_request *request,
		      struct site_native_stack *stack)
{
	uint64_t key = mix(mix(0, request->frame[1]), (uintptr_t)request->frame);

	key = key >> 8 | (uint64_t)1 << 63; /* the high bits are the mixed ones; 0 is empty */
	if (!recognise(me, key, request, stack))
		unwind(me, key, request, stack);
}

void site_cache_attach(bool use_table)
{
	site_unwind_attach(use_table);
}

void site_cache_after_fork(void)
{
	site_unwind_after_fork();
}

const char *site_cache_engine(void)
{
	return site_unwind_engine();
}
