/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one recording thread: its ring, its place in the nesting of calls, small caches. The
 * block is our own memory (never malloc), wiped in a forked child, found through one TLS pointer.
 */
#ifndef GPUTRACE_SHIM_THREAD_H
#define GPUTRACE_SHIM_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ring_writer.h"

struct site_thread;
struct totals;

#define THREAD_CONTEXTS 8

struct thread {
	uint32_t is_live;      /* 1, or 0 in idle, muted and wiped blocks */
	uint32_t current_call; /* id of the innermost open call, 0 none */
	uint32_t call_count;
	uint32_t correlation;  /* left by CUPTI's callback inside the open call */
	uint32_t device;       /* current device, DEVICE_UNKNOWN: ask */
	uint32_t ask_again_at; /* call_count before which the driver is not asked for it again */
	uint32_t is_attending; /* inside call_attend() */
	uint32_t is_writing; /* between reserve and commit: a signal handler's calls are dropped */
	uint32_t captured_inside; /* id of the call around the last captured one */
	uint32_t in_hook;	  /* under an allocator's mutex: no waiting, no loader */
	uint32_t thread_id;
	uint32_t block;		/* index of this block */
	uint32_t group_depth;	/* open ncclGroupStart calls */
	uint32_t group_count;	/* outermost ones so far */
	uint32_t event_pair;	/* gpu_events.c: 1 + the pair around the open call, 0 none */
	uint32_t is_own;	/* a thread of the shim, which may wait for the collector */
	uint32_t in_collective; /* open calls of NCCL */
	uint64_t sampled_ticks; /* when a launch was last measured by events */
	uint64_t site;		/* of the outermost open call */
	const void *outermost;	/* its frame: a call from further out finds it left by longjmp() */
	uint64_t claimed_ticks;
	size_t reserved_bytes; /* of the record being written */
	struct ring_writer ring;
	const char *launched;	   /* injection.c: kernel of the call, as CUPTI tells; NULL none */
	uint64_t last_ticks;	   /* end of the call before, on the clock of records */
	struct site_thread *sites; /* site.c; NULL: no sites for this thread */
	uint32_t context_depth;	   /* capture_context.c: the stack of current contexts */
	uintptr_t contexts[THREAD_CONTEXTS];
	struct totals *totals; /* totals.c; NULL: every call is a record */
	uint32_t operation;    /* id of the outermost open call */
	uint32_t operation_api;
	uint32_t copied_inside; /* id of the call around the last copies made inside another */
	uint64_t copied_bytes;	/* by all of these */
};

/* The calling thread's block, or thread_idle (no ring yet), or thread_muted (our own work). */
extern __thread struct thread *thread_now __attribute__((tls_model("initial-exec")));
extern struct thread thread_idle, thread_muted;

/* Session start: room for blocks, the exit key. 0 or -errno. */
int thread_init(void);
/* Gives the calling thread a block and a ring; NULL when there is none to be had. */
struct thread *thread_attach(void);
/* The thread ends or the session is over: its ring is left to the collector. */
void thread_retire(struct thread *thread);
/* In a forked child: forget every block. */
void thread_forget_all(void);

/* The ring is full: a larger ring, a wait, or a counted drop (NULL). */
void *thread_reserve_full(struct thread *thread, unsigned int kind, size_t size_bytes);
/* A signal handler's call inside a write of its own thread, or a block wiped by a fork: NULL. */
void *thread_reserve_refused(struct thread *thread, unsigned int kind);

/* Whether the switch in shared memory lets calls be recorded. */
extern _Atomic uint32_t *thread_capture_switch;

static inline bool thread_records(const struct thread *thread)
{
	return thread->is_live && atomic_load_explicit(thread_capture_switch, memory_order_relaxed);
}

/* Room for one record in the thread's ring; NULL when it was dropped (and counted by kind). */
static inline void *thread_reserve(struct thread *thread, unsigned int kind, size_t size_bytes)
{
	if (__builtin_expect((thread->is_live ^ 1) | thread->is_writing, 0))
		return thread_reserve_refused(thread, kind);
	thread->is_writing = 1;
	atomic_signal_fence(memory_order_seq_cst);
	void *record = ring_writer_reserve(&thread->ring, size_bytes);
	if (__builtin_expect(!record, 0))
		record = thread_reserve_full(thread, kind, size_bytes);
	thread->reserved_bytes = size_bytes;
	return record;
}

/* The same where the room is there at once; NULL: nothing was done, ask thread_reserve(). */
static inline void *thread_reserve_quick(struct thread *thread, size_t size_bytes)
{
	if (__builtin_expect((thread->is_live ^ 1) | thread->is_writing, 0))
		return NULL;
	thread->is_writing = 1;
	atomic_signal_fence(memory_order_seq_cst);
	void *record = ring_writer_reserve_quick(&thread->ring, size_bytes);
	if (__builtin_expect(!record, 0)) {
		thread->is_writing = 0;
		return NULL;
	}
	thread->reserved_bytes = size_bytes;
	return record;
}

static inline void thread_commit(struct thread *thread)
{
	ring_writer_commit(&thread->ring, thread->reserved_bytes);
	atomic_signal_fence(memory_order_seq_cst);
	thread->is_writing = 0;
}

/* Work of our own that must not be recorded, such as calls into CUPTI. */
static inline struct thread *thread_mute(void)
{
	struct thread *before = thread_now;
	thread_now = &thread_muted;
	return before;
}
static inline void thread_unmute(struct thread *before)
{
	thread_now = before;
}

#endif
