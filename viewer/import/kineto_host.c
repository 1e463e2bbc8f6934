/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host did in a PyTorch recording: CUDA calls, operators (for sites and shapes of matrix
 * products), Python functions, annotations, allocator events.
 */
#include "kineto_import.h"

#include <string.h>

#include "import_gemm.h"

static struct api_class api_of(struct kineto *k, const struct json_slice *name, uint16_t *number)
{
	uint64_t id = import_sink_name(k->sink, NAME_API, name->at, name->length);
	bool is_new;
	uint64_t *slot = map_slot(&k->api_map, id, &is_new);
	struct api_class class;
	_Static_assert(sizeof(class) <= sizeof(*slot), "the class fits into a map value");
	/* The record has 16 bits; a recording with more function names than that is not one. */
	*number = id <= UINT16_MAX ? (uint16_t)id : UINT16_MAX;
	if (is_new) {
		class = import_api_classify(name->at, name->length);
		memcpy(slot, &class, sizeof(class));
		k->has_amd |= class.is_amd;
	}
	memcpy(&class, slot, sizeof(class));
	return class;
}

static uint16_t kind_of(enum api_family family)
{
	switch (family) {
	case API_LAUNCH:
	case API_GRAPH_LAUNCH:
	case API_HOST_FUNCTION:
		return RECORD_KIND_launch;
	case API_COPY:
		return RECORD_KIND_copy;
	case API_SET:
		return RECORD_KIND_set;
	case API_SYNC:
		return RECORD_KIND_sync;
	case API_ALLOC:
	case API_FREE:
		return RECORD_KIND_memory;
	default:
		return RECORD_KIND_call;
	}
}

static void add_launch(struct kineto *k, uint32_t thread, const struct call_part *call,
		       enum api_family family)
{
	struct record_launch r = {.call = *call};
	r.call.head.size_bytes = sizeof(r);
	if (family == API_LAUNCH)
		k->launches++;
	else
		r.launch_flags = family == API_GRAPH_LAUNCH ? 2 : 4;
	if (call->parent_id)
		import_join_launch(k->join, thread, call->parent_id, call->correlation);
	import_sink_add(k->sink, thread, &r);
}

static void add_plain(struct kineto *k, uint32_t thread, const struct call_part *call,
		      const struct api_class *class)
{
	if (call->head.kind == RECORD_KIND_sync) {
		struct record_sync r = {.call = *call, .scope = class->scope};
		r.call.head.size_bytes = sizeof(r);
		import_sink_add(k->sink, thread, &r);
	} else if (call->head.kind == RECORD_KIND_memory) {
		struct record_memory r = {.call = *call, .memory_kind = class->memory_kind};
		r.call.head.size_bytes = sizeof(r);
		r.op = class->family == API_ALLOC ? MEMORY_ALLOC : MEMORY_FREE;
		import_sink_add(k->sink, thread, &r);
	} else {
		struct record_call r = {.call = *call};
		r.call.head.size_bytes = sizeof(r);
		import_sink_add(k->sink, thread, &r);
	}
}

static void add_call(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	uint16_t api;
	struct json_slice name = kineto_text(k, &e->name);
	struct api_class class = api_of(k, &name, &api);
	uint16_t kind = kind_of(class.family);
	int64_t begin, end;
	if (!kineto_times(k, kind, &begin, &end))
		return;
	uint32_t thread = kineto_thread(k);
	struct call_part call = {
		.head = {kind, 0, 0},
		.begin_ticks = import_sink_ticks(begin),
		.end_ticks = import_sink_ticks(end),
		.call_id = import_sink_next_call(k->sink, thread),
		.correlation = (uint32_t)e->correlation,
		.api = api,
		.flags = class.is_async ? CALL_ASYNC : 0,
		.device = DEVICE_UNKNOWN,
	};
	/* Also for calls that nobody asks about: the model nests calls by their parents. */
	struct import_caller caller = import_sites_find(k->sites, thread, begin, 0);
	call.site = caller.site;
	call.parent_id = caller.call_id;
	if (kind == RECORD_KIND_launch) {
		add_launch(k, thread, &call, class.family);
	} else if (kind == RECORD_KIND_copy) {
		struct record_copy r = {
			.call = call, .direction = class.direction, .peer_device = DEVICE_UNKNOWN};
		r.call.head.size_bytes = sizeof(r);
		import_join_call(k->join, thread, &r);
	} else if (kind == RECORD_KIND_set) {
		struct record_set r = {.call = call};
		r.call.head.size_bytes = sizeof(r);
		import_join_call(k->join, thread, &r);
	} else {
		add_plain(k, thread, &call, &class);
	}
}

static void add_mark(struct kineto *k, const char *domain)
{
	int64_t begin, end;
	if (!kineto_times(k, RECORD_KIND_mark, &begin, &end))
		return;
	struct json_slice name = kineto_text(k, &k->event.name);
	struct record_mark r = {
		.head = {RECORD_KIND_mark, sizeof(r), 0},
		.begin_ticks = import_sink_ticks(begin),
		.end_ticks = import_sink_ticks(end),
		.name = import_sink_name(k->sink, NAME_MARK, name.at, name.length),
		.domain = domain ? import_sink_name(k->sink, NAME_MARK, domain, strlen(domain)) : 0,
		.type = MARK_RANGE,
		.source = MARK_TORCH,
		.peer = MARK_NO_PEER,
	};
	uint32_t thread = kineto_thread(k);
	kineto_collective_of(k, thread, begin, &r);
	import_sink_add(k->sink, thread, &r);
}

static bool starts(const struct json_slice *name, const char *word)
{
	size_t length = strlen(word);
	return name->length >= length && !memcmp(name->at, word, length);
}

/* Before 1.13 annotations were operators. */
static bool is_annotation(const struct json_slice *name)
{
	return starts(name, "ProfilerStep#") || starts(name, "enumerate(DataLoader)") ||
	       starts(name, "Optimizer.step#") || starts(name, "Optimizer.zero_grad#");
}

static uint32_t add_gemm(struct kineto *k, uint32_t thread, int64_t begin, int64_t end)
{
	const struct kineto_event *e = &k->event;
	struct record_gemm r = {0};
	if (!import_gemm_shape(&e->name, &e->dims, &e->types, &e->strides, &r))
		return 0;
	r.call = (struct call_part){
		.head = {RECORD_KIND_gemm, sizeof(r), 0},
		.begin_ticks = import_sink_ticks(begin),
		.end_ticks = import_sink_ticks(end),
		.call_id = import_sink_next_call(k->sink, thread),
		.device = DEVICE_UNKNOWN,
	};
	uint16_t api;
	api_of(k, &e->name, &api);
	r.call.api = api;
	import_join_gemm(k->join, thread, &r);
	k->gemms++;
	return r.call.call_id;
}

static void add_operator(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	int64_t begin, end;
	k->operators++;
	if (is_annotation(&e->name)) {
		add_mark(k, NULL);
		return;
	}
	if (!kineto_times(k, 0, &begin, &end))
		return;
	uint32_t thread = kineto_thread(k);
	if (json_is(&e->name, "record_param_comms"))
		kineto_note_collective(k, thread, end);
	uint32_t call_id = add_gemm(k, thread, begin, end);
	struct json_slice name = kineto_text(k, &e->name);
	struct site_frame frame = {
		.type = FRAME_OPERATOR,
		.value = import_sink_name(k->sink, NAME_CLASS, name.at, name.length)};
	import_sites_add(k->sites, thread, begin, end, &frame, call_id);
	if ((e->has & HAS_SEQUENCE) && e->sequence >= 0)
		import_sites_tie(k->sites, thread, e->sequence, e->forward_thread != 0);
}

/* "train.py(12): forward" is a Python frame; "<built-in method ...>" and modules are not. */
static bool split_python(struct kineto *k, const struct json_slice *name, struct site_frame *frame)
{
	const char *end = name->at + name->length;
	const char *close = name->at;
	while ((close = memchr(close, ')', (size_t)(end - close))) &&
	       (end - close < 3 || close[1] != ':'))
		close++;
	if (!close || close[2] != ' ')
		return false;
	const char *digit = close;
	uint32_t line = 0, scale = 1;
	while (digit > name->at && digit[-1] >= '0' && digit[-1] <= '9' && scale <= 100000000) {
		line += (uint32_t)(*--digit - '0') * scale;
		scale *= 10;
	}
	if (digit == close || digit == name->at || digit[-1] != '(')
		return false;
	size_t path_length = (size_t)(digit - 1 - name->at),
	       function_length = (size_t)(end - close) - 3;
	struct text text;
	text_init(&text);
	text_add_bytes(&text, close + 3, function_length);
	text_add_bytes(&text, "\x1f", 1);
	text_add_bytes(&text, name->at, path_length);
	*frame = (struct site_frame){
		.type = FRAME_PYTHON,
		.line = line,
		.value = import_sink_name(k->sink, NAME_PYTHON, text.data, text.length)};
	text_fini(&text);
	return true;
}

static void add_python(struct kineto *k)
{
	int64_t begin, end;
	if (!kineto_times(k, 0, &begin, &end))
		return;
	struct json_slice name = kineto_text(k, &k->event.name);
	struct site_frame frame;
	if (!split_python(k, &name, &frame))
		frame = (struct site_frame){
			.type = FRAME_OPERATOR,
			.value = import_sink_name(k->sink, NAME_CLASS, name.at, name.length)};
	import_sites_add(k->sites, kineto_thread(k), begin, end, &frame, 0);
}

static void add_memory(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	if (!(e->has & HAS_TIME) || !(e->has & HAS_BYTES)) {
		import_sink_lose(k->sink, RECORD_KIND_block, LOSS_IMPORT, 1);
		return;
	}
	if (e->device_type != 1) /* c10::DeviceType: 0 is the host */
		return;
	uint32_t thread = kineto_thread(k);
	struct record_block r = {
		.head = {RECORD_KIND_block, sizeof(r), 0},
		.ticks = import_sink_ticks(e->begin_ns),
		.site = import_sites_find(k->sites, thread, e->begin_ns, 0).site,
		.address = (uint64_t)e->address,
		.size_bytes =
			(uint64_t)(e->bytes < 0 ? 0 - (uint64_t)e->bytes : (uint64_t)e->bytes),
		.allocated_bytes = e->total_allocated > 0 ? (uint64_t)e->total_allocated : 0,
		.reserved_bytes = e->total_reserved > 0 ? (uint64_t)e->total_reserved : 0,
		.device = e->device_id >= 0 && e->device_id < 4096 ? (uint32_t)e->device_id
								   : DEVICE_UNKNOWN,
		.op = e->bytes < 0 ? BLOCK_FREE : BLOCK_ALLOC,
	};
	import_sink_add(k->sink, thread, &r);
}

void kineto_host_event(struct kineto *k)
{
	switch (k->event.category) {
	case KINETO_RUNTIME:
		add_call(k);
		break;
	case KINETO_OPERATOR:
		add_operator(k);
		break;
	case KINETO_PYTHON:
		add_python(k);
		break;
	case KINETO_ANNOTATION:
		add_mark(k, NULL);
		break;
	case KINETO_OVERHEAD:
		add_mark(k, "profiler overhead");
		break;
	default:
		add_memory(k);
		break;
	}
}
