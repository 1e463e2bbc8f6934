/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuInit and the devices: which of them there are (SIMCUDA_GPU, SIMCUDA_GPUS,
 * CUDA_VISIBLE_DEVICES), and what is asked about them. Attributes are in sim_attribute.c.
 */
#include "sim_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

static void format_uuid(char *text, size_t size, const unsigned char *u)
{
	snprintf(text, size,
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
		 u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
		 u[14], u[15]);
}

/* The physical device that an entry of CUDA_VISIBLE_DEVICES names, or -1. */
static int parse_visible(const char *entry, size_t length, const struct sim_gpu *gpu, int count)
{
	char text[64], name[64], *end;
	unsigned char uuid[16];
	long ordinal;

	if (length == 0 || length >= sizeof(text))
		return -1;
	memcpy(text, entry, length);
	text[length] = '\0';
	ordinal = strtol(text, &end, 10);
	if (*end == '\0')
		return ordinal >= 0 && ordinal < count ? (int)ordinal : -1;
	if (strncmp(text, "GPU-", 4) != 0)
		return -1;
	for (int i = 0; i < count; i++) {
		make_uuid(uuid, gpu, i);
		format_uuid(name, sizeof(name), uuid);
		if (strncasecmp(name, text, length) == 0)
			return i;
	}
	return -1;
}

static void add_device(const struct sim_gpu *gpu, int physical)
{
	struct sim_device *device = &sim_state.devices[sim_state.device_count];
	const char *memory = getenv("SIMCUDA_MEMORY_MIB");

	device->gpu = gpu;
	device->ordinal = sim_state.device_count++;
	device->physical = physical;
	device->memory_bytes = memory && atoll(memory) > 0 ? (size_t)atoll(memory) << 20
							   : (size_t)(gpu->memory_gib * 1024) << 20;
	device->link_rate = sim_model_link_rate(gpu);
	make_uuid(device->uuid, gpu, physical);
	device->default_pool = sim_pool_new(POOL_MEMORY);
	if (device->default_pool)
		device->default_pool->device = device;
	device->current_pool = device->default_pool;
}

/* As the real driver reads the list: up to the first entry that names no device, or one twice. */
static void add_devices(const struct sim_gpu *gpu, int count)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	unsigned used = 0;

	if (!visible) {
		for (int i = 0; i < count; i++)
			add_device(gpu, i);
		return;
	}
	while (*visible) {
		size_t length = strcspn(visible, ",");
		int physical;

		while (length > 0 && *visible == ' ') {
			visible++;
			length--;
		}
		physical = parse_visible(visible, length, gpu, count);
		if (physical < 0 || (used >> physical & 1))
			return;
		used |= 1U << physical;
		add_device(gpu, physical);
		visible += length;
		if (*visible == ',')
			visible++;
	}
}

CUresult sim_device_init(unsigned flags)
{
	const char *name = getenv("SIMCUDA_GPU"), *text = getenv("SIMCUDA_GPUS");
	const char *costs = getenv("SIMCUDA_KERNEL_COSTS"), *oom = getenv("SIMCUDA_OOM_AT");
	int count = text ? atoi(text) : 1;
	const struct sim_gpu *gpu;

	if (flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim_state.is_initialised)
		return CUDA_SUCCESS;
	gpu = sim_model_find_gpu(name && *name ? name : "a100-sxm-80gb");
	if (!gpu) {
		fprintf(stderr, "simcuda: SIMCUDA_GPU=\"%s\" is no row of gpus.tsv\n", name);
		return CUDA_ERROR_NO_DEVICE;
	}
	if (count < 1 || count > SIM_DEVICES_MAX) {
		fprintf(stderr, "simcuda: SIMCUDA_GPUS must be 1 to %d\n", SIM_DEVICES_MAX);
		return CUDA_ERROR_NO_DEVICE;
	}
	add_devices(gpu, count);
	if (sim_state.device_count == 0)
		return CUDA_ERROR_NO_DEVICE;
	if (costs && *costs)
		sim_model_load_costs(costs);
	if (oom)
		sim_state.oom_at_bytes = strtoull(oom, NULL, 10);
	sim_state.is_initialised = true;
	return CUDA_SUCCESS;
}

struct sim_device *sim_device_get(CUdevice device)
{
	return device >= 0 && device < sim_state.device_count ? &sim_state.devices[device] : NULL;
}

CUresult sim_device_ordinal(CUdevice *device, int ordinal)
{
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_get(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult sim_device_count(int *count)
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = sim_state.device_count;
	return CUDA_SUCCESS;
}

CUresult sim_device_name(char *name, int size, CUdevice ordinal)
{
	const struct sim_device *device = sim_device_get(ordinal);

	if (!name || size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(name, (size_t)size, "%s", device->gpu->device_name);
	return CUDA_SUCCESS;
}

CUresult sim_device_uuid(CUuuid *uuid, CUdevice ordinal)
{
	const struct sim_device *device = sim_device_get(ordinal);

	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	memcpy(uuid->bytes, device->uuid, sizeof(uuid->bytes));
	return CUDA_SUCCESS;
}

CUresult sim_device_total_memory(size_t *bytes, CUdevice ordinal)
{
	const struct sim_device *device = sim_device_get(ordinal);

	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = device->memory_bytes;
	return CUDA_SUCCESS;
}

CUresult sim_device_pci_bus_id(char *text, int size, CUdevice ordinal)
{
	const struct sim_device *device = sim_device_get(ordinal);

	if (!text || size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(text, (size_t)size, "0000:%02X:00.0", SIM_PCI_BUS(device));
	return CUDA_SUCCESS;
}

CUresult sim_device_by_pci_bus_id(CUdevice *ordinal, const char *text)
{
	unsigned domain = 0, bus, slot;

	if (!ordinal || !text)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3 &&
	    sscanf(text, "%x:%x", &bus, &slot) != 2)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < sim_state.device_count; i++) {
		if (domain == 0 && slot == 0 &&
		    bus == (unsigned)SIM_PCI_BUS(&sim_state.devices[i])) {
			*ordinal = i;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_device_can_access_peer(int *can, CUdevice first, CUdevice second)
{
	if (!can)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_get(first) || !sim_device_get(second))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = first != second;
	return CUDA_SUCCESS;
}

CUresult sim_device_peer_access(struct sim_call *call, CUcontext peer, bool enable)
{
	const struct sim_context *other = (struct sim_context *)peer;
	struct sim_device *device = call->context->device;
	uint32_t bit;

	if (!sim_pool_holds(POOL_CONTEXT, peer) || other->unique_id == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (other->device == device)
		return CUDA_ERROR_INVALID_DEVICE;
	bit = 1U << other->device->ordinal;
	if (enable == !!(device->peers & bit))
		return enable ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
			      : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	device->peers ^= bit;
	return CUDA_SUCCESS;
}

CUresult sim_device_version(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = CUDA_VERSION;
	return CUDA_SUCCESS;
}
