/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the site_python_*.c files share: the interpreter that was found, and guarded reading.
 */
#ifndef GPUTRACE_SITE_PYTHON_INTERNAL_H
#define GPUTRACE_SITE_PYTHON_INTERNAL_H

#include "site_memory.h"
#include "site_python.h"
#include "site_python_offsets.h"

#include <string.h>

/* What is called of the interpreter. The first three are safe without the GIL. */
struct python_api {
	void *(*this_thread)(void); /* PyGILState_GetThisThreadState */
	void *(*holder)(void);	    /* PyThreadState_GetUnchecked */
	int (*is_initialized)(void);
	/* Only for the self-check, with the GIL held. */
	void *(*current_frame)(void);		  /* PyEval_GetFrame, borrowed */
	void *(*attribute)(void *, const char *); /* PyObject_GetAttrString, new reference */
	const char *(*text)(void *);		  /* PyUnicode_AsUTF8 */
	long (*number)(void *);			  /* PyLong_AsLong */
	void (*retain)(void *);			  /* Py_IncRef */
	void (*release)(void *);		  /* Py_DecRef */
	void (*error_fetch)(void **, void **, void **);
	void (*error_restore)(void *, void *, void *);
	int (*collector_disable)(void); /* PyGC_Disable, 3.10 and later */
	int (*collector_enable)(void);
};

struct python_runtime;

/* Walks the frames of a PyThreadState with plain loads. */
typedef bool python_walk_function(const struct python_runtime *runtime, const void *thread,
				  struct site_python_stack *stack);

struct python_runtime {
	struct python_api api;
	struct python_layout layout;
	python_walk_function *walk_direct; /* of python_walk_pick() */
	const void *code_type, *frame_type, *text_type, *bytes_type, *none;
	const void *py_runtime; /* _PyRuntime */
	uintptr_t code_begin, code_end;
	char version[8];
};

/* Finds the interpreter among the loaded modules and fills in everything. Returns NULL when all is
 * well, else why this process's Python is not walked; *found tells whether there is one at all. */
const char *python_runtime_find(struct python_runtime *runtime, bool *found);

/* Whether the calling thread holds the GIL for sure. */
bool python_holds_gil(const struct python_runtime *runtime);

enum python_verdict {
	PYTHON_AGREES, /* the walk equals what the API says */
	PYTHON_DIFFERS,
	PYTHON_NO_ANSWER /* the API could not be asked now */
};

/* Compares a fresh walk of this thread with the API's own walk. The GIL must be held. */
enum python_verdict python_check_against_api(const struct python_runtime *runtime);

/* Reads memory of the interpreter. is_guarded is a constant at every call, so that the unguarded
 * form becomes a plain load. */
static inline __attribute__((always_inline)) bool python_read(bool is_guarded, void *to,
							      const void *from, size_t size_bytes)
{
	if (is_guarded)
		return site_memory_copy(to, from, size_bytes);
	memcpy(to, from, size_bytes);
	return true;
}

static inline const void *python_at(const void *object, uint16_t offset)
{
	return (const char *)object + offset;
}

/* The fastest walk with plain loads that fits a layout. */
python_walk_function *python_walk_pick(const struct python_layout *layout);

/* The walk that also checks the types of what it meets; false means that something was not what the
 * layout says. A thread without frames gives true and 0. */
bool python_walk_guarded(const struct python_runtime *runtime, const void *thread,
			 struct site_python_stack *stack);

/* site_python_describe() for a given interpreter. */
bool python_describe(const struct python_runtime *runtime, bool is_guarded,
		     const struct site_python_frame *frame, struct site_python_line *line);

/* The threads that were seen with Python frames, for site_python_walk_waiting(). */
void python_waiting_register(struct site_python_thread *me, const void *thread);
void python_waiting_unregister(struct site_python_thread *me);
void python_waiting_clear(void);
bool python_waiting_walk(const struct python_runtime *runtime, struct site_python_thread *me);

/* The innermost frame of a thread as it is now, guarded. False: none or unreadable. */
bool python_peek_guarded(const struct python_runtime *runtime, const void *thread,
			 const void **frame, struct site_python_frame *top);

#endif
