/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading JSON that lies in memory and may end in the middle: every function says whether it
 * succeeded, needs more text, or found something that is not JSON. Used instead of a general SAX
 * parser because recordings in the field are not always JSON (raw control characters, NaN,
 * Infinity, unknown escapes, unescaped quotes): here one bad event is skipped and counted, and
 * times are read as exact nanoseconds, not as doubles. No state, no memory of its own, no
 * recursion.
 */
#ifndef GPUTRACE_JSON_TEXT_H
#define GPUTRACE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text;

enum json_result {
	JSON_OK = 0,
	JSON_MORE = 1, /* the text ends inside this value */
	JSON_BAD = 2
};

struct json_cursor {
	const char *at, *end;
};

/* A part of the text: for strings without the quotes and not unescaped. */
struct json_slice {
	const char *at;
	size_t length;
	bool is_string, has_escapes;
};

/* Skips white space; JSON_MORE at the end of the text. */
enum json_result json_space(struct json_cursor *cursor);
enum json_result json_string(struct json_cursor *cursor, struct json_slice *out);
/* A string, number or literal. Numbers and literals are not checked here. */
enum json_result json_scalar(struct json_cursor *cursor, struct json_slice *out);
/* Any value with all that is in it; its text in *out if that is not NULL. */
enum json_result json_value(struct json_cursor *cursor, struct json_slice *out);
/*
 * The same for text that did not parse: only braces, brackets and quotes count, and a line end also
 * ends a string, so that one stray quote does not swallow the rest of the recording.
 */
enum json_result json_skip_damaged(struct json_cursor *cursor);

/*
 * Steps through an object: set *is_first before the first call. *done when the object ended; else
 * *key is set and the cursor stands before the member's value, which the caller must take.
 */
enum json_result json_member(struct json_cursor *cursor, bool *is_first, struct json_slice *key,
			     bool *done);
/* The same for the elements of an array. */
enum json_result json_element(struct json_cursor *cursor, bool *is_first, bool *done);

bool json_is(const struct json_slice *slice, const char *text);

/* Numbers; also when written as strings. False: not a number, NaN, or out of range. */
bool json_to_int(const struct json_slice *slice, int64_t *out);
bool json_to_uint(const struct json_slice *slice, uint64_t *out);
bool json_to_double(const struct json_slice *slice, double *out);
/* A decimal count of microseconds as whole nanoseconds, rounded to nearest. */
bool json_to_ns(const struct json_slice *slice, int64_t *out);

/* Appends the string with its escapes resolved; unknown escapes stay as they are, half surrogates
 * and NUL become U+FFFD. Returns how many of these there were. */
unsigned json_unescape(const struct json_slice *slice, struct text *out);

#endif
