// SPDX-License-Identifier: Apache-2.0
/*
 * Open addressing with linear probing. A slot's number is set once and stays; its state says
 * whether the record was written. Probing is bounded, so that a full set costs a bounded search.
 */
#include "site_set.h"

#define PROBE_LIMIT 64

enum slot_state { SLOT_OPEN = 0, SLOT_BUSY = 1, SLOT_WRITTEN = 2 };

enum site_set_answer site_set_claim(struct site_set *set, uint64_t number, uint32_t *slot)
{
	uint32_t mask = set->capacity - 1;
	uint32_t at = (uint32_t)(number ^ number >> 32) & mask;

	for (uint32_t i = 0; i < PROBE_LIMIT; i++, at = (at + 1) & mask) {
		uint64_t found = atomic_load_explicit(&set->slots[at], memory_order_relaxed);
		uint8_t expected = SLOT_OPEN;

		if (found == 0) {
			/* Three quarters full is full: probing stays short for what is there. */
			if (atomic_load_explicit(&set->used, memory_order_relaxed) >=
			    set->capacity - set->capacity / 4)
				return SITE_SET_FULL;
			if (atomic_compare_exchange_strong_explicit(&set->slots[at], &found, number,
								    memory_order_relaxed,
								    memory_order_relaxed)) {
				atomic_fetch_add_explicit(&set->used, 1, memory_order_relaxed);
				found = number;
			}
		}
		if (found != number)
			continue;
		*slot = at;
		if (atomic_load_explicit(&set->states[at], memory_order_relaxed) == SLOT_WRITTEN)
			return SITE_SET_KNOWN;
		return atomic_compare_exchange_strong_explicit(&set->states[at], &expected,
							       SLOT_BUSY, memory_order_relaxed,
							       memory_order_relaxed)
			       ? SITE_SET_CLAIMED
			       : SITE_SET_KNOWN;
	}
	return SITE_SET_FULL;
}

void site_set_settle(struct site_set *set, uint32_t slot, int was_written)
{
	atomic_store_explicit(&set->states[slot], was_written ? SLOT_WRITTEN : SLOT_OPEN,
			      memory_order_relaxed);
}

void site_set_clear(struct site_set *set)
{
	if (atomic_load_explicit(&set->used, memory_order_relaxed) == 0)
		return;
	for (uint32_t i = 0; i < set->capacity; i++) {
		atomic_store_explicit(&set->slots[i], 0, memory_order_relaxed);
		atomic_store_explicit(&set->states[i], SLOT_OPEN, memory_order_relaxed);
	}
	atomic_store_explicit(&set->used, 0, memory_order_relaxed);
}
