/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of Python's pickle machine that makes plain data: a stack of values, a stack of marks, a
 * memo. There is no way from any opcode to code: what could name a class is refused before its
 * argument is read.
 */
#include "pickle_machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "error.h"

static const struct {
	unsigned char opcode;
	const char *name;
} refused[] = {
	{'c', "GLOBAL"},    {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},
	{'b', "BUILD"},	    {'i', "INST"},	    {'o', "OBJ"},
	{0x81, "NEWOBJ"},   {0x92, "NEWOBJ_EX"},    {0x82, "EXT1"},
	{0x83, "EXT2"},	    {0x84, "EXT4"},	    {'P', "PERSID"},
	{'Q', "BINPERSID"}, {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"},
};

/* Makes a list or dictionary of the top `count` values. */
static int collect(struct pickle_machine *m, size_t count, enum data_type type)
{
	if (m->depth - pickle_floor_of(m) < count)
		return pickle_damaged(m, "the stack is too short");
	if (type == DATA_DICTIONARY && count % 2)
		return pickle_damaged(m, "a key has no value");
	struct data_value *value = data_value_new(m->tree, type);
	for (size_t i = m->depth - count; value && i < m->depth; i++) {
		if (!data_append(m->tree, value, m->stack[i]))
			value = NULL;
	}
	m->depth -= count;
	return pickle_push(m, value);
}

static int collect_to_mark(struct pickle_machine *m, enum data_type type)
{
	if (!m->mark_count)
		return pickle_damaged(m, "there is no mark");
	size_t count = m->depth - m->marks[m->mark_count - 1];
	int rc = collect(m, count, type);
	m->mark_count--;
	return rc;
}

/* Adds the top `count` values to the list or dictionary below them. */
static int extend(struct pickle_machine *m, size_t count, enum data_type type)
{
	if (m->depth - pickle_floor_of(m) < count + 1)
		return pickle_damaged(m, "the stack is too short");
	if (type == DATA_DICTIONARY && count % 2)
		return pickle_damaged(m, "a key has no value");
	struct data_value *into = m->stack[m->depth - count - 1];
	if (into->type != type)
		return pickle_damaged(m, "items are added to something that holds none");
	for (size_t i = m->depth - count; i < m->depth; i++) {
		if (!data_append(m->tree, into, m->stack[i]))
			return pickle_push(m, NULL);
	}
	m->depth -= count;
	return 0;
}

static int extend_to_mark(struct pickle_machine *m, enum data_type type)
{
	if (!m->mark_count)
		return pickle_damaged(m, "there is no mark");
	size_t count = m->depth - m->marks[--m->mark_count];
	return extend(m, count, type);
}

static int set_mark(struct pickle_machine *m)
{
	if (m->mark_count == m->mark_capacity)
		m->marks = array_grow(m->marks, &m->mark_capacity, sizeof(*m->marks));
	m->marks[m->mark_count++] = m->depth;
	return 0;
}

static int pop(struct pickle_machine *m)
{
	if (m->depth > pickle_floor_of(m))
		m->depth--;
	else if (m->mark_count)
		m->mark_count--; /* POP also takes a mark that nothing follows */
	else
		return pickle_damaged(m, "the stack is empty");
	return 0;
}

static int pop_mark(struct pickle_machine *m)
{
	if (!m->mark_count)
		return pickle_damaged(m, "there is no mark");
	m->depth = m->marks[--m->mark_count];
	return 0;
}

static int duplicate(struct pickle_machine *m)
{
	if (m->depth <= pickle_floor_of(m))
		return pickle_damaged(m, "the stack is empty");
	return pickle_push(m, m->stack[m->depth - 1]);
}

static int refuse(struct pickle_machine *m)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (refused[i].opcode == *m->opcode)
			return error_set(
				m->err, -EINVAL,
				"is a pickle that is not plain data: opcode %s at byte %zu "
				"could run code and is refused",
				refused[i].name, (size_t)(m->opcode - m->begin));
	}
	return pickle_damaged(m, "an unknown opcode");
}

/* Opcodes with an argument of a fixed size: 0 is not one of them. */
static size_t argument_bytes(unsigned char opcode)
{
	switch (opcode) {
	case 0x80: /* PROTO */
	case 'K':  /* BININT1 */
	case 'q':  /* BINPUT */
	case 'h':  /* BINGET */
		return 1;
	case 'M': /* BININT2 */
		return 2;
	case 'J': /* BININT */
	case 'r': /* LONG_BINPUT */
	case 'j': /* LONG_BINGET */
		return 4;
	case 0x95: /* FRAME */
		return 8;
	default:
		return 0;
	}
}

static int step_fixed(struct pickle_machine *m, size_t bytes)
{
	if (!pickle_has(m, bytes))
		return pickle_damaged(m, "it ends inside an argument");
	uint64_t argument = pickle_take_little(m, bytes);
	switch (*m->opcode) {
	case 0x80:
		return argument <= 5 ? 0 : pickle_damaged(m, "a protocol newer than 5");
	case 'q':
	case 'r':
		return pickle_memo_put(m, argument);
	case 'h':
	case 'j':
		return pickle_memo_get(m, argument);
	case 0x95:
		return 0; /* frames only help readers that stream */
	case 'J':
		return pickle_push_integer(m, (int32_t)(uint32_t)argument);
	default:
		return pickle_push_integer(m, (int64_t)argument);
	}
}

static int step_scalar(struct pickle_machine *m)
{
	switch (*m->opcode) {
	case 'N':
		return pickle_push_new(m, DATA_NONE);
	case 0x88:
		return pickle_push_bool(m, true);
	case 0x89:
		return pickle_push_bool(m, false);
	case 0x8a:
		return pickle_push_long(m, 1);
	case 0x8b:
		return pickle_push_long(m, 4);
	case 'G':
		return pickle_push_float(m);
	case 'I':
	case 'L':
	case 'F':
		return pickle_push_line_number(m);
	case 'V':
	case 'S':
		return pickle_push_line_text(m);
	case 0x8c: /* SHORT_BINUNICODE */
	case 'U':  /* SHORT_BINSTRING */
	case 'C':  /* SHORT_BINBYTES */
		return pickle_push_text(m, 1);
	case 'X':
	case 'T':
	case 'B':
		return pickle_push_text(m, 4);
	case 0x8d: /* BINUNICODE8 */
	case 0x8e: /* BINBYTES8 */
	case 0x96: /* BYTEARRAY8 */
		return pickle_push_text(m, 8);
	default:
		return refuse(m);
	}
}

static int step(struct pickle_machine *m)
{
	switch (*m->opcode) {
	case '(':
		return set_mark(m);
	case '}':
		return pickle_push_new(m, DATA_DICTIONARY);
	case ']':
	case ')':
	case 0x8f: /* EMPTY_SET */
		return pickle_push_new(m, DATA_LIST);
	case 'a':
		return extend(m, 1, DATA_LIST);
	case 'e':
	case 0x90: /* ADDITEMS */
		return extend_to_mark(m, DATA_LIST);
	case 's':
		return extend(m, 2, DATA_DICTIONARY);
	case 'u':
		return extend_to_mark(m, DATA_DICTIONARY);
	case 't':
	case 'l':
	case 0x91: /* FROZENSET */
		return collect_to_mark(m, DATA_LIST);
	case 'd':
		return collect_to_mark(m, DATA_DICTIONARY);
	case 0x85:
	case 0x86:
	case 0x87:
		return collect(m, (size_t)(*m->opcode - 0x84), DATA_LIST);
	case 0x94: /* MEMOIZE */
		return pickle_memo_put(m, m->memo_count);
	case 'p':
	case 'g':
		return pickle_memo_line(m);
	case '0':
		return pop(m);
	case '1':
		return pop_mark(m);
	case '2':
		return duplicate(m);
	default:
		return step_scalar(m);
	}
}

int pickle_read(const char *bytes, size_t count, struct data_tree *tree, struct data_value **out,
		struct error *err)
{
	struct pickle_machine m = {.tree = tree, .err = err};
	int rc = 0;
	m.begin = m.at = (const unsigned char *)bytes;
	m.end = m.begin + count;
	*out = NULL;
	while (!rc) {
		m.opcode = m.at;
		if (m.at == m.end) {
			rc = error_set(err, -EINVAL,
				       "is a pickle that is cut short after %zu bytes", count);
			break;
		}
		m.at++;
		if (*m.opcode == '.') {
			if (m.depth == 0)
				rc = pickle_damaged(&m, "it ends with nothing on the stack");
			else
				*out = m.stack[m.depth - 1];
			break;
		}
		size_t argument = argument_bytes(*m.opcode);
		rc = argument ? step_fixed(&m, argument) : step(&m);
	}
	free(m.stack);
	free(m.marks);
	free(m.memo);
	return rc;
}
