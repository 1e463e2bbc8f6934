/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of each communicator of this process, by handle, and how many collectives and
 * messages it has seen. Without locks: entries are claimed by compare-exchange and never moved.
 */
#ifndef GPUTRACE_SHIM_COMM_TABLE_H
#define GPUTRACE_SHIM_COMM_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define COMM_RANK_UNKNOWN UINT32_MAX

struct comm_entry {
	_Atomic uintptr_t handle;
	_Atomic uint64_t hash; /* the same on all ranks, 0 unknown */
	_Atomic uint32_t rank, rank_count;
	_Atomic uint32_t collectives, splits;
};

/* A new communicator, in the place of an old one with the same handle. NULL: no room. */
struct comm_entry *comm_table_set(const void *handle, uint64_t hash, uint32_t rank,
				  uint32_t rank_count);
struct comm_entry *comm_table_find(const void *handle);
/* The number, from 1, of a message to or from a peer; 0 when there is no room to count. */
uint32_t comm_table_next_message(const struct comm_entry *entry, bool is_send, uint32_t peer);
void comm_table_forget(void);

#endif
