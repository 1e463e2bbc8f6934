/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing string. Exits when out of memory; never used inside a traced process.
 */
#ifndef GPUTRACE_BASE_TEXT_H
#define GPUTRACE_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>

struct text {
	char *data; /* NUL terminated, or NULL while empty */
	size_t length, capacity;
};

void text_init(struct text *text);
void text_fini(struct text *text);
void text_clear(struct text *text);
void text_add_bytes(struct text *text, const char *bytes, size_t count);
void text_add(struct text *text, const char *string);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_addv(struct text *text, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));
/* Never NULL. */
const char *text_string(const struct text *text);
/* The string as its own allocation; the text is empty afterwards. */
char *text_take(struct text *text);
/* A count that may be a mean: whole from 1,000 on, three digits below ("4107", "0.167"). By value,
 * so that several fit into one call of printf. */
struct text_number {
	char text[32];
};
struct text_number text_count(double count);
/* The noun for a count as text_count() prints it: `one` for 1, else `many`. */
const char *text_noun(double count, const char *one, const char *many);
/* sprintf into a fresh allocation. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
