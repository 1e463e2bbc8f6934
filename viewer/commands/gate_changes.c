/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names what differs between two profiles: a product whose one dimension changed, work that came,
 * went, multiplied, or became slower.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "gate_profile.h"
#include "text.h"
#include "xmalloc.h"

#define COUNT_CHANGED 0.01 /* share by which a count per step must differ */
#define TIME_CHANGED  0.02 /* share by which a time per step must differ */

struct change_list {
	struct profile_change *items;
	size_t count, capacity;
};

static void add_change(struct change_list *list, double ms, double weight, char *text)
{
	if (list->count == list->capacity)
		list->items = array_grow(list->items, &list->capacity, sizeof(*list->items));
	list->items[list->count++] = (struct profile_change){text, ms, weight};
}

/* 'm', 'n' or 'k' when the shapes differ in exactly that; 0 otherwise. */
static char differing_dimension(const struct gemm_shape *a, const struct gemm_shape *b)
{
	int differences = (a->m != b->m) + (a->n != b->n) + (a->k != b->k);

	if (differences != 1 || a->op_a != b->op_a || a->op_b != b->op_b ||
	    a->type_a != b->type_a || a->batch != b->batch)
		return 0;
	return a->m != b->m ? 'm' : a->n != b->n ? 'n' : 'k';
}

static uint32_t dimension_of(const struct gemm_shape *shape, char dimension)
{
	return dimension == 'm' ? shape->m : dimension == 'n' ? shape->n : shape->k;
}

static bool is_same_count(double a, double b)
{
	return fabs(a - b) <= COUNT_CHANGED * (a > b ? a : b);
}

/* The product of the other run that this one became, if only one dimension changed: of several the
 * one whose dimension is nearest. */
static const struct profile_entry *find_reshaped(const struct profile *gone_from,
						 const struct profile *came_to,
						 const struct profile_entry *came, char *dimension)
{
	const struct profile_entry *best = NULL;
	double nearest = 0;

	for (size_t i = 0; i < gone_from->count; i++) {
		const struct profile_entry *gone = &gone_from->entries[i];
		double distance;
		char differs;

		if (gone->kind != PROFILE_GEMM || profile_find(came_to, gone->key) ||
		    !is_same_count(gone->per_step, came->per_step))
			continue;
		differs = differing_dimension(&gone->shape, &came->shape);
		if (!differs)
			continue;
		distance = fabs((double)dimension_of(&gone->shape, differs) -
				(double)dimension_of(&came->shape, differs));
		if (!best || distance < nearest) {
			best = gone;
			nearest = distance;
			*dimension = differs;
		}
	}
	return best;
}

static void add_reshaped(struct change_list *list, const struct profile_entry *gone,
			 const struct profile_entry *came, char dimension)
{
	const struct gemm_shape *shape = &came->shape;
	double ms = came->ms_per_step - gone->ms_per_step;

	add_change(
		list, ms, fabs(ms) + 1e6,
		text_format("product %c %u -> %u (m=%u n=%u k=%u op=%c%c, %.4g per step): %.3f -> "
			    "%.3f ms per step",
			    dimension, dimension_of(&gone->shape, dimension),
			    dimension_of(shape, dimension), shape->m, shape->n, shape->k,
			    shape->op_a, shape->op_b, came->per_step, gone->ms_per_step,
			    came->ms_per_step));
}

/* ", 1.234 -> 2.345 ms per step"; waits have no time of their own. */
static void add_times(struct text *text, const struct profile_entry *before,
		      const struct profile_entry *after)
{
	if (after->kind == PROFILE_WAIT)
		return;
	text_addf(text, ", %.3f -> %.3f ms per step", before->ms_per_step, after->ms_per_step);
}

static char *describe_one(const char *what, const struct profile_entry *entry)
{
	struct text text;

	text_init(&text);
	text_addf(&text, "%s: %s, %.4g per step", what, entry->key, entry->per_step);
	if (entry->kind != PROFILE_WAIT)
		text_addf(&text, ", %.3f ms per step", entry->ms_per_step);
	return text_take(&text);
}

static void compare_entry(struct change_list *list, const struct profile_entry *before,
			  const struct profile_entry *after)
{
	double ms = after->ms_per_step - before->ms_per_step;
	struct text text;

	text_init(&text);
	if (!is_same_count(before->per_step, after->per_step)) {
		text_addf(&text, "%s: %.4g -> %.4g per step", after->key, before->per_step,
			  after->per_step);
		add_times(&text, before, after);
		add_change(list, ms, fabs(ms) + fabs(after->per_step - before->per_step) * 1e-3,
			   text_take(&text));
	} else if (fabs(ms) > TIME_CHANGED * before->ms_per_step && fabs(ms) > 1e-3) {
		add_change(list, ms, fabs(ms),
			   text_format("%s: %.3f -> %.3f ms per step (%.4g per step)", after->key,
				       before->ms_per_step, after->ms_per_step, after->per_step));
	}
}

static int compare_changes(const void *left, const void *right)
{
	const struct profile_change *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return strcmp(a->text, b->text);
}

size_t profile_compare(const struct profile *baseline, const struct profile *current,
		       struct profile_change *changes, size_t limit)
{
	struct change_list list = {NULL, 0, 0};
	bool *is_explained = xcalloc(baseline->count, sizeof(*is_explained));
	size_t taken;

	for (size_t i = 0; i < current->count; i++) {
		const struct profile_entry *after = &current->entries[i];
		const struct profile_entry *before = profile_find(baseline, after->key);
		char dimension = 0;

		if (before) {
			compare_entry(&list, before, after);
			continue;
		}
		if (after->kind == PROFILE_GEMM)
			before = find_reshaped(baseline, current, after, &dimension);
		if (before) {
			is_explained[before - baseline->entries] = true;
			add_reshaped(&list, before, after, dimension);
		} else {
			add_change(&list, after->ms_per_step,
				   after->ms_per_step + after->per_step * 1e-3,
				   describe_one("new", after));
		}
	}
	for (size_t i = 0; i < baseline->count; i++) {
		const struct profile_entry *before = &baseline->entries[i];

		if (is_explained[i] || profile_find(current, before->key))
			continue;
		add_change(&list, -before->ms_per_step,
			   before->ms_per_step + before->per_step * 1e-3,
			   describe_one("gone", before));
	}
	if (list.count)
		qsort(list.items, list.count, sizeof(*list.items), compare_changes);
	taken = list.count < limit ? list.count : limit;
	if (taken)
		memcpy(changes, list.items, taken * sizeof(*changes));
	for (size_t i = taken; i < list.count; i++)
		free(list.items[i].text);
	free(list.items);
	free(is_explained);
	return taken;
}
