/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python frames of the calling thread, read without the GIL.
 *
 * A thread inside a C function is the only one that can change its own frame chain, so plain loads
 * suffice. Walks make no call into the application's code, allocate nothing, take no lock and cost
 * a few nanoseconds per frame. Only CPython 3.8 .. 3.14 with the GIL is walked; for all else there
 * are no frames and site_python_reason() says why.
 */
#ifndef GPUTRACE_SITE_PYTHON_H
#define GPUTRACE_SITE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SITE_PYTHON_DEPTH      64
#define SITE_PYTHON_TEXT_BYTES 1536 /* longest "function\x1ffile" that is kept whole */

struct site_python_frame {
	const void *code;      /* the code object */
	uint32_t offset_bytes; /* of the instruction in it */
	uint32_t reserved0;
};

struct site_python_stack {
	uint64_t hash; /* of every frame, validated: an object at a reused address hashes apart */
	uint32_t frame_count; /* innermost first */
	bool is_truncated;
	bool is_other_thread; /* the frames of the thread that waits for this one */
	struct site_python_frame frames[SITE_PYTHON_DEPTH];
};

struct site_python_line {
	uint64_t name; /* hash of the text, never 0 */
	uint32_t line; /* 0 unknown */
	uint32_t text_bytes;
	char text[SITE_PYTHON_TEXT_BYTES]; /* "function\x1ffile", UTF-8, no NUL */
};

/* What the walks remember of one recording thread. Zeroed memory is a valid start. */
struct site_python_thread {
	const void *registered; /* this thread's PyThreadState, as told to waiting look-ups */
	/* The frames that walk_waiting() found last, and what proves that they are still those. */
	const void *owner;
	const void *owner_frame;
	struct site_python_frame owner_top;
	struct site_python_stack waiting;
};

/* Looks for an interpreter if none was found so far. Reads the list of
 * modules: call it at session start, and once more after a library was loaded, never on the hot
 * path. Safe from several threads. */
void site_python_attach(void);

/* After fork in the child: forgets threads that are gone. */
void site_python_after_fork(void);

/* Whether there is an interpreter whose frames can be read. */
bool site_python_is_there(void);

/* Fills in stack. False: this thread has no Python frames, or they cannot be read. may_ask false:
 * in a hook that may run under somebody's lock; the interpreter's API is not asked for comparison.
 */
bool site_python_walk(struct site_python_thread *me, bool may_ask, struct site_python_stack *stack);

/* For a thread without frames of its own: me->waiting becomes the frames of the one thread that
 * waits in autograd's backward(). Microseconds when that line is new, about one when it is not.
 * False: no thread waits there, or more than one, so that nothing true can be said. */
bool site_python_walk_waiting(struct site_python_thread *me);

/* When a recording thread ends. */
void site_python_forget(struct site_python_thread *me);

/* Function, file and line of a frame, right after the walk that gave it. False: unreadable. */
bool site_python_describe(const struct site_python_stack *stack, uint32_t index,
			  struct site_python_line *line);

/* Why there are no Python frames, as one clause; NULL: there are, or no interpreter was met. */
const char *site_python_reason(void);

/* "3.11"; NULL: no interpreter was met. */
const char *site_python_version(void);

/* Whether the interpreter's own API has confirmed the walk in this process. */
bool site_python_is_checked(void);

/* Executable range of the interpreter: native frames end where it begins. False: none. */
bool site_python_code_range(uintptr_t *begin, uintptr_t *end);

#endif
