/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated NVML: opening, versions, and which GPUs there are. NVML sees all GPUs of the
 * machine in the order of their PCI addresses, whatever CUDA_VISIBLE_DEVICES says.
 */
#include "simnvml_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct simnvml simnvml;
pthread_mutex_t simnvml_lock = PTHREAD_MUTEX_INITIALIZER;
SIMNVML_API extern const char gputrace_simulated_nvml[];
const char gputrace_simulated_nvml[] =
	"This is the simulated NVML of gputrace's tests; there is no GPU behind it.";

/* Positions of the description's GPUs, by bus. */
static void put_in_order(int *order)
{
	for (int i = 0; i < simnvml.machine.gpu_count; i++) {
		const struct sim_pci_address *address = &simnvml.machine.gpus[i].address;
		int at = i;

		for (; at > 0; at--) {
			const struct sim_pci_address *before =
				&simnvml.machine.gpus[order[at - 1]].address;

			if (before->domain < address->domain ||
			    (before->domain == address->domain && before->bus <= address->bus))
				break;
			order[at] = order[at - 1];
		}
		order[at] = i;
	}
}

static int open_machine(void)
{
	const char *folder = getenv("SIMCUDA_MACHINE"), *root = getenv("GPUTRACE_ROOT");
	char path[sizeof(simnvml.folder) + 16], error[sizeof(path) + 256];
	int order[SIM_MACHINE_GPUS_MAX];

	if (!folder || !*folder)
		folder = root;
	if (!folder || !*folder)
		return NVML_DRIVER_NOT_LOADED;
	snprintf(simnvml.folder, sizeof(simnvml.folder), "%s", folder);
	snprintf(path, sizeof(path), "%s/machine.tsv", folder);
	if (!sim_machine_read(&simnvml.machine, path, error, sizeof(error)))
		return NVML_DRIVER_NOT_LOADED;
	simnvml.shared = sim_shared_open(folder);
	if (!simnvml.shared)
		return NVML_DRIVER_NOT_LOADED;
	put_in_order(order);
	for (int i = 0; i < simnvml.machine.gpu_count; i++) {
		struct simnvml_device *device = &simnvml.devices[i];

		memset(device, 0, sizeof(*device));
		device->index = order[i];
		device->described = &simnvml.machine.gpus[order[i]];
		device->model = sim_gpu_table_find(device->described->model);
	}
	return NVML_OK;
}

SIMNVML_API int nvmlInitWithFlags(unsigned int flags);
SIMNVML_API int nvmlInit_v2(void);
SIMNVML_API int nvmlInit(void);
SIMNVML_API int nvmlShutdown(void);

int nvmlInitWithFlags(unsigned int flags)
{
	int result = NVML_OK;

	(void)flags;
	pthread_mutex_lock(&simnvml_lock);
	if (simnvml.users == 0)
		result = open_machine();
	if (result == NVML_OK)
		simnvml.users++;
	pthread_mutex_unlock(&simnvml_lock);
	return result;
}

int nvmlInit_v2(void)
{
	return nvmlInitWithFlags(0);
}

int nvmlInit(void)
{
	return nvmlInitWithFlags(0);
}

int nvmlShutdown(void)
{
	int result = NVML_OK;

	pthread_mutex_lock(&simnvml_lock);
	if (simnvml.users == 0)
		result = NVML_UNINITIALIZED;
	else if (--simnvml.users == 0)
		sim_shared_close(simnvml.shared);
	pthread_mutex_unlock(&simnvml_lock);
	return result;
}

int simnvml_check(const struct simnvml_device *device, const void *result)
{
	if (simnvml.users == 0)
		return NVML_UNINITIALIZED;
	for (int i = 0; i < simnvml.machine.gpu_count; i++) {
		if (device == &simnvml.devices[i])
			return result ? NVML_OK : NVML_INVALID_ARGUMENT;
	}
	return NVML_INVALID_ARGUMENT;
}

int simnvml_text(char *text, unsigned int size, const char *format, ...)
{
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(NULL, 0, format, list);
	va_end(list);
	if (length < 0 || (unsigned int)length >= size)
		return NVML_INSUFFICIENT_SIZE;
	va_start(list, format);
	vsnprintf(text, size, format, list);
	va_end(list);
	return NVML_OK;
}

SIMNVML_API const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result)
{
	switch (result) {
	case NVML_OK:
		return "Success";
	case NVML_UNINITIALIZED:
		return "Uninitialized";
	case NVML_INVALID_ARGUMENT:
		return "Invalid Argument";
	case NVML_NOT_SUPPORTED:
		return "Not Supported";
	case NVML_NOT_FOUND:
		return "Not Found";
	case NVML_INSUFFICIENT_SIZE:
		return "Insufficient Size";
	case NVML_DRIVER_NOT_LOADED:
		return "Driver Not Loaded";
	case NVML_VERSION_MISMATCH:
		return "Argument Version Mismatch";
	default:
		return "Unknown Error";
	}
}

/* ---- versions ---- */

SIMNVML_API int nvmlSystemGetDriverVersion(char *text, unsigned int size);
SIMNVML_API int nvmlSystemGetNVMLVersion(char *text, unsigned int size);
SIMNVML_API int nvmlSystemGetCudaDriverVersion(int *version);
SIMNVML_API int nvmlSystemGetCudaDriverVersion_v2(int *version);

int nvmlSystemGetDriverVersion(char *text, unsigned int size)
{
	if (simnvml.users == 0 || !text)
		return text ? NVML_UNINITIALIZED : NVML_INVALID_ARGUMENT;
	return simnvml_text(text, size, "%s", simnvml.machine.driver);
}

/* The real one has the major version of CUDA in front of the driver's. */
int nvmlSystemGetNVMLVersion(char *text, unsigned int size)
{
	if (simnvml.users == 0 || !text)
		return text ? NVML_UNINITIALIZED : NVML_INVALID_ARGUMENT;
	return simnvml_text(text, size, "%d.%s", SIMNVML_CUDA_VERSION / 1000,
			    simnvml.machine.driver);
}

int nvmlSystemGetCudaDriverVersion(int *version)
{
	if (!version)
		return NVML_INVALID_ARGUMENT;
	*version = SIMNVML_CUDA_VERSION;
	return NVML_OK;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	return nvmlSystemGetCudaDriverVersion(version);
}

/* ---- which GPUs ---- */

#define ALIAS(name, parameters, arguments, base)                                                   \
	SIMNVML_API int name parameters;                                                           \
	int name parameters                                                                        \
	{                                                                                          \
		return base arguments;                                                             \
	}

SIMNVML_API int nvmlDeviceGetCount_v2(unsigned int *count);
int nvmlDeviceGetCount_v2(unsigned int *count)
{
	if (simnvml.users == 0 || !count)
		return count ? NVML_UNINITIALIZED : NVML_INVALID_ARGUMENT;
	*count = (unsigned int)simnvml.machine.gpu_count;
	return NVML_OK;
}
ALIAS(nvmlDeviceGetCount, (unsigned int *count), (count), nvmlDeviceGetCount_v2)

SIMNVML_API int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_device *device);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_device *device)
{
	if (simnvml.users == 0)
		return NVML_UNINITIALIZED;
	if (!device || index >= (unsigned int)simnvml.machine.gpu_count)
		return NVML_INVALID_ARGUMENT;
	*device = &simnvml.devices[index];
	return NVML_OK;
}
ALIAS(nvmlDeviceGetHandleByIndex, (unsigned int index, nvml_device *device), (index, device),
      nvmlDeviceGetHandleByIndex_v2)

SIMNVML_API int nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device);
int nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device)
{
	char text[48];

	if (simnvml.users == 0)
		return NVML_UNINITIALIZED;
	for (int i = 0; uuid && device && i < simnvml.machine.gpu_count; i++) {
		sim_machine_format_uuid(text, sizeof(text), simnvml.devices[i].described->uuid);
		if (strcasecmp(text, uuid) == 0) {
			*device = &simnvml.devices[i];
			return NVML_OK;
		}
	}
	return uuid && device ? NVML_NOT_FOUND : NVML_INVALID_ARGUMENT;
}

SIMNVML_API int nvmlDeviceGetHandleByPciBusId_v2(const char *address, nvml_device *device);
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, nvml_device *device)
{
	unsigned int domain = 0, bus, slot;

	if (simnvml.users == 0)
		return NVML_UNINITIALIZED;
	if (!address || !device || sscanf(address, "%x:%x:%x", &domain, &bus, &slot) != 3)
		return NVML_INVALID_ARGUMENT;
	for (int i = 0; i < simnvml.machine.gpu_count; i++) {
		const struct sim_pci_address *own = &simnvml.devices[i].described->address;

		if (own->domain == domain && own->bus == bus && own->device == slot) {
			*device = &simnvml.devices[i];
			return NVML_OK;
		}
	}
	return NVML_NOT_FOUND;
}
ALIAS(nvmlDeviceGetHandleByPciBusId, (const char *address, nvml_device *device), (address, device),
      nvmlDeviceGetHandleByPciBusId_v2)

SIMNVML_API int nvmlDeviceGetName(nvml_device device, char *text, unsigned int size);
int nvmlDeviceGetName(nvml_device device, char *text, unsigned int size)
{
	int result = simnvml_check(device, text);

	return result ? result : simnvml_text(text, size, "%s", device->model->device_name);
}

SIMNVML_API int nvmlDeviceGetUUID(nvml_device device, char *text, unsigned int size);
int nvmlDeviceGetUUID(nvml_device device, char *text, unsigned int size)
{
	int result = simnvml_check(device, text);
	char uuid[48];

	if (result)
		return result;
	sim_machine_format_uuid(uuid, sizeof(uuid), device->described->uuid);
	return simnvml_text(text, size, "%s", uuid);
}

void simnvml_fill_pci(const struct simnvml_device *device, struct nvml_pci_info *pci)
{
	const struct sim_pci_address *address = &device->described->address;

	memset(pci, 0, sizeof(*pci));
	pci->domain = address->domain;
	pci->bus = address->bus;
	pci->device = address->device;
	pci->id = device->described->pci_device_id << 16 | 0x10de;
	snprintf(pci->legacy_address, sizeof(pci->legacy_address), "%04X:%02X:%02X.0",
		 address->domain & 0xffffU, address->bus & 0xffU, address->device & 0xffU);
	snprintf(pci->address, sizeof(pci->address), "%08X:%02X:%02X.0", address->domain,
		 address->bus & 0xffU, address->device & 0xffU);
}

SIMNVML_API int nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci_info *pci);
int nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci_info *pci)
{
	int result = simnvml_check(device, pci);

	if (result == NVML_OK)
		simnvml_fill_pci(device, pci);
	return result;
}
ALIAS(nvmlDeviceGetPciInfo_v2, (nvml_device device, struct nvml_pci_info *pci), (device, pci),
      nvmlDeviceGetPciInfo_v3)
ALIAS(nvmlDeviceGetPciInfo, (nvml_device device, struct nvml_pci_info *pci), (device, pci),
      nvmlDeviceGetPciInfo_v3)

SIMNVML_API int nvmlDeviceGetIndex(nvml_device device, unsigned int *index);
int nvmlDeviceGetIndex(nvml_device device, unsigned int *index)
{
	int result = simnvml_check(device, index);

	if (result == NVML_OK)
		*index = (unsigned int)(device - simnvml.devices);
	return result;
}
ALIAS(nvmlDeviceGetMinorNumber, (nvml_device device, unsigned int *minor), (device, minor),
      nvmlDeviceGetIndex)

SIMNVML_API int nvmlDeviceGetCudaComputeCapability(nvml_device device, int *major, int *minor);
int nvmlDeviceGetCudaComputeCapability(nvml_device device, int *major, int *minor)
{
	int result = simnvml_check(device, major && minor ? major : NULL);

	if (result == NVML_OK) {
		*major = device->model->major;
		*minor = device->model->minor;
	}
	return result;
}
