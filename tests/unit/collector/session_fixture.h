/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shim's side of a session, for tests of the collector: sealed memory with a control page,
 * rings and a plain producer. One producer per ring, as the contract says.
 */
#ifndef GPUTRACE_TESTS_SESSION_FIXTURE_H
#define GPUTRACE_TESTS_SESSION_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring.h"

struct session_fixture {
	int memfd;
	struct ring_control *control; /* the whole memory is mapped behind it */
	size_t bytes;
	uint32_t rings;
};

struct session_ring {
	struct ring_slot *slot;
	struct ring_header *header;
	uint8_t *data;
	uint64_t head;
};

/* Memory for `rings` rings of `data_bytes` each; the clock is CLOCK_MONOTONIC. */
void session_fixture_init(struct session_fixture *session, uint32_t rings, uint32_t data_bytes);
void session_fixture_fini(struct session_fixture *session);
/* Takes the slot `index` for a thread and makes it LIVE. */
void session_ring_claim(struct session_fixture *session, struct session_ring *ring, uint32_t index,
			uint32_t thread_id, uint64_t claimed_ticks);
void session_ring_retire(struct session_ring *ring);
/* Takes a retired ring over for another thread, with the record that says so; false when the
 * collector is about to free it. */
bool session_ring_take_over(struct session_ring *ring, uint32_t thread_id, uint64_t claimed_ticks);
/* False when the ring is full. */
bool session_ring_put(struct session_ring *ring, const void *record);
/* Likewise a call with this number and nothing else. */
bool session_ring_put_call(struct session_ring *ring, uint32_t call_id);
/* Counts one record as dropped. */
void session_ring_drop(struct session_ring *ring, uint16_t kind);

/* RLIMIT_FSIZE of the next collectors, 0: as it is. */
extern uint64_t session_file_limit;
/* Starts the collector program on the session, for the job `pid`; its process id. */
pid_t session_start_collector(const struct session_fixture *session, const char *program, pid_t pid,
			      const char *out_dir, const char *name);
/* Waits until the state is `wanted`, or READY is already over; false after ten seconds. */
bool session_wait_state(const struct session_fixture *session, uint32_t wanted);

/* A new empty directory under TMPDIR, /dev/shm or /tmp; the text is static. */
const char *session_make_dir(void);
/* Path of the only trace file in the directory, "" when there is not exactly one. */
void session_find_trace(const char *dir, char *path, size_t size);
void session_remove_dir(const char *dir);

#endif
