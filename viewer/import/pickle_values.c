/* SPDX-License-Identifier: Apache-2.0 */
/* Scalars of pickles in all their spellings, and the memo. */
#include "pickle_machine.h"

#include <errno.h>
#include <string.h>

#include "array.h"
#include "error.h"
#include "json_text.h"

#define MAX_MEMO 40000000u

int pickle_damaged(struct pickle_machine *m, const char *what)
{
	return error_set(m->err, -EINVAL, "is a damaged pickle: %s at byte %zu", what,
			 (size_t)(m->opcode - m->begin));
}

int pickle_push(struct pickle_machine *m, struct data_value *value)
{
	if (!value)
		return error_set(m->err, -EFBIG, "is a pickle of more than %u values",
				 DATA_MAX_VALUES);
	if (m->depth == m->capacity)
		m->stack = array_grow(m->stack, &m->capacity, sizeof(*m->stack));
	m->stack[m->depth++] = value;
	return 0;
}

int pickle_push_new(struct pickle_machine *m, enum data_type type)
{
	return pickle_push(m, data_value_new(m->tree, type));
}

int pickle_push_integer(struct pickle_machine *m, int64_t integer)
{
	int rc = pickle_push_new(m, DATA_INTEGER);
	if (!rc)
		m->stack[m->depth - 1]->integer = integer;
	return rc;
}

int pickle_push_bool(struct pickle_machine *m, bool value)
{
	int rc = pickle_push_integer(m, value);
	if (!rc)
		m->stack[m->depth - 1]->type = DATA_BOOL;
	return rc;
}

size_t pickle_floor_of(const struct pickle_machine *m)
{
	return m->mark_count ? m->marks[m->mark_count - 1] : 0;
}

bool pickle_has(const struct pickle_machine *m, size_t bytes)
{
	return (size_t)(m->end - m->at) >= bytes;
}

uint64_t pickle_take_little(struct pickle_machine *m, size_t bytes)
{
	uint64_t value = 0;
	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)m->at[i] << (8 * i);
	m->at += bytes;
	return value;
}

int pickle_push_text(struct pickle_machine *m, size_t length_bytes)
{
	if (!pickle_has(m, length_bytes))
		return pickle_damaged(m, "it ends inside a text");
	uint64_t length = pickle_take_little(m, length_bytes);
	if (length > (size_t)(m->end - m->at))
		return pickle_damaged(m, "a text is longer than the file");
	int rc = pickle_push_new(m, DATA_TEXT);
	if (rc)
		return rc;
	m->stack[m->depth - 1]->text = (const char *)m->at;
	m->stack[m->depth - 1]->length = (size_t)length;
	m->at += length;
	return 0;
}

/* Integers of any length; what 64 bits cannot hold counts as none. */
int pickle_push_long(struct pickle_machine *m, size_t length_bytes)
{
	if (!pickle_has(m, length_bytes))
		return pickle_damaged(m, "it ends inside a number");
	uint64_t length = pickle_take_little(m, length_bytes);
	if (length > (size_t)(m->end - m->at))
		return pickle_damaged(m, "a number is longer than the file");
	const unsigned char *bytes = m->at;
	m->at += length;
	bool is_negative = length && bytes[length - 1] & 0x80;
	uint64_t value = is_negative ? UINT64_MAX : 0;
	bool fits = true;
	for (size_t i = 0; i < length; i++) {
		if (i < 8)
			value = (value & ~(0xffull << (8 * i))) | (uint64_t)bytes[i] << (8 * i);
		else
			fits &= bytes[i] == (is_negative ? 0xff : 0);
	}
	fits &= (int64_t)value < 0 ? is_negative : !is_negative;
	return fits ? pickle_push_integer(m, (int64_t)value) : pickle_push_new(m, DATA_NONE);
}

/* The rest of the line, for the text opcodes of protocol 0. */
static int take_line(struct pickle_machine *m, struct json_slice *line)
{
	const unsigned char *newline = memchr(m->at, '\n', (size_t)(m->end - m->at));
	if (!newline)
		return pickle_damaged(m, "it ends inside a line");
	*line = (struct json_slice){(const char *)m->at, (size_t)(newline - m->at), false, false};
	m->at = newline + 1;
	return 0;
}

int pickle_push_line_number(struct pickle_machine *m)
{
	struct json_slice line = {0};
	int64_t value;
	int rc = take_line(m, &line);
	if (rc)
		return rc;
	if (*m->opcode == 'I' && (json_is(&line, "00") || json_is(&line, "01")))
		return pickle_push_bool(m, line.at[1] == '1');
	if (line.length && line.at[line.length - 1] == 'L')
		line.length--;
	if (*m->opcode == 'F') {
		rc = pickle_push_new(m, DATA_FLOAT);
		if (!rc && !json_to_double(&line, &m->stack[m->depth - 1]->number))
			m->stack[m->depth - 1]->type = DATA_NONE;
		return rc;
	}
	return json_to_int(&line, &value) ? pickle_push_integer(m, value)
					  : pickle_push_new(m, DATA_NONE);
}

int pickle_push_line_text(struct pickle_machine *m)
{
	struct json_slice line = {0};
	int rc = take_line(m, &line);
	if (!rc)
		rc = pickle_push_new(m, DATA_TEXT);
	if (rc)
		return rc;
	/* STRING has quotes around it, UNICODE has not; escapes stay as they are. */
	if (*m->opcode == 'S' && line.length >= 2) {
		line.at++;
		line.length -= 2;
	}
	m->stack[m->depth - 1]->text = line.at;
	m->stack[m->depth - 1]->length = line.length;
	return 0;
}

int pickle_push_float(struct pickle_machine *m)
{
	uint64_t bits = 0;
	if (!pickle_has(m, 8))
		return pickle_damaged(m, "it ends inside a number");
	for (int i = 0; i < 8; i++)
		bits = bits << 8 | *m->at++;
	int rc = pickle_push_new(m, DATA_FLOAT);
	if (!rc)
		memcpy(&m->stack[m->depth - 1]->number, &bits, sizeof(bits));
	return rc;
}

int pickle_memo_put(struct pickle_machine *m, uint64_t number)
{
	if (m->depth <= pickle_floor_of(m))
		return pickle_damaged(m, "there is nothing to remember");
	if (number >= MAX_MEMO || number > m->memo_count + 1000000)
		return pickle_damaged(m, "a memo number is out of range");
	while (number >= m->memo_capacity) {
		size_t old = m->memo_capacity;
		m->memo = array_grow(m->memo, &m->memo_capacity, sizeof(*m->memo));
		memset(m->memo + old, 0, (m->memo_capacity - old) * sizeof(*m->memo));
	}
	m->memo[number] = m->stack[m->depth - 1];
	if (number >= m->memo_count)
		m->memo_count = (size_t)number + 1;
	return 0;
}

int pickle_memo_get(struct pickle_machine *m, uint64_t number)
{
	if (number >= m->memo_count || !m->memo[number])
		return pickle_damaged(m, "a memo number was never set");
	return pickle_push(m, m->memo[number]);
}

int pickle_memo_line(struct pickle_machine *m)
{
	struct json_slice line = {0};
	uint64_t number;
	int rc = take_line(m, &line);
	if (rc)
		return rc;
	if (!json_to_uint(&line, &number))
		return pickle_damaged(m, "a memo number is no number");
	return *m->opcode == 'p' ? pickle_memo_put(m, number) : pickle_memo_get(m, number);
}
