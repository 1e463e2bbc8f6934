/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names and sites of this session were written already: a set of 64-bit numbers, shared by
 * all threads, without locks, of fixed size.
 */
#ifndef GPUTRACE_SITE_SET_H
#define GPUTRACE_SITE_SET_H

#include <stdatomic.h>
#include <stdint.h>

enum site_set_answer {
	SITE_SET_KNOWN,	  /* written, or being written by another thread right now */
	SITE_SET_CLAIMED, /* write it now, then call site_set_settle() */
	SITE_SET_FULL	  /* not there, and there is no room for more */
};

struct site_set {
	_Atomic uint64_t *slots; /* number; 0 empty. capacity of them, a power of two, zeroed */
	_Atomic uint8_t *states; /* one for each slot, zeroed */
	uint32_t capacity;
	_Atomic uint32_t used;
};

/* number is not 0. On CLAIMED, *slot is what settle() wants. */
enum site_set_answer site_set_claim(struct site_set *set, uint64_t number, uint32_t *slot);

/* was_written false: there was no room in the ring; the next event with this number tries again. */
void site_set_settle(struct site_set *set, uint32_t slot, int was_written);

void site_set_clear(struct site_set *set);

#endif
