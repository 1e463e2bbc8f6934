/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations count from the end of their call, frees from the beginning of theirs, so that an
 * address that is reused at once is never counted twice. Physical memory lives until no handle and
 * no mapping is left; addresses and handles are told apart, since their numbers may meet.
 */
#include "memory_live.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "array_len.h"
#include "big_array.h"
#include "model_internal.h"

struct physical {
	uint64_t size_bytes;
	uint64_t handles, mappings;
	uint32_t origin;
	uint16_t device;
	uint8_t kind; /* LIVE_PHYSICAL, LIVE_IMPORTED, LIVE_ARRAY; LIVE_KIND_COUNT: no memory */
};

struct live_walk {
	struct model *model;
	struct map addresses; /* address -> index of the change that added it + 1 */
	struct map mappings;  /* address -> index of the change + 1 */
	struct map behind;    /* mapped address -> index of physicals + 1 */
	struct map handles;   /* handle -> index of physicals + 1 */
	struct physical *physicals;
	size_t physical_count, physical_capacity, change_capacity;
	const struct host_call **resets; /* by time */
	size_t reset, reset_count;	 /* the next one */
};

const char *live_kind_key(enum live_kind kind)
{
	static const char *const keys[] = {
#define LIVE_KIND(name, key, label) key,
		LIVE_KINDS(LIVE_KIND)
#undef LIVE_KIND
	};

	return keys[kind];
}

const char *live_kind_label(enum live_kind kind)
{
	static const char *const labels[] = {
#define LIVE_KIND(name, key, label) label,
		LIVE_KINDS(LIVE_KIND)
#undef LIVE_KIND
	};

	return labels[kind];
}

static size_t add_change(struct live_walk *walk, const struct live_change *change)
{
	struct model *model = walk->model;

	if (model->live_change_count == walk->change_capacity)
		model->live_changes = big_array_grow(model->live_changes, &walk->change_capacity,
						     sizeof(*model->live_changes));
	model->live_changes[model->live_change_count] = *change;
	return model->live_change_count++;
}

/* What the change at `added` brought goes, because of the event. */
static void take_back(struct live_walk *walk, size_t added, size_t event)
{
	struct live_change change = walk->model->live_changes[added];

	change.time_ns = walk->model->memory_events[event].time_ns;
	change.event = (uint32_t)event;
	change.is_added = false;
	add_change(walk, &change);
}

static enum live_kind kind_of(const struct memory_event *event)
{
	switch (event->kind) {
	case MEMORY_PAGEABLE:
	case MEMORY_PINNED:
		return LIVE_PINNED;
	case MEMORY_ARRAY:
		return LIVE_ARRAY;
	case MEMORY_MANAGED:
		return LIVE_MANAGED;
	case MEMORY_POOL:
		return LIVE_POOL;
	case MEMORY_PHYSICAL:
		return LIVE_PHYSICAL;
	case MEMORY_RESERVED:
		return LIVE_ADDRESSES;
	case MEMORY_IMPORTED:
		return LIVE_IMPORTED;
	default:
		return LIVE_PLAIN;
	}
}

static struct live_change change_of(const struct live_walk *walk, size_t index)
{
	const struct memory_event *event = &walk->model->memory_events[index];

	return (struct live_change){
		.time_ns = event->time_ns,
		.address = event->address,
		.size_bytes = event->size_bytes,
		.event = (uint32_t)index,
		.origin = (uint32_t)index,
		.device = walk->model->calls[event->call].device,
		.kind = (uint8_t)kind_of(event),
		.is_added = true,
	};
}

static bool is_handle(const struct memory_event *event)
{
	return event->kind == MEMORY_PHYSICAL || event->kind == MEMORY_ARRAY ||
	       (event->backing && event->backing == event->address &&
		(event->kind == MEMORY_IMPORTED || event->kind == MEMORY_RESERVED));
}

/* ---- memory behind handles ---- */

static void add_physical(struct live_walk *walk, size_t index)
{
	const struct memory_event *event = &walk->model->memory_events[index];
	struct live_change change = change_of(walk, index);
	uint64_t *slot = map_slot(&walk->handles, event->address, NULL);

	if (*slot && event->kind == MEMORY_PHYSICAL && !event->size_bytes) {
		walk->physicals[*slot - 1].handles++;
		return;
	}
	if (walk->physical_count == walk->physical_capacity)
		walk->physicals = array_grow(walk->physicals, &walk->physical_capacity,
					     sizeof(*walk->physicals));
	walk->physicals[walk->physical_count++] = (struct physical){
		.size_bytes = event->size_bytes,
		.handles = 1,
		.origin = (uint32_t)index,
		.device = change.device,
		/* A multicast object only has a size. */
		.kind = event->kind == MEMORY_RESERVED ? LIVE_KIND_COUNT : change.kind,
	};
	*slot = walk->physical_count;
	if (event->kind != MEMORY_RESERVED)
		add_change(walk, &change);
}

static void drop_if_unused(struct live_walk *walk, size_t number, size_t event)
{
	const struct physical *physical = &walk->physicals[number];
	struct live_change change;

	if (physical->handles || physical->mappings || physical->kind == LIVE_KIND_COUNT)
		return;
	change = change_of(walk, physical->origin);
	change.time_ns = walk->model->memory_events[event].time_ns;
	change.event = (uint32_t)event;
	change.size_bytes = physical->size_bytes;
	change.is_added = false;
	add_change(walk, &change);
}

static bool release_handle(struct live_walk *walk, size_t index)
{
	struct memory_event *event = &walk->model->memory_events[index];
	const uint64_t *slot = map_find(&walk->handles, event->address);
	struct physical *physical;
	size_t number;

	if (!slot || !*slot)
		return false;
	number = *slot - 1;
	physical = &walk->physicals[number];
	event->size_bytes = physical->size_bytes;
	event->device = physical->kind == LIVE_PHYSICAL || physical->kind == LIVE_ARRAY
				? physical->device
				: MODEL_NO_DEVICE;
	if (physical->handles && --physical->handles == 0)
		map_remove(&walk->handles, event->address, NULL);
	drop_if_unused(walk, number, index);
	return true;
}

static void add_mapping(struct live_walk *walk, size_t index)
{
	const struct memory_event *event = &walk->model->memory_events[index];
	struct live_change change = change_of(walk, index);
	const uint64_t *slot = map_find(&walk->handles, event->backing);

	change.kind = LIVE_MAPPED;
	*map_slot(&walk->mappings, event->address, NULL) = add_change(walk, &change) + 1;
	*map_slot(&walk->behind, event->address, NULL) = slot ? *slot : 0;
	if (slot && *slot) {
		struct physical *physical = &walk->physicals[*slot - 1];

		physical->mappings++;
		/* What was imported shows its size here at last. */
		if (physical->kind == LIVE_IMPORTED && !physical->size_bytes) {
			physical->size_bytes = event->size_bytes;
			change.kind = LIVE_IMPORTED;
			add_change(walk, &change);
		}
	}
}

/* Whole mappings, one behind the other; stops where one is not known. */
static bool remove_mappings(struct live_walk *walk, size_t index)
{
	const struct memory_event *event = &walk->model->memory_events[index];
	uint64_t at = event->address, left = event->size_bytes, added, number;
	bool any = false;

	while (left && map_remove(&walk->mappings, at, &added)) {
		uint64_t size_bytes = walk->model->live_changes[added - 1].size_bytes;

		take_back(walk, added - 1, index);
		if (map_remove(&walk->behind, at, &number) && number) {
			walk->physicals[number - 1].mappings--;
			drop_if_unused(walk, number - 1, index);
		}
		any = true;
		if (!size_bytes || size_bytes > left)
			break;
		at += size_bytes;
		left -= size_bytes;
	}
	return any;
}

/* ---- memory at addresses ---- */

static void add_address(struct live_walk *walk, size_t index)
{
	struct live_change change = change_of(walk, index);
	uint64_t *slot = map_slot(&walk->addresses, change.address, NULL);

	/* Its free went by unseen: it is gone, or the address could not come again. */
	if (*slot)
		take_back(walk, *slot - 1, index);
	*slot = add_change(walk, &change) + 1;
}

static bool remove_address(struct live_walk *walk, size_t index)
{
	struct memory_event *event = &walk->model->memory_events[index];
	const struct memory_event *allocation;
	uint64_t added;

	if (!map_remove(&walk->addresses, event->address, &added))
		return false;
	allocation = &walk->model->memory_events[walk->model->live_changes[added - 1].origin];
	event->size_bytes = allocation->size_bytes;
	event->device = allocation->device;
	event->kind = allocation->kind;
	take_back(walk, added - 1, index);
	return true;
}

static void walk_event(struct live_walk *walk, size_t index)
{
	struct model *model = walk->model;
	const struct memory_event *event = &model->memory_events[index];
	bool is_known = true;

	switch (event->op) {
	case MEMORY_ALLOC:
		if (is_handle(event))
			add_physical(walk, index);
		else
			add_address(walk, index);
		break;
	case MEMORY_FREE:
		is_known = is_handle(event) ? release_handle(walk, index)
					    : remove_address(walk, index);
		break;
	case MEMORY_MAP:
		add_mapping(walk, index);
		break;
	case MEMORY_UNMAP:
		is_known = remove_mappings(walk, index);
		break;
	default:
		break;
	}
	if (!is_known && event->device != MODEL_NO_DEVICE)
		model->devices[event->device].memory.unknown_frees++;
}

/* ---- what ends everything on a device ---- */

static bool is_reset(const struct model *model, const struct host_call *call)
{
	static const char *const names[] = {"cudaDeviceReset", "cuDevicePrimaryCtxReset_v2"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (!call->status && !strcmp(model->apis[call->api], names[i]))
			return true;
	}
	return false;
}

/* The context that the program made for this memory; 0: the device's primary one. */
static uint64_t own_context(const struct memory_event *event)
{
	bool has_context = event->kind == MEMORY_DEVICE || event->kind == MEMORY_MANAGED ||
			   event->kind == MEMORY_PINNED || event->kind == MEMORY_ARRAY;

	return has_context && event->backing != event->address ? event->backing : 0;
}

/* Takes the change's memory out of what can still be freed; false: that has happened. */
static bool forget(struct live_walk *walk, const struct live_change *change, size_t index)
{
	const struct memory_event *event = &walk->model->memory_events[change->origin];
	const uint64_t *slot;
	uint64_t added;

	if (change->kind == LIVE_ARRAY)
		return map_remove(&walk->handles, event->address, NULL);
	slot = map_find(&walk->addresses, change->address);
	return slot && *slot == index + 1 && map_remove(&walk->addresses, change->address, &added);
}

/* Contexts own all but virtual memory, arrays among it; the handles of arrays end with them. A
 * primary context (0) is that of the device. */
static void drop_context(struct live_walk *walk, uint64_t context, uint16_t device, int64_t time_ns,
			 uint32_t cause)
{
	struct model *model = walk->model;
	size_t count = model->live_change_count;

	for (size_t i = 0; i < count; i++) {
		struct live_change change = model->live_changes[i];
		const struct memory_event *event = &model->memory_events[change.origin];

		if (!change.is_added || own_context(event) != context ||
		    (!context && change.device != device))
			continue;
		if (change.kind != LIVE_ARRAY &&
		    (is_handle(event) || change.kind == LIVE_ADDRESSES ||
		     change.kind == LIVE_MAPPED))
			continue;
		if (!forget(walk, &change, i))
			continue;
		change.time_ns = time_ns;
		change.event = cause;
		change.is_added = false;
		add_change(walk, &change);
	}
}

/* The resets before this time that did not have their turn. */
static void apply_resets(struct live_walk *walk, int64_t time_ns)
{
	while (walk->reset < walk->reset_count && walk->resets[walk->reset]->begin_ns < time_ns) {
		const struct host_call *reset = walk->resets[walk->reset++];

		drop_context(walk, 0, reset->device, reset->begin_ns, MODEL_NONE);
	}
}

static int compare_resets(const void *left, const void *right)
{
	const struct host_call *a = *(const struct host_call *const *)left;
	const struct host_call *b = *(const struct host_call *const *)right;

	return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* Few processes reset a device; those that do it nested in another call did it once. */
static void find_resets(struct live_walk *walk)
{
	const struct model *model = walk->model;
	size_t capacity = 0;

	for (size_t i = 0; i < model->call_count; i++) {
		const struct host_call *call = &model->calls[i];

		if (call->kind != RECORD_KIND_call || call->parent != MODEL_NONE ||
		    !is_reset(model, call))
			continue;
		if (walk->reset_count == capacity)
			walk->resets = array_grow(walk->resets, &capacity, sizeof(*walk->resets));
		walk->resets[walk->reset_count++] = call;
	}
	if (walk->reset_count)
		qsort(walk->resets, walk->reset_count, sizeof(*walk->resets), compare_resets);
}

/* What the changes mean for each device. */
static void count_usage(struct model *model)
{
	for (size_t i = 0; i < model->live_change_count; i++) {
		const struct live_change *change = &model->live_changes[i];
		struct memory_usage *usage;
		uint64_t *kind_bytes;

		if (change->device == MODEL_NO_DEVICE)
			continue;
		usage = &model->devices[change->device].memory;
		kind_bytes = &usage->kind_bytes[change->kind];
		*kind_bytes += change->is_added ? change->size_bytes : -change->size_bytes;
		if (*kind_bytes > usage->kind_peak_bytes[change->kind])
			usage->kind_peak_bytes[change->kind] = *kind_bytes;
		if (!live_kind_is_of_device((enum live_kind)change->kind))
			continue;
		usage->live_bytes += change->is_added ? change->size_bytes : -change->size_bytes;
		usage->allocations += change->is_added;
		usage->frees += !change->is_added;
		if (change->is_added && usage->live_bytes > usage->peak_bytes) {
			usage->peak_bytes = usage->live_bytes;
			usage->peak_ns = change->time_ns;
		}
	}
}

void memory_live_build(struct model *model)
{
	struct live_walk walk = {.model = model};

	map_init(&walk.addresses);
	map_init(&walk.mappings);
	map_init(&walk.behind);
	map_init(&walk.handles);
	find_resets(&walk);
	for (size_t i = 0; i < model->memory_event_count; i++) {
		const struct memory_event *event = &model->memory_events[i];
		const struct host_call *call = &model->calls[event->call];

		apply_resets(&walk, event->time_ns);
		/* What was captured into a graph is memory of the graph's launches. */
		if (call->status || (call->flags & (CALL_REDUNDANT | CALL_CAPTURED)))
			continue;
		if (event->op == MEMORY_CONTEXT_END || event->op == MEMORY_PRIMARY_END)
			drop_context(&walk, event->address, call->device, event->time_ns,
				     (uint32_t)i);
		else if (event->address)
			walk_event(&walk, i);
	}
	apply_resets(&walk, INT64_MAX);
	count_usage(model);
	map_fini(&walk.addresses);
	map_fini(&walk.mappings);
	map_fini(&walk.behind);
	map_fini(&walk.handles);
	free(walk.physicals);
	free(walk.resets);
}

void memory_live_sums(const struct model *model, size_t device, int64_t time_ns,
		      uint64_t sums[LIVE_KIND_COUNT])
{
	memset(sums, 0, LIVE_KIND_COUNT * sizeof(*sums));
	for (size_t i = 0; i < model->live_change_count; i++) {
		const struct live_change *change = &model->live_changes[i];

		if (change->time_ns > time_ns)
			break;
		if (change->device != device)
			continue;
		sums[change->kind] += change->is_added ? change->size_bytes : -change->size_bytes;
	}
}

bool memory_live_pools(const struct model *model, size_t device, uint64_t *last_bytes,
		       uint64_t *most_bytes)
{
	struct map pools; /* pool -> what it said last */
	bool any = false;

	*last_bytes = *most_bytes = 0;
	map_init(&pools);
	for (size_t i = 0; i < model->memory_event_count; i++) {
		const struct memory_event *event = &model->memory_events[i];
		uint64_t *said, others;

		if (event->op != MEMORY_POOL_TOLD || event->device != device ||
		    model->calls[event->call].flags & CALL_REDUNDANT)
			continue;
		any = true;
		said = map_slot(&pools, event->address, NULL);
		others = *last_bytes - *said;
		if (event->backing == POOL_RESERVED_NOW) {
			*said = event->size_bytes;
			*last_bytes = others + *said;
		}
		if (others + event->size_bytes > *most_bytes)
			*most_bytes = others + event->size_bytes;
	}
	map_fini(&pools);
	return any;
}
