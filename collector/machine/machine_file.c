/* SPDX-License-Identifier: Apache-2.0 */
/* A path that does not fit is a file that is not there. */
#include "machine_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "small_file.h"

__attribute__((format(printf, 3, 0))) static bool build(char *path, const char *root,
							const char *format, va_list arguments)
{
	int used = snprintf(path, MACHINE_PATH_BYTES, "%s/", root);
	int more;

	if (used < 0 || used >= MACHINE_PATH_BYTES)
		return false;
	more = vsnprintf(path + used, (size_t)(MACHINE_PATH_BYTES - used), format, arguments);
	return more >= 0 && more < MACHINE_PATH_BYTES - used;
}

long machine_file_read(const char *root, char *text, size_t size, const char *format, ...)
{
	char path[MACHINE_PATH_BYTES];
	va_list arguments;
	bool fits;

	va_start(arguments, format);
	fits = build(path, root, format, arguments);
	va_end(arguments);
	return fits ? small_file_read(path, text, size) : -ENAMETOOLONG;
}

bool machine_file_line(const char *root, char *text, size_t size, const char *format, ...)
{
	char path[MACHINE_PATH_BYTES];
	va_list arguments;
	bool fits;

	va_start(arguments, format);
	fits = build(path, root, format, arguments);
	va_end(arguments);
	return fits && small_file_line(path, text, size);
}

bool machine_file_number(const char *root, uint64_t *value, const char *format, ...)
{
	char path[MACHINE_PATH_BYTES], text[64];
	const char *at = text;
	va_list arguments;
	bool fits;

	va_start(arguments, format);
	fits = build(path, root, format, arguments);
	va_end(arguments);
	return fits && small_file_line(path, text, sizeof(text)) &&
	       small_file_number(&at, 10, value);
}

long machine_file_link(const char *root, char *text, size_t size, const char *format, ...)
{
	char path[MACHINE_PATH_BYTES];
	va_list arguments;
	ssize_t length;
	bool fits;

	va_start(arguments, format);
	fits = build(path, root, format, arguments);
	va_end(arguments);
	if (!fits)
		return -ENAMETOOLONG;
	length = readlink(path, text, size - 1);
	if (length < 0)
		return -errno;
	text[length] = '\0';
	return length;
}

/* Where the value of `name` begins, NULL when no line starts with it. */
static const char *find_field(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = text; line && *line;) {
		if (strncmp(line, name, length) == 0)
			return line + length + strspn(line + length, " \t:");
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return NULL;
}

bool machine_field(const char *text, const char *name, char *value, size_t size)
{
	const char *at = find_field(text, name);
	size_t length;

	if (!at)
		return false;
	length = strcspn(at, "\n");
	if (length >= size)
		length = size - 1;
	memcpy(value, at, length);
	value[length] = '\0';
	return length > 0;
}

bool machine_field_number(const char *text, const char *name, uint64_t *value)
{
	const char *at = find_field(text, name);

	return at && small_file_number(&at, 10, value);
}
