/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window: text between `at` and `end` of a buffer that slides over the recording. Whoever needs
 * more text than there is gets it appended and starts its element again, which costs little since
 * the window is far larger than an element.
 */
#include "json_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "import_stream.h"
#include "xmalloc.h"

#define WINDOW_BYTES (1024u * 1024)

struct window {
	struct import_stream *stream;
	char *data;
	size_t capacity;
	size_t at, end;
	uint64_t offset; /* of data[0] in the text */
	bool ended;
	struct error *err;
	int code; /* why the stream failed, 0 it did not */
};

/* Appends text to the window. False when there is none left or it failed (code). */
static bool window_more(struct window *w)
{
	if (w->ended || w->code)
		return false;
	memmove(w->data, w->data + w->at, w->end - w->at);
	w->offset += w->at;
	w->end -= w->at;
	w->at = 0;
	if (w->end == w->capacity) {
		if (w->capacity >= JSON_WALK_MAX_ELEMENT) {
			w->code = error_set(
				w->err, -EFBIG,
				"one element is longer than 64 MiB, at byte %llu of the text",
				(unsigned long long)w->offset);
			return false;
		}
		w->capacity *= 2;
		w->data = xrealloc(w->data, w->capacity, 1);
	}
	ssize_t got = import_stream_read(w->stream, w->data + w->end, w->capacity - w->end, w->err);
	if (got < 0) {
		w->code = (int)got;
		return false;
	}
	if (got == 0) {
		/* A scalar is complete when something follows it; at the end a space does. */
		w->ended = true;
		w->data[w->end++] = ' ';
		return true;
	}
	w->end += (size_t)got;
	return true;
}

static struct json_cursor window_cursor(const struct window *w)
{
	return (struct json_cursor){w->data + w->at, w->data + w->end};
}

static void window_take(struct window *w, const struct json_cursor *cursor)
{
	w->at = (size_t)(cursor->at - w->data);
}

/* The next character that is not white space, 0 at the end. */
static char window_peek(struct window *w)
{
	for (;;) {
		struct json_cursor c = window_cursor(w);
		enum json_result rc = json_space(&c);
		window_take(w, &c);
		if (rc == JSON_OK)
			return *c.at;
		if (!window_more(w))
			return 0;
	}
}

/* Runs a step until it has enough text. JSON_MORE: there is no more. */
static enum json_result
window_run(struct window *w, enum json_result (*step)(void *, struct json_cursor *), void *context)
{
	for (;;) {
		struct json_cursor c = window_cursor(w);
		enum json_result rc = step(context, &c);
		if (rc == JSON_OK)
			window_take(w, &c);
		if (rc != JSON_MORE)
			return rc;
		if (!window_more(w))
			return JSON_MORE;
	}
}

static enum json_result step_skip_damaged(void *context, struct json_cursor *cursor)
{
	(void)context;
	return json_skip_damaged(cursor);
}

static enum json_result step_value(void *context, struct json_cursor *cursor)
{
	return json_value(cursor, context);
}

struct key {
	char text[256];
	size_t length;
};

/* "key" : */
static enum json_result step_key(void *context, struct json_cursor *cursor)
{
	struct key *key = context;
	struct json_slice slice;
	enum json_result rc = json_string(cursor, &slice);
	if (rc == JSON_OK)
		rc = json_space(cursor);
	if (rc)
		return rc;
	if (*cursor->at != ':')
		return JSON_BAD;
	cursor->at++;
	key->length = slice.length < sizeof(key->text) ? slice.length : sizeof(key->text);
	memcpy(key->text, slice.at, key->length);
	return json_space(cursor);
}

static int damaged(struct window *w, const char *what)
{
	return error_set(w->err, -EINVAL, "is not valid JSON at byte %llu: %s",
			 (unsigned long long)(w->offset + w->at), what);
}

/* Elements up to the closing bracket. The window stands behind the opening one. */
static int walk_events(struct window *w, const struct json_handler *handler,
		       struct json_walk_result *result)
{
	result->had_events = true;
	for (;;) {
		char c = window_peek(w);
		if (c == 0) {
			result->is_cut = true;
			return w->code;
		}
		if (c == ']') {
			w->at++;
			return 0;
		}
		if (c == ',') {
			w->at++;
			continue;
		}
		enum json_result rc = window_run(w, handler->event, handler->context);
		if (rc == JSON_OK) {
			result->events++;
		} else if (rc == JSON_BAD) {
			result->bad_events++;
			/* A bracket that fits nowhere would stand still. */
			if (c == '}' || c == ':')
				w->at++;
			else if (window_run(w, step_skip_damaged, NULL) == JSON_MORE)
				rc = JSON_MORE;
		}
		if (rc == JSON_MORE) {
			result->is_cut = true;
			return w->code;
		}
	}
}

static int walk_members(struct window *w, const struct json_handler *handler,
			struct json_walk_result *result)
{
	for (;;) {
		char c = window_peek(w);
		if (c == '}') {
			w->at++;
			return 0;
		}
		if (c == ',') {
			w->at++;
			continue;
		}
		struct key key;
		enum json_result rc = c ? window_run(w, step_key, &key) : JSON_MORE;
		if (rc == JSON_BAD)
			return damaged(w, "a member of the outermost object has no name");
		struct json_slice name = {key.text, key.length, true, false};
		if (rc == JSON_OK && json_is(&name, "traceEvents") && window_peek(w) == '[') {
			w->at++;
			int code = walk_events(w, handler, result);
			if (code || result->is_cut)
				return code;
			continue;
		}
		struct json_slice value;
		if (rc == JSON_OK)
			rc = window_run(w, step_value, &value);
		if (rc == JSON_BAD)
			return damaged(w, "a member of the outermost object has no value");
		if (rc == JSON_MORE) {
			result->is_cut = true;
			return w->code;
		}
		int code = handler->member(handler->context, &name, &value, w->err);
		if (code)
			return code;
	}
}

int json_walk(struct import_stream *stream, const struct json_handler *handler,
	      struct json_walk_result *result, struct error *err)
{
	struct window w = {.stream = stream, .capacity = WINDOW_BYTES, .err = err};
	int code;

	memset(result, 0, sizeof(*result));
	w.data = xmalloc(w.capacity + 1);
	char c = window_peek(&w);
	if (c == '\xef' && w.end - w.at >= 3) { /* a byte order mark */
		w.at += 3;
		c = window_peek(&w);
	}
	if (w.code) {
		code = w.code;
	} else if (c == '{') {
		w.at++;
		code = walk_members(&w, handler, result);
	} else if (c == '[') {
		w.at++;
		code = walk_events(&w, handler, result);
	} else if (c == 0) {
		code = error_set(err, -EINVAL, "is empty");
	} else {
		code = damaged(&w, "it starts with neither { nor [");
	}
	result->bytes = w.offset + w.end;
	free(w.data);
	return code;
}
