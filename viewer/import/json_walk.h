/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks through a JSON recording that does not fit into memory: hands the members of the outermost
 * object to the caller one by one, and the elements of its "traceEvents" array (or of an outermost
 * array) likewise. Memory is one window that holds the largest single element.
 */
#ifndef GPUTRACE_JSON_WALK_H
#define GPUTRACE_JSON_WALK_H

#include "json_text.h"

struct error;
struct import_stream;

struct json_handler {
	/* A member of the outermost object other than the events; complete. */
	int (*member)(void *context, const struct json_slice *key, const struct json_slice *value,
		      struct error *err);
	/*
	 * One element of the events. Must take it from the cursor and act on it only when it is
	 * complete: after JSON_MORE it is called again with more text, after JSON_BAD the element
	 * is skipped and counted.
	 */
	enum json_result (*event)(void *context, struct json_cursor *cursor);
	void *context;
};

struct json_walk_result {
	uint64_t events;     /* that the handler took */
	uint64_t bad_events; /* that could not be read and were skipped */
	uint64_t bytes;	     /* of JSON text */
	bool is_cut;	     /* the text ended before its last bracket */
	bool had_events;     /* there was an array of events */
};

/* The largest single element; a longer one is damage or not a recording. */
#define JSON_WALK_MAX_ELEMENT (64u * 1024 * 1024)

/* A text that ends too early is not an error here: see is_cut. */
int json_walk(struct import_stream *stream, const struct json_handler *handler,
	      struct json_walk_result *result, struct error *err);

#endif
