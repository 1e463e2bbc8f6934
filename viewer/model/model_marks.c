/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the ranges that name steps or phases into the model. What a text means is asked once per
 * text.
 */
#include <string.h>

#include "array.h"
#include "big_array.h"
#include "event_time.h"
#include "model_internal.h"
#include "step_mark_name.h"

#define MEANS_STEP  1u
#define MEANS_TORCH 2u /* a step of torch.profiler */
#define PHASE_SHIFT 2

static uint64_t meaning_of(struct model_builder *builder, uint64_t number)
{
	const struct model_source *source = &builder->model->source;
	const char *name;
	uint64_t *meaning;
	bool is_new;

	meaning = map_slot(&builder->mark_names, number, &is_new);
	if (!is_new)
		return *meaning;
	*meaning = 0;
	name = source->name(source->context, NAME_MARK, number);
	if (!name)
		return 0;
	if (step_mark_name_matches(name))
		*meaning = MEANS_STEP | (strncmp(name, "ProfilerStep#", 13) == 0 ? MEANS_TORCH : 0);
	else
		*meaning = (uint64_t)phase_of_text(name) << PHASE_SHIFT;
	return *meaning;
}

static void add_step(struct model_builder *builder, const struct record_mark *mark,
		     uint64_t meaning, int64_t begin_ns, int64_t end_ns)
{
	struct model *model = builder->model;

	if (model->step_mark_count == builder->mark_capacity)
		model->step_marks = array_grow(model->step_marks, &builder->mark_capacity,
					       sizeof(*model->step_marks));
	model->step_marks[model->step_mark_count++] = (struct step_mark){
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.kind = mark->source == MARK_API  ? STEP_MARK_API
			: (meaning & MEANS_TORCH) ? STEP_MARK_TORCH
						  : STEP_MARK_RANGE,
	};
}

static void add_phase(struct model_builder *builder, uint64_t meaning, int64_t begin_ns,
		      int64_t end_ns)
{
	struct model *model = builder->model;

	if (end_ns <= begin_ns)
		return;
	if (model->phase_mark_count == builder->phase_mark_capacity)
		model->phase_marks =
			big_array_grow(model->phase_marks, &builder->phase_mark_capacity,
				       sizeof(*model->phase_marks));
	model->phase_marks[model->phase_mark_count++] = (struct phase_mark){
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.phase = (uint8_t)(meaning >> PHASE_SHIFT),
	};
}

void collect_marks(struct model_builder *builder, const struct trace_batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct record_mark *mark =
			(const void *)((const char *)batch->rows + (size_t)i * batch->row_bytes);
		int64_t begin_ns, end_ns;
		uint64_t meaning;

		if (mark->type == MARK_INSTANT || !mark->end_ticks)
			continue;
		if (mark->source == MARK_OWN) {
			collect_blind_span(builder, mark);
			continue;
		}
		if (mark->type == MARK_RANGE)
			forward_collect(builder, batch->thread[i], mark);
		meaning = meaning_of(builder, mark->name);
		if (!meaning)
			continue;
		begin_ns = event_time_host(builder->model, mark->begin_ticks);
		end_ns = event_time_host(builder->model, mark->end_ticks);
		if (meaning & MEANS_STEP)
			add_step(builder, mark, meaning, begin_ns, end_ns);
		else
			add_phase(builder, meaning, begin_ns, end_ns);
	}
}
