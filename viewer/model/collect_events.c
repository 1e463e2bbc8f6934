/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes events as a chunk tells them: what the model makes of a record is found out once per chunk
 * and copied for every event that has it; only times, numbers and threads differ.
 */
#include <errno.h>

#include "array.h"
#include "event_time.h"
#include "model_internal.h"
#include "xmalloc.h"

enum template_use {
	USE_UNKNOWN = 0, /* not yet looked at in this chunk */
	USE_COPY,	 /* an event is a copy of it */
	USE_SINGLE,	 /* and something beside, which takes the whole record */
	USE_BATCH,	 /* neither call nor operation: goes where its kind goes */
	USE_SKIP	 /* of no interest, or of a newer version */
};

struct event_template {
	union {
		struct host_call call;
		struct gpu_op op;
	};
	uint8_t use; /* enum template_use */
	bool has_no_times;
};

static void describe(struct model_builder *builder, const struct trace_events *events,
		     uint32_t record)
{
	struct event_template *to = &builder->templates[record];
	uint16_t kind = trace_events_kind(events, record);
	const void *from = trace_events_record(events, record);

	to->use = USE_SKIP;
	to->has_no_times = false;
	if (kind >= RECORD_KIND_LIMIT) {
		return;
	} else if (CALL_KINDS >> kind & 1) {
		to->call = collect_describe(builder, kind, from);
		to->use = collect_is_single(builder->model, &to->call) ? USE_SINGLE : USE_COPY;
		to->has_no_times = ((const struct call_part *)from)->flags & CALL_NO_TIMES;
	} else if (OP_KINDS >> kind & 1) {
		to->op = collect_describe_op(builder, kind, from);
		to->use = ((const struct gpu_part *)from)->graph_node ? USE_SINGLE : USE_COPY;
	} else if (MODEL_KINDS >> kind & 1) {
		to->use = USE_BATCH;
	}
}

static struct event_template *template_of(struct model_builder *builder,
					  const struct trace_events *events, uint32_t record)
{
	struct event_template *found = &builder->templates[record];

	if (found->use == USE_UNKNOWN)
		describe(builder, events, record);
	return found;
}

static void start_templates(struct model_builder *builder, uint32_t record_count)
{
	while (builder->template_capacity < record_count)
		builder->templates = array_grow(builder->templates, &builder->template_capacity,
						sizeof(*builder->templates));
	for (uint32_t i = 0; i < record_count; i++)
		builder->templates[i].use = USE_UNKNOWN;
}

/* A whole record, as aligned as one. */
union whole_record {
	uint8_t bytes[EVENT_RECORD_BYTES];
	uint64_t alignment;
};

static int collect_one(struct model_builder *builder, const struct trace_events *events,
		       const struct trace_event *row, uint32_t thread)
{
	union whole_record whole;
	struct trace_batch batch = {.kind = trace_events_kind(events, row->record),
				    .row_bytes = sizeof(whole),
				    .count = 1,
				    .rows = &whole,
				    .thread = &thread};

	trace_events_fill(events, row, &whole);
	return collect_batch(builder, &batch);
}

/* ---- calls ---- */

static void put_call(struct host_call *call, const struct event_template *from,
		     struct event_clock *clock, const struct trace_event *row, uint16_t thread)
{
	*call = from->call;
	call->begin_ns = event_clock_ns(clock, row->begin);
	call->end_ns = from->has_no_times
			       ? call->begin_ns
			       : event_time_end(call->begin_ns, event_clock_ns(clock, row->end));
	call->parent = row->parent_id; /* becomes an index in model_link() */
	call->correlation = row->correlation;
	call->call_id = row->call_id;
	call->thread = thread;
}

/* Calls of one thread that stand one after the other. */
static int collect_run(struct model_builder *builder, const struct trace_events *events,
		       const struct trace_event *rows, const struct trace_event_run *run,
		       struct event_clock *clock)
{
	uint16_t thread = collect_thread(builder, run->thread);
	struct host_call *calls = call_places_take(builder, thread, run->rows);
	struct host_call *call = calls;
	int rc = 0;

	if (!calls)
		return -EAGAIN;
	for (uint32_t i = 0; rc == 0 && i < run->rows; i++) {
		const struct event_template *from = template_of(builder, events, rows[i].record);

		if (from->use == USE_COPY || from->use == USE_SINGLE) {
			put_call(call, from, clock, &rows[i], thread);
			if (from->use == USE_SINGLE) {
				union whole_record whole;

				trace_events_fill(events, &rows[i], &whole);
				collect_single(builder, &whole, call);
			}
			call++;
		} else if (from->use == USE_BATCH) {
			rc = collect_one(builder, events, &rows[i], run->thread);
		}
	}
	call_places_give_back(builder, thread, run->rows - (uint32_t)(call - calls));
	return rc;
}

static int collect_calls(struct model_builder *builder, const struct trace_events *events)
{
	struct event_clock clock = event_clock_host(builder->model);
	const struct trace_event *rows = events->rows;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < events->run_count; i++) {
		if (events->runs[i].rows > 0)
			rc = collect_run(builder, events, rows, &events->runs[i], &clock);
		rows += events->runs[i].rows;
	}
	return rc;
}

/* ---- operations ---- */

static int collect_op(struct model_builder *builder, const struct trace_events *events,
		      const struct trace_event *row, uint32_t thread, struct event_clock *clock)
{
	const struct event_template *from = template_of(builder, events, row->record);
	struct gpu_op *op;

	if (from->use == USE_BATCH)
		return collect_one(builder, events, row, thread);
	if (from->use == USE_SKIP)
		return 0;
	op = op_place(builder);
	*op = from->op;
	op->begin_ns = event_clock_ns(clock, row->begin);
	op->end_ns = event_time_end(op->begin_ns, event_clock_ns(clock, row->end));
	op->call = row->correlation; /* becomes an index in model_link() */
	if (from->use == USE_SINGLE)
		collect_graph_node(builder, (const void *)trace_events_record(events, row->record),
				   op);
	return 0;
}

static int collect_ops(struct model_builder *builder, const struct trace_events *events)
{
	struct event_clock clock = event_clock_gpu(builder->model);
	const struct trace_event *row = events->rows;
	int rc = 0;

	for (uint32_t i = 0; i < events->run_count; i++) {
		for (uint32_t left = events->runs[i].rows; rc == 0 && left > 0; left--, row++)
			rc = collect_op(builder, events, row, events->runs[i].thread, &clock);
	}
	return rc;
}

int collect_events(void *context, const struct trace_events *events)
{
	struct model_builder *builder = context;

	if (builder->model->call_count + events->row_count >= MODEL_NONE ||
	    builder->model->op_count + events->row_count >= MODEL_NONE)
		return -E2BIG;
	start_templates(builder, events->record_count);
	return events->is_gpu ? collect_ops(builder, events) : collect_calls(builder, events);
}
