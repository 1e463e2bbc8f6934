/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU tables of an nsys export: kernels, copies, sets, synchronisations. Older exports put bare
 * numbers where newer ones have enum tables; the numbers are the same (CUPTI's).
 */
#include "nsys_import.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The common columns of every GPU table, in this order. */
#define GPU_COLUMNS                                                                                \
	"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",         \
		"graphNodeId", "graphId"
#define GPU_COLUMN_COUNT 9

static uint32_t to_u32(int64_t value)
{
	return value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static uint64_t to_size(int64_t value)
{
	return value < 0 ? 0 : (uint64_t)value;
}

static bool fill_gpu(struct nsys *n, sqlite3_stmt *s, uint16_t kind, uint16_t size,
		     struct gpu_part *gpu)
{
	int64_t begin, end, process = nsys_process(nsys_int(s, 6));
	if (!nsys_times(n, s, kind, &begin, &end))
		return false;
	gpu->head.kind = kind;
	gpu->head.size_bytes = size;
	gpu->begin_ns = import_sink_ticks(begin);
	gpu->end_ns = import_sink_ticks(end);
	gpu->device = nsys_ordinal(n, process, nsys_int(s, 2));
	gpu->context = to_u32(nsys_int(s, 3));
	gpu->stream = (uint32_t)nsys_int(s, 4);
	gpu->correlation = nsys_correlation(n, process, nsys_int(s, 5));
	gpu->graph_node = to_size(nsys_int(s, 7));
	gpu->graph = to_u32(nsys_int(s, 8));
	return true;
}

static void add_kernel(struct nsys *n, sqlite3_stmt *s)
{
	const int c = GPU_COLUMN_COUNT;
	struct record_gpu_kernel r = {0};
	if (!fill_gpu(n, s, RECORD_KIND_gpu_kernel, sizeof(r), &r.gpu))
		return;
	/* The mangled name says most, but few exports have it. */
	for (int column = c; column < c + 3 && !r.kernel; column++) {
		if (nsys_has(s, column))
			r.kernel = nsys_string(n, NAME_KERNEL, nsys_int(s, column));
		size_t length;
		const char *name = r.kernel ? nsys_text(n, nsys_int(s, column), &length) : NULL;
		if (name)
			import_join_kernel(n->join, r.gpu.correlation, r.kernel, name, length);
	}
	for (int i = 0; i < 3; i++) {
		r.grid[i] = to_u32(nsys_int(s, c + 3 + i));
		r.block[i] = to_u32(nsys_int(s, c + 6 + i));
	}
	int64_t registers = nsys_int(s, c + 9);
	r.registers = registers > 0 && registers <= UINT16_MAX ? (uint16_t)registers : 0;
	r.shared_static_bytes = to_u32(nsys_int(s, c + 10));
	r.shared_dynamic_bytes = to_u32(nsys_int(s, c + 11));
	import_sink_add(n->sink, 0, &r);
}

static uint8_t direction_of(int64_t copy_kind)
{
	switch (copy_kind) {
	case 1:	 /* host to device */
	case 3:	 /* host to array */
	case 11: /* unified memory: host to device */
		return COPY_H2D;
	case 2:
	case 4:
	case 12:
		return COPY_D2H;
	case 5:
	case 6:
	case 7:
	case 8:
	case 13:
		return COPY_D2D;
	case 9:
		return COPY_H2H;
	case 10:
		return COPY_PEER;
	default:
		return COPY_UNKNOWN;
	}
}

static void add_copy(struct nsys *n, sqlite3_stmt *s)
{
	const int c = GPU_COLUMN_COUNT;
	struct record_gpu_copy r = {0};
	if (!fill_gpu(n, s, RECORD_KIND_gpu_copy, sizeof(r), &r.gpu))
		return;
	r.size_bytes = to_size(nsys_int(s, c));
	r.direction = direction_of(nsys_int(s, c + 1));
	r.source_kind = nsys_has(s, c + 2) ? nsys_memory_kind(nsys_int(s, c + 2)) : 0;
	r.destination_kind = nsys_has(s, c + 3) ? nsys_memory_kind(nsys_int(s, c + 3)) : 0;
	/* Unified memory: pages that migrate, whatever the two columns say. */
	if (nsys_int(s, c + 1) >= 11 && nsys_int(s, c + 1) <= 13)
		r.source_kind = r.destination_kind = MEMORY_MANAGED;
	r.is_async = 1;
	r.peer_device = r.direction == COPY_PEER && nsys_has(s, c + 4)
				? nsys_ordinal(n, nsys_process(nsys_int(s, 6)), nsys_int(s, c + 4))
				: DEVICE_UNKNOWN;
	import_sink_add(n->sink, 0, &r);
	struct join_facts facts = {
		.size_bytes = r.size_bytes,
		.device = r.gpu.device,
		.peer_device = r.peer_device,
		.direction = r.direction,
		.source_kind = r.source_kind,
		.destination_kind = r.destination_kind,
	};
	if (!r.gpu.graph_node)
		import_join_gpu(n->join, r.gpu.correlation, &facts);
}

static void add_set(struct nsys *n, sqlite3_stmt *s)
{
	const int c = GPU_COLUMN_COUNT;
	struct record_gpu_set r = {0};
	if (!fill_gpu(n, s, RECORD_KIND_gpu_set, sizeof(r), &r.gpu))
		return;
	r.size_bytes = to_size(nsys_int(s, c));
	r.value = to_u32(nsys_int(s, c + 1));
	r.memory_kind = nsys_has(s, c + 2) ? nsys_memory_kind(nsys_int(s, c + 2)) : MEMORY_UNKNOWN;
	import_sink_add(n->sink, 0, &r);
	struct join_facts facts = {
		.size_bytes = r.size_bytes, .device = r.gpu.device, .peer_device = DEVICE_UNKNOWN};
	if (!r.gpu.graph_node)
		import_join_gpu(n->join, r.gpu.correlation, &facts);
}

static void add_sync(struct nsys *n, sqlite3_stmt *s)
{
	/* CUpti_ActivitySynchronizationType: 1 event, 2 stream waits event, 3 stream, 4 context. */
	static const uint32_t scopes[] = {SYNC_DEVICE, SYNC_EVENT, 4, SYNC_STREAM, SYNC_DEVICE};
	struct record_gpu_sync r = {0};
	if (!fill_gpu(n, s, RECORD_KIND_gpu_sync, sizeof(r), &r.gpu))
		return;
	int64_t type = nsys_int(s, GPU_COLUMN_COUNT);
	r.scope = type >= 0 && type < (int64_t)LEN(scopes) ? scopes[type] : SYNC_DEVICE;
	import_sink_add(n->sink, 0, &r);
}

static int read_table(struct nsys *n, const char *table, const char *const *columns, size_t count,
		      void (*add)(struct nsys *, sqlite3_stmt *))
{
	sqlite3_stmt *s;
	int rc = nsys_select(n, table, columns, count, &s);
	if (rc || !s)
		return rc;
	while ((rc = nsys_step(n, s, table)) > 0)
		add(n, s);
	return rc;
}

int nsys_read_gpu(struct nsys *n)
{
	static const char *const kernel[] = {GPU_COLUMNS,
					     "mangledName",
					     "demangledName",
					     "shortName",
					     "gridX",
					     "gridY",
					     "gridZ",
					     "blockX",
					     "blockY",
					     "blockZ",
					     "registersPerThread",
					     "staticSharedMemory",
					     "dynamicSharedMemory"};
	static const char *const copy[] = {GPU_COLUMNS, "bytes",   "copyKind",
					   "srcKind",	"dstKind", "dstDeviceId"};
	static const char *const set[] = {GPU_COLUMNS, "bytes", "value", "memKind"};
	static const char *const sync[] = {GPU_COLUMNS, "syncType"};

	int rc = read_table(n, "CUPTI_ACTIVITY_KIND_KERNEL", kernel, LEN(kernel), add_kernel);
	if (!rc)
		rc = read_table(n, "CUPTI_ACTIVITY_KIND_MEMCPY", copy, LEN(copy), add_copy);
	if (!rc)
		rc = read_table(n, "CUPTI_ACTIVITY_KIND_MEMSET", set, LEN(set), add_set);
	if (!rc)
		rc = read_table(n, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", sync, LEN(sync),
				add_sync);
	return rc;
}
