/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames are searched once per site that allocates; after that an owner is an index.
 */
#include "memory_owner.h"

#include <stdlib.h>
#include <string.h>

#include "array_len.h"
#include "model_internal.h"
#include "xmalloc.h"

enum { OWNER_BUFFER, OWNER_POOL };

static const struct memory_owner owners[] = {
#define OWNER(match, name, kind) {match, name, OWNER_##kind},
#include "memory_owner.def"
#undef OWNER
};

/* Whether a file's name begins so: "libmpi" is libmpi.so.40, and no libmpich. */
static bool begins_with(const char *name, const char *match)
{
	size_t length = strlen(match);

	return !strncmp(name, match, length) &&
	       (!name[length] || strchr(".-_", name[length]) != NULL);
}

const struct memory_owner *memory_owner_of_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
		const char *match = owners[i].match;

		if (match[0] == '/' ? strstr(path, match) != NULL : begins_with(name, match))
			return &owners[i];
	}
	return NULL;
}

static const char *file_of_frame(const struct model *model, const struct site_frame *frame)
{
	const char *name;

	if (frame->type == FRAME_NATIVE)
		return model->source.library
			       ? model->source.library(model->source.context, frame->value)
			       : NULL;
	if (frame->type != FRAME_PYTHON)
		return NULL;
	name = model->source.name(model->source.context, NAME_PYTHON, frame->value);
	name = name ? strchr(name, '\x1f') : NULL;
	return name ? name + 1 : NULL;
}

static uint8_t owner_of_site(const struct model *model, const struct record_site *site)
{
	for (uint32_t i = 0; site && i < site->frame_count; i++) {
		const char *file = file_of_frame(model, &site->frames[i]);
		const struct memory_owner *owner = file ? memory_owner_of_file(file) : NULL;

		if (owner)
			return (uint8_t)(owner - owners + 1);
	}
	return 0;
}

void memory_owners_build(struct model *model)
{
	bool *is_done = xcalloc(model->site_count + 1, sizeof(*is_done));

	for (size_t i = 0; i < model->live_change_count; i++) {
		const struct live_change *change = &model->live_changes[i];
		uint32_t site;

		if (!change->is_added)
			continue;
		site = model_call_site(model, model->memory_events[change->origin].call);
		if (!site || is_done[site])
			continue;
		is_done[site] = true;
		model->sites[site].memory_owner = owner_of_site(model, model->sites[site].record);
	}
	free(is_done);
}

const struct memory_owner *memory_owner_of(const struct model *model,
					   const struct live_change *change)
{
	uint32_t site = model_call_site(model, model->memory_events[change->origin].call);
	uint8_t number = model->sites[site].memory_owner;

	return number ? &owners[number - 1] : NULL;
}

static struct owner_sum *sum_of(struct owner_sum sums[OWNER_SUMS], size_t *count,
				const struct memory_owner *owner)
{
	/* Several rows have one name. */
	for (size_t i = 0; i < *count; i++) {
		if (sums[i].owner == owner ||
		    (owner && sums[i].owner && !strcmp(owner->name, sums[i].owner->name)))
			return &sums[i];
	}
	if (*count == OWNER_SUMS)
		return &sums[OWNER_SUMS - 1];
	sums[*count] = (struct owner_sum){.owner = owner};
	return &sums[(*count)++];
}

static int compare_sums(const void *left, const void *right)
{
	const struct owner_sum *a = left, *b = right;

	if (a->live_bytes != b->live_bytes)
		return a->live_bytes < b->live_bytes ? 1 : -1;
	if (!a->owner || !b->owner)
		return (a->owner == NULL) - (b->owner == NULL);
	return strcmp(a->owner->name, b->owner->name);
}

size_t memory_owner_sums(const struct model *model, size_t device, int64_t time_ns,
			 struct owner_sum sums[OWNER_SUMS])
{
	struct map live; /* origin -> index of the change + 1 */
	size_t count = 0;

	map_init(&live);
	for (size_t i = 0; i < model->live_change_count; i++) {
		const struct live_change *change = &model->live_changes[i];

		if (change->time_ns > time_ns)
			break;
		if (change->device != device ||
		    !live_kind_is_of_device((enum live_kind)change->kind))
			continue;
		if (change->is_added)
			*map_slot(&live, change->origin, NULL) = i + 1;
		else
			map_remove(&live, change->origin, NULL);
	}
	for (size_t i = 0; i < live.capacity; i++) {
		const struct live_change *change;
		struct owner_sum *sum;

		if (!live.entries[i].is_used)
			continue;
		change = &model->live_changes[live.entries[i].value - 1];
		sum = sum_of(sums, &count, memory_owner_of(model, change));
		sum->live_bytes += change->size_bytes;
		sum->segments++;
		if (change->size_bytes > sum->largest_bytes)
			sum->largest_bytes = change->size_bytes;
	}
	if (count)
		qsort(sums, count, sizeof(sums[0]), compare_sums);
	map_fini(&live);
	return count;
}
