/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading memory of this process that may not be mapped.
 */
#ifndef GPUTRACE_SITE_MEMORY_H
#define GPUTRACE_SITE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Copies through the kernel: an unmapped address gives false instead of a fault. Keeps errno. About
 * half a microsecond. */
bool site_memory_copy(void *to, const void *from, size_t size_bytes);

/* Whether site_memory_copy() works in this process (a seccomp filter may forbid it). */
bool site_memory_can_copy(void);

/* Whether a word can be read. For memory that nobody unmaps meanwhile, such as the own stack; works
 * under every seccomp filter, in about a tenth of a microsecond. Keeps errno. */
bool site_memory_is_readable(const void *word);

#endif
