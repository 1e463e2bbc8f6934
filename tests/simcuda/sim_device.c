/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked about devices, alone and in pairs. Which there are is decided in sim_device_list.c,
 * attributes are in sim_attribute.c.
 */
#include "sim_api.h"

#include <stdio.h>
#include <string.h>

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
	snprintf(text, (size_t)size, "%04X:%02X:%02X.0", device->address.domain,
		 device->address.bus, device->address.device);
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
		const struct sim_pci_address *address = &sim_state.devices[i].address;

		if (domain == address->domain && bus == address->bus && slot == address->device) {
			*ordinal = i;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

static bool can_access(const struct sim_device *from, const struct sim_device *to)
{
	if (from == to)
		return false;
	return !sim_state.machine ||
	       sim_machine_can_access(sim_state.machine, from->physical, to->physical);
}

CUresult sim_device_can_access_peer(int *can, CUdevice first, CUdevice second)
{
	if (!can)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_get(first) || !sim_device_get(second))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = can_access(sim_device_get(first), sim_device_get(second));
	return CUDA_SUCCESS;
}

CUresult sim_device_peer_attribute(int *value, CUdevice_P2PAttribute attribute, CUdevice first,
				   CUdevice second)
{
	const struct sim_device *from = sim_device_get(first), *to = sim_device_get(second);
	bool has_nvlink;

	if (!value || first == second)
		return CUDA_ERROR_INVALID_VALUE;
	if (!from || !to)
		return CUDA_ERROR_INVALID_DEVICE;
	has_nvlink = sim_state.machine &&
		     sim_state.machine->gpus[from->physical].nvlinks[to->physical] > 0;
	switch (attribute) {
	case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
		*value = has_nvlink ? 0 : 1;
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
		*value = can_access(from, to);
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
		*value = has_nvlink;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
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
	if (enable && !can_access(device, other->device))
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
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
