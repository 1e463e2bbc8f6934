/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where calls go in the model's array, which is sorted by thread. Of a long recording the calls of
 * each thread are counted before, by decoding the file once more, so that each call is put among
 * those of its thread at once; moving them later would take twice the memory. The calls of a short
 * one stand in file order, and are brought together when all are there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "big_array.h"
#include "error.h"
#include "model_internal.h"
#include "xmalloc.h"

#define LONG_ROWS 200000

uint16_t collect_thread(struct model_builder *builder, uint32_t number)
{
	struct model *model = builder->model;
	uint64_t *slot;
	bool is_new;

	if (builder->has_last_thread && builder->last_thread_number == number)
		return builder->last_thread;
	slot = map_slot(&builder->threads, number, &is_new);
	if (is_new && model->thread_count == UINT16_MAX) {
		/* More threads than that share the last number; they are only told apart worse. */
		*slot = UINT16_MAX - 1;
	} else if (is_new) {
		if (model->thread_count == builder->thread_capacity)
			model->threads = array_grow(model->threads, &builder->thread_capacity,
						    sizeof(*model->threads));
		*slot = model->thread_count;
		memset(&model->threads[*slot], 0, sizeof(*model->threads));
		model->threads[*slot].number = number;
		model->threads[*slot].name = "";
		model->thread_count++;
	}
	builder->has_last_thread = true;
	builder->last_thread_number = number;
	builder->last_thread = (uint16_t)*slot;
	return builder->last_thread;
}

/* ---- counting ---- */

static int count_batch(void *context, const struct trace_batch *batch)
{
	struct model_builder *builder = context;
	struct call_places *places = &builder->places;

	for (uint32_t i = 0; i < batch->count; i++) {
		uint16_t thread = collect_thread(builder, batch->thread[i]);

		while (thread >= places->thread_capacity)
			places->next = array_grow(places->next, &places->thread_capacity,
						  sizeof(*places->next));
		while (places->thread_count <= thread)
			places->next[places->thread_count++] = 0;
		places->next[thread]++;
		places->left++;
	}
	return places->left >= MODEL_NONE ? -E2BIG : 0;
}

int call_places_find(struct model_builder *builder, struct error *err)
{
	struct model *model = builder->model;
	struct call_places *places = &builder->places;
	size_t sum = 0;
	int rc;

	if (model->source.health->rows < LONG_ROWS ||
	    model->source.thread_count(model->source.context) == 1)
		return 0;
	rc = model->source.read(model->source.context, CALL_KINDS, count_batch, builder, err);
	if (rc || !places->left)
		return rc;
	for (size_t t = 0; t < places->thread_count; t++) {
		size_t count = places->next[t];

		places->next[t] = sum;
		sum += count;
	}
	builder->call_capacity = sum;
	model->calls = big_array_take(sum, sizeof(*model->calls));
	return 0;
}

/* ---- placing ---- */

bool call_places_suffice(const struct model_builder *builder, const struct trace_batch *batch)
{
	return !builder->places.thread_count || !(CALL_KINDS >> batch->kind & 1) ||
	       builder->places.left >= batch->count;
}

struct host_call *call_place(struct model_builder *builder, uint16_t thread)
{
	struct model *model = builder->model;
	struct call_places *places = &builder->places;

	if (places->thread_count) {
		places->left--;
		model->call_count++;
		return &model->calls[places->next[thread]++];
	}
	if (model->call_count == builder->call_capacity)
		model->calls = big_array_grow(model->calls, &builder->call_capacity,
					      sizeof(*model->calls));
	return &model->calls[model->call_count++];
}

/* Stable: calls of one thread keep the order of the file. */
void calls_gather(struct model *model)
{
	size_t *next = xcalloc(model->thread_count + 1, sizeof(*next));
	struct host_call *gathered;
	bool is_gathered = true;

	for (size_t i = 0; i < model->call_count; i++) {
		next[model->calls[i].thread + 1]++;
		is_gathered =
			is_gathered && (!i || model->calls[i - 1].thread <= model->calls[i].thread);
	}
	for (size_t t = 0; t < model->thread_count; t++)
		next[t + 1] += next[t];
	if (!is_gathered) {
		gathered = big_array_take(model->call_count, sizeof(*gathered));
		for (size_t i = 0; i < model->call_count; i++)
			gathered[next[model->calls[i].thread]++] = model->calls[i];
		big_array_free(model->calls);
		model->calls = gathered;
	}
	free(next);
}
