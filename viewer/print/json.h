/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON through yajl. Keys carry the unit ("step_ms", "bytes_per_step"), texts are made valid
 * UTF-8, numbers that are not finite become null.
 */
#ifndef GPUTRACE_PRINT_JSON_H
#define GPUTRACE_PRINT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json;

/* Starts a document with {"schema": schema, ...; is_compact: one line. schema NULL: none, the
 * document is in a format of somebody else's. */
struct json *json_new(const char *schema, bool is_compact);
/* Ends the document, writes it with a newline, frees it. */
void json_finish(struct json *json, FILE *to);
/* Writes what there is so far, for documents that are larger than memory should hold. */
void json_flush(struct json *json, FILE *to);
/* Ends the document and gives its text; caller frees. */
char *json_take(struct json *json);

void json_object(struct json *json, const char *key); /* key NULL inside an array */
void json_array(struct json *json, const char *key);
void json_end_object(struct json *json);
void json_end_array(struct json *json);
void json_number(struct json *json, const char *key, double value);
void json_integer(struct json *json, const char *key, int64_t value);
void json_unsigned(struct json *json, const char *key, uint64_t value);
/* `value` is a JSON number already. */
void json_literal(struct json *json, const char *key, const char *value);
void json_text(struct json *json, const char *key, const char *value); /* NULL: null */
void json_flag(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

#endif
