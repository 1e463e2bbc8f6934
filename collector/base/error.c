/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the chain of causes of error.h in place: no allocation, long chains lose their end. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	err->code = code;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return code;
}

int error_because(struct error *err, int code, const char *format, ...)
{
	char cause[sizeof(err->text)];
	va_list args;
	size_t used;

	if (!err)
		return code;
	err->code = code;
	memcpy(cause, err->text, sizeof(cause));
	cause[sizeof(cause) - 1] = '\0';
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	used = strlen(err->text);
	if (cause[0])
		snprintf(err->text + used, sizeof(err->text) - used, ": %s", cause);
	return code;
}
