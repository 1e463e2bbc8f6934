/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads options.def from the environment. Runs before the first wrapped call does anything, maybe
 * inside another library's constructor, so it uses nothing but getenv and its own buffer.
 */
#include "options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct shim_options shim_options;

static char copies[8192];
static size_t copies_used;

static const char *keep(const char *text)
{
	size_t size = strlen(text) + 1;
	if (copies_used + size > sizeof(copies))
		return NULL;
	char *copy = memcpy(copies + copies_used, text, size);
	copies_used += size;
	return copy;
}

static void ignore(const char *variable)
{
	if (!shim_options.ignored)
		shim_options.ignored = variable;
}

static const char *read_text(const char *variable, const char *value)
{
	const char *text = getenv(variable);
	if (!text || !*text)
		return value;
	const char *copy = keep(text);
	if (!copy) {
		ignore(variable);
		return value;
	}
	return copy;
}

static const char *read_choice(const char *variable, const char *value, const char *words)
{
	const char *text = getenv(variable);
	if (!text || !*text)
		return value;
	size_t length = strlen(text);
	for (const char *word = words; word; word = strchr(word, '|')) {
		word += *word == '|';
		size_t word_length = strcspn(word, "|");
		if (word_length == length && !strncmp(word, text, length))
			return keep(text);
	}
	ignore(variable);
	return value;
}

static long read_number(const char *variable, long value, long low, long high)
{
	const char *text = getenv(variable);
	if (!text || !*text)
		return value;
	long number = 0;
	for (const char *digit = text; *digit; digit++) {
		if (*digit < '0' || *digit > '9' || number > high) {
			ignore(variable);
			return value;
		}
		number = number * 10 + (*digit - '0');
	}
	if (number < low || number > high) {
		ignore(variable);
		return value;
	}
	return number;
}

void options_read(void)
{
	copies_used = 0;
	shim_options.ignored = NULL;
#define OPTION_TEXT(field, variable, value, help) shim_options.field = read_text(variable, value);
#define OPTION_CHOICE(field, variable, value, words, help)                                         \
	shim_options.field = read_choice(variable, value, words);
#define OPTION_NUMBER(field, variable, value, low, high, help)                                     \
	shim_options.field = read_number(variable, value, low, high);
#include "options.def"
#undef OPTION_TEXT
#undef OPTION_CHOICE
#undef OPTION_NUMBER
}
