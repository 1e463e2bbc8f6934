/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host tables of an nsys export: NVTX ranges first, because PyTorch's emit_nvtx writes its
 * operators there, then CUDA calls, which find their operator by time; thread names; profiler
 * overhead.
 */
#define _GNU_SOURCE /* memmem */
#include "nsys_import.h"

#include <string.h>

#include "array.h"
#include "import_api.h"
#include "import_gemm.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

enum nvtx_event {
	NVTX_MARK = 34,
	NVTX_THREAD = 39,
	NVTX_PUSH_POP = 59,
	NVTX_START_END = 60,
	NVTX_DOMAIN = 75
};

enum {
	RANGE_TYPE = 2,
	RANGE_CATEGORY,
	RANGE_TEXT,
	RANGE_THREAD,
	RANGE_TEXT_ID,
	RANGE_DOMAIN,
	RANGE_VALUE
};
static const char *const range_columns[] = {
	"start",  "end",      "eventType",   "category",   "text",	  "globalTid",
	"textId", "domainId", "uint64Value", "int64Value", "uint32Value", "int32Value"};

static int read_domains(struct nsys *n)
{
	sqlite3_stmt *s;
	int rc = nsys_select(n, "NVTX_EVENTS", range_columns, LEN(range_columns), &s);
	while (!rc && s && (rc = nsys_step(n, s, "NVTX_EVENTS")) > 0) {
		const char *text = (const char *)sqlite3_column_text(s, RANGE_TEXT);
		bool is_new;
		rc = 0;
		if (nsys_int(s, RANGE_TYPE) != NVTX_DOMAIN || !text)
			continue;
		*map_slot(&n->domain_map, (uint64_t)nsys_int(s, RANGE_DOMAIN), &is_new) =
			import_sink_name(n->sink, NAME_MARK, text, strlen(text));
	}
	return rc;
}

/* What emit_nvtx appends to the name of an operator: ", seq = 7, op_id = 9, sizes = [[..], ..]". */
struct emitted {
	size_t name_length;
	struct json_slice sizes;
};

static bool split_emitted(const char *text, size_t length, struct emitted *out)
{
	const char *seq = memmem(text, length, ", seq = ", 8);
	const char *id = memmem(text, length, ", op_id = ", 10);
	const char *sizes = memmem(text, length, ", sizes = [", 11);
	const char *first = seq && (!id || seq < id) ? seq : id;
	if (!first)
		return false;
	out->name_length = (size_t)(first - text);
	out->sizes = (struct json_slice){"", 0, false, false};
	if (sizes && sizes > first) {
		struct json_cursor cursor = {sizes + 10, text + length};
		struct json_slice list;
		if (json_value(&cursor, &list) == JSON_OK)
			out->sizes = list;
	}
	return true;
}

static struct api_class class_of(struct nsys *n, uint64_t number, const char *name, size_t length)
{
	bool is_new;
	struct api_class class;
	uint64_t *slot = map_slot(&n->api_map, number, &is_new);
	if (is_new) {
		class = import_api_classify(name, length);
		memcpy(slot, &class, sizeof(class));
	}
	memcpy(&class, slot, sizeof(class));
	return class;
}

static void add_operator(struct nsys *n, uint32_t thread, int64_t begin, int64_t end,
			 const char *text, const struct emitted *emitted)
{
	struct json_slice name = {text, emitted->name_length, true, false};
	struct json_slice none = {"", 0, false, false};
	struct record_gemm r = {0};
	if (import_gemm_shape(&name, &emitted->sizes, &none, &none, &r)) {
		uint64_t api = import_sink_name(n->sink, NAME_API, name.at, name.length);
		r.call = (struct call_part){
			.head = {RECORD_KIND_gemm, sizeof(r), 0},
			.begin_ticks = import_sink_ticks(begin),
			.end_ticks = import_sink_ticks(end),
			.call_id = import_sink_next_call(n->sink, thread),
			.api = api <= UINT16_MAX ? (uint16_t)api : UINT16_MAX,
			.device = DEVICE_UNKNOWN,
		};
		import_join_gemm(n->join, thread, &r);
	}
	struct site_frame frame = {
		.type = FRAME_OPERATOR,
		.value = import_sink_name(n->sink, NAME_CLASS, name.at, name.length)};
	import_sites_add(n->sites, thread, begin, end, &frame, r.call.call_id);
}

static uint64_t payload_of(sqlite3_stmt *s)
{
	for (int i = RANGE_VALUE; i < RANGE_VALUE + 4; i++) {
		if (nsys_has(s, i) && nsys_int(s, i))
			return (uint64_t)nsys_int(s, i);
	}
	return 0;
}

static void add_range(struct nsys *n, sqlite3_stmt *s)
{
	int64_t begin, end, type = nsys_int(s, RANGE_TYPE);
	if (type != NVTX_MARK && type != NVTX_PUSH_POP && type != NVTX_START_END)
		return;
	size_t length = 0;
	const char *text = (const char *)sqlite3_column_text(s, RANGE_TEXT);
	if (text)
		length = (size_t)sqlite3_column_bytes(s, RANGE_TEXT);
	else if (nsys_has(s, RANGE_TEXT_ID))
		text = nsys_text(n, nsys_int(s, RANGE_TEXT_ID), &length);
	if (!text)
		text = "";
	bool is_open = type != NVTX_MARK && !nsys_has(s, 1);
	if (is_open || type == NVTX_MARK) {
		begin = nsys_int(s, 0) + n->shift_ns;
		end = begin;
		if (!nsys_has(s, 0) || begin < 0) {
			import_sink_lose(n->sink, RECORD_KIND_mark, LOSS_BAD_TIME, 1);
			return;
		}
	} else if (!nsys_times(n, s, RECORD_KIND_mark, &begin, &end)) {
		return;
	}
	uint32_t thread = nsys_thread(n, nsys_int(s, RANGE_THREAD));
	struct emitted emitted;
	if (type == NVTX_PUSH_POP && !is_open && split_emitted(text, length, &emitted)) {
		add_operator(n, thread, begin, end, text, &emitted);
		return;
	}
	const uint64_t *domain = map_find(&n->domain_map, (uint64_t)nsys_int(s, RANGE_DOMAIN));
	struct record_mark r = {
		.head = {RECORD_KIND_mark, sizeof(r), 0},
		.begin_ticks = import_sink_ticks(begin),
		.end_ticks = is_open ? 0 : import_sink_ticks(end),
		.name = import_sink_name(n->sink, NAME_MARK, text, length),
		.domain = domain ? *domain : 0,
		.value = payload_of(s),
		.type = type == NVTX_MARK	? MARK_INSTANT
			: type == NVTX_PUSH_POP ? MARK_RANGE
						: MARK_SPAN,
		.source = MARK_NVTX,
		.peer = MARK_NO_PEER,
		.category = (uint32_t)nsys_int(s, RANGE_CATEGORY),
	};
	import_sink_add(n->sink, thread, &r);
}

static int read_ranges(struct nsys *n)
{
	sqlite3_stmt *s;
	int rc = nsys_select(n, "NVTX_EVENTS", range_columns, LEN(range_columns), &s);
	while (!rc && s && (rc = nsys_step(n, s, "NVTX_EVENTS")) > 0) {
		add_range(n, s);
		rc = 0;
	}
	return rc;
}

/* Sizes and addresses of allocations, by the call that made them. */
static int read_usage(struct nsys *n)
{
	static const char *const columns[] = {"correlationId", "globalPid", "address", "bytes",
					      "memKind"};
	sqlite3_stmt *s;
	int rc = nsys_select(n, "CUDA_GPU_MEMORY_USAGE_EVENTS", columns, LEN(columns), &s);
	while (!rc && s && (rc = nsys_step(n, s, "CUDA_GPU_MEMORY_USAGE_EVENTS")) > 0) {
		bool is_new;
		rc = 0;
		if (!nsys_has(s, 0) || nsys_int(s, 0) == 0 || nsys_int(s, 3) < 0)
			continue;
		uint32_t correlation =
			nsys_correlation(n, nsys_process(nsys_int(s, 1)), nsys_int(s, 0));
		if (n->usage_count == n->usage_capacity)
			n->usages = array_grow(n->usages, &n->usage_capacity, sizeof(*n->usages));
		n->usages[n->usage_count++] = (struct nsys_usage){
			.address = (uint64_t)nsys_int(s, 2),
			.bytes = (uint64_t)nsys_int(s, 3),
			.memory_kind = nsys_memory_kind(nsys_int(s, 4)),
		};
		*map_slot(&n->usage_map, correlation, &is_new) = n->usage_count;
	}
	return rc;
}

static void add_memory(struct nsys *n, uint32_t thread, const struct call_part *call,
		       const struct api_class *class)
{
	struct record_memory r = {.call = *call, .memory_kind = class->memory_kind};
	const uint64_t *usage = map_find(&n->usage_map, call->correlation);
	r.call.head = (struct record_head){RECORD_KIND_memory, sizeof(r), 0};
	r.op = class->family == API_ALLOC ? MEMORY_ALLOC : MEMORY_FREE;
	if (usage && call->correlation) {
		const struct nsys_usage *u = &n->usages[*usage - 1];
		r.address = u->address;
		r.size_bytes = r.op == MEMORY_ALLOC ? u->bytes : 0;
		if (u->memory_kind != MEMORY_UNKNOWN && class->memory_kind != MEMORY_POOL)
			r.memory_kind = u->memory_kind;
	}
	import_sink_add(n->sink, thread, &r);
}

/* Every call but allocations, by its family. */
static void add_by_family(struct nsys *n, uint32_t thread, const struct call_part *call,
			  const struct api_class *class)
{
	union {
		struct record_call call;
		struct record_sync sync;
		struct record_copy copy;
		struct record_set set;
		struct record_launch launch;
	} r;
	memset(&r, 0, sizeof(r));
	r.call.call = *call;
	struct record_head *head = &r.call.call.head;
	switch (class->family) {
	case API_LAUNCH:
	case API_GRAPH_LAUNCH:
	case API_HOST_FUNCTION:
		*head = (struct record_head){RECORD_KIND_launch, sizeof(r.launch), 0};
		r.launch.launch_flags = class->family == API_GRAPH_LAUNCH    ? 2
					: class->family == API_HOST_FUNCTION ? 4
									     : 0;
		n->launches++;
		if (call->parent_id)
			import_join_launch(n->join, thread, call->parent_id, call->correlation);
		break;
	case API_COPY:
		*head = (struct record_head){RECORD_KIND_copy, sizeof(r.copy), 0};
		r.copy.direction = class->direction;
		r.copy.peer_device = DEVICE_UNKNOWN;
		import_join_call(n->join, thread, &r);
		return;
	case API_SET:
		*head = (struct record_head){RECORD_KIND_set, sizeof(r.set), 0};
		import_join_call(n->join, thread, &r);
		return;
	case API_SYNC:
		*head = (struct record_head){RECORD_KIND_sync, sizeof(r.sync), 0};
		r.sync.scope = class->scope;
		break;
	default:
		*head = (struct record_head){RECORD_KIND_call, sizeof(r.call), 0};
		break;
	}
	import_sink_add(n->sink, thread, &r);
}

static void add_call(struct nsys *n, sqlite3_stmt *s)
{
	size_t length = 0;
	const char *name = nsys_text(n, nsys_int(s, 4), &length);
	int64_t begin, end;
	if (!nsys_times(n, s, RECORD_KIND_call, &begin, &end))
		return;
	if (!name)
		name = "";
	length = import_api_base_length(name, length);
	uint64_t api = import_sink_name(n->sink, NAME_API, name, length);
	struct api_class class = class_of(n, api, name, length);
	int64_t global = nsys_int(s, 2), status = nsys_int(s, 5);
	uint32_t thread = nsys_thread(n, global);
	struct call_part call = {
		.begin_ticks = import_sink_ticks(begin),
		.end_ticks = import_sink_ticks(end),
		.call_id = import_sink_next_call(n->sink, thread),
		.correlation = nsys_correlation(n, nsys_process(global), nsys_int(s, 3)),
		.status = status > 0 && status < INT32_MAX ? (int32_t)status : 0,
		.api = api <= UINT16_MAX ? (uint16_t)api : UINT16_MAX,
		.flags = class.is_async ? CALL_ASYNC : 0,
		.device = DEVICE_UNKNOWN,
	};
	struct import_caller caller = import_sites_find(n->sites, thread, begin, 0);
	call.site = caller.site;
	call.parent_id = caller.call_id;
	if (class.family == API_ALLOC || class.family == API_FREE)
		add_memory(n, thread, &call, &class);
	else
		add_by_family(n, thread, &call, &class);
}

static int read_calls(struct nsys *n)
{
	static const char *const columns[] = {"start",	       "end",	 "globalTid",
					      "correlationId", "nameId", "returnValue"};
	/* Very old exports have driver calls in a table of their own. */
	static const char *const tables[] = {"CUPTI_ACTIVITY_KIND_RUNTIME",
					     "CUPTI_ACTIVITY_KIND_DRIVER"};
	for (size_t i = 0; i < LEN(tables); i++) {
		sqlite3_stmt *s;
		int rc = nsys_select(n, tables[i], columns, LEN(columns), &s);
		while (!rc && s && (rc = nsys_step(n, s, tables[i])) > 0) {
			add_call(n, s);
			rc = 0;
		}
		if (rc)
			return rc;
	}
	return 0;
}

static int read_overhead(struct nsys *n)
{
	static const char *const columns[] = {"start", "end", "globalTid", "nameId"};
	static const char *const tables[] = {"PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD"};
	static const char domain[] = "profiler overhead";
	for (size_t i = 0; i < LEN(tables); i++) {
		sqlite3_stmt *s;
		int rc = nsys_select(n, tables[i], columns, LEN(columns), &s);
		while (!rc && s && (rc = nsys_step(n, s, tables[i])) > 0) {
			int64_t begin, end;
			rc = 0;
			if (!nsys_times(n, s, RECORD_KIND_mark, &begin, &end))
				continue;
			struct record_mark r = {
				.head = {RECORD_KIND_mark, sizeof(r), 0},
				.begin_ticks = import_sink_ticks(begin),
				.end_ticks = import_sink_ticks(end),
				.name = nsys_string(n, NAME_MARK, nsys_int(s, 3)),
				.domain = import_sink_name(n->sink, NAME_MARK, domain,
							   sizeof(domain) - 1),
				.type = MARK_SPAN,
				.source = MARK_NVTX,
				.peer = MARK_NO_PEER,
			};
			import_sink_add(n->sink, nsys_thread(n, nsys_int(s, 2)), &r);
		}
		if (rc)
			return rc;
	}
	return 0;
}

static int read_thread_names(struct nsys *n)
{
	static const char *const columns[] = {"nameId", "globalTid"};
	sqlite3_stmt *s;
	int rc = nsys_select(n, "ThreadNames", columns, LEN(columns), &s);
	size_t known = import_sink_thread_count(n->sink);
	while (!rc && s && (rc = nsys_step(n, s, "ThreadNames")) > 0) {
		size_t length = 0;
		const char *name = nsys_text(n, nsys_int(s, 0), &length);
		uint32_t thread = nsys_thread(n, nsys_int(s, 1));
		rc = 0;
		if (name && thread <= known)
			import_sink_name_thread(n->sink, thread, name, length);
	}
	return rc;
}

int nsys_read_host(struct nsys *n)
{
	int rc = read_domains(n);
	if (!rc)
		rc = read_ranges(n);
	if (!rc)
		rc = read_usage(n);
	if (!rc)
		rc = read_calls(n);
	if (!rc)
		rc = read_overhead(n);
	if (!rc)
		rc = read_thread_names(n);
	return rc;
}
