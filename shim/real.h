/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the genuine functions. One wrapper belongs to one real address: whoever looks up another
 * function of the same name gets that function, unwrapped.
 */
#ifndef GPUTRACE_SHIM_REAL_H
#define GPUTRACE_SHIM_REAL_H

#include <stdbool.h>

#include "wrap.h"

/* Finds the function of a slot and keeps it; the library's not-supported function when no loaded
 * library has it (not kept: a library may come later). Never NULL. */
wrap_function real_resolve(const struct wrap_library *library, unsigned int node, unsigned int row);
/* The same, from the table when it is known. */
wrap_function real_function(const struct wrap_library *library, unsigned int node,
			    unsigned int row);
/* NULL when no loaded library has it. */
wrap_function real_find(const struct wrap_library *library, unsigned int node, unsigned int row);

/* A function of a wrapped library that has no row, at a version node; NULL when there is none. */
void *real_symbol(const struct wrap_library *library, unsigned int node, const char *name);
/* A function of libcuda that is not wrapped, from the loaded library; NULL when there is none. */
void *real_driver_symbol(const char *name);

/* False in a child that was forked while another thread was loading a library: for this process the
 * loader stays in the middle of it, and glibc ends a process that calls dlopen() then. */
bool real_may_open(void);
void real_after_fork(void);
void real_remember_process(void); /* when the shim is loaded */

/* The next dlsym, which is glibc's or another preload's. Calling it as a function makes RTLD_NEXT
 * and RTLD_DEFAULT mean our own place in the search order. */
void *real_dlsym(void *handle, const char *name);
typedef void *(*real_dlsym_function)(void *, const char *);
real_dlsym_function real_dlsym_address(void);

#endif
