/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome's trace event format, for Perfetto and chrome://tracing: host calls per thread, operations
 * per stream of a GPU, arrows from a launch to what it launched.
 *
 * Slices of one track have to nest or they are dropped when the file is read. Operations of a
 * stream that overlap (branches of a graph, clocks that disagree) therefore go to further tracks of
 * it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "demangle.h"
#include "export.h"
#include "json.h"
#include "map.h"
#include "printable.h"
#include "trace_reader.h"
#include "xmalloc.h"

#define FLUSH_EVENTS 1024
/* Tracks of one stream; what overlaps more often shares the last one. */
#define TRACK_LIMIT	       64
#define TRACK_OF(stream, lane) ((uint64_t)(stream)*TRACK_LIMIT + (lane))

struct lanes {
	int64_t end_ns[TRACK_LIMIT];
	uint32_t stream, count;
};

struct writer {
	struct json *json;
	FILE *to;
	const struct model *model;
	int64_t offset_ns;  /* this model's time to that of the earliest one */
	uint64_t process;   /* number of the model's host track */
	uint64_t flow_base; /* arrows have numbers of their own in the whole file */
	size_t events;
};

static void add_time(struct json *json, const char *key, int64_t time_ns)
{
	bool is_negative = time_ns < 0;
	uint64_t size = is_negative ? 0 - (uint64_t)time_ns : (uint64_t)time_ns;
	char number[40];

	snprintf(number, sizeof(number), "%s%" PRIu64 ".%03u", is_negative ? "-" : "", size / 1000,
		 (unsigned)(size % 1000));
	json_literal(json, key, number);
}

static void begin_event(struct writer *writer, const char *phase, const char *name,
			uint64_t process, uint64_t track)
{
	json_object(writer->json, NULL);
	json_text(writer->json, "ph", phase);
	json_text(writer->json, "name", name);
	json_unsigned(writer->json, "pid", process);
	json_unsigned(writer->json, "tid", track);
}

static void end_event(struct writer *writer)
{
	json_end_object(writer->json);
	if (++writer->events % FLUSH_EVENTS == 0)
		json_flush(writer->json, writer->to);
}

/* Names a process or, with its track, a thread. */
static void add_title(struct writer *writer, const char *what, uint64_t process, uint64_t track,
		      const char *title)
{
	begin_event(writer, "M", what, process, track);
	json_object(writer->json, "args");
	json_text(writer->json, "name", title);
	json_end_object(writer->json);
	end_event(writer);
}

static void begin_slice(struct writer *writer, const char *name, uint64_t process, uint64_t track,
			int64_t begin_ns, int64_t end_ns)
{
	begin_event(writer, "X", name, process, track);
	add_time(writer->json, "ts", begin_ns + writer->offset_ns);
	add_time(writer->json, "dur", end_ns > begin_ns ? end_ns - begin_ns : 0);
}

static void add_arrow(struct writer *writer, const char *phase, size_t op, uint64_t process,
		      uint64_t track, int64_t time_ns)
{
	begin_event(writer, phase, "launch", process, track);
	json_text(writer->json, "cat", "launch");
	json_unsigned(writer->json, "id", writer->flow_base + op);
	add_time(writer->json, "ts", time_ns + writer->offset_ns);
	if (!strcmp(phase, "f"))
		json_text(writer->json, "bp", "e");
	end_event(writer);
}

static void add_calls(struct writer *writer)
{
	const struct model *model = writer->model;
	int64_t *end_ns = xmalloc((model->call_count + 1) * sizeof(*end_ns));

	for (size_t t = 0; t < model->thread_count; t++) {
		const struct model_thread *thread = &model->threads[t];
		char *title = text_format("%s (%u)", thread->name ? thread->name : "thread",
					  thread->thread_id);

		add_title(writer, "thread_name", writer->process, t, title);
		free(title);
	}
	for (uint32_t i = 0; i < model->call_count; i++) {
		const struct host_call *call = &model->calls[i];

		/* A call ends no later than the one around it, whatever the clock said. */
		end_ns[i] = call->end_ns;
		if (call->parent != MODEL_NONE && end_ns[call->parent] < end_ns[i])
			end_ns[i] = end_ns[call->parent];
		begin_slice(writer, model_api_name(model, i), writer->process, call->thread,
			    call->begin_ns, end_ns[i]);
		if (call->status) {
			json_object(writer->json, "args");
			json_integer(writer->json, "status", call->status);
			json_end_object(writer->json);
		}
		end_event(writer);
	}
	free(end_ns);
}

static const char *op_name(const struct model *model, const struct gpu_op *op)
{
	if (model_op_has_kernel(op))
		return model->kernels[op->detail].short_name;
	if (op->type == GPU_OP_SET)
		return "memset";
	switch (model->transfers[op->detail].direction) {
	case COPY_H2D:
		return "copy host to device";
	case COPY_D2H:
		return "copy device to host";
	default:
		return "copy";
	}
}

static struct lanes *lanes_of(struct map *known, struct lanes **all, size_t *count,
			      size_t *capacity, uint32_t stream)
{
	bool is_new;
	uint64_t *slot = map_slot(known, stream, &is_new);

	if (is_new) {
		if (*count == *capacity)
			*all = array_grow(*all, capacity, sizeof(**all));
		memset(&(*all)[*count], 0, sizeof(**all));
		(*all)[*count].stream = stream;
		*slot = (*count)++;
	}
	return &(*all)[*slot];
}

/* The first track of the stream that is free at the operation's begin. */
static uint32_t lane_of(struct lanes *lanes, const struct gpu_op *op)
{
	uint32_t lane = 0;

	while (lane < lanes->count && lane + 1 < TRACK_LIMIT && lanes->end_ns[lane] > op->begin_ns)
		lane++;
	if (lane == lanes->count)
		lanes->count++;
	lanes->end_ns[lane] = op->end_ns;
	return lane;
}

static void add_op(struct writer *writer, size_t index, uint64_t process, uint64_t track)
{
	const struct model *model = writer->model;
	const struct gpu_op *op = &model->ops[index];

	begin_slice(writer, op_name(model, op), process, track, op->begin_ns, op->end_ns);
	json_object(writer->json, "args");
	if (model_op_has_kernel(op)) {
		char *name = demangle_name(model->kernels[op->detail].name);

		json_text(writer->json, "kernel", name);
		free(name);
	} else {
		json_unsigned(writer->json, "bytes", model->transfers[op->detail].size_bytes);
	}
	json_end_object(writer->json);
	end_event(writer);
	if (op->call == MODEL_NONE)
		return;
	add_arrow(writer, "s", index, writer->process, model->calls[op->call].thread,
		  model->calls[op->call].begin_ns);
	add_arrow(writer, "f", index, process, track, op->begin_ns);
}

static void add_device(struct writer *writer, size_t index, uint64_t process)
{
	const struct model_device *device = &writer->model->devices[index];
	char *name = export_model_title(writer->model);
	char *title = text_format("GPU %u %s (%s)", device->ordinal, device->name, name);
	struct lanes *all = NULL;
	size_t count = 0, capacity = 0;
	struct map known;

	map_init(&known);
	add_title(writer, "process_name", process, 0, title);
	for (size_t i = 0; i < device->op_count; i++) {
		const struct gpu_op *op = &writer->model->ops[device->first_op + i];
		struct lanes *lanes = lanes_of(&known, &all, &count, &capacity, op->stream);
		uint32_t lane = lane_of(lanes, op);

		add_op(writer, device->first_op + i, process, TRACK_OF(op->stream, lane));
	}
	for (size_t i = 0; i < count; i++) {
		for (uint32_t lane = 0; lane < all[i].count; lane++) {
			char *track = lane ? text_format("stream %u (at the same time: %u)",
							 all[i].stream, lane + 1)
					   : text_format("stream %u", all[i].stream);

			add_title(writer, "thread_name", process, TRACK_OF(all[i].stream, lane),
				  track);
			free(track);
		}
	}
	map_fini(&known);
	free(all);
	free(title);
	free(name);
}

/* When the model's time began on the clock that all processes share; 0 unknown. */
static uint64_t start_of(const struct model *model)
{
	return model->source.trace ? trace_start_realtime_ns(model->source.trace) : 0;
}

static void write_chrome(const struct export_job *job, FILE *to)
{
	struct writer writer = {.json = json_new(NULL, true), .to = to, .process = 1};
	uint64_t earliest_ns = UINT64_MAX;

	for (size_t i = 0; i < job->count; i++) {
		if (start_of(job->models[i]) < earliest_ns)
			earliest_ns = start_of(job->models[i]);
	}
	json_text(writer.json, "displayTimeUnit", "ns");
	json_array(writer.json, "traceEvents");
	for (size_t i = 0; i < job->count; i++) {
		const struct model *model = job->models[i];
		char *title = export_model_title(model);

		writer.model = model;
		/* Where one does not tell its start, all begin at 0. */
		writer.offset_ns = earliest_ns ? (int64_t)(start_of(model) - earliest_ns) : 0;
		add_title(&writer, "process_name", writer.process, 0, title);
		add_calls(&writer);
		for (size_t d = 0; d < model->device_count; d++)
			add_device(&writer, d, writer.process + 1 + d);
		writer.process += 1 + model->device_count;
		writer.flow_base += model->op_count;
		free(title);
	}
	json_end_array(writer.json);
	json_finish(writer.json, to);
}

const struct export export_chrome = {
	.name = "chrome",
	.summary = "a timeline for Perfetto (https://ui.perfetto.dev) and chrome://tracing",
	.write = write_chrome,
};
