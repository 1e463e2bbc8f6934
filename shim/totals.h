/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact totals instead of, or beside, single records (GPUTRACE_MODE=summary, GPUTRACE_SAMPLE_*):
 * each thread adds to rows of a table of its own in shared memory, by function, site and detail.
 * The collector reads the tables, so that nothing is written here and a kill loses nothing. Records
 * are made as always, but in a scratch place; what is kept singly is copied into the ring.
 */
#ifndef GPUTRACE_SHIM_TOTALS_H
#define GPUTRACE_SHIM_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread;
struct totals;

/* Session start: what the options ask for, enum ring_recording. */
uint32_t totals_open(void);
/* What the session records, for its trace. */
void totals_describe(char *text, size_t size);
/* Gives a thread its table, if the session has totals. False: there is no room for one. */
bool totals_attach(struct thread *thread);
void totals_retire(struct thread *thread);

/* Of a thread with totals: where a record is made instead of in the ring; NULL when a signal
 * handler's call finds its thread at it (counted as dropped). */
void *totals_scratch(struct thread *thread, unsigned int kind, size_t size_bytes);
/* Adds the call in the scratch place, and records it singly if it is to be. */
void totals_take_call(struct thread *thread, bool is_nested);

/* A call of CUPTI's with this number begins inside the open call: its work may be read before the
 * call has ended, so what is to be kept of it is decided now. */
void totals_expect(struct thread *thread, uint32_t correlation);

/* Room for a record of GPU work, and its end, with totals or without. */
void *totals_reserve_gpu(struct thread *thread, unsigned int kind, size_t size_bytes);
void totals_commit_gpu(struct thread *thread);

#endif
