/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who called: turns the calling thread's stack into a site number and writes each site once.
 *
 * wrap -> capture_* -> here -> ring. The frames come from site_cache.c and site_python.c. All
 * state of a thread lies in memory that the caller provides; nothing here allocates or locks.
 */
#ifndef GPUTRACE_SITE_CAPTURE_H
#define GPUTRACE_SITE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* GPUTRACE_STACKS */
enum site_stacks {
	SITE_STACKS_OFF = 0,
	SITE_STACKS_PYTHON = 1,
	SITE_STACKS_NATIVE = 2,
	SITE_STACKS_ALL = 3
};

/* The policy: calls that move or hold memory, wait or talk to other ranks are few and each may be
 * the finding, so they always get their stack. Launches are many and cheap: they get it on first
 * sight of their caller, and else as long as the walks stay within SITE_LAUNCH_SHARE of the time;
 * beyond that their site is the return address and a marker that there was more. */
#define SITE_EVENTS(EVENT)                                                                         \
	EVENT(ALLOCATION, ALWAYS)                                                                  \
	EVENT(COPY, ALWAYS)                                                                        \
	EVENT(SYNC, ALWAYS)                                                                        \
	EVENT(COLLECTIVE, ALWAYS)                                                                  \
	EVENT(LAUNCH, BY_RATE)                                                                     \
	EVENT(OTHER, BY_RATE)

enum site_event {
#define SITE_EVENT(name, policy) SITE_EVENT_##name,
	SITE_EVENTS(SITE_EVENT)
#undef SITE_EVENT
};

#define SITE_LAUNCH_SHARE 50 /* at most one part in so many of a thread's time */

struct site_settings {
	enum site_stacks stacks;
	/* Copies a whole record into the calling thread's ring. False: no room now. */
	bool (*emit)(void *context, const void *record, uint32_t size_bytes);
	uint64_t ticks_per_us; /* of the clock that now_ticks counts; 0: launches never by rate */
	/* Counts sites that get no record because the table is full; may be NULL. */
	_Atomic uint64_t *unrecorded;
};

/* Parses GPUTRACE_STACKS; NULL or "" is the default, all. -1: not a known word. */
int site_stacks_parse(const char *text);

/* Session start and again in a forked child's own session: forgets what was written. Looks for the
 * interpreter and for unwind data. */
void site_capture_begin(const struct site_settings *settings);

/* In a forked child, before anything else of it. */
void site_capture_after_fork(void);

struct site_thread;		/* state of one recording thread */
size_t site_thread_bytes(void); /* of zeroed, page-aligned memory; mostly never touched */
void site_thread_end(struct site_thread *me);

struct site_call {
	enum site_event event;
	bool may_ask_python; /* false in a hook that runs under somebody's lock: the interpreter's
			      * API is not asked whether it agrees with the walk */
	const void *frame;   /* __builtin_frame_address(0) of the exported function */
	uint64_t now_ticks;  /* begin of the call */
	void *emit_context;
};

/* The site of a call; 0: none by policy, or none to be had. Keeps errno. */
uint64_t site_capture(struct site_thread *me, const struct site_call *call);

/* Differs when the facts do; never 0. */
uintptr_t site_capture_facts_state(void);
/* Facts for info records, once per change: calls put(context, key, value) for each. */
void site_capture_facts(void (*put)(void *context, const char *key, const char *value),
			void *context);

#endif
