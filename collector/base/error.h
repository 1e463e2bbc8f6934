/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why something failed, as a chain of causes: the lowest level sets the first sentence, each caller
 * that knows more adds one, and the program prints the chain once. Nothing here allocates or exits,
 * so collector code that runs inside a traced process may use it.
 */
#ifndef GPUTRACE_BASE_ERROR_H
#define GPUTRACE_BASE_ERROR_H

#include <stddef.h>

struct error {
	int code;	 /* negative errno, 0 none */
	char text[1024]; /* outermost cause first, joined by ": "; cut when too long */
};

/* Both return code, so that `return error_set(err, -EINVAL, "...")` reads well. err may be NULL. */
int error_set(struct error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Puts a sentence in front of the chain: "Cannot open x.gtrace: chunk 3: bad checksum". */
int error_because(struct error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
