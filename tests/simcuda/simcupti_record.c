/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts of the simulated CUPTI's records. The records of all versions are prefixes of the newest
 * (facts: append-only from 11.8 to 13.x), so each is made in the newest form that the installed
 * headers have and cut, or padded with zeros, to the size of the version that is reported.
 */
#include "simcupti_internal.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define EARLY_NS 2000000000u

/* Sizes from an API version on, the newest first; the numbers are those of cuptiGetVersion, but
 * that those of 12.0 and 12.1 call themselves 18, as 11.8 does: 19 stands for them here. */
static const struct {
	int kind;
	uint32_t since;
	size_t size_bytes;
} sizes[] = {
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 130100, 224},
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 130000, 216},
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 19, 208}, /* 12.0 */
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0, 200},
	{CUPTI_ACTIVITY_KIND_MEMCPY, 26, 96}, /* 12.8 */
	{CUPTI_ACTIVITY_KIND_MEMCPY, 0, 88},
	{CUPTI_ACTIVITY_KIND_MEMCPY2, 0, 96},
	{CUPTI_ACTIVITY_KIND_MEMSET, 0, 88},
	{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 26, 56},
	{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 0, 40},
	{CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 21, 56}, /* 12.3 */
	{CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 0, 48},
	{CUPTI_ACTIVITY_KIND_OVERHEAD, 22, 56}, /* 12.4 */
	{CUPTI_ACTIVITY_KIND_OVERHEAD, 21, 48}, /* 12.3 */
	{CUPTI_ACTIVITY_KIND_OVERHEAD, 0, 40},
	{CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, 26, 104}, /* 12.8 */
	{CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, 0, 64},
	{CUPTI_ACTIVITY_KIND_MEMORY2, 24, 128}, /* 12.6 */
	{CUPTI_ACTIVITY_KIND_MEMORY2, 0, 120},
	{CUPTI_ACTIVITY_KIND_MEMORY_POOL, 130000, 80},
	{CUPTI_ACTIVITY_KIND_MEMORY_POOL, 0, 72},
	{CUPTI_ACTIVITY_KIND_RUNTIME, 0, 40},
	{CUPTI_ACTIVITY_KIND_DRIVER, 0, 40},
};

_Static_assert(sizeof(CUpti_ActivityKernel10) == 216, "kernel record of 13.0");
_Static_assert(offsetof(CUpti_ActivityKernel10, correlationId) == 92, "kernel record");
_Static_assert(offsetof(CUpti_ActivityKernel10, maxPotentialClusterSize) == 200, "since 12.0");
_Static_assert(offsetof(CUpti_ActivityKernel10, isDeviceLaunched) == 208, "since 13.0");
_Static_assert(sizeof(CUpti_ActivityMemcpy6) == 96, "copy record of 12.8");
_Static_assert(offsetof(CUpti_ActivityMemcpy6, correlationId) == 44, "copy record");
_Static_assert(offsetof(CUpti_ActivityMemcpy6, copyCount) == 88, "since 12.8");
_Static_assert(sizeof(CUpti_ActivityMemcpyPtoP4) == 96, "peer copy record");
_Static_assert(sizeof(CUpti_ActivityMemset4) == 88, "memset record");
_Static_assert(sizeof(CUpti_ActivitySynchronization2) == 56, "sync record of 12.8");
_Static_assert(offsetof(CUpti_ActivitySynchronization2, cudaEventSyncId) == 40, "since 12.8");
_Static_assert(sizeof(CUpti_ActivityGraphTrace2) == 56, "graph record of 12.3");
_Static_assert(offsetof(CUpti_ActivityGraphTrace2, endDeviceId) == 48, "since 12.3");
_Static_assert(sizeof(CUpti_ActivityOverhead3) == 56, "overhead record of 12.4");
_Static_assert(offsetof(CUpti_ActivityOverhead3, correlationId) == 40, "since 12.3");
_Static_assert(sizeof(CUpti_ActivityUnifiedMemoryCounter3) == 104, "migration record of 12.8");
_Static_assert(sizeof(CUpti_ActivityMemory4) == 128, "memory record of 12.6");
_Static_assert(offsetof(CUpti_ActivityMemory4, source) == 120, "since 12.6");
_Static_assert(sizeof(CUpti_ActivityMemoryPool3) == 80, "pool record of 13.0");
_Static_assert(offsetof(CUpti_ActivityMemoryPool3, isManagedPool) == 72, "since 13.0");
_Static_assert(sizeof(CUpti_ActivityAPI) == 40, "API record");

size_t simcupti_record_size(int kind)
{
	uint32_t version = simcupti_options()->version;

	if (kind == CUPTI_ACTIVITY_KIND_KERNEL)
		kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (sizes[i].kind == kind && version >= sizes[i].since)
			return sizes[i].size_bytes;
	}
	return 0;
}

static void make_kernel(CUpti_ActivityKernel10 *r, const struct simcuda_activity *a)
{
	/* The serialising kind is what is left when only that one is enabled. */
	r->kind = simcupti_activity_is_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			  ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
			  : CUPTI_ACTIVITY_KIND_KERNEL;
	r->registersPerThread = (uint16_t)a->registers;
	r->start = a->begin_ns;
	r->end = a->end_ns;
	r->completed = a->end_ns;
	r->deviceId = a->device;
	r->contextId = a->context;
	r->streamId = a->stream;
	r->gridX = (int32_t)a->grid[0];
	r->gridY = (int32_t)a->grid[1];
	r->gridZ = (int32_t)a->grid[2];
	r->blockX = (int32_t)a->block[0];
	r->blockY = (int32_t)a->block[1];
	r->blockZ = (int32_t)a->block[2];
	r->staticSharedMemory = (int32_t)a->shared_static;
	r->dynamicSharedMemory = (int32_t)a->shared_dynamic;
	r->sharedMemoryExecuted = a->shared_static + a->shared_dynamic;
	r->correlationId = a->correlation;
	r->name = a->name;
	r->graphNodeId = a->graph_node;
	r->graphId = a->graph;
	r->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
}

static void make_copy(CUpti_ActivityMemcpy6 *r, const struct simcuda_activity *a)
{
	r->kind = CUPTI_ACTIVITY_KIND_MEMCPY;
	r->copyKind = (uint8_t)a->direction;
	r->srcKind = (uint8_t)a->source_kind;
	r->dstKind = (uint8_t)a->destination_kind;
	r->flags = a->is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
	r->bytes = a->bytes;
	r->start = a->begin_ns;
	r->end = a->end_ns;
	r->deviceId = a->device;
	r->contextId = a->context;
	r->streamId = a->stream;
	r->correlationId = a->correlation;
	r->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
	r->copyCount = 1;
	r->graphNodeId = a->graph_node;
	r->graphId = a->graph;
}

static void make_peer_copy(CUpti_ActivityMemcpyPtoP4 *r, const struct simcuda_activity *a)
{
	r->kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
	r->copyKind = (uint8_t)a->direction;
	r->srcKind = (uint8_t)a->source_kind;
	r->dstKind = (uint8_t)a->destination_kind;
	r->flags = a->is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
	r->bytes = a->bytes;
	r->start = a->begin_ns;
	r->end = a->end_ns;
	r->deviceId = a->device;
	r->contextId = a->context;
	r->streamId = a->stream;
	/* The driver knows the stream's context only; that of the other device stays 0. */
	r->srcDeviceId = a->source_device;
	r->srcContextId = a->source_device == a->device ? a->context : 0;
	r->dstDeviceId = a->destination_device;
	r->dstContextId = a->destination_device == a->device ? a->context : 0;
	r->correlationId = a->correlation;
	r->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
}

static void make_set(CUpti_ActivityMemset4 *r, const struct simcuda_activity *a)
{
	r->kind = CUPTI_ACTIVITY_KIND_MEMSET;
	r->value = a->value;
	r->bytes = a->bytes;
	r->start = a->begin_ns;
	r->end = a->end_ns;
	r->deviceId = a->device;
	r->contextId = a->context;
	r->streamId = a->stream;
	r->correlationId = a->correlation;
	r->flags = a->is_async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
	r->memoryKind = (uint16_t)a->destination_kind;
	r->graphNodeId = a->graph_node;
	r->graphId = a->graph;
	r->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
}

static void make_graph(CUpti_ActivityGraphTrace2 *r, const struct simcuda_activity *a)
{
	r->kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
	r->correlationId = a->correlation;
	r->start = a->begin_ns;
	r->end = a->end_ns;
	r->deviceId = r->endDeviceId = a->device;
	r->contextId = r->endContextId = a->context;
	r->streamId = a->stream;
	r->graphId = a->graph;
}

static void make_sync(CUpti_ActivitySynchronization2 *r, const struct simcuda_activity *a)
{
	bool has_stream = a->sync_type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE ||
			  a->sync_type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;

	r->kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
	r->type = (CUpti_ActivitySynchronizationType)a->sync_type;
	r->start = a->begin_ns;
	r->end = a->end_ns;
	r->correlationId = a->correlation;
	r->contextId = a->context;
	r->streamId = has_stream ? a->stream : (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE;
	r->cudaEventId = (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE;
}

static void make_migration(CUpti_ActivityUnifiedMemoryCounter3 *r, const struct simcuda_activity *a)
{
	bool is_back = a->direction == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;

	r->kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
	r->counterKind = is_back ? CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH
				 : CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
	r->value = a->bytes;
	r->start = a->begin_ns;
	r->end = a->end_ns;
	r->srcId = is_back ? a->device : UINT32_MAX;
	r->dstId = is_back ? UINT32_MAX : a->device;
	r->processId = (uint32_t)getpid();
	r->flags = a->value;
}

static bool make(union simcupti_record *record, const struct simcuda_activity *activity)
{
	bool is_traced = activity->graph && activity->graph_was_seen &&
			 simcupti_activity_is_enabled(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);

	memset(record, 0, sizeof(*record));
	/* Launches of graphs as wholes suppress their nodes. Executables that were made before
	 * CUPTI came cannot be traced as wholes; their nodes show up as kernels, whatever they do.
	 */
	if (activity->graph && is_traced != (activity->kind == 5))
		return false;
	if (activity->graph_node && !activity->graph_was_seen) {
		make_kernel(&record->kernel, activity);
		if (!record->kernel.name)
			record->kernel.name = "graph node";
		return simcupti_activity_is_enabled((int)record->head.kind);
	}
	switch (activity->kind) {
	case 1:
		make_kernel(&record->kernel, activity);
		break;
	case 2:
		if (activity->direction == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP)
			make_peer_copy(&record->peer_copy, activity);
		else
			make_copy(&record->copy, activity);
		break;
	case 3:
		make_set(&record->set, activity);
		break;
	case 5:
		make_graph(&record->graph, activity);
		break;
	case 6:
		make_migration(&record->migration, activity);
		break;
	case 4:
		make_sync(&record->sync, activity);
		break;
	default:
		return false;
	}
	return simcupti_activity_is_enabled((int)record->head.kind);
}

bool simcupti_record_make(union simcupti_record *record, const struct simcuda_activity *activity)
{
	struct simcuda_activity stepped = *activity;

	static _Atomic(uint64_t) kernels;

	stepped.begin_ns += (uint64_t)simcupti_step_ns();
	stepped.end_ns += (uint64_t)simcupti_step_ns();
	if (activity->kind == 1 && ++kernels <= simcupti_options()->early_kernels) {
		stepped.begin_ns -= EARLY_NS;
		stepped.end_ns -= EARLY_NS;
	}
	return make(record, &stepped);
}
