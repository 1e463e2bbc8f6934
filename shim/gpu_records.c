/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of activity records. It walks with CUPTI's own iterator, which knows how long each
 * record of its version is, and reads fields at offsets that have not moved since 11.8.
 */
#include "gpu_records.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "../collector/format/record.h"
#include "cupti_abi.h"
#include "cupti_failed.h"
#include "kernels.h"
#include "thread.h"
#include "ticks.h"
#include "totals.h"

enum loss { LOST_DROPPED, LOST_ZERO, LOST_BAD, LOST_KINDS };
static _Atomic uint64_t losses[LOST_KINDS][RECORD_KIND_LIMIT];
static _Atomic uint64_t overhead_ns;

static uint64_t field(const unsigned char *record, size_t offset, size_t size)
{
	uint64_t value = 0;
	memcpy(&value, record + offset, size); /* little-endian, as CUDA is */
	return value;
}

/* Reads one field with its type; the row in CUPTI_FIELDS is checked against the real header. */
#define READ(record_type, name, type)                                                              \
	((type)field(record, CUPTI_AT_##record_type##_##name, sizeof(type)))

/* False: the times are no times; counted. */
static bool times_usable(unsigned int kind, uint64_t begin_ns, uint64_t end_ns)
{
	if (begin_ns && end_ns >= begin_ns)
		return true;
	/* CUPTI writes zeros when the GPU's buffer for time stamps was exhausted. */
	atomic_fetch_add_explicit(&losses[begin_ns || end_ns ? LOST_BAD : LOST_ZERO][kind], 1,
				  memory_order_relaxed);
	return false;
}

/* Reserves a GPU record and fills its common part; NULL: unusable or dropped. */
static void *begin_record(struct thread *thread, unsigned int kind, size_t size,
			  const struct gpu_part *part)
{
	if (!times_usable(kind, part->begin_ns, part->end_ns))
		return NULL;
	struct gpu_part *out = totals_reserve_gpu(thread, kind, size);
	if (!out)
		return NULL;
	memset(out, 0, size);
	*out = *part;
	out->head = (struct record_head){(uint16_t)kind, (uint16_t)size, 0};
	return out;
}

#define GPU_PART(record_type)                                                                      \
	(struct gpu_part)                                                                          \
	{                                                                                          \
		.begin_ns = READ(record_type, start, uint64_t),                                    \
		.end_ns = READ(record_type, end, uint64_t),                                        \
		.correlation = READ(record_type, correlation, uint32_t),                           \
		.device = READ(record_type, device, uint32_t),                                     \
		.context = READ(record_type, context, uint32_t),                                   \
		.stream = READ(record_type, stream, uint32_t),                                     \
		.graph_node = READ(record_type, graph_node, uint64_t),                             \
		.graph = READ(record_type, graph, uint32_t),                                       \
	}

static void convert_kernel(struct thread *thread, const unsigned char *record)
{
	struct gpu_part part = GPU_PART(kernel);
	const char *name = (const char *)(uintptr_t)READ(kernel, name, uint64_t);
	uint64_t number = name ? kernels_number_of_name(thread, name) : 0;
	struct record_gpu_kernel *out =
		begin_record(thread, RECORD_KIND_gpu_kernel, sizeof(*out), &part);
	if (!out)
		return;
	out->kernel = number;
	out->grid[0] = READ(kernel, grid_x, uint32_t);
	out->grid[1] = READ(kernel, grid_y, uint32_t);
	out->grid[2] = READ(kernel, grid_z, uint32_t);
	out->block[0] = READ(kernel, block_x, uint32_t);
	out->block[1] = READ(kernel, block_y, uint32_t);
	out->block[2] = READ(kernel, block_z, uint32_t);
	out->shared_static_bytes = READ(kernel, shared_static, uint32_t);
	out->shared_dynamic_bytes = READ(kernel, shared_dynamic, uint32_t);
	out->registers = READ(kernel, registers, uint16_t);
	totals_commit_gpu(thread);
}

static uint8_t memory_kind_of(unsigned int kind)
{
	static const uint8_t kinds[] = {MEMORY_UNKNOWN, MEMORY_PAGEABLE, MEMORY_PINNED,
					MEMORY_DEVICE,	MEMORY_ARRAY,	 MEMORY_MANAGED,
					MEMORY_DEVICE,	MEMORY_MANAGED};
	return kind < sizeof(kinds) ? kinds[kind] : MEMORY_UNKNOWN;
}

static uint8_t direction_of(unsigned int copy_kind)
{
	static const uint8_t directions[] = {COPY_UNKNOWN, COPY_H2D, COPY_D2H, COPY_H2D,
					     COPY_D2H,	   COPY_D2D, COPY_D2D, COPY_D2D,
					     COPY_D2D,	   COPY_H2H, COPY_PEER};
	return copy_kind < sizeof(directions) ? directions[copy_kind] : COPY_UNKNOWN;
}

static void convert_copy(struct thread *thread, const unsigned char *record)
{
	struct gpu_part part = GPU_PART(memcpy);
	struct record_gpu_copy *out =
		begin_record(thread, RECORD_KIND_gpu_copy, sizeof(*out), &part);
	if (!out)
		return;
	out->size_bytes = READ(memcpy, bytes, uint64_t);
	out->direction = direction_of(READ(memcpy, copy_kind, uint8_t));
	out->source_kind = memory_kind_of(READ(memcpy, source_kind, uint8_t));
	out->destination_kind = memory_kind_of(READ(memcpy, destination_kind, uint8_t));
	out->is_async = READ(memcpy, flags, uint8_t) & 1;
	out->peer_device = DEVICE_UNKNOWN;
	totals_commit_gpu(thread);
}

static void convert_peer_copy(struct thread *thread, const unsigned char *record)
{
	struct gpu_part part = GPU_PART(memcpy2);
	struct record_gpu_copy *out =
		begin_record(thread, RECORD_KIND_gpu_copy, sizeof(*out), &part);
	if (!out)
		return;
	out->size_bytes = READ(memcpy2, bytes, uint64_t);
	out->direction = COPY_PEER;
	out->source_kind = memory_kind_of(READ(memcpy2, source_kind, uint8_t));
	out->destination_kind = memory_kind_of(READ(memcpy2, destination_kind, uint8_t));
	out->is_async = READ(memcpy2, flags, uint8_t) & 1;
	out->peer_device = READ(memcpy2, destination_device, uint32_t);
	totals_commit_gpu(thread);
}

static void convert_set(struct thread *thread, const unsigned char *record)
{
	struct gpu_part part = GPU_PART(memset);
	struct record_gpu_set *out = begin_record(thread, RECORD_KIND_gpu_set, sizeof(*out), &part);
	if (!out)
		return;
	out->size_bytes = READ(memset, bytes, uint64_t);
	out->value = READ(memset, value, uint32_t);
	out->memory_kind = memory_kind_of(READ(memset, memory_kind, uint16_t));
	totals_commit_gpu(thread);
}

static void convert_sync(struct thread *thread, const unsigned char *record)
{
	static const uint32_t scopes[] = {0, SYNC_EVENT, 4, SYNC_STREAM, SYNC_DEVICE};
	struct gpu_part part = {
		.begin_ns = READ(sync, start, uint64_t),
		.end_ns = READ(sync, end, uint64_t),
		.correlation = READ(sync, correlation, uint32_t),
		.device = DEVICE_UNKNOWN,
		.context = READ(sync, context, uint32_t),
		.stream = READ(sync, stream, uint32_t),
	};
	uint32_t type = READ(sync, type, uint32_t);
	struct record_gpu_sync *out =
		begin_record(thread, RECORD_KIND_gpu_sync, sizeof(*out), &part);
	if (!out)
		return;
	out->scope = type < sizeof(scopes) / sizeof(scopes[0]) ? scopes[type] : 0;
	totals_commit_gpu(thread);
}

static void convert_graph(struct thread *thread, const unsigned char *record)
{
	struct gpu_part part = {
		.begin_ns = READ(graph, start, uint64_t),
		.end_ns = READ(graph, end, uint64_t),
		.correlation = READ(graph, correlation, uint32_t),
		.device = READ(graph, device, uint32_t),
		.context = READ(graph, context, uint32_t),
		.stream = READ(graph, stream, uint32_t),
		.graph = READ(graph, graph, uint32_t),
	};
	if (begin_record(thread, RECORD_KIND_gpu_graph, sizeof(struct record_gpu_graph), &part))
		totals_commit_gpu(thread);
}

/* Sums only: a run that compiles and loads lazily has very many. */
static void add_overhead(const unsigned char *record)
{
	uint32_t kind = READ(overhead, kind, uint32_t) >> 16;
	uint64_t begin_ns = READ(overhead, start, uint64_t);
	uint64_t end_ns = READ(overhead, end, uint64_t);
	/* Numbers from 1 << 16 are flushes, instrumentation, resources and so on; those of module
	 * loading (4, 5) and a full command buffer (6) are the program's own. */
	bool is_cupti = kind && (kind < 4 || kind > 6);
	if (is_cupti && end_ns > begin_ns)
		atomic_fetch_add_explicit(&overhead_ns, end_ns - begin_ns, memory_order_relaxed);
}

/* Pages of managed memory that moved. CUPTI calls devices by their ordinals and the host by a
 * number of its own. */
static void convert_migration(struct thread *thread, const unsigned char *record)
{
	uint32_t counter = READ(managed, counter, uint32_t);
	uint32_t source = READ(managed, source, uint32_t);
	uint32_t destination = READ(managed, destination, uint32_t);
	bool is_back = counter == CUPTI_MANAGED_DTOH;
	struct gpu_part part = {
		.begin_ns = READ(managed, start, uint64_t),
		.end_ns = READ(managed, end, uint64_t),
		.device = is_back ? source : destination,
		.stream = READ(managed, stream, uint32_t),
	};
	if (counter != CUPTI_MANAGED_HTOD && !is_back)
		return;
	struct record_gpu_copy *out =
		begin_record(thread, RECORD_KIND_gpu_copy, sizeof(*out), &part);
	if (!out)
		return;
	out->size_bytes = READ(managed, value, uint64_t);
	out->direction = is_back ? COPY_D2H : COPY_H2D;
	/* What a prefetch moved was asked for: a copy like any other, not managed on both sides. */
	bool is_asked = READ(managed, cause, uint32_t) == CUPTI_MANAGED_BY_USER;
	out->source_kind = is_asked && is_back ? MEMORY_DEVICE : MEMORY_MANAGED;
	out->destination_kind = is_asked && !is_back ? MEMORY_DEVICE : MEMORY_MANAGED;
	out->is_async = 1;
	out->peer_device = DEVICE_UNKNOWN;
	totals_commit_gpu(thread);
}

/* An instant: both times are the one stamp. Of pools of other processes CUPTI tells no sizes. */
static void convert_memory(struct thread *thread, const unsigned char *record)
{
	struct gpu_part part = {
		.begin_ns = READ(memory2, start, uint64_t),
		.end_ns = READ(memory2, start, uint64_t),
		.correlation = READ(memory2, correlation, uint32_t),
		.device = READ(memory2, device, uint32_t),
		.context = READ(memory2, context, uint32_t),
		.stream = READ(memory2, stream, uint32_t),
	};
	uint32_t op = READ(memory2, op, uint32_t);
	uint32_t type = READ(memory2, pool_type, uint32_t);
	if (op != CUPTI_MEMORY_ALLOCATED && op != CUPTI_MEMORY_RELEASED)
		return;
	struct record_gpu_memory *out =
		begin_record(thread, RECORD_KIND_gpu_memory, sizeof(*out), &part);
	if (!out)
		return;
	out->address = READ(memory2, address, uint64_t);
	out->size_bytes = READ(memory2, bytes, uint64_t);
	if (type == CUPTI_POOL_LOCAL || type == CUPTI_POOL_IMPORTED)
		out->pool = READ(memory2, pool, uint64_t);
	if (type == CUPTI_POOL_LOCAL) {
		out->pool_reserved_bytes = READ(memory2, reserved, uint64_t);
		out->pool_used_bytes = READ(memory2, used, uint64_t);
	}
	out->op = op == CUPTI_MEMORY_ALLOCATED ? MEMORY_ALLOC : MEMORY_FREE;
	out->memory_kind =
		out->pool ? MEMORY_POOL : memory_kind_of(READ(memory2, memory_kind, uint32_t));
	out->is_async = READ(memory2, is_async, uint32_t) != 0;
	totals_commit_gpu(thread);
}

static void convert_pool(struct thread *thread, const unsigned char *record)
{
	struct gpu_part part = {
		.begin_ns = READ(pool, start, uint64_t),
		.end_ns = READ(pool, start, uint64_t),
		.correlation = READ(pool, correlation, uint32_t),
		.device = READ(pool, device, uint32_t),
	};
	uint32_t op = READ(pool, op, uint32_t);
	if (op < GPU_POOL_CREATE || op > GPU_POOL_TRIM)
		return;
	struct record_gpu_pool *out =
		begin_record(thread, RECORD_KIND_gpu_pool, sizeof(*out), &part);
	if (!out)
		return;
	out->pool = READ(pool, pool, uint64_t);
	out->is_imported = READ(pool, type, uint32_t) == CUPTI_POOL_IMPORTED;
	if (!out->is_imported) {
		out->reserved_bytes = READ(pool, reserved, uint64_t);
		out->used_bytes = READ(pool, used, uint64_t);
		out->threshold_bytes = READ(pool, threshold, uint64_t);
	}
	out->op = (uint8_t)op;
	totals_commit_gpu(thread);
}

uint64_t gpu_records_overhead_ns(void)
{
	return atomic_load_explicit(&overhead_ns, memory_order_relaxed);
}

void gpu_records_convert(const struct cupti *cupti, struct thread *thread, uint8_t *buffer,
			 size_t valid_size)
{
	void *record = NULL;
	int result;
	while (!(result = cupti->ActivityGetNextRecord(buffer, valid_size, &record)) && record) {
		switch (field(record, 0, sizeof(uint32_t))) {
		case CUPTI_KIND_CONCURRENT_KERNEL:
			convert_kernel(thread, record);
			break;
		case CUPTI_KIND_MEMCPY:
			convert_copy(thread, record);
			break;
		case CUPTI_KIND_MEMCPY2:
			convert_peer_copy(thread, record);
			break;
		case CUPTI_KIND_MEMSET:
			convert_set(thread, record);
			break;
		case CUPTI_KIND_SYNCHRONIZATION:
			convert_sync(thread, record);
			break;
		case CUPTI_KIND_GRAPH_TRACE:
			convert_graph(thread, record);
			break;
		case CUPTI_KIND_OVERHEAD:
			add_overhead(record);
			break;
		case CUPTI_KIND_MANAGED:
			convert_migration(thread, record);
			break;
		case CUPTI_KIND_MEMORY2:
			convert_memory(thread, record);
			break;
		case CUPTI_KIND_MEMORY_POOL:
			convert_pool(thread, record);
			break;
		default:
			break; /* a kind that somebody else in this process enabled */
		}
	}
	if (valid_size && result != CUPTI_MAX_LIMIT_REACHED)
		cupti_failed_note(CUPTI_FAILED_NEXT_RECORD, result);
}

void gpu_records_count_dropped(uint64_t count)
{
	atomic_fetch_add_explicit(&losses[LOST_DROPPED][0], count, memory_order_relaxed);
}

void gpu_records_write_losses(struct thread *thread)
{
	static const uint16_t reasons[LOST_KINDS] = {LOSS_CUPTI, LOSS_ZERO_TIME, LOSS_BAD_TIME};
	for (unsigned int loss = 0; loss < LOST_KINDS; loss++) {
		for (unsigned int kind = 0; kind < RECORD_KIND_LIMIT; kind++) {
			uint64_t count = atomic_exchange_explicit(&losses[loss][kind], 0,
								  memory_order_relaxed);
			if (!count)
				continue;
			struct record_loss *out =
				thread_reserve(thread, RECORD_KIND_loss, sizeof(*out));
			if (!out) {
				atomic_fetch_add(&losses[loss][kind], count); /* next time */
				continue;
			}
			*out = (struct record_loss){
				.head = {RECORD_KIND_loss, sizeof(*out), 0},
				.ticks = ticks_now(),
				.count = count,
				.lost_kind = (uint16_t)kind,
				.reason = reasons[loss],
			};
			thread_commit(thread);
		}
	}
}
