/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of marks and of their domains: kept once, numbered by their content, written to a session
 * before the first record that refers to them.
 */
#ifndef GPUTRACE_SHIM_MARK_NAME_H
#define GPUTRACE_SHIM_MARK_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread;
struct mark_name;

/* The text's own entry, for ever; NULL when there is no text or no room for more of them. */
const struct mark_name *mark_name_intern(const char *text, size_t length);
/* Whether this pointer, from a caller that we do not trust, is one of ours. */
bool mark_name_is_ours(const void *pointer);
const char *mark_name_text(const struct mark_name *name);

/* The number, 0 for NULL, after writing the text unless this session has it. */
uint64_t mark_name_number(struct thread *thread, const struct mark_name *name);
/* For texts that found no room: written every time. */
uint64_t mark_name_write(struct thread *thread, const char *text, size_t length);

void mark_name_after_fork(void);

#endif
