/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who made a call. A site is a list of frames with a number, written once per thread before the
 * first record that refers to it. For now a site is one frame: the return address of the outermost
 * intercepted call.
 */
#ifndef GPUTRACE_SHIM_SITE_H
#define GPUTRACE_SHIM_SITE_H

#include <stdint.h>

#include "thread.h"

/* Slow path: writes the record, and the library that holds the address when it is new. */
uint64_t site_learn(struct thread *thread, uint64_t return_address);

/* The site's number, never 0. */
static inline uint64_t site_of_call(struct thread *thread, const void *caller)
{
	uint64_t address = (uint64_t)(uintptr_t)caller;
	const struct site_cached *cached = &thread->sites[(address ^ (address >> 7)) & (THREAD_SITES - 1)];
	if (__builtin_expect(cached->address == address, 1))
		return cached->id;
	return site_learn(thread, address);
}

#endif
