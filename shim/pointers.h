/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kind of memory an address is, from the allocations and registrations that were seen. Reading
 * is wait-free and takes a few loads; it runs for both ends of every copy.
 */
#ifndef GPUTRACE_SHIM_POINTERS_H
#define GPUTRACE_SHIM_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* enum memory_kind; MEMORY_UNKNOWN (0) for an address in nothing that was seen. */
unsigned int pointers_kind(const void *address);
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
