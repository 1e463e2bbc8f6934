/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native frames of the calling thread.
 *
 * A stack that was seen before is recognised by comparing the few words of it that determine every
 * frame; only a new one is unwound (site_unwind.c).
 */
#ifndef GPUTRACE_SITE_CACHE_H
#define GPUTRACE_SITE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SITE_NATIVE_DEPTH 64

struct site_native_stack {
	uint64_t hash; /* of the return addresses; never 0 */
	/* For the caller to keep: what this stack came to last time. Zeroed when the stack is new.
	 */
	uint64_t memo_python, memo_site;
	uint32_t frame_count; /* at least 1 */
	bool is_truncated; /* the walk was cut: depth, no unwind data, or no unwinder to be had */
	uintptr_t frames[SITE_NATIVE_DEPTH]; /* return addresses, innermost first */
};

struct site_cache_thread; /* cache of one thread, see site_cache_bytes() */

/* Bytes of zeroed, page-aligned memory that a struct site_cache_thread needs. Pages of it that
 * no stack has used yet are not touched. */
size_t site_cache_bytes(void);

struct site_native_request {
	const uintptr_t *frame; /* __builtin_frame_address(0) of the exported function, so that
				 * frame[1] is its return address */
	uintptr_t stop_begin, stop_end;	  /* the walk ends, complete, at the first frame inside: the
					   * Python interpreter, whose own frames say more */
	uint64_t now_ticks, ticks_per_us; /* bounds the time spent on unwinding */
};

/* The stack if it is a known one, else NULL. Some 15 ns and one for each frame. */
struct site_native_stack *site_cache_recognise(struct site_cache_thread *me, const uintptr_t *frame,
					       uintptr_t stop_begin);

/* The stack by unwinding; it is remembered if it can be. Valid until the next call of this for the
 * same thread. *cost_ns: an estimate of what this took. May change errno. */
struct site_native_stack *site_cache_unwind(struct site_cache_thread *me,
					    const struct site_native_request *request,
					    uint32_t *cost_ns);

/* Session start; safe to repeat. use_table is for tests: see
 * site_modules_attach(). */
void site_cache_attach(bool use_table);

/* After fork in the child. */
void site_cache_after_fork(void);

/* "libunwind 1.6.2" or "frame pointers". */
const char *site_cache_engine(void);

#endif
