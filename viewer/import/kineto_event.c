/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the text of one event. Member names are looked up in a small hash table made from the rows
 * below; members that no row names are skipped. Wrong types never stop an event: the member counts
 * as absent, except for those without which the event means nothing.
 */
#include "kineto_event.h"

#include <pthread.h>
#include <string.h>

enum member_type {
	TYPE_NUMBER,
	TYPE_TIME,   /* decimal microseconds */
	TYPE_TRIPLE, /* [x, y, z] */
	TYPE_TEXT,   /* any scalar */
	TYPE_RAW,    /* any value, read later */
	TYPE_PHASE,
	TYPE_IDENTITY, /* number or text: pid, tid */
	TYPE_ARGS
};

struct member {
	const char *name;
	uint8_t length;
	uint16_t offset;
	uint8_t type;
	uint16_t has;
};

#define MEMBER(name, field, type, has)                                                             \
	{                                                                                          \
		name, sizeof(name) - 1, offsetof(struct kineto_event, field), type, has            \
	}

static const struct member outer_members[] = {
	MEMBER("ph", phase, TYPE_PHASE, 0),
	MEMBER("cat", category_text, TYPE_TEXT, 0),
	MEMBER("name", name, TYPE_TEXT, 0),
	MEMBER("pid", process, TYPE_IDENTITY, HAS_PROCESS),
	MEMBER("tid", thread, TYPE_IDENTITY, HAS_THREAD),
	MEMBER("ts", begin_ns, TYPE_TIME, HAS_TIME),
	MEMBER("dur", duration_ns, TYPE_TIME, HAS_DURATION),
	MEMBER("args", phase, TYPE_ARGS, 0),
};

static const struct member args_members[] = {
	MEMBER("correlation", correlation, TYPE_NUMBER, HAS_CORRELATION),
	MEMBER("External id", external_id, TYPE_NUMBER, 0),
	MEMBER("external id", external_id, TYPE_NUMBER, 0),
	MEMBER("Sequence number", sequence, TYPE_NUMBER, HAS_SEQUENCE),
	MEMBER("Fwd thread id", forward_thread, TYPE_NUMBER, 0),
	MEMBER("stream", stream, TYPE_NUMBER, HAS_STREAM),
	MEMBER("device", device, TYPE_NUMBER, HAS_DEVICE),
	MEMBER("context", context, TYPE_NUMBER, 0),
	MEMBER("bytes", bytes, TYPE_NUMBER, HAS_BYTES),
	MEMBER("Bytes", bytes, TYPE_NUMBER, HAS_BYTES),
	MEMBER("registers per thread", registers, TYPE_NUMBER, 0),
	MEMBER("shared memory", shared_bytes, TYPE_NUMBER, 0),
	MEMBER("graph id", graph, TYPE_NUMBER, 0),
	MEMBER("graph node id", graph_node, TYPE_NUMBER, 0),
	MEMBER("grid", grid, TYPE_TRIPLE, 0),
	MEMBER("block", block, TYPE_TRIPLE, 0),
	MEMBER("toDevice", to_device, TYPE_NUMBER, 0),
	MEMBER("Addr", address, TYPE_NUMBER, 0),
	MEMBER("Device Type", device_type, TYPE_NUMBER, 0),
	MEMBER("Device Id", device_id, TYPE_NUMBER, 0),
	MEMBER("Total Allocated", total_allocated, TYPE_NUMBER, 0),
	MEMBER("Total Reserved", total_reserved, TYPE_NUMBER, 0),
	MEMBER("Input Dims", dims, TYPE_RAW, 0),
	MEMBER("Input dims", dims, TYPE_RAW, 0),
	MEMBER("Input type", types, TYPE_RAW, 0),
	MEMBER("Input Types", types, TYPE_RAW, 0),
	MEMBER("Input Strides", strides, TYPE_RAW, 0),
	MEMBER("Input strides", strides, TYPE_RAW, 0),
	MEMBER("Collective name", collective, TYPE_TEXT, 0),
	MEMBER("In msg nelems", in_elements, TYPE_NUMBER, 0),
	MEMBER("Out msg nelems", out_elements, TYPE_NUMBER, 0),
	MEMBER("dtype", element_type, TYPE_TEXT, 0),
	MEMBER("Process Group Name", group, TYPE_TEXT, 0),
	MEMBER("name", label, TYPE_TEXT, 0),
};

#define LEN(a)	    (sizeof(a) / sizeof((a)[0]))
#define TABLE_SLOTS 128u

struct table {
	const struct member *slots[TABLE_SLOTS];
};
static struct table outer_table, args_table;
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static unsigned member_hash(const char *name, size_t length)
{
	return ((unsigned)length * 37u + (unsigned char)name[0] * 5u +
		(unsigned char)name[length - 1] * 11u + (unsigned char)name[length / 2]) %
	       TABLE_SLOTS;
}

static void table_fill(struct table *table, const struct member *members, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		unsigned at = member_hash(members[i].name, members[i].length);
		while (table->slots[at])
			at = (at + 1) % TABLE_SLOTS;
		table->slots[at] = &members[i];
	}
}

static void tables_make(void)
{
	table_fill(&outer_table, outer_members, LEN(outer_members));
	table_fill(&args_table, args_members, LEN(args_members));
}

static const struct member *table_find(const struct table *table, const struct json_slice *key)
{
	if (key->length == 0)
		return NULL;
	unsigned at = member_hash(key->at, key->length);
	for (; table->slots[at]; at = (at + 1) % TABLE_SLOTS) {
		const struct member *m = table->slots[at];
		if (m->length == key->length && !memcmp(m->name, key->at, key->length))
			return m;
	}
	return NULL;
}

static enum json_result read_triple(struct json_cursor *cursor, int64_t out[3])
{
	bool is_first = true, done = false;
	int64_t values[3] = {0, 0, 0};
	size_t count = 0;
	for (;;) {
		enum json_result rc = json_element(cursor, &is_first, &done);
		struct json_slice slice;
		if (rc)
			return rc;
		if (done)
			break;
		rc = json_value(cursor, &slice);
		if (rc)
			return rc;
		int64_t value;
		if (count < 3 && json_to_int(&slice, &value))
			values[count] = value;
		count++;
	}
	if (count == 3)
		memcpy(out, values, sizeof(values));
	return JSON_OK;
}

static void read_identity(struct kineto_event *e, const struct member *m,
			  const struct json_slice *slice)
{
	int64_t *number = (int64_t *)((char *)e + m->offset);
	if (json_to_int(slice, number))
		e->has |= m->has;
	else if (m->has == HAS_PROCESS)
		e->process_text = *slice;
	else
		e->thread_text = *slice;
}

static void read_scalar(struct kineto_event *e, const struct member *m,
			const struct json_slice *slice)
{
	void *field = (char *)e + m->offset;
	switch (m->type) {
	case TYPE_NUMBER:
		if (json_to_int(slice, field))
			e->has |= m->has;
		break;
	case TYPE_TIME:
		if (json_to_ns(slice, field))
			e->has |= m->has;
		else
			e->has |= HAS_BAD_NUMBER;
		break;
	case TYPE_PHASE:
		e->phase = slice->length == 1 ? *slice->at : 0;
		break;
	case TYPE_IDENTITY:
		read_identity(e, m, slice);
		break;
	default:
		memcpy(field, slice, sizeof(*slice));
		break;
	}
}

static enum json_result read_members(struct json_cursor *cursor, struct kineto_event *e,
				     const struct table *table)
{
	bool is_first = true, done = false;
	for (;;) {
		struct json_slice key, slice;
		enum json_result rc = json_member(cursor, &is_first, &key, &done);
		if (rc || done)
			return rc;
		const struct member *m = table_find(table, &key);
		if (!m) {
			rc = json_value(cursor, NULL);
		} else if (m->type == TYPE_ARGS && *cursor->at == '{') {
			rc = read_members(cursor, e, &args_table);
		} else if (m->type == TYPE_TRIPLE && *cursor->at == '[') {
			rc = read_triple(cursor, (int64_t *)((char *)e + m->offset));
		} else {
			char first = *cursor->at;
			rc = json_value(cursor, &slice);
			bool is_nested = first == '{' || first == '[';
			if (rc == JSON_OK && m->type != TYPE_ARGS && m->type != TYPE_TRIPLE &&
			    (!is_nested || m->type == TYPE_RAW))
				read_scalar(e, m, &slice);
			else if (rc == JSON_OK && m->type == TYPE_TIME)
				e->has |= HAS_BAD_NUMBER;
		}
		if (rc)
			return rc;
	}
}

static const struct {
	const char *name;
	enum kineto_category category;
} category_names[] = {
	{"cpu_op", KINETO_OPERATOR},
	{"Operator", KINETO_OPERATOR},
	{"python_function", KINETO_PYTHON},
	{"user_annotation", KINETO_ANNOTATION},
	{"cuda_runtime", KINETO_RUNTIME},
	{"cuda_driver", KINETO_RUNTIME},
	{"hip_runtime", KINETO_RUNTIME},
	{"hip_driver", KINETO_RUNTIME},
	{"Runtime", KINETO_RUNTIME},
	{"kernel", KINETO_KERNEL},
	{"Kernel", KINETO_KERNEL},
	{"gpu_memcpy", KINETO_COPY},
	{"Memcpy", KINETO_COPY},
	{"gpu_memset", KINETO_SET},
	{"Memset", KINETO_SET},
	{"cuda_sync", KINETO_SYNC},
	{"overhead", KINETO_OVERHEAD},
	{"cuda_profiler_range", KINETO_PROFILER_RANGE},
};

static void classify(struct kineto_event *e)
{
	if (e->phase == 'M') {
		e->category = KINETO_METADATA;
		return;
	}
	if (e->phase == 'i' || e->phase == 'I') {
		if (json_is(&e->name, "[memory]"))
			e->category = KINETO_MEMORY;
		return;
	}
	if (e->phase != 'X')
		return;
	for (size_t i = 0; i < LEN(category_names); i++) {
		if (json_is(&e->category_text, category_names[i].name)) {
			e->category = category_names[i].category;
			return;
		}
	}
}

enum json_result kineto_event_read(struct json_cursor *cursor, struct kineto_event *event)
{
	pthread_once(&tables_once, tables_make);
	memset(event, 0, sizeof(*event));
	enum json_result rc = read_members(cursor, event, &outer_table);
	if (rc == JSON_OK)
		classify(event);
	return rc;
}
