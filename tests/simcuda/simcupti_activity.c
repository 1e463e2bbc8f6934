/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kinds of records are enabled, attributes, and the way from finished work to a record. All
 * records are of complete work, because the driver reports nothing else.
 */
#include "simcupti_internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic(bool) is_enabled[SIMCUPTI_KINDS];
static _Atomic(int) thread_id_type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;

/* Kinds that can be enabled. One has nothing to tell here: nobody pushes external ids into records.
 */
static const int known_kinds[] = {
	CUPTI_ACTIVITY_KIND_KERNEL,
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMCPY2,
	CUPTI_ACTIVITY_KIND_MEMSET,
	CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
	CUPTI_ACTIVITY_KIND_RUNTIME,
	CUPTI_ACTIVITY_KIND_DRIVER,
	CUPTI_ACTIVITY_KIND_OVERHEAD,
	CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
	CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
	CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
	CUPTI_ACTIVITY_KIND_MEMORY2,
	CUPTI_ACTIVITY_KIND_MEMORY_POOL,
};

static bool is_known(CUpti_ActivityKind kind)
{
	for (size_t i = 0; i < sizeof(known_kinds) / sizeof(known_kinds[0]); i++) {
		if (known_kinds[i] == (int)kind)
			return true;
	}
	return false;
}

bool simcupti_activity_is_enabled(int kind)
{
	return atomic_load_explicit(&is_enabled[kind], memory_order_relaxed);
}

bool simcupti_activity_wants_api(int domain)
{
	return simcupti_activity_is_enabled(domain == CUPTI_CB_DOMAIN_DRIVER_API
						    ? CUPTI_ACTIVITY_KIND_DRIVER
						    : CUPTI_ACTIVITY_KIND_RUNTIME);
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	SIMCUPTI_ENTER();
	CUptiResult result;

	if (!is_known(kind))
		return simcupti_return(CUPTI_ERROR_INVALID_KIND);
	if (simcupti_options()->is_failing[kind])
		return simcupti_return(CUPTI_ERROR_NOT_COMPATIBLE);
	/* One of the two kernel kinds at a time: one would serialise what the other does not. */
	if ((kind == CUPTI_ACTIVITY_KIND_KERNEL &&
	     simcupti_activity_is_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) ||
	    (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
	     simcupti_activity_is_enabled(CUPTI_ACTIVITY_KIND_KERNEL)))
		return simcupti_return(CUPTI_ERROR_NOT_COMPATIBLE);
	result = simcupti_attach();
	if (result != CUPTI_SUCCESS)
		return simcupti_return(result);
	/* What is over by now was done while the kind was not enabled. */
	if (!simcupti_activity_is_enabled((int)kind))
		simcupti_deliver();
	atomic_store(&is_enabled[kind], true);
	/* As NVIDIA documents, copies between devices come with copies. */
	if (kind == CUPTI_ACTIVITY_KIND_MEMCPY)
		atomic_store(&is_enabled[CUPTI_ACTIVITY_KIND_MEMCPY2], true);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	return cuptiActivityEnable(kind);
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	SIMCUPTI_ENTER();
	if (!is_known(kind))
		return simcupti_return(CUPTI_ERROR_INVALID_KIND);
	/* What is over by now was done while the kind was enabled. */
	if (simcupti_activity_is_enabled((int)kind))
		simcupti_deliver();
	atomic_store(&is_enabled[kind], false);
	return CUPTI_SUCCESS;
}

void simcupti_activity_take(const struct simcuda_activity *activity)
{
	union simcupti_record record;

	if (simcupti_record_make(&record, activity))
		simcupti_buffer_add(&record);
}

void simcupti_activity_take_api(int domain, const struct simcupti_frame *frame, int result)
{
	union simcupti_record record;

	if (!simcupti_activity_wants_api(domain) || !frame->cbid)
		return;
	memset(&record, 0, sizeof(record));
	record.api.kind = domain == CUPTI_CB_DOMAIN_DRIVER_API ? CUPTI_ACTIVITY_KIND_DRIVER
							       : CUPTI_ACTIVITY_KIND_RUNTIME;
	record.api.cbid = frame->cbid;
	record.api.start = frame->begin_ns;
	record.api.end = simcupti_now_ns();
	record.api.processId = (uint32_t)getpid();
	record.api.threadId = atomic_load(&thread_id_type) == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
				      ? (uint32_t)syscall(SYS_gettid)
				      : (uint32_t)(uintptr_t)pthread_self();
	record.api.correlationId = frame->correlation;
	record.api.returnValue = (uint32_t)result;
	simcupti_buffer_add(&record);
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	SIMCUPTI_ENTER();
	if (type != CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT &&
	    type != CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
		return simcupti_return(CUPTI_ERROR_NOT_SUPPORTED);
	atomic_store(&thread_id_type, (int)type);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	if (!type)
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	*type = (CUpti_ActivityThreadIdType)atomic_load(&thread_id_type);
	return CUPTI_SUCCESS;
}

/* Attributes keep what is set and change nothing here; the values are the documented defaults.
 * PER_THREAD_ACTIVITY_BUFFER (9, since 12.3) is on by default since 13.0. */
static struct {
	int attribute;
	uint32_t since;
	size_t size_bytes;
	uint64_t value;
} attributes[] = {
	{CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, 0, sizeof(size_t), 3200000},
	{CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, 0, sizeof(size_t), 250},
	{CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_SIZE, 0, sizeof(size_t), 25000},
	{CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_LIMIT, 0, sizeof(size_t), 250},
	{CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 0, sizeof(uint8_t), 0},
	{CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, 0, sizeof(size_t), 3},
	{CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE, 0, sizeof(size_t), 3},
	{CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, 0, sizeof(uint8_t), 0},
	{CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 130000, sizeof(uint8_t), 1},
	{CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 21, sizeof(uint8_t), 0},
};
static pthread_mutex_t attributes_lock = PTHREAD_MUTEX_INITIALIZER;

static CUptiResult access_attribute(CUpti_ActivityAttribute attribute, size_t *size, void *value,
				    bool is_write)
{
	CUptiResult result = CUPTI_ERROR_INVALID_PARAMETER;

	if (!size || !value)
		return simcupti_return(result);
	pthread_mutex_lock(&attributes_lock);
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (attributes[i].attribute != (int)attribute ||
		    simcupti_options()->version < attributes[i].since)
			continue;
		result = CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
		if (*size < attributes[i].size_bytes)
			break;
		*size = attributes[i].size_bytes;
		/* The low bytes of the number, on a little-endian machine. */
		if (is_write)
			memcpy(&attributes[i].value, value, *size);
		else
			memcpy(value, &attributes[i].value, *size);
		result = CUPTI_SUCCESS;
		break;
	}
	pthread_mutex_unlock(&attributes_lock);
	return simcupti_return(result);
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
	return access_attribute(attribute, size, value, false);
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
	SIMCUPTI_ENTER();
	return access_attribute(attribute, size, value, true);
}

/* Queries of events and streams make no records here in either setting. */
CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
	SIMCUPTI_ENTER();
	(void)enable;
	return simcupti_options()->version < 26 ? simcupti_return(CUPTI_ERROR_API_NOT_IMPLEMENTED)
						: CUPTI_SUCCESS;
}

CUptiResult
cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *config,
					   uint32_t count)
{
	SIMCUPTI_ENTER();
	if (!config || !count)
		return simcupti_return(CUPTI_ERROR_INVALID_PARAMETER);
	return simcupti_options()->has_no_counters
		       ? simcupti_return(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED)
		       : CUPTI_SUCCESS;
}

void simcupti_activity_reset(void)
{
	for (int kind = 0; kind < SIMCUPTI_KINDS; kind++)
		atomic_store(&is_enabled[kind], false);
}

static void add_overhead(uint64_t overhead_ns)
{
	union simcupti_record record = {0};

	record.overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
	record.overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
	record.overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
	record.overhead.objectId.pt.processId = (uint32_t)getpid();
	record.overhead.objectId.pt.threadId = (uint32_t)syscall(SYS_gettid);
	record.overhead.end = simcupti_now_ns();
	record.overhead.start = record.overhead.end - overhead_ns;
	simcupti_buffer_add(&record);
}

/* Alternately to the GPU and back, 2 MiB in 100 us each. */
static void add_migration(uint64_t number)
{
	union simcupti_record record = {0};
	bool is_back = number % 2;

	record.migration.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
	record.migration.counterKind =
		is_back ? CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH
			: CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
	record.migration.value = 2u << 20;
	record.migration.end = simcupti_now_ns() - 100000 * number;
	record.migration.start = record.migration.end - 100000;
	record.migration.srcId = is_back ? 0 : UINT32_MAX;
	record.migration.dstId = is_back ? UINT32_MAX : 0;
	record.migration.processId = (uint32_t)getpid();
	simcupti_buffer_add(&record);
}

void simcupti_activity_add_own(void)
{
	const struct simcupti_options *options = simcupti_options();

	if (options->overhead_ns && simcupti_activity_is_enabled(CUPTI_ACTIVITY_KIND_OVERHEAD))
		add_overhead(options->overhead_ns);
	if (!simcupti_activity_is_enabled(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER))
		return;
	for (uint64_t i = 0; i < options->migrations; i++)
		add_migration(i);
}
