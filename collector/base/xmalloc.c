/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is always there: prints one sentence and exits when it is not.
 */
#include "xmalloc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory, size_t size_bytes)
{
	if (!memory) {
		fprintf(stderr, "gputrace: Out of memory: size_bytes=%zu\n", size_bytes);
		exit(1);
	}
	return memory;
}

void *xmalloc(size_t size_bytes)
{
	return checked(malloc(size_bytes ? size_bytes : 1), size_bytes);
}

void *xcalloc(size_t count, size_t size_bytes)
{
	return checked(calloc(count ? count : 1, size_bytes ? size_bytes : 1), size_bytes);
}

void *xrealloc(void *old, size_t count, size_t size_bytes)
{
	size_t total;

	if (__builtin_mul_overflow(count, size_bytes, &total))
		checked(NULL, SIZE_MAX);
	return checked(realloc(old, total ? total : 1), total);
}

char *xstrdup(const char *text)
{
	size_t size_bytes = strlen(text) + 1;

	return memcpy(xmalloc(size_bytes), text, size_bytes);
}
