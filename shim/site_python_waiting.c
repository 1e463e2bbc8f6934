// SPDX-License-Identifier: Apache-2.0
/*
 * Whose line is it when a thread without Python frames calls CUDA? Autograd runs the backward pass
 * on threads of its own while the thread that called backward() waits. Its frames are read through
 * the kernel, which cannot fault, and are taken only if exactly one known thread has autograd's
 * entry as its innermost function and did not move while being read.
 */
#include "site_python_internal.h"

#include <stdatomic.h>
#include <string.h>

#define THREAD_LIMIT 64

/* Threads seen with Python frames. A thread beyond the limit is not found as a waiting one. */
static const void *_Atomic threads[THREAD_LIMIT];

void python_waiting_register(struct site_python_thread *me, const void *thread)
{
	if (me->registered)
		python_waiting_unregister(me);
	me->registered = thread; /* even if there is no room: once is enough to try */
	for (int i = 0; i < THREAD_LIMIT; i++) {
		const void *expected = NULL;

		if (atomic_load_explicit(&threads[i], memory_order_relaxed) == thread)
			return;
		if (atomic_compare_exchange_strong(&threads[i], &expected, thread))
			return;
	}
}

void python_waiting_unregister(struct site_python_thread *me)
{
	for (int i = 0; i < THREAD_LIMIT; i++) {
		const void *expected = me->registered;

		atomic_compare_exchange_strong(&threads[i], &expected, NULL);
	}
	me->registered = NULL;
}

void python_waiting_clear(void)
{
	for (int i = 0; i < THREAD_LIMIT; i++)
		atomic_store_explicit(&threads[i], NULL, memory_order_relaxed);
}

/* Whether the function is the one that calls into autograd's engine: _engine_run_backward() of
 * newer torch, backward() and grad() of older. */
static bool is_autograd_entry(const struct python_runtime *runtime,
			      const struct site_python_frame *frame)
{
	static const char *const names[] = {"_engine_run_backward", "run_backward", "backward",
					    "grad"};
	struct site_python_line line;
	const char *end, *name;

	if (!python_describe(runtime, true, frame, &line))
		return false;
	end = memchr(line.text, 0x1f, line.text_bytes);
	if (!end)
		return false;
	name = end;
	while (name > line.text && name[-1] != '.')
		name--;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if ((size_t)(end - name) == strlen(names[i]) &&
		    memcmp(name, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

static bool is_still_there(const struct python_runtime *runtime, struct site_python_thread *me,
			   const void *owner)
{
	struct site_python_frame top;
	const void *frame;

	return python_peek_guarded(runtime, owner, &frame, &top) && frame == me->owner_frame &&
	       top.code == me->owner_top.code && top.offset_bytes == me->owner_top.offset_bytes;
}

/* The one registered thread that waits in autograd; NULL: none, or several. */
static const void *find_owner(const struct python_runtime *runtime, struct site_python_thread *me)
{
	const void *owner = NULL;

	for (int i = 0; i < THREAD_LIMIT; i++) {
		const void *thread = atomic_load_explicit(&threads[i], memory_order_relaxed);
		struct site_python_frame top;
		const void *frame;

		if (!thread || thread == me->registered ||
		    !python_peek_guarded(runtime, thread, &frame, &top) ||
		    !is_autograd_entry(runtime, &top))
			continue;
		if (owner)
			return NULL;
		owner = thread;
		me->owner_frame = frame;
		me->owner_top = top;
	}
	return owner;
}

bool python_waiting_walk(const struct python_runtime *runtime, struct site_python_thread *me)
{
	const void *owner = me->owner;

	if (owner && is_still_there(runtime, me, owner))
		return true;
	me->owner = NULL;
	owner = find_owner(runtime, me);
	if (!owner || !python_walk_guarded(runtime, owner, &me->waiting) ||
	    me->waiting.frame_count == 0 || !is_still_there(runtime, me, owner))
		return false;
	me->waiting.is_other_thread = true;
	me->waiting.hash ^= 0x77616974u; /* "wait": another site than the line's own */
	me->owner = owner;
	return true;
}
