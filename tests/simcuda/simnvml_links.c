/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How GPUs hang together, as the simulated NVML tells it: PCIe links, common ancestors, peers,
 * NVLink and the nodes of the host. What a link runs at now is what its file in the tree says.
 */
#include "simnvml_internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER(name)                                                                               \
	SIMNVML_API int name(nvml_device device, unsigned int *value);                             \
	int name(nvml_device device, unsigned int *value)

/* ---- PCIe ---- */

static bool read_link_file(const struct simnvml_device *device, const char *file, double *value)
{
	char name[16], path[PATH_MAX + 128], text[64];
	FILE *opened;
	bool is_read;

	sim_machine_format_address(name, sizeof(name), &device->described->address);
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/%s", simnvml.folder, name, file);
	opened = fopen(path, "re");
	if (!opened)
		return false;
	is_read = fgets(text, sizeof(text), opened) != NULL;
	fclose(opened);
	if (is_read)
		*value = strtod(text, NULL);
	return is_read;
}

NUMBER(nvmlDeviceGetCurrPcieLinkGeneration)
{
	static const double speeds[] = {2.5, 5, 8, 16, 32, 64}; /* GT/s */
	int result = simnvml_check(device, value);
	double speed;

	if (result)
		return result;
	if (!read_link_file(device, "current_link_speed", &speed))
		return NVML_NOT_SUPPORTED;
	*value = 1;
	for (unsigned int i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		if (speed >= speeds[i])
			*value = i + 1;
	}
	return NVML_OK;
}

NUMBER(nvmlDeviceGetCurrPcieLinkWidth)
{
	int result = simnvml_check(device, value);
	double width;

	if (result)
		return result;
	if (!read_link_file(device, "current_link_width", &width))
		return NVML_NOT_SUPPORTED;
	*value = (unsigned int)width;
	return NVML_OK;
}

static unsigned int lesser(int one, int two)
{
	return (unsigned int)(one < two ? one : two);
}

/* Device and slot together, unlike the next but one. */
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration)
{
	int result = simnvml_check(device, value);

	if (result == NVML_OK)
		*value = lesser(device->described->generation,
				simnvml.machine.ports[device->described->port].generation);
	return result;
}

NUMBER(nvmlDeviceGetMaxPcieLinkWidth)
{
	int result = simnvml_check(device, value);

	if (result == NVML_OK)
		*value = lesser(device->described->width,
				simnvml.machine.ports[device->described->port].width);
	return result;
}

NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration)
{
	int result = simnvml_check(device, value);

	if (result == NVML_OK)
		*value = (unsigned int)device->described->generation;
	return result;
}

/* ---- pairs ---- */

/* Ports between a GPU and one above it: two for each switch. */
static int ports_below(const struct simnvml_device *device, int ancestor)
{
	int count = 0;

	for (int port = device->described->port; port != ancestor;
	     port = simnvml.machine.ports[port].parent)
		count++;
	return count;
}

SIMNVML_API int nvmlDeviceGetTopologyCommonAncestor(nvml_device one, nvml_device two, int *level);
int nvmlDeviceGetTopologyCommonAncestor(nvml_device one, nvml_device two, int *level)
{
	int result = simnvml_check(one, level), port;

	if (result == NVML_OK)
		result = simnvml_check(two, level);
	if (result)
		return result;
	port = sim_machine_common_port(&simnvml.machine, one->index, two->index);
	if (one == two)
		*level = NVML_LEVEL_INTERNAL;
	else if (port != SIM_MACHINE_NONE)
		/* Each hangs at a port of the one switch, or there are more switches between. */
		*level = ports_below(one, port) <= 1 && ports_below(two, port) <= 1
				 ? NVML_LEVEL_SINGLE
				 : NVML_LEVEL_MULTIPLE;
	else if (one->described->node != two->described->node)
		*level = NVML_LEVEL_SYSTEM;
	else
		*level = simnvml.machine.ports[sim_machine_root_port(&simnvml.machine, one->index)]
						 .address.bus ==
					 simnvml.machine
						 .ports[sim_machine_root_port(&simnvml.machine,
									      two->index)]
						 .address.bus
				 ? NVML_LEVEL_HOSTBRIDGE
				 : NVML_LEVEL_NODE;
	return NVML_OK;
}

SIMNVML_API int nvmlDeviceGetP2PStatus(nvml_device one, nvml_device two, int index, int *status);
int nvmlDeviceGetP2PStatus(nvml_device one, nvml_device two, int index, int *status)
{
	int result = simnvml_check(one, status);
	bool has_links, can;

	if (result == NVML_OK)
		result = simnvml_check(two, status);
	if (result)
		return result;
	if (one == two || index < NVML_P2P_READ || index > NVML_P2P_PCI)
		return NVML_INVALID_ARGUMENT;
	has_links = one->described->nvlinks[two->index] > 0;
	can = sim_machine_can_access(&simnvml.machine, one->index, two->index);
	switch (index) {
	case NVML_P2P_NVLINK:
	case NVML_P2P_ATOMICS:
		*status = has_links ? NVML_P2P_OK : NVML_P2P_UNSUPPORTED;
		break;
	default:
		*status = can ? NVML_P2P_OK : NVML_P2P_CHIPSET;
		break;
	}
	return NVML_OK;
}

/* ---- NVLink ---- */

/* Which GPU a link of this one leads to; without a switch they are numbered peer after peer. */
static int peer_of_link(const struct simnvml_device *device, unsigned int link)
{
	for (int peer = 0; peer < simnvml.machine.gpu_count; peer++) {
		unsigned int links = (unsigned int)device->described->nvlinks[peer];

		if (link < links)
			return peer;
		if (!simnvml.machine.has_nvlink_switch)
			link -= links;
	}
	return SIM_MACHINE_NONE;
}

unsigned int simnvml_link_count(const struct simnvml_device *device)
{
	unsigned int count = 0;

	while (peer_of_link(device, count) != SIM_MACHINE_NONE)
		count++;
	return count;
}

static int check_link(const struct simnvml_device *device, unsigned int link, const void *result)
{
	int checked = simnvml_check(device, result);

	if (checked)
		return checked;
	if (device->model->nvlink_generation == 0)
		return NVML_NOT_SUPPORTED;
	return peer_of_link(device, link) == SIM_MACHINE_NONE ? NVML_INVALID_ARGUMENT : NVML_OK;
}

SIMNVML_API int nvmlDeviceGetNvLinkState(nvml_device device, unsigned int link,
					 unsigned int *is_active);
int nvmlDeviceGetNvLinkState(nvml_device device, unsigned int link, unsigned int *is_active)
{
	int result = check_link(device, link, is_active);

	if (result == NVML_OK)
		*is_active = 1;
	return result;
}

SIMNVML_API int nvmlDeviceGetNvLinkVersion(nvml_device device, unsigned int link,
					   unsigned int *version);
int nvmlDeviceGetNvLinkVersion(nvml_device device, unsigned int link, unsigned int *version)
{
	int result = check_link(device, link, version);

	if (result == NVML_OK)
		*version = (unsigned int)device->model->nvlink_generation;
	return result;
}

SIMNVML_API int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device device, unsigned int link,
						    int *type);
int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device device, unsigned int link, int *type)
{
	int result = check_link(device, link, type);

	if (result == NVML_OK)
		*type = simnvml.machine.has_nvlink_switch ? NVML_LINK_TO_SWITCH : NVML_LINK_TO_GPU;
	return result;
}

SIMNVML_API int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device device, unsigned int link,
						    struct nvml_pci_info *pci);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device device, unsigned int link,
					struct nvml_pci_info *pci)
{
	int result = check_link(device, link, pci), peer;

	if (result)
		return result;
	if (simnvml.machine.has_nvlink_switch) {
		/* Switches are PCI functions of their own, which the description does not name. */
		memset(pci, 0, sizeof(*pci));
		pci->bus = 0xf0 + link % 4;
		snprintf(pci->address, sizeof(pci->address), "00000000:%02X:00.0", pci->bus);
		return NVML_OK;
	}
	peer = peer_of_link(device, link);
	for (int i = 0; i < simnvml.machine.gpu_count; i++) {
		if (simnvml.devices[i].index == peer)
			simnvml_fill_pci(&simnvml.devices[i], pci);
	}
	return NVML_OK;
}

SIMNVML_API int nvmlDeviceGetNvLinkRemotePciInfo(nvml_device device, unsigned int link,
						 struct nvml_pci_info *pci);
int nvmlDeviceGetNvLinkRemotePciInfo(nvml_device device, unsigned int link,
				     struct nvml_pci_info *pci)
{
	return nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, pci);
}

/* ---- the host ---- */

/* The mask may have room for fewer than there are. */
static void set_bit(unsigned long *mask, unsigned int words, unsigned int bit)
{
	unsigned int bits = 8 * sizeof(*mask);

	if (bit / bits < words)
		mask[bit / bits] |= 1UL << bit % bits;
}

SIMNVML_API int nvmlDeviceGetCpuAffinity(nvml_device device, unsigned int words,
					 unsigned long *mask);
int nvmlDeviceGetCpuAffinity(nvml_device device, unsigned int words, unsigned long *mask)
{
	int result = simnvml_check(device, words > 0 ? mask : NULL);

	if (result)
		return result;
	memset(mask, 0, words * sizeof(*mask));
	for (int cpu = 0; cpu < 4096; cpu++) {
		if (sim_machine_node_of_cpu(&simnvml.machine, cpu) == device->described->node)
			set_bit(mask, words, (unsigned int)cpu);
	}
	return NVML_OK;
}

SIMNVML_API int nvmlDeviceGetMemoryAffinity(nvml_device device, unsigned int words,
					    unsigned long *mask, int scope);
int nvmlDeviceGetMemoryAffinity(nvml_device device, unsigned int words, unsigned long *mask,
				int scope)
{
	int result = simnvml_check(device, words > 0 ? mask : NULL);

	if (result)
		return result;
	if (scope < 0 || scope > 1)
		return NVML_INVALID_ARGUMENT;
	memset(mask, 0, words * sizeof(*mask));
	set_bit(mask, words, (unsigned int)device->described->node);
	return NVML_OK;
}

/* The node of the GPU's own memory: these are not coherent with the host. */
NUMBER(nvmlDeviceGetNumaNodeId)
{
	int result = simnvml_check(device, value);

	return result ? result : NVML_NOT_SUPPORTED;
}
