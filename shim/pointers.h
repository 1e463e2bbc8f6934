/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kind of memory an address is, from the allocations and registrations that were seen. Reading
 * is wait-free and takes a few loads; it runs for both ends of every copy.
 */
#ifndef GPUTRACE_SHIM_POINTERS_H
#define GPUTRACE_SHIM_POINTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POINTERS_PAGE_SHIFT   12
#define POINTERS_BLOCK_SHIFT  21
#define POINTERS_MIDDLE_SHIFT 30
#define POINTERS_TOP_SHIFT    39
#define POINTERS_FANOUT	      512u
#define POINTERS_LIMIT	      (1ull << 48)

/* A block is wholly of one kind (kind << 1 | 1), or an array of pages, or nothing (0). */
extern _Atomic uintptr_t pointers_top[POINTERS_FANOUT];
#define POINTERS_PAGE_KIND(page) ((page)&15u)

static inline unsigned int pointers_index(uint64_t address, int shift)
{
	return (unsigned int)(address >> shift) & (POINTERS_FANOUT - 1);
}

/* enum memory_kind; MEMORY_UNKNOWN (0) for an address in nothing that was seen. Here, since a copy
 * does it twice. */
static inline unsigned int pointers_kind(const void *pointer)
{
	uint64_t address = (uintptr_t)pointer;
	if (address >= POINTERS_LIMIT)
		return 0;
	uintptr_t middle = atomic_load_explicit(
		&pointers_top[pointers_index(address, POINTERS_TOP_SHIFT)], memory_order_acquire);
	if (!middle)
		return 0;
	uintptr_t blocks = atomic_load_explicit(
		&((_Atomic uintptr_t *)middle)[pointers_index(address, POINTERS_MIDDLE_SHIFT)],
		memory_order_acquire);
	if (!blocks)
		return 0;
	uintptr_t block = atomic_load_explicit(
		&((_Atomic uintptr_t *)blocks)[pointers_index(address, POINTERS_BLOCK_SHIFT)],
		memory_order_acquire);
	if (!block)
		return 0;
	if (block & 1)
		return (unsigned int)(block >> 1);
	return POINTERS_PAGE_KIND(atomic_load_explicit(
		&((_Atomic uint16_t *)block)[pointers_index(address, POINTERS_PAGE_SHIFT)],
		memory_order_relaxed));
}

/* An allocation or registration; one at the same address is replaced. */
void pointers_add(const void *address, size_t size_bytes, unsigned int kind);
/* The end of one, by its address; nothing happens when it is not known. */
void pointers_remove(const void *address);
/* Everything on the devices is gone (cudaDeviceReset). */
void pointers_remove_all(void);
/* False: an update was lost, so an unknown host address may be pinned after all. */
bool pointers_complete(void);
/* Calls went by unseen (capture was switched off): the table is not complete any more. */
void pointers_missed(void);
void pointers_after_fork(void);

#endif
