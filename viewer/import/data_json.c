/* SPDX-License-Identifier: Apache-2.0 */
/* JSON into a tree, for documents that are small enough to be read whole. */
#include <errno.h>
#include <string.h>

#include "data_tree.h"
#include "error.h"
#include "json_text.h"

#define MAX_DEPTH 64

static struct data_value *read_value(struct json_cursor *cursor, struct data_tree *tree, int depth);

static struct data_value *read_scalar(struct json_cursor *cursor, struct data_tree *tree)
{
	struct json_slice slice;
	struct data_value *value;
	if (json_scalar(cursor, &slice) != JSON_OK || !(value = data_value_new(tree, DATA_NONE)))
		return NULL;
	if (slice.is_string) {
		value->type = DATA_TEXT;
		value->text = slice.at;
		value->length = slice.length;
	} else if (json_is(&slice, "true") || json_is(&slice, "false")) {
		value->type = DATA_BOOL;
		value->integer = json_is(&slice, "true");
	} else if (memchr(slice.at, '.', slice.length) && json_to_double(&slice, &value->number)) {
		value->type = DATA_FLOAT;
	} else if (json_to_int(&slice, &value->integer)) {
		value->type = DATA_INTEGER;
	}
	return value;
}

static struct data_value *read_list(struct json_cursor *cursor, struct data_tree *tree, int depth)
{
	struct data_value *list = data_value_new(tree, DATA_LIST);
	bool is_first = true, done = false;
	while (list && json_element(cursor, &is_first, &done) == JSON_OK && !done) {
		struct data_value *item = read_value(cursor, tree, depth + 1);
		if (!item || !data_append(tree, list, item))
			return NULL;
	}
	return done ? list : NULL;
}

static struct data_value *read_dictionary(struct json_cursor *cursor, struct data_tree *tree,
					  int depth)
{
	struct data_value *dictionary = data_value_new(tree, DATA_DICTIONARY);
	bool is_first = true, done = false;
	struct json_slice name;
	while (dictionary && json_member(cursor, &is_first, &name, &done) == JSON_OK && !done) {
		struct data_value *key = data_value_new(tree, DATA_TEXT);
		struct data_value *value = read_value(cursor, tree, depth + 1);
		if (!key || !value)
			return NULL;
		key->text = name.at;
		key->length = name.length;
		if (!data_append(tree, dictionary, key) || !data_append(tree, dictionary, value))
			return NULL;
	}
	return done ? dictionary : NULL;
}

static struct data_value *read_value(struct json_cursor *cursor, struct data_tree *tree, int depth)
{
	if (depth > MAX_DEPTH || json_space(cursor) != JSON_OK)
		return NULL;
	if (*cursor->at == '{')
		return read_dictionary(cursor, tree, depth);
	if (*cursor->at == '[')
		return read_list(cursor, tree, depth);
	return read_scalar(cursor, tree);
}

int data_read_json(const struct json_slice *text, struct data_tree *tree, struct data_value **out,
		   struct error *err)
{
	struct json_cursor cursor = {text->at, text->at + text->length};
	*out = read_value(&cursor, tree, 0);
	return *out ? 0 : error_set(err, -EINVAL, "holds JSON that cannot be read");
}
