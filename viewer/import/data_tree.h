/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document as a tree of plain values (numbers, texts, lists, dictionaries): what the pickle and
 * the JSON reader make of memory snapshots and flight recorder dumps. All values belong to the tree
 * and go with it; texts point into the document, which must outlive the tree. Values may be shared,
 * so the tree can be a graph: readers walk it by what they expect at each depth.
 */
#ifndef GPUTRACE_DATA_TREE_H
#define GPUTRACE_DATA_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct json_slice;

enum data_type {
	DATA_NONE = 0,
	DATA_BOOL,
	DATA_INTEGER,
	DATA_FLOAT,
	DATA_TEXT,
	DATA_LIST,
	DATA_DICTIONARY
};

struct data_value {
	uint8_t type;	/* enum data_type; tuples and sets are lists */
	uint32_t count; /* items of a list; keys and values of a dictionary, alternating */
	uint32_t capacity;
	union {
		int64_t integer; /* also of a bool */
		double number;
		const char *text; /* `length` bytes, no NUL */
		struct data_value **items;
	};
	size_t length;
};

struct data_tree;

struct data_tree *data_tree_new(void);
void data_tree_free(struct data_tree *tree);
/* NULL when the tree is larger than a recording can be (DATA_MAX_VALUES). */
struct data_value *data_value_new(struct data_tree *tree, enum data_type type);
/* False when the list is full. */
bool data_append(struct data_tree *tree, struct data_value *list, struct data_value *item);

#define DATA_MAX_VALUES 16000000u
/* A document is read whole; a larger one is refused. */
#define DATA_MAX_BYTES (512u * 1024 * 1024)

/* The member of a dictionary; NULL when `value` is NULL, no dictionary, or has no such key. */
const struct data_value *data_member(const struct data_value *value, const char *key);
/* The item of a list or NULL. */
const struct data_value *data_item(const struct data_value *value, size_t index);
size_t data_count(const struct data_value *value); /* of a list, else 0 */
/* `otherwise` when it is no number. Floats are cut; times in dumps may be either. */
int64_t data_integer(const struct data_value *value, int64_t otherwise);
bool data_is_text(const struct data_value *value, const char *text);

/*
 * Reads a pickle of any protocol that holds plain data only. Everything that could run or name code
 * (GLOBAL, REDUCE, BUILD, INST, OBJ, NEWOBJ, EXT, PERSID, ...) is refused by name.
 */
int pickle_read(const char *bytes, size_t count, struct data_tree *tree, struct data_value **out,
		struct error *err);
/* Reads a JSON value. Escaped texts are kept as they stand. */
int data_read_json(const struct json_slice *text, struct data_tree *tree, struct data_value **out,
		   struct error *err);

#endif
