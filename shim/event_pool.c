/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives out event pairs to the program's threads, without a lock: a pair belongs to whoever moved
 * its state. A context gets a pool of its own at its first pair, so that one cannot starve another.
 */
#include <string.h>

#include "event_pairs.h"

#define TRIES 64u

struct event_pool event_pools[EVENT_CONTEXTS];
_Atomic uint64_t event_counts[EVENT_COUNTS];
static _Atomic uint32_t is_claiming;

uint32_t event_pool_number(const struct event_pair *pair)
{
	for (uint32_t i = 0; i < EVENT_CONTEXTS; i++) {
		const struct event_pair *pairs = event_pools[i].pairs;
		if (pair >= pairs && pair < pairs + EVENT_PAIRS)
			return i * EVENT_PAIRS + (uint32_t)(pair - pairs) + 1;
	}
	return 0;
}

struct event_pair *event_pool_pair(uint32_t number)
{
	return &event_pools[(number - 1) / EVENT_PAIRS].pairs[(number - 1) % EVENT_PAIRS];
}

static struct event_pool *find(const void *context)
{
	for (uint32_t i = 0; i < EVENT_CONTEXTS; i++)
		if (atomic_load(&event_pools[i].context) == context)
			return &event_pools[i];
	return NULL;
}

/* One thread at a time gives a context its pool; another one that comes meanwhile goes without. */
static struct event_pool *claim(const void *context)
{
	if (atomic_exchange(&is_claiming, 1))
		return NULL;
	struct event_pool *pool = find(context);
	for (uint32_t i = 0; i < EVENT_CONTEXTS && !pool; i++) {
		if (atomic_load(&event_pools[i].context) || atomic_load(&event_pools[i].is_closed))
			continue;
		pool = &event_pools[i];
		atomic_store(&pool->context, context);
	}
	atomic_store(&is_claiming, 0);
	return pool;
}

static bool make_events(struct event_pair *pair)
{
	if (pair->has_events)
		return true;
	/* One that was made while the other was refused is made only once. */
	if ((!pair->begin && event_functions.create(&pair->begin, 0)) ||
	    (!pair->end && event_functions.create(&pair->end, 0)))
		return false;
	pair->has_events = 1;
	return true;
}

static void forget_events(struct event_pair *pair)
{
	pair->has_events = 0;
	pair->begin = pair->end = NULL;
}

void event_pool_give_back(struct event_pair *pair)
{
	uint32_t expected = PAIR_OPEN;
	if (atomic_compare_exchange_strong(&pair->state, &expected, PAIR_FREE) ||
	    expected != PAIR_LOST)
		return;
	forget_events(pair);
	atomic_store(&pair->state, PAIR_FREE);
}

struct event_pair *event_pool_take(const void *context)
{
	struct event_pool *pool = find(context);
	if (!pool)
		pool = claim(context);
	if (!pool) {
		event_count(EVENT_COUNT_FULL);
		return NULL;
	}
	uint32_t first = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
	for (uint32_t i = 0; i < TRIES && !atomic_load(&pool->is_closed); i++) {
		struct event_pair *pair = &pool->pairs[(first + i) % EVENT_PAIRS];
		uint32_t expected = PAIR_FREE;
		if (atomic_load_explicit(&pair->state, memory_order_relaxed) != PAIR_FREE ||
		    !atomic_compare_exchange_strong(&pair->state, &expected, PAIR_OPEN))
			continue;
		/* Pairs with event_pool_drop(): it closes the pool before it looks at the states,
		 * so either it sees this pair open or this thread sees the pool closed. */
		if (!atomic_load(&pool->is_closed) && make_events(pair))
			return pair;
		event_count(EVENT_COUNT_FAILED);
		event_pool_give_back(pair);
		return NULL;
	}
	event_count(atomic_load(&pool->is_closed) ? EVENT_COUNT_FAILED : EVENT_COUNT_FULL);
	return NULL;
}

void event_pool_publish(struct event_pair *pair)
{
	uint32_t expected = PAIR_OPEN;
	/* Pairs with event_reader_collect(). */
	if (!atomic_compare_exchange_strong_explicit(&pair->state, &expected, PAIR_PENDING,
						     memory_order_release, memory_order_acquire))
		event_pool_give_back(pair);
}

static void drop_pair(struct event_pair *pair)
{
	uint32_t expected = PAIR_OPEN;
	if (atomic_compare_exchange_strong(&pair->state, &expected, PAIR_LOST)) {
		event_count(EVENT_COUNT_GONE);
		return;
	}
	if (expected == PAIR_LOST)
		return;
	if (expected == PAIR_PENDING)
		event_count(EVENT_COUNT_GONE);
	forget_events(pair);
	atomic_store(&pair->state, PAIR_FREE);
}

void event_pool_drop(const void *context)
{
	for (uint32_t i = 0; i < EVENT_CONTEXTS; i++) {
		struct event_pool *pool = &event_pools[i];
		const void *of = atomic_load(&pool->context);
		if (!of || (context && of != context))
			continue;
		atomic_store(&pool->is_closed, 1);
		for (uint32_t k = 0; k < EVENT_PAIRS; k++)
			drop_pair(&pool->pairs[k]);
		pool->anchor = (struct event_anchor){NULL, NULL, 0};
		atomic_store(&pool->context, NULL);
		atomic_store(&pool->is_closed, 0);
	}
}

void event_pool_forget(void)
{
	/* Writing to a pool that was never used would cost the child its page faults. */
	for (uint32_t i = 0; i < EVENT_CONTEXTS; i++) {
		struct event_pool *pool = &event_pools[i];
		if (atomic_load(&pool->context) || atomic_load(&pool->is_closed) ||
		    atomic_load(&pool->next))
			memset((void *)pool, 0, sizeof(*pool));
	}
	memset((void *)event_counts, 0, sizeof(event_counts));
	atomic_store(&is_claiming, 0);
}
