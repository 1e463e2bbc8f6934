/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays that may become larger than the memory that a viewer shall take. Small ones come from
 * malloc(), large ones from the system; when the large ones together pass three eighths of
 * GPUTRACE_MEMORY (512 MiB), further ones lie in unlinked files under TMPDIR or /var/tmp, mapped,
 * and what is resident of these is kept small while they are used. Who uses an array need not know:
 * it is addressed as any other, and is fast as long as neighbours are used one after the other.
 *
 * One thread uses them, which gets SIGPROF while files are in use. Only for programs of ours, never
 * inside of a traced process.
 */
#ifndef GPUTRACE_BASE_BIG_ARRAY_H
#define GPUTRACE_BASE_BIG_ARRAY_H

#include <stddef.h>

/* Zeroed; exits when out of memory. Freed by big_array_free() only. */
void *big_array_new(size_t count, size_t item_bytes);
/* For who fills it: what it holds is anything. */
void *big_array_take(size_t count, size_t item_bytes);
/* As array_grow() and array_trim(); items NULL or of these functions. */
void *big_array_grow(void *items, size_t *capacity, size_t item_bytes);
void *big_array_trim(void *items, size_t *capacity, size_t count, size_t item_bytes);
void big_array_free(void *items);
/* Who looks at items far from each other, as a binary search does, says so before each search:
 * every look makes its neighbourhood resident, faster than the clock ticks. */
void big_array_jump(void);

/* How much of the process's memory the arrays may assume, in place of GPUTRACE_MEMORY. */
void big_array_set_limit(size_t limit_bytes);
/* The same where GPUTRACE_MEMORY does not say how much. */
void big_array_set_default(size_t limit_bytes);
/* Bytes of all arrays that lie in files now. */
size_t big_array_file_bytes(void);

#endif
