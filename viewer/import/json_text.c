/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structure of JSON text. Quotes are found with memchr because kernel names have hundreds of bytes:
 * a quote ends the string unless an odd number of backslashes stands before it.
 */
#include "json_text.h"

#include <string.h>

enum json_result json_space(struct json_cursor *cursor)
{
	const char *at = cursor->at;
	while (at < cursor->end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
		at++;
	cursor->at = at;
	return at < cursor->end ? JSON_OK : JSON_MORE;
}

static bool quote_is_escaped(const char *begin, const char *quote)
{
	const char *at = quote;
	while (at > begin && at[-1] == '\\')
		at--;
	return (quote - at) % 2 != 0;
}

enum json_result json_string(struct json_cursor *cursor, struct json_slice *out)
{
	if (cursor->at == cursor->end)
		return JSON_MORE;
	if (*cursor->at != '"')
		return JSON_BAD;
	const char *begin = cursor->at + 1;
	const char *at = begin;
	out->has_escapes = false;
	/* Most strings are keys of a few bytes: look at those without calling memchr. */
	const char *near = cursor->end - at > 24 ? at + 24 : cursor->end;
	while (at < near && *at != '"' && *at != '\\')
		at++;
	if (at == cursor->end)
		return JSON_MORE;
	while (*at != '"' || quote_is_escaped(begin, at)) {
		const char *from = *at == '"' ? at + 1 : at;
		at = memchr(from, '"', (size_t)(cursor->end - from));
		if (!at)
			return JSON_MORE;
	}
	out->at = begin;
	out->length = (size_t)(at - begin);
	out->is_string = true;
	out->has_escapes = out->length && memchr(begin, '\\', out->length);
	cursor->at = at + 1;
	return JSON_OK;
}

static bool ends_scalar(char c)
{
	return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' ||
	       c == '\t' || c == ':' || c == '"' || c == '{' || c == '[';
}

enum json_result json_scalar(struct json_cursor *cursor, struct json_slice *out)
{
	if (cursor->at == cursor->end)
		return JSON_MORE;
	if (*cursor->at == '"')
		return json_string(cursor, out);
	const char *at = cursor->at;
	while (at < cursor->end && !ends_scalar(*at))
		at++;
	if (at == cursor->end)
		return JSON_MORE;
	if (at == cursor->at)
		return JSON_BAD;
	out->at = cursor->at;
	out->length = (size_t)(at - cursor->at);
	out->is_string = false;
	out->has_escapes = false;
	cursor->at = at;
	return JSON_OK;
}

/* Takes the rest of an object or array; the kinds of bracket are not paired, only counted. */
static enum json_result skip_nested(struct json_cursor *cursor)
{
	size_t depth = 0;
	struct json_cursor c = *cursor;
	while (c.at < c.end) {
		struct json_slice string;
		enum json_result rc;
		switch (*c.at) {
		case '"':
			rc = json_string(&c, &string);
			if (rc)
				return rc;
			continue;
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			if (--depth == 0) {
				cursor->at = c.at + 1;
				return JSON_OK;
			}
			break;
		default:
			break;
		}
		c.at++;
	}
	return JSON_MORE;
}

enum json_result json_value(struct json_cursor *cursor, struct json_slice *out)
{
	struct json_slice ignored;
	if (!out)
		out = &ignored;
	if (cursor->at == cursor->end)
		return JSON_MORE;
	if (*cursor->at != '{' && *cursor->at != '[')
		return json_scalar(cursor, out);
	out->at = cursor->at;
	out->is_string = false;
	out->has_escapes = false;
	enum json_result rc = skip_nested(cursor);
	if (rc == JSON_OK)
		out->length = (size_t)(cursor->at - out->at);
	return rc;
}

enum json_result json_skip_damaged(struct json_cursor *cursor)
{
	size_t depth = 0;
	bool in_string = false;
	for (const char *at = cursor->at; at < cursor->end; at++) {
		char c = *at;
		if (in_string) {
			if (c == '\\' && at + 1 < cursor->end && at[1] != '\n')
				at++;
			else if (c == '"' || c == '\n')
				in_string = false;
			continue;
		}
		if (c == '"')
			in_string = true;
		else if (c == '{' || c == '[')
			depth++;
		else if (c == '}' || c == ']') {
			if (depth == 0) {
				cursor->at = at; /* the end of what encloses us */
				return JSON_OK;
			}
			if (--depth == 0) {
				cursor->at = at + 1;
				return JSON_OK;
			}
		} else if (c == ',' && depth == 0) {
			cursor->at = at;
			return JSON_OK;
		}
	}
	return JSON_MORE;
}

/* Common to both: takes the separator; *done when `close` stands there. */
static enum json_result next_item(struct json_cursor *cursor, bool *is_first, char open, char close,
				  bool *done)
{
	enum json_result rc = json_space(cursor);
	if (rc)
		return rc;
	*done = false;
	if (*is_first) {
		if (*cursor->at != open)
			return JSON_BAD;
		cursor->at++;
		rc = json_space(cursor);
		if (rc)
			return rc;
		*is_first = false;
		if (*cursor->at == close) {
			cursor->at++;
			*done = true;
		}
		return JSON_OK;
	}
	if (*cursor->at == close) {
		cursor->at++;
		*done = true;
		return JSON_OK;
	}
	if (*cursor->at != ',')
		return JSON_BAD;
	cursor->at++;
	rc = json_space(cursor);
	if (rc == JSON_OK && *cursor->at == close) { /* a comma too many: harmless */
		cursor->at++;
		*done = true;
	}
	return rc;
}

enum json_result json_member(struct json_cursor *cursor, bool *is_first, struct json_slice *key,
			     bool *done)
{
	enum json_result rc = next_item(cursor, is_first, '{', '}', done);
	if (rc || *done)
		return rc;
	rc = json_string(cursor, key);
	if (rc)
		return rc;
	rc = json_space(cursor);
	if (rc)
		return rc;
	if (*cursor->at != ':')
		return JSON_BAD;
	cursor->at++;
	return json_space(cursor);
}

enum json_result json_element(struct json_cursor *cursor, bool *is_first, bool *done)
{
	return next_item(cursor, is_first, '[', ']', done);
}

bool json_is(const struct json_slice *slice, const char *text)
{
	size_t length = strlen(text);
	return slice->length == length && !memcmp(slice->at, text, length);
}
