/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where calls go in the model's array, which is sorted by thread. Of a long recording the calls of
 * each thread are counted before, from the heads of chunks, so that each call is put among those of
 * its thread at once; moving them later would take twice the memory. The calls of a short
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

static int count_run(void *context, uint32_t number, uint32_t rows)
{
	struct model_builder *builder = context;
	struct call_places *places = &builder->places;
	uint16_t thread = collect_thread(builder, number);

	while (thread >= places->thread_capacity)
		places->threads = array_grow(places->threads, &places->thread_capacity,
					     sizeof(*places->threads));
	while (places->thread_count <= thread)
		places->threads[places->thread_count++] = (struct call_range){0, 0};
	places->threads[thread].limit += rows;
	places->room += rows;
	return places->room >= MODEL_NONE ? -E2BIG : 0;
}

static int count_batch(void *context, const struct trace_batch *batch)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < batch->count; i++)
		rc = count_run(context, batch->thread[i], 1);
	return rc;
}

int call_places_find(struct model_builder *builder, struct error *err)
{
	struct model *model = builder->model;
	struct call_places *places = &builder->places;
	size_t sum = 0;
	int rc;

	if (model->source.health->rows < LONG_ROWS || !model->source.count ||
	    model->source.thread_count(model->source.context) == 1)
		return 0;
	rc = model->source.count(model->source.context, CALL_KINDS, count_batch, count_run, builder,
				 err);
	if (rc || !places->room)
		return rc;
	for (size_t t = 0; t < places->thread_count; t++) {
		size_t count = places->threads[t].limit;

		places->threads[t] = (struct call_range){.next = sum, .limit = sum + count};
		sum += count;
	}
	builder->call_capacity = sum;
	model->calls = big_array_take(sum, sizeof(*model->calls));
	return 0;
}

static int count_op_run(void *context, uint32_t number, uint32_t rows)
{
	(void)number;
	*(size_t *)context += rows;
	return 0;
}

static int count_op_batch(void *context, const struct trace_batch *batch)
{
	*(size_t *)context += batch->count;
	return 0;
}

int op_places_find(struct model_builder *builder, struct error *err)
{
	struct model *model = builder->model;
	size_t count = 0;
	int rc;

	if (model->source.health->rows < LONG_ROWS || !model->source.count)
		return 0;
	rc = model->source.count(model->source.context, OP_KINDS, count_op_batch, count_op_run,
				 &count, err);
	if (rc || !count || count >= MODEL_NONE)
		return rc;
	builder->op_capacity = count;
	model->ops = big_array_take(count, sizeof(*model->ops));
	return 0;
}

/* ---- placing ---- */

struct host_call *call_places_take(struct model_builder *builder, uint16_t thread, uint32_t count)
{
	struct model *model = builder->model;
	struct call_places *places = &builder->places;
	struct host_call *first;

	if (places->thread_count) {
		struct call_range *range;

		if (thread >= places->thread_count)
			return NULL;
		range = &places->threads[thread];
		if (range->limit - range->next < count)
			return NULL;
		first = &model->calls[range->next];
		range->next += count;
	} else {
		while (builder->call_capacity - model->call_count < count)
			model->calls = big_array_grow(model->calls, &builder->call_capacity,
						      sizeof(*model->calls));
		first = &model->calls[model->call_count];
	}
	model->call_count += count;
	return first;
}

void call_places_give_back(struct model_builder *builder, uint16_t thread, uint32_t count)
{
	if (builder->places.thread_count)
		builder->places.threads[thread].next -= count;
	builder->model->call_count -= count;
}

struct host_call *call_place(struct model_builder *builder, uint16_t thread)
{
	return call_places_take(builder, thread, 1);
}

/* Fewer calls may have come than were counted: then places are left behind those of a thread. Who
 * refers to calls gets their indexes when they are sorted. */
void call_places_close(struct model_builder *builder)
{
	struct model *model = builder->model;
	struct call_places *places = &builder->places;
	size_t first = 0, kept = 0;

	for (size_t t = 0; t < places->thread_count; t++) {
		size_t count = places->threads[t].next - first;

		if (kept < first)
			memmove(&model->calls[kept], &model->calls[first],
				count * sizeof(*model->calls));
		kept += count;
		first = places->threads[t].limit;
	}
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
