/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own declaration of the part of CUPTI that is used: functions found at run time and the
 * offsets of record fields. CUPTI only ever appends to its records, so fields are read by offset
 * and one reader serves every version from 11.8 on. abi_check_cupti.c compares all of this with the
 * installed header where there is one.
 */
#ifndef GPUTRACE_SHIM_CUPTI_ABI_H
#define GPUTRACE_SHIM_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CUPTI_OLDEST_VERSION	 18u /* 11.8: the oldest record layouts that are read */
#define CUPTI_PER_THREAD_VERSION 21u /* 12.3: buffers per thread */
#define CUPTI_ALL_SYNC_VERSION	 26u /* 12.8: fewer records of waits */

enum {
	CUPTI_OK = 0,
	CUPTI_INVALID_PARAMETER = 1,
	CUPTI_MAX_LIMIT_REACHED = 12, /* no record is left in the buffer */
	CUPTI_NOT_INITIALIZED = 15,   /* no way to the driver */
	CUPTI_NOT_SUPPORTED = 27,
	CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	CUPTI_UNKNOWN = 999,
};
enum { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RUNTIME = 2 };
enum { CUPTI_SITE_ENTER = 0 };
enum { CUPTI_ATTRIBUTE_ZEROED_OUT = 5, CUPTI_ATTRIBUTE_PER_THREAD = 9 };
enum { CUPTI_THREAD_ID_SYSTEM = 1 };
enum { CUPTI_MEMORY_ALLOCATED = 1, CUPTI_MEMORY_RELEASED = 2 };
enum { CUPTI_POOL_LOCAL = 1, CUPTI_POOL_IMPORTED = 2 };
enum { CUPTI_MANAGED_HTOD = 1, CUPTI_MANAGED_DTOH = 2, CUPTI_MANAGED_SCOPE_DEVICE = 1 };
/* Why pages moved, in a record's flags. */
enum { CUPTI_MANAGED_BY_USER = 1 };
/* One counter of managed memory that is wanted. */
struct cupti_managed_config {
	uint32_t scope;
	uint32_t counter;
	uint32_t device;
	uint32_t is_enabled;
};

enum cupti_kind {
	CUPTI_KIND_MEMCPY = 1,
	CUPTI_KIND_MEMSET = 2,
	CUPTI_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_KIND_OVERHEAD = 17,
	CUPTI_KIND_MEMCPY2 = 22,
	CUPTI_KIND_MANAGED = 25,
	CUPTI_KIND_SYNCHRONIZATION = 38,
	CUPTI_KIND_MEMORY2 = 49,
	CUPTI_KIND_MEMORY_POOL = 50,
	CUPTI_KIND_GRAPH_TRACE = 51,
};

/*
 * CUPTI_FIELD(record, field, type, offset, struct of the 13.0 header, its member)
 * The record names are CUPTI's kinds; the last two columns are for the check only.
 */
#define CUPTI_FIELDS(F)                                                                            \
	F(kernel, registers, uint16_t, 6, CUpti_ActivityKernel10, registersPerThread)              \
	F(kernel, start, uint64_t, 16, CUpti_ActivityKernel10, start)                              \
	F(kernel, end, uint64_t, 24, CUpti_ActivityKernel10, end)                                  \
	F(kernel, device, uint32_t, 40, CUpti_ActivityKernel10, deviceId)                          \
	F(kernel, context, uint32_t, 44, CUpti_ActivityKernel10, contextId)                        \
	F(kernel, stream, uint32_t, 48, CUpti_ActivityKernel10, streamId)                          \
	F(kernel, grid_x, uint32_t, 52, CUpti_ActivityKernel10, gridX)                             \
	F(kernel, grid_y, uint32_t, 56, CUpti_ActivityKernel10, gridY)                             \
	F(kernel, grid_z, uint32_t, 60, CUpti_ActivityKernel10, gridZ)                             \
	F(kernel, block_x, uint32_t, 64, CUpti_ActivityKernel10, blockX)                           \
	F(kernel, block_y, uint32_t, 68, CUpti_ActivityKernel10, blockY)                           \
	F(kernel, block_z, uint32_t, 72, CUpti_ActivityKernel10, blockZ)                           \
	F(kernel, shared_static, uint32_t, 76, CUpti_ActivityKernel10, staticSharedMemory)         \
	F(kernel, shared_dynamic, uint32_t, 80, CUpti_ActivityKernel10, dynamicSharedMemory)       \
	F(kernel, correlation, uint32_t, 92, CUpti_ActivityKernel10, correlationId)                \
	F(kernel, name, uint64_t, 104, CUpti_ActivityKernel10, name)                               \
	F(kernel, graph_node, uint64_t, 144, CUpti_ActivityKernel10, graphNodeId)                  \
	F(kernel, graph, uint32_t, 156, CUpti_ActivityKernel10, graphId)                           \
	F(memcpy, copy_kind, uint8_t, 4, CUpti_ActivityMemcpy6, copyKind)                          \
	F(memcpy, source_kind, uint8_t, 5, CUpti_ActivityMemcpy6, srcKind)                         \
	F(memcpy, destination_kind, uint8_t, 6, CUpti_ActivityMemcpy6, dstKind)                    \
	F(memcpy, flags, uint8_t, 7, CUpti_ActivityMemcpy6, flags)                                 \
	F(memcpy, bytes, uint64_t, 8, CUpti_ActivityMemcpy6, bytes)                                \
	F(memcpy, start, uint64_t, 16, CUpti_ActivityMemcpy6, start)                               \
	F(memcpy, end, uint64_t, 24, CUpti_ActivityMemcpy6, end)                                   \
	F(memcpy, device, uint32_t, 32, CUpti_ActivityMemcpy6, deviceId)                           \
	F(memcpy, context, uint32_t, 36, CUpti_ActivityMemcpy6, contextId)                         \
	F(memcpy, stream, uint32_t, 40, CUpti_ActivityMemcpy6, streamId)                           \
	F(memcpy, correlation, uint32_t, 44, CUpti_ActivityMemcpy6, correlationId)                 \
	F(memcpy, graph_node, uint64_t, 64, CUpti_ActivityMemcpy6, graphNodeId)                    \
	F(memcpy, graph, uint32_t, 72, CUpti_ActivityMemcpy6, graphId)                             \
	F(memcpy2, copy_kind, uint8_t, 4, CUpti_ActivityMemcpyPtoP4, copyKind)                     \
	F(memcpy2, source_kind, uint8_t, 5, CUpti_ActivityMemcpyPtoP4, srcKind)                    \
	F(memcpy2, destination_kind, uint8_t, 6, CUpti_ActivityMemcpyPtoP4, dstKind)               \
	F(memcpy2, flags, uint8_t, 7, CUpti_ActivityMemcpyPtoP4, flags)                            \
	F(memcpy2, bytes, uint64_t, 8, CUpti_ActivityMemcpyPtoP4, bytes)                           \
	F(memcpy2, start, uint64_t, 16, CUpti_ActivityMemcpyPtoP4, start)                          \
	F(memcpy2, end, uint64_t, 24, CUpti_ActivityMemcpyPtoP4, end)                              \
	F(memcpy2, device, uint32_t, 32, CUpti_ActivityMemcpyPtoP4, deviceId)                      \
	F(memcpy2, context, uint32_t, 36, CUpti_ActivityMemcpyPtoP4, contextId)                    \
	F(memcpy2, stream, uint32_t, 40, CUpti_ActivityMemcpyPtoP4, streamId)                      \
	F(memcpy2, destination_device, uint32_t, 52, CUpti_ActivityMemcpyPtoP4, dstDeviceId)       \
	F(memcpy2, correlation, uint32_t, 60, CUpti_ActivityMemcpyPtoP4, correlationId)            \
	F(memcpy2, graph_node, uint64_t, 72, CUpti_ActivityMemcpyPtoP4, graphNodeId)               \
	F(memcpy2, graph, uint32_t, 80, CUpti_ActivityMemcpyPtoP4, graphId)                        \
	F(memset, value, uint32_t, 4, CUpti_ActivityMemset4, value)                                \
	F(memset, bytes, uint64_t, 8, CUpti_ActivityMemset4, bytes)                                \
	F(memset, start, uint64_t, 16, CUpti_ActivityMemset4, start)                               \
	F(memset, end, uint64_t, 24, CUpti_ActivityMemset4, end)                                   \
	F(memset, device, uint32_t, 32, CUpti_ActivityMemset4, deviceId)                           \
	F(memset, context, uint32_t, 36, CUpti_ActivityMemset4, contextId)                         \
	F(memset, stream, uint32_t, 40, CUpti_ActivityMemset4, streamId)                           \
	F(memset, correlation, uint32_t, 44, CUpti_ActivityMemset4, correlationId)                 \
	F(memset, memory_kind, uint16_t, 50, CUpti_ActivityMemset4, memoryKind)                    \
	F(memset, graph_node, uint64_t, 64, CUpti_ActivityMemset4, graphNodeId)                    \
	F(memset, graph, uint32_t, 72, CUpti_ActivityMemset4, graphId)                             \
	F(sync, type, uint32_t, 4, CUpti_ActivitySynchronization2, type)                           \
	F(sync, start, uint64_t, 8, CUpti_ActivitySynchronization2, start)                         \
	F(sync, end, uint64_t, 16, CUpti_ActivitySynchronization2, end)                            \
	F(sync, correlation, uint32_t, 24, CUpti_ActivitySynchronization2, correlationId)          \
	F(sync, context, uint32_t, 28, CUpti_ActivitySynchronization2, contextId)                  \
	F(sync, stream, uint32_t, 32, CUpti_ActivitySynchronization2, streamId)                    \
	F(overhead, kind, uint32_t, 4, CUpti_ActivityOverhead3, overheadKind)                      \
	F(overhead, start, uint64_t, 24, CUpti_ActivityOverhead3, start)                           \
	F(overhead, end, uint64_t, 32, CUpti_ActivityOverhead3, end)                               \
	F(managed, counter, uint32_t, 4, CUpti_ActivityUnifiedMemoryCounter3, counterKind)         \
	F(managed, value, uint64_t, 8, CUpti_ActivityUnifiedMemoryCounter3, value)                 \
	F(managed, start, uint64_t, 16, CUpti_ActivityUnifiedMemoryCounter3, start)                \
	F(managed, end, uint64_t, 24, CUpti_ActivityUnifiedMemoryCounter3, end)                    \
	F(managed, source, uint32_t, 40, CUpti_ActivityUnifiedMemoryCounter3, srcId)               \
	F(managed, destination, uint32_t, 44, CUpti_ActivityUnifiedMemoryCounter3, dstId)          \
	F(managed, stream, uint32_t, 48, CUpti_ActivityUnifiedMemoryCounter3, streamId)            \
	F(managed, cause, uint32_t, 56, CUpti_ActivityUnifiedMemoryCounter3, flags)                \
	F(memory2, op, uint32_t, 4, CUpti_ActivityMemory4, memoryOperationType)                    \
	F(memory2, memory_kind, uint32_t, 8, CUpti_ActivityMemory4, memoryKind)                    \
	F(memory2, correlation, uint32_t, 12, CUpti_ActivityMemory4, correlationId)                \
	F(memory2, address, uint64_t, 16, CUpti_ActivityMemory4, address)                          \
	F(memory2, bytes, uint64_t, 24, CUpti_ActivityMemory4, bytes)                              \
	F(memory2, start, uint64_t, 32, CUpti_ActivityMemory4, timestamp)                          \
	F(memory2, device, uint32_t, 52, CUpti_ActivityMemory4, deviceId)                          \
	F(memory2, context, uint32_t, 56, CUpti_ActivityMemory4, contextId)                        \
	F(memory2, stream, uint32_t, 60, CUpti_ActivityMemory4, streamId)                          \
	F(memory2, is_async, uint32_t, 72, CUpti_ActivityMemory4, isAsync)                         \
	F(memory2, pool_type, uint32_t, 80, CUpti_ActivityMemory4,                                 \
	  memoryPoolConfig.memoryPoolType)                                                         \
	F(memory2, pool, uint64_t, 88, CUpti_ActivityMemory4, memoryPoolConfig.address)            \
	F(memory2, reserved, uint64_t, 104, CUpti_ActivityMemory4, memoryPoolConfig.pool.size)     \
	F(memory2, used, uint64_t, 112, CUpti_ActivityMemory4, memoryPoolConfig.utilizedSize)      \
	F(pool, op, uint32_t, 4, CUpti_ActivityMemoryPool3, memoryPoolOperationType)               \
	F(pool, type, uint32_t, 8, CUpti_ActivityMemoryPool3, memoryPoolType)                      \
	F(pool, correlation, uint32_t, 12, CUpti_ActivityMemoryPool3, correlationId)               \
	F(pool, device, uint32_t, 20, CUpti_ActivityMemoryPool3, deviceId)                         \
	F(pool, pool, uint64_t, 32, CUpti_ActivityMemoryPool3, address)                            \
	F(pool, reserved, uint64_t, 40, CUpti_ActivityMemoryPool3, size)                           \
	F(pool, threshold, uint64_t, 48, CUpti_ActivityMemoryPool3, releaseThreshold)              \
	F(pool, start, uint64_t, 56, CUpti_ActivityMemoryPool3, timestamp)                         \
	F(pool, used, uint64_t, 64, CUpti_ActivityMemoryPool3, utilizedSize)                       \
	F(graph, correlation, uint32_t, 4, CUpti_ActivityGraphTrace2, correlationId)               \
	F(graph, start, uint64_t, 8, CUpti_ActivityGraphTrace2, start)                             \
	F(graph, end, uint64_t, 16, CUpti_ActivityGraphTrace2, end)                                \
	F(graph, device, uint32_t, 24, CUpti_ActivityGraphTrace2, deviceId)                        \
	F(graph, graph, uint32_t, 28, CUpti_ActivityGraphTrace2, graphId)                          \
	F(graph, context, uint32_t, 32, CUpti_ActivityGraphTrace2, contextId)                      \
	F(graph, stream, uint32_t, 36, CUpti_ActivityGraphTrace2, streamId)

enum cupti_offset {
#define CUPTI_OFFSET(record, field, type, offset, header_struct, member)                           \
	CUPTI_AT_##record##_##field = (offset),
	CUPTI_FIELDS(CUPTI_OFFSET)
#undef CUPTI_OFFSET
};

/* CUpti_CallbackData */
enum {
	CUPTI_CALLBACK_SITE = 0,
	CUPTI_CALLBACK_PARAMETERS = 16, /* of the function, as arguments.h lays them out */
	CUPTI_CALLBACK_RESULT = 24,	/* address of the result */
	CUPTI_CALLBACK_SYMBOL = 32,	/* name of the kernel of a launch */
	CUPTI_CALLBACK_CONTEXT = 40,
	CUPTI_CALLBACK_CORRELATION = 64
};

static inline uint32_t cupti_callback_number(const void *data, size_t offset)
{
	uint32_t number;
	memcpy(&number, (const char *)data + offset, sizeof(number));
	return number;
}

/* What cuptiSubscribe_v2 (13.0) takes and tells. */
struct cupti_subscriber {
	size_t size;
	const char *name;
	char *other_name; /* of the tool that is in the way */
	size_t other_size;
};

typedef void cupti_callback(void *user, int domain, uint32_t callback_id, const void *data);
typedef void cupti_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void cupti_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
				    size_t valid_size);

/*
 * CUPTI_FUNCTION(field, parameters, needed): the name is cupti<Field>. Not needed: may be missing.
 */
#define CUPTI_FUNCTIONS(F)                                                                         \
	F(GetVersion, (uint32_t *), 1)                                                             \
	F(Subscribe, (void **, cupti_callback *, void *), 1)                                       \
	F(Unsubscribe, (void *), 1)                                                                \
	F(EnableCallback, (uint32_t, void *, int, uint32_t), 1)                                    \
	F(GetCallbackName, (int, uint32_t, const char **), 1)                                      \
	F(ActivityRegisterCallbacks, (cupti_buffer_requested *, cupti_buffer_completed *), 1)      \
	F(ActivityEnable, (int), 1)                                                                \
	F(ActivityDisable, (int), 1)                                                               \
	F(ActivityFlushAll, (uint32_t), 1)                                                         \
	F(ActivityGetNextRecord, (uint8_t *, size_t, void **), 1)                                  \
	F(ActivityGetNumDroppedRecords, (void *, uint32_t, size_t *), 1)                           \
	F(GetTimestamp, (uint64_t *), 1)                                                           \
	F(ActivitySetAttribute, (int, size_t *, void *), 0)                                        \
	F(SetThreadIdType, (int), 0)                                                               \
	F(ActivityEnableAllSyncRecords, (uint8_t), 0)                                              \
	F(ActivityConfigureUnifiedMemoryCounter, (struct cupti_managed_config *, uint32_t), 0)     \
	F(GetDeviceId, (const void *context, uint32_t *device), 0)                                 \
	F(Subscribe_v2, (void **, cupti_callback *, void *, void *), 0)                            \
	F(GetResultString, (int, const char **), 0)

struct cupti {
#define CUPTI_FIELD(name, params, needed) int(*name) params;
	CUPTI_FUNCTIONS(CUPTI_FIELD)
#undef CUPTI_FIELD
	uint32_t version;
	char path[1024];
};

#endif
