/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls into the real driver on our own account. The thread is muted meanwhile. Attribute numbers
 * are part of the driver's ABI and never change.
 */
#include "device.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../collector/format/record.h"
#include "lifecycle.h"
#include "real.h"
#include "session.h"
#include "streams.h"
#include "thread.h"

enum {
	ATTRIBUTE_CLOCK_KHZ = 13,
	ATTRIBUTE_SM_COUNT = 16,
	ATTRIBUTE_PCI_BUS = 33,
	ATTRIBUTE_PCI_DEVICE = 34,
	ATTRIBUTE_PCI_DOMAIN = 50,
	ATTRIBUTE_CC_MAJOR = 75,
	ATTRIBUTE_CC_MINOR = 76,
};

/* The functions of the driver that are called, each optional. */
#define DRIVER_FUNCTIONS(F)                                                                        \
	F(count, cuDeviceGetCount, (int *))                                                        \
	F(name, cuDeviceGetName, (char *, int, int))                                               \
	F(memory, cuDeviceTotalMem_v2, (size_t *, int))                                            \
	F(attribute, cuDeviceGetAttribute, (int *, int, int))                                      \
	F(uuid, cuDeviceGetUuid_v2, (uint8_t *, int))                                              \
	F(uuid_old, cuDeviceGetUuid, (uint8_t *, int))                                             \
	F(current, cuCtxGetDevice, (int *))                                                        \
	F(version, cuDriverGetVersion, (int *))                                                    \
	F(function_name, cuFuncGetName, (const char **, const void *))                             \
	F(kernel_name, cuKernelGetName, (const char **, const void *))                             \
	F(array, cuArray3DGetDescriptor_v2, (CUDA_ARRAY3D_DESCRIPTOR *, const void *))

static struct {
#define FIELD(field, symbol, params) int(*field) params;
	DRIVER_FUNCTIONS(FIELD)
#undef FIELD
} driver;
static _Atomic uint32_t driver_state; /* 0 not looked for, 1 found */

#define CONTEXTS 64u
static struct {
	_Atomic uintptr_t context;
	_Atomic uint32_t device;
} contexts[CONTEXTS];

/* Inside a callback of CUPTI no CUDA call is allowed; our own threads are not in one. */
static bool may_call(void)
{
	return !lifecycle_is_injected || thread_now->is_own;
}

static void *find(const char *name)
{
	return real_driver_symbol(name);
}

static bool driver_ready(void)
{
	if (atomic_load_explicit(&driver_state, memory_order_acquire))
		return true;
	if (!find("cuDeviceGetCount"))
		return false;
#define FIELD(field, symbol, params)                                                               \
	do {                                                                                       \
		union {                                                                            \
			void *object;                                                              \
			int(*function) params;                                                     \
		} convert = {find(#symbol)};                                                       \
		driver.field = convert.function;                                                   \
	} while (0);
	DRIVER_FUNCTIONS(FIELD)
#undef FIELD
	/* Threads that come at the same time store the same pointers. */
	atomic_store_explicit(&driver_state, 1, memory_order_release);
	return true;
}

static int attribute_of(int device, int attribute)
{
	int value = 0;
	return driver.attribute && !driver.attribute(&value, attribute, device) ? value : 0;
}

static void describe(int device, bool is_simulated, struct thread *thread)
{
	char name[256] = "";
	size_t memory_bytes = 0;
	uint8_t uuid[16] = {0};

	if (driver.name)
		driver.name(name, sizeof(name) - 1, device);
	if (driver.memory)
		driver.memory(&memory_bytes, device);
	if (driver.uuid)
		driver.uuid(uuid, device);
	else if (driver.uuid_old)
		driver.uuid_old(uuid, device);
	size_t name_bytes = strnlen(name, sizeof(name));
	size_t size = (sizeof(struct record_device) + name_bytes + 7) & ~(size_t)7;
	struct record_device *record = thread_reserve(thread, RECORD_KIND_device, size);
	if (!record)
		return;
	memset(record, 0, size);
	record->head = (struct record_head){RECORD_KIND_device, (uint16_t)size, 0};
	record->ordinal = (uint32_t)device;
	record->flags = is_simulated ? DEVICE_SIMULATED : 0;
	record->memory_bytes = memory_bytes;
	record->numa_node = -1; /* the collector knows the topology */
	memcpy(record->uuid, uuid, sizeof(uuid));
	record->name_bytes = (uint32_t)name_bytes;
	memcpy(record->name, name, name_bytes);
	record->sm_count = (uint32_t)attribute_of(device, ATTRIBUTE_SM_COUNT);
	record->clock_khz = (uint32_t)attribute_of(device, ATTRIBUTE_CLOCK_KHZ);
	record->cc_major = (uint16_t)attribute_of(device, ATTRIBUTE_CC_MAJOR);
	record->cc_minor = (uint16_t)attribute_of(device, ATTRIBUTE_CC_MINOR);
	record->pci_domain = (uint32_t)attribute_of(device, ATTRIBUTE_PCI_DOMAIN);
	record->pci_bus = (uint16_t)attribute_of(device, ATTRIBUTE_PCI_BUS);
	record->pci_device = (uint16_t)attribute_of(device, ATTRIBUTE_PCI_DEVICE);
	thread_commit(thread);
}

void device_describe_all(void)
{
	struct thread *thread = thread_now;
	int count = 0, version = 0;
	if (!thread->is_live || !driver_ready())
		return;
	thread_mute();
	bool is_simulated = find("gputrace_simulated_cuda") != NULL;
	if (driver.count(&count))
		count = 0;
	if (driver.version && driver.version(&version))
		version = 0;
	for (int device = 0; device < count && device < 64; device++)
		describe(device, is_simulated, thread);
	thread_unmute(thread);
	if (version) {
		char text[32];
		snprintf(text, sizeof(text), "%d.%d", version / 1000, version % 1000 / 10);
		session_info("cuda.driver_version", text);
	}
}

uint32_t device_current(void)
{
	int device = 0;
	if (!may_call() || !driver_ready() || !driver.current)
		return DEVICE_UNKNOWN;
	struct thread *before = thread_mute();
	int status = driver.current(&device);
	thread_unmute(before);
	return status ? DEVICE_UNKNOWN : (uint32_t)device;
}

void device_learn_context(const void *context, int device)
{
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		uintptr_t found = 0;
		if (atomic_load(&contexts[i].context) == (uintptr_t)context ||
		    atomic_compare_exchange_strong(&contexts[i].context, &found,
						   (uintptr_t)context)) {
			atomic_store(&contexts[i].device, (uint32_t)device);
			return;
		}
	}
}

uint32_t device_of_context(const void *context)
{
	for (uint32_t i = 0; context && i < CONTEXTS; i++) {
		uintptr_t found = atomic_load_explicit(&contexts[i].context, memory_order_acquire);
		if (!found)
			break;
		if (found == (uintptr_t)context)
			return atomic_load_explicit(&contexts[i].device, memory_order_relaxed);
	}
	return DEVICE_UNKNOWN;
}

void device_forget_contexts(void)
{
	for (uint32_t i = 0; i < CONTEXTS; i++)
		atomic_store(&contexts[i].context, 0);
}

const char *device_function_name(const void *function)
{
	const char *name = NULL;
	if (!may_call())
		return thread_now->launched;
	if (lifecycle_exiting() || atomic_load(&streams_open_captures) || !driver_ready())
		return NULL;
	struct thread *before = thread_mute();
	/* A CUfunction argument may really be a CUkernel. */
	if (!driver.function_name || driver.function_name(&name, function) || !name) {
		name = NULL;
		if (driver.kernel_name && driver.kernel_name(&name, function))
			name = NULL;
	}
	thread_unmute(before);
	return name;
}

bool device_describe_array(const void *array, CUDA_ARRAY3D_DESCRIPTOR *description)
{
	if (!may_call() || lifecycle_exiting() || atomic_load(&streams_open_captures) ||
	    !driver_ready() || !driver.array)
		return false;
	struct thread *before = thread_mute();
	int status = driver.array(description, array);
	thread_unmute(before);
	return !status;
}
