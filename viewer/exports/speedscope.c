/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope's file format (https://www.speedscope.app/file-format-schema.json): one table of
 * frames, and one sampled profile per GPU, or per thread where time of the host is meant. The table
 * stands behind the profiles, because only they say which frames there are.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "json.h"
#include "printable.h"
#include "stack_frames.h"
#include "symbols.h"
#include "xmalloc.h"

/* One profile: the costs of one group that weigh something. */
struct profile {
	const struct export_job *job;
	const struct model *model;
	const struct stack_costs *costs;
	struct stack_frames *frames;
	uint32_t group;
};

/* A device's costs go to the device, a host's to the thread. */
static uint32_t group_of(const struct model *model, const struct stack_cost *cost)
{
	if (cost->device == MODEL_NO_DEVICE)
		return (uint32_t)model->device_count + cost->thread;
	return cost->device;
}

static bool is_member(const struct profile *profile, const struct stack_cost *cost)
{
	return group_of(profile->model, cost) == profile->group &&
	       export_weight_of(cost, profile->job->weight);
}

static char *profile_title(const struct profile *profile)
{
	const struct model *model = profile->model;
	char *title = export_model_title(model);
	struct text text;

	text_init(&text);
	if (profile->group < model->device_count) {
		const struct model_device *device = &model->devices[profile->group];

		text_addf(&text, "GPU %u ", device->ordinal);
		text_add_printable(&text, device->name);
	} else {
		const struct model_thread *thread =
			&model->threads[profile->group - model->device_count];

		text_addf(&text, "thread %u ", thread->thread_id);
		text_add_printable(&text, thread->name);
	}
	text_addf(&text, ": %s (%s)", export_weight_label(profile->job->weight), title);
	free(title);
	return text_take(&text);
}

static void add_profile(struct json *json, const struct profile *profile)
{
	char *title = profile_title(profile);
	uint64_t total = 0;

	json_object(json, NULL);
	json_text(json, "type", "sampled");
	json_text(json, "name", title);
	json_text(json, "unit", export_weight_unit(profile->job->weight));
	json_array(json, "samples");
	for (size_t i = 0; i < profile->costs->count; i++) {
		const uint32_t *stack;
		size_t depth;

		if (!is_member(profile, &profile->costs->items[i]))
			continue;
		stack = stack_frames_of(profile->frames, &profile->costs->items[i], &depth);
		json_array(json, NULL);
		for (size_t f = 0; f < depth; f++)
			json_unsigned(json, NULL, stack[f]);
		json_end_array(json);
	}
	json_end_array(json);
	json_array(json, "weights");
	for (size_t i = 0; i < profile->costs->count; i++) {
		const struct stack_cost *cost = &profile->costs->items[i];

		if (!is_member(profile, cost))
			continue;
		json_unsigned(json, NULL, export_weight_of(cost, profile->job->weight));
		total += export_weight_of(cost, profile->job->weight);
	}
	json_end_array(json);
	json_unsigned(json, "startValue", 0);
	json_unsigned(json, "endValue", total);
	json_end_object(json);
	free(title);
}

static void add_model(struct json *json, const struct export_job *job, const struct model *model,
		      struct stack_frames *frames, FILE *to)
{
	size_t groups = model->device_count + model->thread_count;
	struct symbols *symbols = symbols_new(model->source.trace);
	bool *is_used = xcalloc(groups + 1, sizeof(*is_used));
	struct stack_costs costs;

	stack_costs_build(model, STACK_WHOLE_RUN, &costs);
	stack_frames_use(frames, model, symbols);
	for (size_t i = 0; i < costs.count; i++) {
		if (export_weight_of(&costs.items[i], job->weight))
			is_used[group_of(model, &costs.items[i])] = true;
	}
	for (uint32_t group = 0; group < groups; group++) {
		struct profile profile = {job, model, &costs, frames, group};

		if (!is_used[group])
			continue;
		add_profile(json, &profile);
		json_flush(json, to);
	}
	stack_costs_free(&costs);
	symbols_free(symbols);
	free(is_used);
}

static void add_frames(struct json *json, const struct stack_frames *frames)
{
	json_object(json, "shared");
	json_array(json, "frames");
	for (uint32_t i = 0; i < stack_frames_count(frames); i++) {
		const struct stack_frame *frame = stack_frames_get(frames, i);

		json_object(json, NULL);
		json_text(json, "name", frame->name);
		if (frame->file)
			json_text(json, "file", frame->file);
		if (frame->line)
			json_unsigned(json, "line", frame->line);
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}

static void write_speedscope(const struct export_job *job, FILE *to)
{
	struct json *json = json_new(NULL, true);
	struct stack_frames *frames = stack_frames_new();

	json_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_text(json, "exporter", "gputrace");
	json_text(json, "name", export_weight_label(job->weight));
	json_unsigned(json, "activeProfileIndex", 0);
	json_array(json, "profiles");
	for (size_t i = 0; i < job->count; i++)
		add_model(json, job, job->models[i], frames, to);
	json_end_array(json);
	add_frames(json, frames);
	json_finish(json, to);
	stack_frames_free(frames);
}

const struct export export_speedscope = {
	.name = "speedscope",
	.summary = "a file for https://www.speedscope.app",
	.has_weights = true,
	.write = write_speedscope,
};
