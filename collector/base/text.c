/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing string, NUL terminated at all times.
 */
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xmalloc.h"

void text_init(struct text *text)
{
	memset(text, 0, sizeof(*text));
}

void text_fini(struct text *text)
{
	free(text->data);
	memset(text, 0, sizeof(*text));
}

void text_clear(struct text *text)
{
	text->length = 0;
	if (text->data)
		text->data[0] = '\0';
}

static void text_reserve(struct text *text, size_t more)
{
	size_t needed = text->length + more + 1;

	if (needed <= text->capacity)
		return;
	text->capacity = needed > text->capacity * 2 ? needed : text->capacity * 2;
	text->data = xrealloc(text->data, text->capacity, 1);
}

void text_add_bytes(struct text *text, const char *bytes, size_t count)
{
	text_reserve(text, count);
	memcpy(text->data + text->length, bytes, count);
	text->length += count;
	text->data[text->length] = '\0';
}

void text_add(struct text *text, const char *string)
{
	text_add_bytes(text, string, strlen(string));
}

void text_addv(struct text *text, const char *format, va_list arguments)
{
	va_list again;
	int length;

	va_copy(again, arguments);
	length = vsnprintf(NULL, 0, format, arguments);
	if (length > 0) {
		text_reserve(text, (size_t)length);
		vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
		text->length += (size_t)length;
	}
	va_end(again);
}

void text_addf(struct text *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	text_addv(text, format, arguments);
	va_end(arguments);
}

const char *text_string(const struct text *text)
{
	return text->data ? text->data : "";
}

char *text_take(struct text *text)
{
	char *data = text->data ? text->data : xstrdup("");

	memset(text, 0, sizeof(*text));
	return data;
}

char *text_format(const char *format, ...)
{
	struct text text;
	va_list arguments;

	text_init(&text);
	va_start(arguments, format);
	text_addv(&text, format, arguments);
	va_end(arguments);
	return text_take(&text);
}

struct text_number text_count(double count)
{
	struct text_number number;

	/* "%.3g" would write 999.7 as 1e+03. */
	snprintf(number.text, sizeof(number.text), count >= 999.5 ? "%.0f" : "%.3g", count);
	return number;
}

const char *text_noun(double count, const char *one, const char *many)
{
	/* "%.3g" prints what is this near as 1. */
	return count > 0.9995 && count < 1.005 ? one : many;
}
