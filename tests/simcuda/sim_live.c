/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's own count of live memory, per device and kind, and its lines in the exact log. What
 * a shim says is live is held against these numbers.
 */
#include "sim_internal.h"
#include "sim_link.h"

#include <stdio.h>
#include <stdlib.h>

static void changed(struct sim_device *device)
{
	device->live_is_changed = true;
	if (sim_link_is_described())
		sim_link_set_memory(device->physical, sim_live_occupied(device));
}

void sim_live_add(struct sim_device *device, enum sim_live_kind kind, size_t bytes)
{
	device->live[kind] += bytes;
	changed(device);
}

void sim_live_sub(struct sim_device *device, enum sim_live_kind kind, size_t bytes)
{
	device->live[kind] -= bytes;
	changed(device);
}

enum sim_live_kind sim_live_kind_of(const struct sim_range *range)
{
	switch (range->kind) {
	case SIM_HOST:
		return SIM_LIVE_PINNED;
	case SIM_REGISTERED:
		return SIM_LIVE_REGISTERED;
	case SIM_MANAGED:
		return SIM_LIVE_MANAGED;
	case SIM_MAPPED:
		return SIM_LIVE_MAPPED;
	case SIM_IMPORTED:
		return SIM_LIVE_IMPORTED;
	default:
		return range->pool ? SIM_LIVE_POOL : SIM_LIVE_PLAIN;
	}
}

size_t sim_live_occupied(const struct sim_device *device)
{
	return device->live[SIM_LIVE_PLAIN] + device->live[SIM_LIVE_ARRAY] +
	       device->live[SIM_LIVE_POOL_RESERVED] + device->live[SIM_LIVE_PHYSICAL];
}

size_t sim_live_free(const struct sim_device *device)
{
	size_t used = sim_live_occupied(device) + device->others_bytes;

	if (sim_link_is_described())
		used += sim_link_others_bytes(device->physical);
	return used < device->memory_bytes ? device->memory_bytes - used : 0;
}

bool sim_live_has_room(const struct sim_device *device, size_t bytes)
{
	return bytes <= sim_live_free(device) &&
	       (sim_state.oom_at_bytes == 0 ||
		(bytes <= sim_state.oom_at_bytes &&
		 sim_live_occupied(device) <= sim_state.oom_at_bytes - bytes));
}

/* What programs asked for, without what pools keep for later. */
static size_t total_live(void)
{
	size_t total = 0;

	for (int i = 0; i < sim_state.device_count; i++) {
		const size_t *live = sim_state.devices[i].live;

		total += live[SIM_LIVE_PLAIN] + live[SIM_LIVE_ARRAY] + live[SIM_LIVE_POOL] +
			 live[SIM_LIVE_PHYSICAL];
	}
	return total;
}

void sim_live_write(struct sim_call *call)
{
	size_t at = 0, total = total_live();
	char *lines;

	if (!sim_state.has_log)
		return;
	lines = call->thread->live_lines;
	if (!lines)
		lines = call->thread->live_lines = malloc(SIM_LOG_FIELDS_SIZE);
	if (!lines)
		return;
	lines[0] = '\0';
	for (int i = 0; i < sim_state.device_count; i++) {
		struct sim_device *device = &sim_state.devices[i];

		if (!device->live_is_changed || at + 512 > SIM_LOG_FIELDS_SIZE)
			continue;
		device->live_is_changed = false;
		at += (size_t)snprintf(lines + at, SIM_LOG_FIELDS_SIZE - at, "live\t%zu\tdevice=%d",
				       total, i);
#define LIVE(NAME, name)                                                                           \
	at += (size_t)snprintf(lines + at, SIM_LOG_FIELDS_SIZE - at, "\t" #name "=%zu",            \
			       device->live[SIM_LIVE_##NAME]);
#include "sim_live.def"
#undef LIVE
		at += (size_t)snprintf(lines + at, SIM_LOG_FIELDS_SIZE - at, "\n");
	}
}
