/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for the viewer and for the stand-alone collector: when there is none left the program says
 * so and exits with status 1. Never used by code that may run inside a traced process.
 */
#ifndef GPUTRACE_BASE_XMALLOC_H
#define GPUTRACE_BASE_XMALLOC_H

#include <stddef.h>

/* As malloc, calloc, realloc and strdup, but never return NULL. count * size may not overflow. */
void *xmalloc(size_t size_bytes) __attribute__((malloc));
void *xcalloc(size_t count, size_t size_bytes) __attribute__((malloc));
void *xrealloc(void *old, size_t count, size_t size_bytes);
char *xstrdup(const char *text) __attribute__((malloc));

#endif
