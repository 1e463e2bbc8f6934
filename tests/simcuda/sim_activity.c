/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of modelled work, kept in a heap by end time until that time has come; then they become
 * lines of the log and calls of the tool. The log is written by whoever finds a record over, so
 * that it is complete when a synchronising call returns; the tool is called by the worker thread,
 * as CUPTI would, or by a caller of simcuda_deliver().
 */
#include "sim_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	struct entry *next;
	uint64_t order;
	struct simcuda_activity activity;
};

static struct entry **heap;
static size_t heap_count, heap_size;
static uint64_t last_order;
static struct entry *for_tool, **for_tool_link = &for_tool;
static pthread_mutex_t tool_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
/* Held from taking records until they are in the log and on the list for the tool, so that who
 * comes second finds complete what the first took. */
static pthread_mutex_t take_lock = PTHREAD_MUTEX_INITIALIZER;

void sim_activity_reset_after_fork(void)
{
	static const pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	memcpy(&tool_lock, &fresh, sizeof(fresh));
	pthread_mutex_init(&take_lock, NULL);
	heap_count = 0;
	for_tool = NULL;
	for_tool_link = &for_tool;
}

bool sim_activity_is_wanted(void)
{
	return sim_state.has_log || atomic_load_explicit(&sim_state.tool, memory_order_relaxed);
}

bool sim_activity_is_pending(void)
{
	return heap_count > 0 || for_tool;
}

static bool is_earlier(const struct entry *a, const struct entry *b)
{
	if (a->activity.end_ns != b->activity.end_ns)
		return a->activity.end_ns < b->activity.end_ns;
	return a->order < b->order;
}

static void push(struct entry *entry)
{
	size_t at = heap_count++;

	while (at > 0 && is_earlier(entry, heap[(at - 1) / 2])) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = entry;
}

static struct entry *pop(void)
{
	struct entry *first = heap[0], *last = heap[--heap_count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < heap_count) {
		if (child + 1 < heap_count && is_earlier(heap[child + 1], heap[child]))
			child++;
		if (!is_earlier(heap[child], last))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
	return first;
}

/* A described link wakes up with its GPU; the worker sees to it that it falls asleep again. */
static void tell_link(const struct simcuda_activity *activity)
{
	bool is_peer = activity->kind == 2 && activity->direction == 10;
	uint32_t ordinals[] = {is_peer ? activity->source_device : activity->device,
			       activity->destination_device};

	for (int i = 0; i < (is_peer ? 2 : 1); i++) {
		const struct sim_device *device = sim_device_get((CUdevice)ordinals[i]);

		if (device && sim_link_work(device->physical, activity->begin_ns, activity->end_ns,
					    activity->kind == 1))
			sim_worker_deliver_soon();
	}
}

void sim_activity_add(const struct simcuda_activity *activity)
{
	struct entry *entry;

	if (sim_link_is_described() && activity->kind <= 3)
		tell_link(activity);
	if (!sim_activity_is_wanted())
		return;
	if (heap_count == heap_size) {
		size_t size = heap_size ? 2 * heap_size : 1024;
		struct entry **larger = realloc(heap, size * sizeof(struct entry *));

		if (!larger)
			return;
		heap = larger;
		heap_size = size;
	}
	entry = malloc(sizeof(*entry));
	if (!entry)
		return;
	entry->activity = *activity;
	entry->order = ++last_order;
	entry->next = NULL;
	push(entry);
	sim_worker_deliver_soon();
}

/* Takes what is over out of the heap, in the order of end times; the caller holds sim_lock. */
static struct entry *take_over(void)
{
	struct entry *first = NULL, **link = &first;

	while (heap_count > 0 && sim_clock_is_over(heap[0]->activity.end_ns)) {
		*link = pop();
		link = &(*link)->next;
	}
	return first;
}

static void free_entries(struct entry *entry)
{
	while (entry) {
		struct entry *next = entry->next;

		free(entry);
		entry = next;
	}
}

static void call_tool(void)
{
	const struct simcuda_tool *tool;
	struct entry *first;

	pthread_mutex_lock(&tool_lock);
	sim_lock();
	first = for_tool;
	for_tool = NULL;
	for_tool_link = &for_tool;
	sim_unlock();
	for (struct entry *entry = first; entry; entry = entry->next) {
		tool = atomic_load_explicit(&sim_state.tool, memory_order_acquire);
		if (tool && tool->activity)
			tool->activity(&entry->activity);
	}
	pthread_mutex_unlock(&tool_lock);
	free_entries(first);
}

void sim_activity_deliver(bool to_tool)
{
	struct entry *first, *last = NULL;

	pthread_mutex_lock(&take_lock);
	sim_lock();
	first = take_over();
	sim_unlock();
	for (struct entry *entry = first; entry; entry = entry->next) {
		if (sim_state.has_log)
			sim_log_activity(&entry->activity);
		last = entry;
	}
	if (first && atomic_load_explicit(&sim_state.tool, memory_order_relaxed)) {
		sim_lock();
		*for_tool_link = first;
		for_tool_link = &last->next;
		sim_unlock();
	} else {
		free_entries(first);
	}
	pthread_mutex_unlock(&take_lock);
	if (to_tool)
		call_tool();
}

void simcuda_deliver(void)
{
	if (sim_state.is_forked)
		return;
	sim_lock();
	sim_meeting_poll();
	sim_unlock();
	sim_activity_deliver(true);
}

void simcuda_attach_tool(const struct simcuda_tool *tool)
{
	/* With the tool's lock no activity is being delivered to the old one afterwards. */
	pthread_mutex_lock(&tool_lock);
	atomic_store_explicit(&sim_state.tool, tool, memory_order_release);
	pthread_mutex_unlock(&tool_lock);
}
