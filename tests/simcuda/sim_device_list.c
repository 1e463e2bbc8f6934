/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuInit: which devices there are and in which order. They come from the machine of
 * SIMCUDA_MACHINE, or are SIMCUDA_GPUS equal ones of SIMCUDA_GPU; CUDA_DEVICE_ORDER and
 * CUDA_VISIBLE_DEVICES choose among them as the real driver does.
 */
#include "sim_api.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A device before it is numbered. */
struct candidate {
	const struct sim_gpu *gpu;
	struct sim_pci_address address;
	unsigned char uuid[16];
	size_t memory_bytes;
	int physical;
	bool is_of_machine;
};

static struct sim_machine machine;
static struct candidate candidates[SIM_DEVICES_MAX];
static int candidate_count;

static void make_uuid(unsigned char *uuid, const struct sim_gpu *gpu, int physical)
{
	uint64_t hash = 1469598103934665603U ^ (uint64_t)physical;

	for (const char *c = gpu->name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211U;
	for (int i = 0; i < 16; i++) {
		hash = (hash ^ (uint64_t)i) * 1099511628211U;
		uuid[i] = (unsigned char)(hash >> 40);
	}
}

static bool list_equal_gpus(void)
{
	const char *name = getenv("SIMCUDA_GPU"), *text = getenv("SIMCUDA_GPUS");
	int count = text ? atoi(text) : 1;
	const struct sim_gpu *gpu = sim_gpu_table_find(name && *name ? name : "a100-sxm-80gb");

	if (!gpu) {
		fprintf(stderr, "simcuda: SIMCUDA_GPU=\"%s\" is no row of gpus.tsv\n", name);
		return false;
	}
	if (count < 1 || count > SIM_DEVICES_MAX) {
		fprintf(stderr, "simcuda: SIMCUDA_GPUS must be 1 to %d\n", SIM_DEVICES_MAX);
		return false;
	}
	for (int i = 0; i < count; i++) {
		candidates[i].gpu = gpu;
		candidates[i].physical = i;
		candidates[i].address.bus = 1 + 2 * (unsigned)i;
		candidates[i].memory_bytes = (size_t)(gpu->memory_gib * 1024) << 20;
		make_uuid(candidates[i].uuid, gpu, i);
	}
	candidate_count = count;
	return true;
}

static bool list_machine(const char *folder)
{
	char path[PATH_MAX], error[PATH_MAX + 256];

	snprintf(path, sizeof(path), "%s/machine.tsv", folder);
	if (!sim_machine_read(&machine, path, error, sizeof(error))) {
		fprintf(stderr, "simcuda: SIMCUDA_MACHINE: %s\n", error);
		return false;
	}
	for (int i = 0; i < machine.gpu_count; i++) {
		const struct sim_machine_gpu *gpu = &machine.gpus[i];
		struct candidate *candidate = &candidates[i];

		candidate->gpu = sim_gpu_table_find(gpu->model);
		candidate->physical = i;
		candidate->is_of_machine = true;
		candidate->address = gpu->address;
		candidate->memory_bytes = (size_t)gpu->memory_mib << 20;
		memcpy(candidate->uuid, gpu->uuid, sizeof(candidate->uuid));
	}
	candidate_count = machine.gpu_count;
	sim_state.machine = &machine;
	return sim_link_open(&machine, folder);
}

static bool is_before(const struct candidate *one, const struct candidate *two, bool by_bus)
{
	if (!by_bus && (one->gpu->fp32_tflops > two->gpu->fp32_tflops ||
			one->gpu->fp32_tflops < two->gpu->fp32_tflops))
		return one->gpu->fp32_tflops > two->gpu->fp32_tflops;
	if (one->address.domain != two->address.domain)
		return one->address.domain < two->address.domain;
	if (one->address.bus != two->address.bus)
		return one->address.bus < two->address.bus;
	return one->address.device < two->address.device;
}

/* The fastest first, or by bus; equal ones by bus. */
static void put_in_order(void)
{
	const char *order = getenv("CUDA_DEVICE_ORDER");
	bool by_bus = order && strcmp(order, "PCI_BUS_ID") == 0;

	for (int i = 1; i < candidate_count; i++) {
		struct candidate moved = candidates[i];
		int at = i;

		for (; at > 0 && is_before(&moved, &candidates[at - 1], by_bus); at--)
			candidates[at] = candidates[at - 1];
		candidates[at] = moved;
	}
}

/* The candidate that an entry of CUDA_VISIBLE_DEVICES names, or -1; a UUID may be cut short as long
 * as only one device has it. */
static int parse_visible(const char *entry, size_t length)
{
	char text[64], name[64], *end;
	long ordinal;
	int found = -1;

	if (length == 0 || length >= sizeof(text))
		return -1;
	memcpy(text, entry, length);
	text[length] = '\0';
	ordinal = strtol(text, &end, 10);
	if (*end == '\0')
		return ordinal >= 0 && ordinal < candidate_count ? (int)ordinal : -1;
	if (strncmp(text, "GPU-", 4) != 0)
		return -1;
	for (int i = 0; i < candidate_count; i++) {
		sim_machine_format_uuid(name, sizeof(name), candidates[i].uuid);
		if (strncasecmp(name, text, length) != 0)
			continue;
		if (found >= 0)
			return -1;
		found = i;
	}
	return found;
}

static void add_device(const struct candidate *candidate)
{
	struct sim_device *device = &sim_state.devices[sim_state.device_count];
	const char *memory = getenv("SIMCUDA_MEMORY_MIB");
	const char *others = getenv("SIMCUDA_OTHERS_MIB");

	device->gpu = candidate->gpu;
	device->ordinal = sim_state.device_count++;
	device->physical = candidate->physical;
	device->address = candidate->address;
	device->memory_bytes =
		memory && atoll(memory) > 0 ? (size_t)atoll(memory) << 20 : candidate->memory_bytes;
	device->others_bytes = others && atoll(others) > 0 ? (size_t)atoll(others) << 20 : 0;
	device->link_rate = candidate->is_of_machine ? sim_link_rate(candidate->physical)
						     : sim_model_link_rate(candidate->gpu);
	memcpy(device->uuid, candidate->uuid, sizeof(device->uuid));
	device->default_pool = sim_memory_pool_new(device);
	device->current_pool = device->default_pool;
}

/* As the real driver reads the list: up to the first entry that names no device, or one twice. */
static void add_visible(void)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	unsigned used = 0;

	if (!visible) {
		for (int i = 0; i < candidate_count; i++)
			add_device(&candidates[i]);
		return;
	}
	while (*visible) {
		size_t length = strcspn(visible, ",");
		int index;

		while (length > 0 && *visible == ' ') {
			visible++;
			length--;
		}
		index = parse_visible(visible, length);
		if (index < 0 || (used >> index & 1))
			return;
		used |= 1U << index;
		add_device(&candidates[index]);
		visible += length;
		if (*visible == ',')
			visible++;
	}
}

CUresult sim_device_init(unsigned flags)
{
	const char *folder = getenv("SIMCUDA_MACHINE");
	const char *costs = getenv("SIMCUDA_KERNEL_COSTS"), *oom = getenv("SIMCUDA_OOM_AT");

	if (flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim_state.is_initialised)
		return CUDA_SUCCESS;
	if (!(folder && *folder ? list_machine(folder) : list_equal_gpus()))
		return CUDA_ERROR_NO_DEVICE;
	put_in_order();
	add_visible();
	if (sim_state.device_count == 0)
		return CUDA_ERROR_NO_DEVICE;
	if (costs && *costs)
		sim_model_load_costs(costs);
	if (oom)
		sim_state.oom_at_bytes = strtoull(oom, NULL, 10);
	sim_state.is_initialised = true;
	return CUDA_SUCCESS;
}
