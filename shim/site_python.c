// SPDX-License-Identifier: Apache-2.0
/*
 * When to believe the walk. An interpreter of a known version is first walked with guarded copies
 * that check every type; plain loads follow only after one such walk came out right. At the first
 * event whose thread holds the GIL, the API is asked as well, and a difference ends it all.
 */
#include "site_python.h"
#include "site_python_internal.h"

#include <stdatomic.h>

enum python_state {
	STATE_NONE,	/* no interpreter met so far */
	STATE_UNPROVED, /* found, never walked */
	STATE_PROVED,	/* a guarded walk came out right */
	STATE_CHECKED,	/* the API agreed */
	STATE_OFF	/* not to be walked; off_reason says why */
};

static struct python_runtime runtime; /* constant once state is past STATE_NONE */
static _Atomic int state;
static atomic_flag is_attaching = ATOMIC_FLAG_INIT;
static const char *_Atomic off_reason;

static void turn_off(const char *reason)
{
	atomic_store_explicit(&off_reason, reason, memory_order_relaxed);
	atomic_store_explicit(&state, STATE_OFF, memory_order_release);
}

void site_python_attach(void)
{
	struct python_runtime found;
	const char *reason;
	bool is_there;

	if (atomic_load_explicit(&state, memory_order_acquire) != STATE_NONE ||
	    atomic_flag_test_and_set_explicit(&is_attaching, memory_order_acquire))
		return;
	reason = python_runtime_find(&found, &is_there);
	/* An interpreter that is only loaded may be started later: another attach will see. */
	if (is_there && (reason || found.api.is_initialized()) &&
	    atomic_load_explicit(&state, memory_order_relaxed) == STATE_NONE) {
		runtime = found;
		if (reason)
			turn_off(reason);
		else
			atomic_store_explicit(&state, STATE_UNPROVED, memory_order_release);
	}
	atomic_flag_clear_explicit(&is_attaching, memory_order_release);
}

/* Moves from one state to a better one unless another thread has moved it meanwhile. */
static void advance(int from, int to)
{
	atomic_compare_exchange_strong_explicit(&state, &from, to, memory_order_release,
						memory_order_relaxed);
}

/* The way of every event until the API has agreed. Returns whether plain loads may be used. */
static bool prove(const void *thread, bool may_ask, struct site_python_stack *stack, int known)
{
	if (known == STATE_UNPROVED && site_memory_can_copy()) {
		if (!python_walk_guarded(&runtime, thread, stack)) {
			turn_off("frames do not look like this version's");
			return false;
		}
		if (stack->frame_count == 0)
			return false;
		advance(STATE_UNPROVED, STATE_PROVED);
		known = STATE_PROVED;
	}
	if (!may_ask || !python_holds_gil(&runtime) || !runtime.api.is_initialized())
		return known == STATE_PROVED;
	switch (python_check_against_api(&runtime)) {
	case PYTHON_AGREES:
		atomic_store_explicit(&state, STATE_CHECKED, memory_order_release);
		return true;
	case PYTHON_DIFFERS:
		turn_off("the walk differed from the interpreter's own");
		return false;
	case PYTHON_NO_ANSWER:
		break;
	}
	return known == STATE_PROVED;
}

bool site_python_is_there(void)
{
	int known = atomic_load_explicit(&state, memory_order_relaxed);

	return known != STATE_NONE && known != STATE_OFF;
}

bool site_python_walk(struct site_python_thread *me, bool may_ask, struct site_python_stack *stack)
{
	int known = atomic_load_explicit(&state, memory_order_acquire);
	const void *thread;

	if (known == STATE_NONE || known == STATE_OFF)
		return false;
	thread = runtime.api.this_thread();
	if (!thread)
		return false;
	if (__builtin_expect(known != STATE_CHECKED, 0) && !prove(thread, may_ask, stack, known))
		return false;
	if (!runtime.walk_direct(&runtime, thread, stack) || stack->frame_count == 0)
		return false;
	if (__builtin_expect(me->registered != thread, 0))
		python_waiting_register(me, thread);
	return true;
}

bool site_python_walk_waiting(struct site_python_thread *me)
{
	int known = atomic_load_explicit(&state, memory_order_acquire);

	if (known != STATE_PROVED && known != STATE_CHECKED)
		return false;
	return python_waiting_walk(&runtime, me);
}

void site_python_forget(struct site_python_thread *me)
{
	if (me->registered)
		python_waiting_unregister(me);
}

void site_python_after_fork(void)
{
	atomic_flag_clear_explicit(&is_attaching, memory_order_relaxed);
	python_waiting_clear();
}

bool site_python_describe(const struct site_python_stack *stack, uint32_t index,
			  struct site_python_line *line)
{
	if (index >= stack->frame_count)
		return false;
	return python_describe(&runtime, stack->is_other_thread, &stack->frames[index], line);
}

const char *site_python_reason(void)
{
	if (atomic_load_explicit(&state, memory_order_acquire) != STATE_OFF)
		return NULL;
	return atomic_load_explicit(&off_reason, memory_order_relaxed);
}

const char *site_python_version(void)
{
	if (atomic_load_explicit(&state, memory_order_acquire) == STATE_NONE || !runtime.version[0])
		return NULL;
	return runtime.version;
}

bool site_python_is_checked(void)
{
	return atomic_load_explicit(&state, memory_order_acquire) == STATE_CHECKED;
}

bool site_python_code_range(uintptr_t *begin, uintptr_t *end)
{
	int known = atomic_load_explicit(&state, memory_order_acquire);

	if (known != STATE_PROVED && known != STATE_CHECKED)
		return false;
	*begin = runtime.code_begin;
	*end = runtime.code_end;
	return true;
}
