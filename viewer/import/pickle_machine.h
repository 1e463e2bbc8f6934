/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack, the marks and the memo of the pickle reader. Private to pickle_read.c (opcodes) and
 * pickle_values.c (scalars and the memo).
 */
#ifndef GPUTRACE_PICKLE_MACHINE_H
#define GPUTRACE_PICKLE_MACHINE_H

#include "data_tree.h"

struct pickle_machine {
	const unsigned char *at, *end, *begin;
	struct data_tree *tree;
	struct data_value **stack;
	size_t depth, capacity;
	size_t *marks;
	size_t mark_count, mark_capacity;
	struct data_value **memo;
	size_t memo_count, memo_capacity; /* memo_count: largest number used, plus 1 */
	struct error *err;
	const unsigned char *opcode; /* the one being read */
};

/* Sets the error; returns -EINVAL. */
int pickle_damaged(struct pickle_machine *m, const char *what);
/* NULL: the tree is full. */
int pickle_push(struct pickle_machine *m, struct data_value *value);
int pickle_push_new(struct pickle_machine *m, enum data_type type);
int pickle_push_integer(struct pickle_machine *m, int64_t integer);
int pickle_push_bool(struct pickle_machine *m, bool value);
/* The lowest place that belongs to the innermost mark; values below it are out of reach. */
size_t pickle_floor_of(const struct pickle_machine *m);
bool pickle_has(const struct pickle_machine *m, size_t bytes);
uint64_t pickle_take_little(struct pickle_machine *m, size_t bytes);
/* A text or an integer of any length, behind its length in so many bytes. */
int pickle_push_text(struct pickle_machine *m, size_t length_bytes);
int pickle_push_long(struct pickle_machine *m, size_t length_bytes);
int pickle_push_float(struct pickle_machine *m);
/* The text opcodes of protocol 0. */
int pickle_push_line_number(struct pickle_machine *m);
int pickle_push_line_text(struct pickle_machine *m);
int pickle_memo_put(struct pickle_machine *m, uint64_t number);
int pickle_memo_get(struct pickle_machine *m, uint64_t number);
int pickle_memo_line(struct pickle_machine *m);

#endif
