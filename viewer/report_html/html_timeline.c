/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes of the timeline: each GPU stream of the step, then each thread's outermost calls. At most
 * EVENT_LIMIT events go in, the longest ones, so that a page stays a page.
 */
#include "html_timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "json.h"
#include "map.h"

enum { EVENT_LIMIT = 6000, LANE_LIMIT = 24 };

struct timeline_event {
	int64_t begin_ns, end_ns;
	uint32_t lane, colour, name;
};

struct timeline {
	const struct model *model;
	struct step_window window;
	struct timeline_event *events;
	size_t count, capacity;
	char *lanes[LANE_LIMIT];
	size_t lane_count;
	struct map lane_index, name_index;
	const char **names;
	size_t name_count, name_capacity;
};

const char *html_part_colour(enum ledger_part part)
{
	static const char *const colours[LEDGER_PART_COUNT] = {
		[LEDGER_GEMM] = "#2e6fb7",	    [LEDGER_CONV] = "#3b8ec2",
		[LEDGER_ATTENTION] = "#5aa7a7",	    [LEDGER_MEMORY_BOUND] = "#5b9e5b",
		[LEDGER_OPTIMIZER] = "#8a9a3c",	    [LEDGER_OTHER] = "#7d8aa5",
		[LEDGER_COMM] = "#8e5bb5",	    [LEDGER_COPY] = "#d0722b",
		[LEDGER_IDLE_GPU_WAIT] = "#b9bec9", [LEDGER_IDLE_SYNC] = "#c0392b",
		[LEDGER_IDLE_ISSUE] = "#d98880",    [LEDGER_IDLE_HOST_AWAY] = "#a04000",
		[LEDGER_UNKNOWN] = "#909090",	    [LEDGER_GRAPH] = "#4f7f93",
	};

	return colours[part];
}

static uint32_t lane_of(struct timeline *timeline, uint64_t key, const char *kind, uint32_t number)
{
	bool is_new;
	uint64_t *slot = map_slot(&timeline->lane_index, key, &is_new);

	if (is_new) {
		if (timeline->lane_count == LANE_LIMIT) {
			*slot = LANE_LIMIT - 1;
			return LANE_LIMIT - 1;
		}
		*slot = timeline->lane_count;
		timeline->lanes[timeline->lane_count++] = text_format("%s %u", kind, number);
	}
	return (uint32_t)*slot;
}

static uint32_t name_of(struct timeline *timeline, const char *name)
{
	bool is_new;
	uint64_t *slot =
		map_slot(&timeline->name_index, map_hash_bytes(name, strlen(name)), &is_new);

	if (is_new) {
		if (timeline->name_count == timeline->name_capacity)
			timeline->names = array_grow(timeline->names, &timeline->name_capacity,
						     sizeof(*timeline->names));
		*slot = timeline->name_count;
		timeline->names[timeline->name_count++] = name;
	}
	return (uint32_t)*slot;
}

static void add_event(struct timeline *timeline, int64_t begin_ns, int64_t end_ns, uint32_t lane,
		      enum ledger_part part, const char *name)
{
	if (begin_ns < timeline->window.begin_ns)
		begin_ns = timeline->window.begin_ns;
	if (end_ns > timeline->window.end_ns)
		end_ns = timeline->window.end_ns;
	if (end_ns < begin_ns)
		return;
	if (timeline->count == timeline->capacity)
		timeline->events = array_grow(timeline->events, &timeline->capacity,
					      sizeof(*timeline->events));
	timeline->events[timeline->count++] = (struct timeline_event){
		begin_ns, end_ns, lane, (uint32_t)part, name_of(timeline, name)};
}

static const char *op_name(const struct model *model, const struct gpu_op *op)
{
	static const char *const directions[] = {"copy",     "copy H2D", "copy D2H",
						 "copy D2D", "copy H2H", "copy peer"};
	const struct transfer *transfer;

	if (model_op_has_kernel(op))
		return model->kernels[op->detail].short_name;
	transfer = &model->transfers[op->detail];
	return transfer->direction <= COPY_PEER ? directions[transfer->direction] : "memset";
}

static enum ledger_part op_part(const struct model *model, const struct gpu_op *op)
{
	uint8_t direction;

	if (model_op_has_kernel(op))
		return op->kernel_class == KERNEL_COMMUNICATION
			       ? LEDGER_COMM
			       : (enum ledger_part)op->kernel_class;
	direction = model->transfers[op->detail].direction;
	if (direction == COPY_PEER)
		return LEDGER_COMM;
	return direction == COPY_H2D || direction == COPY_D2H ? LEDGER_COPY : LEDGER_MEMORY_BOUND;
}

static void add_ops(struct timeline *timeline, size_t device)
{
	size_t first, limit;

	model_ops_between(timeline->model, device, timeline->window.begin_ns,
			  timeline->window.end_ns, &first, &limit);
	for (size_t i = first; i < limit; i++) {
		const struct gpu_op *op = &timeline->model->ops[i];

		add_event(timeline, op->begin_ns, op->end_ns,
			  lane_of(timeline, op->stream, "stream", op->stream),
			  op_part(timeline->model, op), op_name(timeline->model, op));
	}
}

static void add_calls(struct timeline *timeline)
{
	const struct model *model = timeline->model;

	for (size_t i = 0; i < model->call_count; i++) {
		const struct host_call *call = &model->calls[i];
		const struct model_thread *thread = &model->threads[call->thread];
		enum ledger_part part = call->flags & CALL_BLOCKS ? LEDGER_IDLE_SYNC : LEDGER_OTHER;

		if (call->parent != MODEL_NONE || call->end_ns < timeline->window.begin_ns ||
		    call->begin_ns > timeline->window.end_ns)
			continue;
		add_event(timeline, call->begin_ns, call->end_ns,
			  lane_of(timeline, 1ull << 32 | call->thread, "thread",
				  thread->thread_id ? thread->thread_id : thread->number),
			  part, model->apis[call->api]);
	}
}

static int compare_length(const void *left, const void *right)
{
	const struct timeline_event *a = left, *b = right;
	int64_t a_ns = a->end_ns - a->begin_ns, b_ns = b->end_ns - b->begin_ns;

	if (a_ns != b_ns)
		return a_ns < b_ns ? 1 : -1;
	return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static void write_json(const struct timeline *timeline, struct text *text)
{
	struct json *json = json_new("gputrace.timeline/1", true);
	size_t count = timeline->count < EVENT_LIMIT ? timeline->count : EVENT_LIMIT;
	char *document;

	json_number(json, "length_us",
		    (double)(timeline->window.end_ns - timeline->window.begin_ns) / 1e3);
	json_array(json, "lanes");
	for (size_t i = 0; i < timeline->lane_count; i++)
		json_text(json, NULL, timeline->lanes[i]);
	json_end_array(json);
	json_array(json, "colours");
	for (int part = 0; part < LEDGER_PART_COUNT; part++)
		json_text(json, NULL, html_part_colour((enum ledger_part)part));
	json_end_array(json);
	json_array(json, "names");
	for (size_t i = 0; i < timeline->name_count; i++)
		json_text(json, NULL, timeline->names[i]);
	json_end_array(json);
	json_array(json, "events");
	for (size_t i = 0; i < count; i++) {
		const struct timeline_event *event = &timeline->events[i];

		json_array(json, NULL);
		json_unsigned(json, NULL, event->lane);
		json_number(json, NULL,
			    (double)(event->begin_ns - timeline->window.begin_ns) / 1e3);
		json_number(json, NULL, (double)(event->end_ns - event->begin_ns) / 1e3);
		json_unsigned(json, NULL, event->colour);
		json_unsigned(json, NULL, event->name);
		json_end_array(json);
	}
	json_end_array(json);
	document = json_take(json);
	/* "</script" and "<!--" would end or change the element that holds this. */
	for (const char *at = document; *at; at++) {
		if (*at == '<')
			text_add(text, "\\u003c");
		else
			text_add_bytes(text, at, 1);
	}
	free(document);
}

/* The steady step whose length is nearest to the median. */
static bool find_step(const struct device_report *report, struct step_window *window)
{
	const struct model *model = report->model;
	const struct device_ledger *ledger = &model->devices[report->device].ledger;
	double nearest = INFINITY;

	for (size_t i = 0; ledger->windows && i < model->steps.count; i++) {
		double ms = (double)(ledger->windows[i].end_ns - ledger->windows[i].begin_ns) / 1e6;

		if (model->steps.items[i].kind != STEP_STEADY || ms <= 0 ||
		    fabs(ms - report->steps_ms.median) >= nearest)
			continue;
		nearest = fabs(ms - report->steps_ms.median);
		*window = ledger->windows[i];
	}
	return isfinite(nearest);
}

bool html_timeline_add(struct text *text, const struct device_report *report)
{
	struct timeline timeline = {.model = report->model};

	if (!report->has_ledger || !find_step(report, &timeline.window))
		return false;
	map_init(&timeline.lane_index);
	map_init(&timeline.name_index);
	add_ops(&timeline, report->device);
	add_calls(&timeline);
	if (timeline.count)
		qsort(timeline.events, timeline.count, sizeof(*timeline.events), compare_length);
	write_json(&timeline, text);
	for (size_t i = 0; i < timeline.lane_count; i++)
		free(timeline.lanes[i]);
	free(timeline.events);
	free(timeline.names);
	map_fini(&timeline.lane_index);
	map_fini(&timeline.name_index);
	return true;
}
