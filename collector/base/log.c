/* SPDX-License-Identifier: Apache-2.0 */
/* One write() per log line, so that lines of several processes do not mix. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum log_level log_level_now = LOG_OFF;

static const char *const level_names[] = {"off", "error", "warn", "info", "debug"};

void log_set_level(enum log_level level)
{
	log_level_now = level;
}

enum log_level log_level_from_text(const char *text)
{
	if (!text)
		return LOG_OFF;
	for (unsigned int level = 0; level < sizeof(level_names) / sizeof(level_names[0]);
	     level++) {
		if (strcmp(text, level_names[level]) == 0)
			return (enum log_level)level;
	}
	return LOG_WARN;
}

void log_write(enum log_level level, const char *tag, const char *format, ...)
{
	char line[1024];
	va_list args;
	int used;

	used = snprintf(line, sizeof(line), "gputrace %s: %s: ", level_names[level], tag);
	if (used < 0)
		return;
	va_start(args, format);
	vsnprintf(line + used, sizeof(line) - 1 - (size_t)used, format, args);
	va_end(args);
	used = (int)strlen(line);
	line[used++] = '\n';
	/* A log that cannot be written has nobody to tell. */
	if (write(STDERR_FILENO, line, (size_t)used) < 0)
		return;
}
