/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which line of the forward pass a call of the backward pass is the gradient of. PyTorch's NVTX
 * ranges (torch.autograd.profiler.emit_nvtx) carry autograd's number in their text, "aten::addmm,
 * seq = 42" forward and "AddmmBackward0, seq = 42" backward, on whatever threads. A call within the
 * latter gets the frames of the first call within the former behind a FRAME_FORWARD, as recordings
 * of PyTorch's own profiler get them when they are imported.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "event_time.h"
#include "model_internal.h"
#include "xmalloc.h"

#define SITES_MAX  65536u /* frames of two passes; what is more stays as it is */
#define FRAMES_MAX 512u	  /* of either */

struct autograd_range {
	int64_t begin_ns, end_ns;
	uint64_t sequence;
	uint32_t thread; /* its number in the file, then its index in threads */
	bool is_backward;
};

/* The values of sequence_names: the number above, whether it is backward below. */
#define NAME_NONE     0u
#define NAME_BACKWARD 1u
#define NAME_FORWARD  2u

static uint64_t meaning_of(const char *text)
{
	static const char word[] = ", seq = ";
	const char *at = text ? strstr(text, word) : NULL;
	uint64_t sequence = 0;
	int digits = 0;

	if (!at)
		return NAME_NONE;
	for (const char *c = at + sizeof(word) - 1; *c >= '0' && *c <= '9' && digits < 18; c++) {
		sequence = sequence * 10 + (uint64_t)(*c - '0');
		digits++;
	}
	if (!digits)
		return NAME_NONE;
	/* "AddmmBackward0", "torch::autograd::CopyBackwards", "MyFunctionBackward". */
	const char *backward = strstr(text, "Backward");
	return sequence << 2 | (backward && backward < at ? NAME_BACKWARD : NAME_FORWARD);
}

void forward_collect(struct model_builder *builder, uint32_t thread, const struct record_mark *mark)
{
	const struct model_source *source = &builder->model->source;
	bool is_new;
	uint64_t *meaning = map_slot(&builder->sequence_names, mark->name, &is_new);

	if (is_new)
		*meaning = meaning_of(source->name(source->context, NAME_MARK, mark->name));
	if (*meaning == NAME_NONE)
		return;
	if (builder->autograd_range_count == builder->autograd_range_capacity)
		builder->autograd_ranges =
			array_grow(builder->autograd_ranges, &builder->autograd_range_capacity,
				   sizeof(*builder->autograd_ranges));
	builder->autograd_ranges[builder->autograd_range_count++] = (struct autograd_range){
		.begin_ns = event_time_host(builder->model, mark->begin_ticks),
		.end_ns = event_time_host(builder->model, mark->end_ticks),
		.sequence = *meaning >> 2,
		.thread = thread,
		.is_backward = (*meaning & 3) == NAME_BACKWARD,
	};
}

/* Numbers by thread indexes; ranges of threads without calls go. */
static void find_threads(struct model_builder *builder)
{
	size_t kept = 0;

	for (size_t i = 0; i < builder->autograd_range_count; i++) {
		struct autograd_range range = builder->autograd_ranges[i];
		const uint64_t *index = map_find(&builder->threads, range.thread);

		if (!index || !builder->model->threads[*index].call_count)
			continue;
		range.thread = (uint32_t)*index;
		builder->autograd_ranges[kept++] = range;
	}
	builder->autograd_range_count = kept;
}

/* The first call of a thread at or after a time. */
static size_t first_call_from(const struct model *model, uint32_t thread, int64_t time_ns)
{
	size_t low = model->threads[thread].first_call;
	size_t high = low + model->threads[thread].call_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (model->calls[middle].begin_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_within(const struct model *model, size_t call, const struct autograd_range *range)
{
	const struct model_thread *thread = &model->threads[range->thread];

	return call < thread->first_call + thread->call_count &&
	       model->calls[call].begin_ns <= range->end_ns;
}

static bool has_python(const struct record_site *site)
{
	for (uint32_t i = 0; site && i < site->frame_count; i++) {
		if (site->frames[i].type == FRAME_PYTHON)
			return true;
	}
	return false;
}

/* The frames of the forward pass: those of the first call in the range that has a line. */
static uint32_t site_of_range(const struct model *model, const struct autograd_range *range)
{
	for (size_t i = first_call_from(model, range->thread, range->begin_ns);
	     is_within(model, i, range); i++) {
		if (has_python(model->sites[model->calls[i].site].record))
			return model->calls[i].site;
	}
	return 0;
}

/* Of several forward ranges of one number the last to begin: the number is given out at the end. A
 * number that two threads used tells nothing. */
static void find_forward(const struct model_builder *builder, struct map *by_sequence)
{
	for (size_t i = 0; i < builder->autograd_range_count; i++) {
		const struct autograd_range *range = &builder->autograd_ranges[i], *known;
		uint64_t *slot;
		bool is_new;

		if (range->is_backward)
			continue;
		slot = map_slot(by_sequence, range->sequence, &is_new);
		known = is_new || *slot == SIZE_MAX ? NULL : &builder->autograd_ranges[*slot];
		if (!is_new && (!known || known->thread != range->thread))
			*slot = SIZE_MAX;
		else if (is_new || range->begin_ns >= known->begin_ns)
			*slot = i;
	}
}

/* A site that holds the frames of both. */
static uint32_t add_both(struct model_builder *builder, uint32_t backward, uint32_t forward)
{
	struct model *model = builder->model;
	const struct record_site *of_backward = model->sites[backward].record;
	const struct record_site *of_forward = model->sites[forward].record;
	uint32_t count = of_backward ? of_backward->frame_count : 0;
	uint32_t forward_count = of_forward->frame_count;
	struct record_site *both;

	if (count > FRAMES_MAX)
		count = FRAMES_MAX;
	if (forward_count > FRAMES_MAX)
		forward_count = FRAMES_MAX;
	both = xcalloc(1, sizeof(*both) + (count + 1 + forward_count) * sizeof(both->frames[0]));
	both->id = map_mix(model->sites[backward].id, model->sites[forward].id) | 1;
	both->frame_count = count + 1 + forward_count;
	if (count)
		memcpy(both->frames, of_backward->frames, count * sizeof(both->frames[0]));
	both->frames[count].type = FRAME_FORWARD;
	memcpy(&both->frames[count + 1], of_forward->frames,
	       forward_count * sizeof(both->frames[0]));
	model->forward_sites[model->forward_site_count++] = both;
	if (model->site_count == builder->site_capacity)
		model->sites =
			array_grow(model->sites, &builder->site_capacity, sizeof(*model->sites));
	model->sites[model->site_count] = model->sites[backward]; /* whose memory it is stays */
	model->sites[model->site_count].id = both->id;
	model->sites[model->site_count].record = both;
	return (uint32_t)model->site_count++;
}

static bool is_linked(const struct model *model, uint32_t site)
{
	const struct record_site *record = model->sites[site].record;

	for (uint32_t i = 0; record && i < record->frame_count; i++) {
		if (record->frames[i].type == FRAME_FORWARD)
			return true;
	}
	return false;
}

static void link_range(struct model_builder *builder, const struct autograd_range *backward,
		       uint32_t forward_site, struct map *pairs)
{
	struct model *model = builder->model;

	for (size_t i = first_call_from(model, backward->thread, backward->begin_ns);
	     is_within(model, i, backward); i++) {
		struct host_call *call = &model->calls[i];
		bool is_new;
		uint64_t *slot;

		/* The ranges of one operator stand in each other: once is enough. */
		if (is_linked(model, call->site))
			continue;
		slot = map_slot(pairs, (uint64_t)call->site << 32 | forward_site, &is_new);
		if (is_new)
			*slot = model->forward_site_count < SITES_MAX
					? add_both(builder, call->site, forward_site)
					: call->site;
		call->site = (uint32_t)*slot;
	}
}

void forward_link(struct model_builder *builder)
{
	struct model *model = builder->model;
	struct map by_sequence, pairs;

	if (!builder->autograd_range_count)
		return;
	find_threads(builder);
	map_init(&by_sequence);
	map_init(&pairs);
	model->forward_sites = xcalloc(SITES_MAX, sizeof(*model->forward_sites));
	find_forward(builder, &by_sequence);
	for (size_t i = 0; i < builder->autograd_range_count; i++) {
		const struct autograd_range *range = &builder->autograd_ranges[i];
		const uint64_t *slot =
			range->is_backward ? map_find(&by_sequence, range->sequence) : NULL;
		uint32_t site;

		if (!slot || *slot == SIZE_MAX ||
		    builder->autograd_ranges[*slot].begin_ns >= range->begin_ns)
			continue;
		site = site_of_range(model, &builder->autograd_ranges[*slot]);
		if (site)
			link_range(builder, range, site, &pairs);
	}
	map_fini(&by_sequence);
	map_fini(&pairs);
}
