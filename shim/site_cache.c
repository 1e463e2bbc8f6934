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

#define STACKS	   512 /* that a thread remembers */
#define BUCKETS	   256
#define CHAIN	   32				 /* stacks of one bucket that are looked at */
#define WORD_LIMIT (2 * (SITE_NATIVE_DEPTH + 1)) /* a stack that needs more is not kept */

/* Time for unwinding that a thread may spend at once, and what share of its time fills it up. */
#define CREDIT_US    200000
#define CREDIT_SHARE 50
#define STEP_NS	     300 /* estimate of one frame */

struct word {
	uintptr_t address;
	uintptr_t value;
};

struct known_stack {
	struct site_native_stack stack;
	uint64_t key;
	const uintptr_t *frame;
	uintptr_t stop_begin; /* walks that end elsewhere are other stacks */
	uint32_t word_count;
	uint16_t next;	/* of the same bucket: index + 1, 0 at the end */
	bool is_recent; /* recognised since the victim's hand came by */
	struct word words[WORD_LIMIT];
};

struct site_cache_thread {
	uint64_t credit_until_ticks; /* as if the time up to here had been spent on unwinding */
	uint16_t buckets[BUCKETS]; /* index + 1 of the first stack, the last recognised one first */
	uint32_t victim;	   /* the hand that looks for a stack to forget */
	struct site_native_stack unkept;
	struct unwind_frame unwound[SITE_NATIVE_DEPTH + 1];
	struct known_stack stacks[STACKS];
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

static inline bool is_unchanged(const struct known_stack *known)
{
	for (uint32_t i = 0; i < known->word_count; i++) {
		if (*(const uintptr_t *)known->words[i].address != known->words[i].value)
			return false;
	}
	return true;
}

static inline uint64_t key_of(const uintptr_t *frame)
{
	uint64_t key = frame[1] * 0x9e3779b97f4a7c15u + (uintptr_t)frame * 0xd6e8feb86659fd93u;

	return key >> 8 | (uint64_t)1 << 63; /* the high bits are the mixed ones; 0 is no key */
}

static inline uint16_t *bucket_of(struct site_cache_thread *me, uint64_t key)
{
	return &me->buckets[key % BUCKETS];
}

/* Stacks that share frame and return address share a bucket, and differ somewhere in the middle;
 * comparing with a wrong one mostly ends at the first words. */
struct site_native_stack *site_cache_recognise(struct site_cache_thread *me, const uintptr_t *frame,
					       uintptr_t stop_begin)
{
	uint64_t key = key_of(frame);
	uint16_t *first = bucket_of(me, key), *link = first;

	for (int i = 0; i < CHAIN && *link; i++) {
		struct known_stack *known = &me->stacks[*link - 1];

		if (known->key == key && known->frame == frame &&
		    known->stack.frames[0] == frame[1] && known->stop_begin == stop_begin &&
		    is_unchanged(known)) {
			uint16_t number = *link;

			if (link != first) {
				*link = known->next;
				known->next = *first;
				*first = number;
			}
			known->is_recent = true;
			return &known->stack;
		}
		link = &known->next;
	}
	return NULL;
}

/* A place for a new stack: one that was not recognised lately is forgotten for it. */
static struct known_stack *take_place(struct site_cache_thread *me)
{
	struct known_stack *known;
	uint16_t *link;

	for (;;) {
		known = &me->stacks[me->victim];
		me->victim = (me->victim + 1) % STACKS;
		if (!known->is_recent)
			break;
		known->is_recent = false;
	}
	if (known->key == 0)
		return known;
	for (link = bucket_of(me, known->key); *link; link = &me->stacks[*link - 1].next) {
		if (&me->stacks[*link - 1] == known) {
			*link = known->next;
			break;
		}
	}
	known->key = 0;
	return known;
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

/* Keeps a stack that was unwound. NULL: it could not be recognised again. */
static struct site_native_stack *keep(struct site_cache_thread *me,
				      const struct site_native_request *request, uint32_t unwound)
{
	struct known_stack *known = take_place(me);
	uint64_t key = key_of(request->frame);
	uint16_t *first = bucket_of(me, key);

	known->word_count = 0;
	for (uint32_t i = 1; i < unwound; i++) {
		if (!add_words(known, &me->unwound[i]))
			return NULL;
	}
	known->stack = me->unkept;
	known->key = key;
	known->frame = request->frame;
	known->stop_begin = request->stop_begin;
	known->next = *first;
	*first = (uint16_t)(known - me->stacks + 1);
	return &known->stack;
}

/* Turns what was unwound into a stack. The frame in the stop range is compared like the others when
 * the stack is recognised, but it is not one of them; one beyond the depth only says that there is
 * more. */
static void fill(struct site_native_stack *stack, const struct site_native_request *request,
		 const struct unwind_frame *unwound, uint32_t count)
{
	uint64_t hash = 0x6e6174697665u; /* "native" */

	if (count > 1 && ((unwound[count - 1].pc >= request->stop_begin &&
			   unwound[count - 1].pc < request->stop_end) ||
			  count > SITE_NATIVE_DEPTH))
		count--;
	stack->frames[0] = request->frame[1];
	stack->frame_count = count ? count : 1;
	for (uint32_t i = 1; i < count; i++)
		stack->frames[i] = unwound[i].pc;
	for (uint32_t i = 0; i < stack->frame_count; i++)
		hash = mix(hash, stack->frames[i]);
	hash = mix(hash, stack->is_truncated);
	stack->hash = hash ? hash : 1;
	stack->memo_python = stack->memo_site = 0;
}

struct site_native_stack *site_cache_unwind(struct site_cache_thread *me,
					    const struct site_native_request *request,
					    uint32_t *cost_ns)
{
	struct site_native_stack *stack = NULL;
	bool is_complete = false;
	uint32_t unwound = 0;

	*cost_ns = 0;
	if (has_credit(me, request)) {
		unwound = site_unwind(request->frame, request->stop_begin, request->stop_end,
				      me->unwound, SITE_NATIVE_DEPTH + 1, &is_complete);
		*cost_ns = STEP_NS * (unwound + 8);
		spend(me, request, *cost_ns);
	}
	me->unkept.is_truncated = !is_complete;
	fill(&me->unkept, request, me->unwound, unwound);
	if (unwound)
		stack = keep(me, request, unwound);
	return stack ? stack : &me->unkept;
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
