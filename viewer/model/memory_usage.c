/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live memory per device: allocations count from the end of their call, frees from the beginning of
 * theirs, so that an address that is reused at once is never counted twice.
 */
#include "model_internal.h"

void memory_usage_build(struct model *model)
{
	struct map live; /* address -> index of the allocation's event + 1 */

	map_init(&live);
	for (size_t i = 0; i < model->memory_event_count; i++) {
		struct memory_event *event = &model->memory_events[i];
		const struct host_call *call = &model->calls[event->call];
		struct memory_usage *usage;

		if (call->status || (call->flags & CALL_REDUNDANT) || !event->address)
			continue;
		if (event->kind == MEMORY_RESERVED || event->kind == MEMORY_IMPORTED)
			continue;
		if (event->op == MEMORY_ALLOC) {
			*map_slot(&live, event->address, NULL) = i + 1;
			if (event->device == MODEL_NO_DEVICE)
				continue;
			usage = &model->devices[event->device].memory;
			usage->allocations++;
			usage->live_bytes += event->size_bytes;
			if (usage->live_bytes > usage->peak_bytes) {
				usage->peak_bytes = usage->live_bytes;
				usage->peak_ns = event->time_ns;
			}
		} else {
			const struct memory_event *allocation;
			uint64_t index;

			if (!map_remove(&live, event->address, &index)) {
				if (event->device != MODEL_NO_DEVICE)
					model->devices[event->device].memory.unknown_frees++;
				continue;
			}
			allocation = &model->memory_events[index - 1];
			event->size_bytes = allocation->size_bytes;
			event->device = allocation->device;
			event->kind = allocation->kind;
			if (event->device == MODEL_NO_DEVICE)
				continue;
			usage = &model->devices[event->device].memory;
			usage->frees++;
			usage->live_bytes -= event->size_bytes;
		}
	}
	map_fini(&live);
}
