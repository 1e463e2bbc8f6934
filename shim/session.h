/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session of this process: its shared memory (a memfd with a control region and rings), its
 * collector, and the records that describe it. Opened by the first call that does GPU work.
 */
#ifndef GPUTRACE_SHIM_SESSION_H
#define GPUTRACE_SHIM_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../collector/format/ring.h"

/* NULL before the first session; the mapping is never removed, since threads may still write. */
extern struct ring_control *session_control;
extern pid_t session_pid;

/* Opens the session: memory, collector, descriptions. 0 or -errno; then nothing is recorded. */
int session_open(void);
/* Says that recording is over and waits, bounded, until the trace file is complete. */
void session_close(void);
/* In a forked child: let go of the parent's memory. */
void session_forget(void);

/* A ring for one thread: claims a slot with data_bytes, mapped and backed by memory; with less,
 * down to least_bytes, where memory is short. Once half of it is used, first rings become smaller
 * by themselves, so that more threads get one. */
struct session_ring {
	struct ring_header *header;
	uint32_t data_bytes;
	uint32_t slot;
	uint64_t head;
};
int session_ring_claim(uint32_t data_bytes, uint32_t least_bytes, uint32_t thread_id,
		       uint64_t claimed_ticks, struct session_ring *ring);
/* The ring of a thread that has ended, with at least room_bytes left, before the collector has
 * drained it. The caller's first record must be a ring_owner. -ENOSPC: there is none. */
int session_ring_take_over(uint32_t room_bytes, struct session_ring *ring);
/* Gives the slot to the collector, which drains it; `head` is where a later owner goes on. The
 * thread itself may go on, in a larger ring. */
void session_ring_retire(uint32_t slot, uint64_t head, bool has_moved);
/* A table of totals for one thread, new or left by one that has ended, with at least so many rows.
 */
struct session_table {
	struct ring_total *rows;
	uint32_t row_count;
	uint32_t slot;
	uint32_t used; /* rows that a thread before has filled */
};
int session_table_claim(uint32_t rows, uint32_t thread_id, uint64_t claimed_ticks,
			struct session_table *table);
/* Gives the slot to the collector, which reads it a last time. */
void session_table_retire(uint32_t slot);
/* Calls that no ring could take. */
void session_count_unrecorded(void);
/* What else could not be recorded: the session's own count, or that of the session to come. */
uint64_t session_count(enum ring_count what);
_Atomic uint64_t *session_counter(enum ring_count what);

/* Waits until everything committed so far is written: at most 20 ms, at most once a second. */
void session_flush_wait(void);

/* Where something is slow anyway: looks whether the collector has died, at most ten times a second
 * and only when it gives no sign of life. If so nothing more is recorded: a call costs one branch,
 * and the file ends where the collector did. */
void session_notice_collector(void);

/* One fact about the session, from the calling thread's ring. */
void session_info(const char *key, const char *value);
/* The clocks side by side. read_gpu_ns reads the GPU's clock (0: it does not answer); may be NULL.
 */
void session_clock(uint64_t (*read_gpu_ns)(void));

/* Directory of the shim's own file, or "". */
const char *session_own_directory(void);

#endif
