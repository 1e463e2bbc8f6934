/* SPDX-License-Identifier: Apache-2.0 */
/* Values come from blocks of 4096; lists double their arrays, the old one stays until the end. */
#include "data_tree.h"

#include <stdlib.h>
#include <string.h>

#include "xmalloc.h"

#define BLOCK_BYTES (256u * 1024)

struct block {
	struct block *next;
	size_t used, capacity;
	_Alignas(16) char bytes[];
};

struct data_tree {
	struct block *blocks;
	uint64_t values;
};

struct data_tree *data_tree_new(void)
{
	return xcalloc(1, sizeof(struct data_tree));
}

void data_tree_free(struct data_tree *tree)
{
	if (!tree)
		return;
	for (struct block *block = tree->blocks; block;) {
		struct block *next = block->next;
		free(block);
		block = next;
	}
	free(tree);
}

static void *take(struct data_tree *tree, size_t bytes)
{
	struct block *block = tree->blocks;
	bytes = (bytes + 15) & ~(size_t)15;
	if (!block || block->capacity - block->used < bytes) {
		size_t capacity = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
		block = xmalloc(sizeof(*block) + capacity);
		block->next = tree->blocks;
		block->used = 0;
		block->capacity = capacity;
		tree->blocks = block;
	}
	void *at = block->bytes + block->used;
	block->used += bytes;
	return at;
}

struct data_value *data_value_new(struct data_tree *tree, enum data_type type)
{
	if (++tree->values > DATA_MAX_VALUES)
		return NULL;
	struct data_value *value = take(tree, sizeof(*value));
	memset(value, 0, sizeof(*value));
	value->type = (uint8_t)type;
	return value;
}

bool data_append(struct data_tree *tree, struct data_value *list, struct data_value *item)
{
	if (list->count == list->capacity) {
		if (list->capacity >= DATA_MAX_VALUES)
			return false;
		uint32_t capacity = list->capacity ? list->capacity * 2 : 4;
		struct data_value **items = take(tree, capacity * sizeof(struct data_value *));
		if (list->count)
			memcpy(items, list->items, list->count * sizeof(struct data_value *));
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count++] = item;
	return true;
}

bool data_is_text(const struct data_value *value, const char *text)
{
	return value && value->type == DATA_TEXT && value->length == strlen(text) &&
	       !memcmp(value->text, text, value->length);
}

const struct data_value *data_member(const struct data_value *value, const char *key)
{
	if (!value || value->type != DATA_DICTIONARY)
		return NULL;
	/* The last one counts when a key came twice, as in Python. */
	for (uint32_t i = value->count; i >= 2; i -= 2) {
		if (data_is_text(value->items[i - 2], key))
			return value->items[i - 1];
	}
	return NULL;
}

size_t data_count(const struct data_value *value)
{
	return value && value->type == DATA_LIST ? value->count : 0;
}

const struct data_value *data_item(const struct data_value *value, size_t index)
{
	return index < data_count(value) ? value->items[index] : NULL;
}

int64_t data_integer(const struct data_value *value, int64_t otherwise)
{
	if (!value)
		return otherwise;
	if (value->type == DATA_INTEGER || value->type == DATA_BOOL)
		return value->integer;
	if (value->type == DATA_FLOAT && value->number > -9e18 && value->number < 9e18)
		return (int64_t)value->number;
	return otherwise;
}
