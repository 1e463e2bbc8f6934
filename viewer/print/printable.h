/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts from a trace are bytes as found. Before they reach a terminal, a JSON document or a page
 * they become valid UTF-8 without control characters.
 */
#ifndef GPUTRACE_PRINT_PRINTABLE_H
#define GPUTRACE_PRINT_PRINTABLE_H

#include <stddef.h>

#include "text.h"

/* Valid UTF-8; every byte that is none becomes U+FFFD, control characters "\x1b". NULL adds "". */
void text_add_printable(struct text *text, const char *bytes);
/* The same with &, <, >, " and ' as entities. */
void text_add_html(struct text *text, const char *bytes);
/* Length of the valid UTF-8 sequence at `at`, 0 if there is none. `at` is NUL terminated. */
size_t utf8_sequence(const char *at);

#endif
