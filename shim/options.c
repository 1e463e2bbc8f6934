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

/* What a letter behind a number multiplies it by; 0 the number is in the setting's own unit. */
struct unit {
	char letter;
	long factor, divisor;
};

static const struct unit sizes[] = {
	{'K', 1, 1024}, {'M', 1, 1}, {'G', 1024, 1}, {'T', 1048576, 1}, {0, 1, 1}};
static const struct unit spans[] = {
	{'s', 1, 1}, {'m', 60, 1}, {'h', 3600, 1}, {'d', 86400, 1}, {0, 1, 1}};
static const struct unit numbers[] = {{0, 1, 1}};

static long read_number(const char *variable, long value, long low, long high,
			const struct unit *unit)
{
	const char *text = getenv(variable);
	if (!text || !*text)
		return value;
	long number = 0;
	const char *digit = text;
	for (; *digit >= '0' && *digit <= '9' && number <= high * 1024; digit++)
		number = number * 10 + (*digit - '0');
	while (unit->letter && unit->letter != *digit)
		unit++;
	bool is_whole = digit > text && (unit->letter ? !digit[1] : !*digit);
	/* 0 switches off what is off by default. */
	if (is_whole && number == 0 && value == 0)
		return 0;
	/* Divided, so that no product overflows. */
	if (is_whole && number / unit->divisor <= high / unit->factor)
		number = number / unit->divisor * unit->factor;
	else
		number = -1;
	if (number < low) {
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
	shim_options.field = read_number(variable, value, low, high, numbers);
#define OPTION_SIZE(field, variable, value, low, high, help)                                       \
	shim_options.field = read_number(variable, value, low, high, sizes);
#define OPTION_SPAN(field, variable, value, low, high, help)                                       \
	shim_options.field = read_number(variable, value, low, high, spans);
#include "options.def"
#undef OPTION_TEXT
#undef OPTION_CHOICE
#undef OPTION_NUMBER
#undef OPTION_SIZE
#undef OPTION_SPAN
}
