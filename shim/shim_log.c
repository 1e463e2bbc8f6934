/* SPDX-License-Identifier: Apache-2.0 */
/* Formats one line on the stack and writes it in one piece, so that threads do not mix lines. */
#include "shim_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum shim_log_level shim_log_level;

void shim_log_init(const char *word)
{
	static const char *const words[] = {"off", "error", "warn", "info", "debug"};
	for (int i = 0; i <= SHIM_LOG_DEBUG; i++) {
		if (!strcmp(word, words[i]))
			shim_log_level = (enum shim_log_level)i;
	}
}

void shim_log_write(const char *format, ...)
{
	static const char prefix[] = "gputrace: ";
	int saved_errno = errno;
	char line[512];
	va_list arguments;

	memcpy(line, prefix, sizeof(prefix));
	va_start(arguments, format);
	int count = vsnprintf(line + sizeof(prefix) - 1, sizeof(line) - sizeof(prefix), format,
			      arguments);
	va_end(arguments);
	if (count >= 0) {
		size_t length = strlen(line);
		line[length++] = '\n';
		ssize_t written = write(STDERR_FILENO, line, length);
		(void)written; /* nowhere to complain to */
	}
	errno = saved_errno;
}
