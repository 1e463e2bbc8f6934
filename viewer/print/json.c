/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thin layer over yajl_gen.
 */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_gen.h>

#include "printable.h"
#include "xmalloc.h"

struct json {
	yajl_gen gen;
};

static void add_key(struct json *json, const char *key)
{
	if (key)
		yajl_gen_string(json->gen, (const unsigned char *)key, strlen(key));
}

struct json *json_new(const char *schema, bool is_compact)
{
	struct json *json = xmalloc(sizeof(*json));

	json->gen = yajl_gen_alloc(NULL);
	if (!json->gen) {
		fprintf(stderr, "gputrace: Out of memory: yajl_gen_alloc\n");
		exit(1);
	}
	yajl_gen_config(json->gen, yajl_gen_beautify, !is_compact);
	yajl_gen_config(json->gen, yajl_gen_indent_string, "  ");
	yajl_gen_map_open(json->gen);
	if (schema)
		json_text(json, "schema", schema);
	return json;
}

void json_flush(struct json *json, FILE *to)
{
	const unsigned char *bytes;
	size_t length;

	yajl_gen_get_buf(json->gen, &bytes, &length);
	fwrite(bytes, 1, length, to);
	yajl_gen_clear(json->gen);
}

char *json_take(struct json *json)
{
	const unsigned char *bytes;
	size_t length;
	char *copy;

	yajl_gen_map_close(json->gen);
	yajl_gen_get_buf(json->gen, &bytes, &length);
	copy = xmalloc(length + 1);
	memcpy(copy, bytes, length);
	copy[length] = '\0';
	yajl_gen_free(json->gen);
	free(json);
	return copy;
}

void json_finish(struct json *json, FILE *to)
{
	char *document = json_take(json);
	size_t length = strlen(document);

	fwrite(document, 1, length, to);
	if (length && document[length - 1] != '\n')
		fputc('\n', to);
	free(document);
}

void json_object(struct json *json, const char *key)
{
	add_key(json, key);
	yajl_gen_map_open(json->gen);
}

void json_array(struct json *json, const char *key)
{
	add_key(json, key);
	yajl_gen_array_open(json->gen);
}

void json_end_object(struct json *json)
{
	yajl_gen_map_close(json->gen);
}

void json_end_array(struct json *json)
{
	yajl_gen_array_close(json->gen);
}

static void add_number_text(struct json *json, const char *text)
{
	yajl_gen_number(json->gen, text, strlen(text));
}

void json_number(struct json *json, const char *key, double value)
{
	char text[64];

	add_key(json, key);
	if (!isfinite(value)) {
		yajl_gen_null(json->gen);
		return;
	}
	/* Byte counts are whole and stay exact; of measured figures twelve digits say enough. */
	if (fabs(value) < 0x1p53 && value == rint(value))
		snprintf(text, sizeof(text), "%.0f", value);
	else
		snprintf(text, sizeof(text), "%.12g", value);
	add_number_text(json, text);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
	char text[32];

	add_key(json, key);
	snprintf(text, sizeof(text), "%" PRId64, value);
	add_number_text(json, text);
}

void json_unsigned(struct json *json, const char *key, uint64_t value)
{
	char text[32];

	add_key(json, key);
	snprintf(text, sizeof(text), "%" PRIu64, value);
	add_number_text(json, text);
}

void json_literal(struct json *json, const char *key, const char *value)
{
	add_key(json, key);
	add_number_text(json, value);
}

void json_text(struct json *json, const char *key, const char *value)
{
	struct text clean;

	add_key(json, key);
	if (!value) {
		yajl_gen_null(json->gen);
		return;
	}
	text_init(&clean);
	text_add_printable(&clean, value);
	yajl_gen_string(json->gen, (const unsigned char *)text_string(&clean), clean.length);
	text_fini(&clean);
}

void json_flag(struct json *json, const char *key, bool value)
{
	add_key(json, key);
	yajl_gen_bool(json->gen, value);
}

void json_null(struct json *json, const char *key)
{
	add_key(json, key);
	yajl_gen_null(json->gen);
}
