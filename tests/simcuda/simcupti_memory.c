/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the kinds MEMORY2 and MEMORY_POOL, made of the driver's calls and their parameters:
 * plain, managed, pinned and stream-ordered memory. Physical memory and arrays have none here. What
 * a free or a destroyed pool was about is asked before the call.
 */
#include "simcupti_internal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { POOL_OF_DEVICE = -1, NO_POOL = 0 };

static const struct {
	const char *name; /* also with _ptsz */
	int operation, kind;
	int stream_at; /* where the stream is among the parameters, 0: none */
	int pool_at;   /* likewise the pool, or one of the enumeration above */
} functions[] = {
#define ALLOCATES CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
#define RELEASES  CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
	{"cuMemAlloc_v2", ALLOCATES, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 0, NO_POOL},
	{"cuMemAllocPitch_v2", ALLOCATES, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 0, NO_POOL},
	{"cuMemAllocManaged", ALLOCATES, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, 0, NO_POOL},
	{"cuMemAllocHost_v2", ALLOCATES, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, 0, NO_POOL},
	{"cuMemHostAlloc", ALLOCATES, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, 0, NO_POOL},
	{"cuMemAllocAsync", ALLOCATES, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 16, POOL_OF_DEVICE},
	{"cuMemAllocFromPoolAsync", ALLOCATES, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 24, 16},
	{"cuMemFree_v2", RELEASES, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 0, NO_POOL},
	{"cuMemFreeHost", RELEASES, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, 0, NO_POOL},
	{"cuMemFreeAsync", RELEASES, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 8, NO_POOL},
};

static const struct {
	const char *name;
	int operation;
} pool_functions[] = {
	{"cuMemPoolCreate", CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED},
	{"cuMemPoolDestroy", CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED},
	{"cuMemPoolTrimTo", CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED},
};

static struct {
	CUresult (*range)(CUdeviceptr *base, size_t *bytes, CUdeviceptr address);
	CUresult (*attribute)(void *value, CUpointer_attribute attribute, CUdeviceptr pointer);
	CUresult (*pool_attribute)(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);
	CUresult (*device_pool)(CUmemoryPool *pool, CUdevice device);
	CUresult (*device)(CUdevice *device);
	CUresult (*stream_id)(CUstream stream, unsigned long long *id);
} driver;
static pthread_once_t driver_once = PTHREAD_ONCE_INIT;

static void find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	if (!library)
		return;
	*(void **)&driver.range = dlsym(library, "cuMemGetAddressRange_v2");
	*(void **)&driver.attribute = dlsym(library, "cuPointerGetAttribute");
	*(void **)&driver.pool_attribute = dlsym(library, "cuMemPoolGetAttribute");
	*(void **)&driver.device_pool = dlsym(library, "cuDeviceGetMemPool");
	*(void **)&driver.device = dlsym(library, "cuCtxGetDevice");
	*(void **)&driver.stream_id = dlsym(library, "cuStreamGetId");
}

static bool is_ready(void)
{
	if (!simcupti_activity_is_enabled(CUPTI_ACTIVITY_KIND_MEMORY2) &&
	    !simcupti_activity_is_enabled(CUPTI_ACTIVITY_KIND_MEMORY_POOL))
		return false;
	pthread_once(&driver_once, find_driver);
	return driver.range && driver.attribute && driver.pool_attribute && driver.device_pool &&
	       driver.device && driver.stream_id;
}

static bool is_function(const char *function, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(function, name, length) &&
	       (!function[length] || !strcmp(function + length, "_ptsz"));
}

/* Index of the function, or -1. */
static int find(const char *function)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (is_function(function, functions[i].name))
			return (int)i;
	}
	return -1;
}

static int find_pool_operation(const char *function)
{
	for (size_t i = 0; i < sizeof(pool_functions) / sizeof(pool_functions[0]); i++) {
		if (!strcmp(function, pool_functions[i].name))
			return pool_functions[i].operation;
	}
	return 0;
}

static uint64_t word_at(const void *arguments, int offset)
{
	uint64_t word;

	memcpy(&word, (const char *)arguments + offset, sizeof(word));
	return word;
}

static uint64_t pool_number(CUmemoryPool pool, CUmemPool_attribute attribute)
{
	uint64_t value = 0;

	return driver.pool_attribute(pool, attribute, &value) ? 0 : value;
}

void simcupti_memory_enter(const char *function, struct simcupti_frame *frame)
{
	int at;
	CUdeviceptr base;
	size_t bytes = 0;
	unsigned is_managed = 0;

	if (!frame->arguments || strncmp(function, "cuMem", 5) || !is_ready())
		return;
	at = find(function);
	if (at < 0 || functions[at].operation != RELEASES)
		return;
	simcupti_set_quiet(true);
	if (!driver.range(&base, &bytes, (CUdeviceptr)word_at(frame->arguments, 0)))
		frame->freed_bytes = bytes;
	if (driver.attribute(&frame->pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
			     (CUdeviceptr)word_at(frame->arguments, 0)))
		frame->pool = NULL;
	if (driver.attribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED,
			     (CUdeviceptr)word_at(frame->arguments, 0)))
		is_managed = 0;
	frame->is_managed = is_managed & 1;
	simcupti_set_quiet(false);
}

static void add_pool(int operation, const struct simcupti_frame *frame, uint32_t device)
{
	union simcupti_record record = {0};
	CUmemoryPool pool = (CUmemoryPool)(uintptr_t)word_at(frame->arguments, 0);

	if (operation == CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED)
		memcpy(&pool, (const void *)pool, sizeof(pool));
	record.pool.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
	record.pool.memoryPoolOperationType = (CUpti_ActivityMemoryPoolOperationType)operation;
	record.pool.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
	record.pool.correlationId = frame->correlation;
	record.pool.processId = (uint32_t)getpid();
	record.pool.deviceId = device;
	record.pool.address = (uintptr_t)pool;
	record.pool.timestamp = simcupti_now_ns();
	if (operation == CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED)
		record.pool.minBytesToKeep = word_at(frame->arguments, 8);
	if (operation != CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED) {
		record.pool.size = pool_number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
		record.pool.utilizedSize = pool_number(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
		record.pool.releaseThreshold = pool_number(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
	}
	if (simcupti_activity_is_enabled(CUPTI_ACTIVITY_KIND_MEMORY_POOL))
		simcupti_buffer_add(&record);
}

static void add_memory(int at, const struct simcupti_frame *frame, uint32_t device,
		       uint32_t context)
{
	union simcupti_record record = {0};
	CUpti_ActivityMemory4 *r = &record.memory;
	CUmemoryPool pool = frame->pool;
	unsigned long long stream = 0;
	CUdeviceptr base;
	size_t bytes;
	uint64_t address = word_at(frame->arguments, 0);

	r->kind = CUPTI_ACTIVITY_KIND_MEMORY2;
	r->memoryOperationType = (CUpti_ActivityMemoryOperationType)functions[at].operation;
	r->memoryKind = (CUpti_ActivityMemoryKind)functions[at].kind;
	r->bytes = frame->freed_bytes;
	if (frame->is_managed)
		r->memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
	if (functions[at].operation == ALLOCATES) {
		memcpy(&address, (const void *)(uintptr_t)address, sizeof(address));
		if (!strstr(functions[at].name, "Pitch"))
			r->bytes = word_at(frame->arguments, 8);
		else if (!driver.range(&base, &bytes, (CUdeviceptr)address))
			r->bytes = bytes;
		if (functions[at].pool_at == POOL_OF_DEVICE)
			driver.device_pool(&pool, (CUdevice)device);
		else if (functions[at].pool_at)
			pool = (CUmemoryPool)(uintptr_t)word_at(frame->arguments,
								functions[at].pool_at);
	}
	if (functions[at].stream_at)
		driver.stream_id(
			(CUstream)(uintptr_t)word_at(frame->arguments, functions[at].stream_at),
			&stream);
	r->correlationId = frame->correlation;
	r->address = address;
	r->timestamp = simcupti_now_ns();
	r->processId = (uint32_t)getpid();
	r->deviceId = device;
	r->contextId = context;
	r->streamId = (uint32_t)stream;
	r->isAsync = functions[at].stream_at != 0;
	if (pool) {
		r->memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
		r->memoryPoolConfig.address = (uintptr_t)pool;
		r->memoryPoolConfig.releaseThreshold =
			pool_number(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
		r->memoryPoolConfig.pool.size =
			pool_number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
		r->memoryPoolConfig.utilizedSize =
			pool_number(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
	}
	if (address && simcupti_activity_is_enabled(CUPTI_ACTIVITY_KIND_MEMORY2))
		simcupti_buffer_add(&record);
}

void simcupti_memory_exit(const char *function, const struct simcupti_frame *frame, int result)
{
	uint32_t context = 0;
	CUdevice device = 0;
	int at, operation;

	if (result || !frame->arguments || strncmp(function, "cuMem", 5) || !is_ready())
		return;
	at = find(function);
	operation = find_pool_operation(function);
	if (at < 0 && !operation)
		return;
	simcupti_current_context(&context);
	simcupti_set_quiet(true);
	driver.device(&device);
	if (operation)
		add_pool(operation, frame, (uint32_t)device);
	else
		add_memory(at, frame, (uint32_t)device, context);
	simcupti_set_quiet(false);
}
