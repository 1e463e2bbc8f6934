/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The column tables of every fixed-size kind. Column numbers are for ever: 1..15 are the common
 * part of calls, 1..15 that of GPU records, 32.. what a kind adds. Encodings are what usually is
 * smallest for the field; the writer takes another one where the data disagree, so a row here
 * cannot make a file wrong, only larger.
 */
#include "record_schema.h"

#include <stddef.h>

#include "record.h"
#include "trace_file.h"

#define FIELD_WIDTH(type, field) (uint8_t)sizeof(((const type *)0)->field)
#define COLUMN(type, number, field, how)                                                           \
	{                                                                                          \
		.name = #field, .id = number, .offset = offsetof(type, field),                     \
		.width = FIELD_WIDTH(type, field), .encoding = COLUMN_##how                        \
	}
#define COLUMN_VARIES(type, number, field, how, way)                                               \
	{                                                                                          \
		.name = #field, .id = number, .offset = offsetof(type, field),                     \
		.width = FIELD_WIDTH(type, field), .encoding = COLUMN_##how,                       \
		.varies = VARIES_##way                                                             \
	}
#define COLUMN_TO(type, number, field, how, other)                                                 \
	{                                                                                          \
		.name = #field, .id = number, .offset = offsetof(type, field),                     \
		.width = FIELD_WIDTH(type, field), .encoding = COLUMN_##how, .relative_to = other, \
		.varies = VARIES_ALWAYS                                                            \
	}
#define COLUMN_BEGIN(type, field, end, ...)                                                        \
	{                                                                                          \
		.name = #field, .id = 1, .offset = offsetof(type, field),                          \
		.width = FIELD_WIDTH(type, field), .encoding = COLUMN_GAP_PLANES,                  \
		.relative_to = end, .varies = VARIES_ALWAYS, .keys = {                             \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

#define CALL_COLUMNS(type)                                                                         \
	COLUMN_BEGIN(type, call.begin_ticks, 2, 3, 32),                                            \
		COLUMN_TO(type, 2, call.end_ticks, OFFSET_PLANES, 1),                              \
		COLUMN(type, 3, call.site, DICTIONARY),                                            \
		COLUMN_VARIES(type, 4, call.call_id, DELTA_PLANES, ALWAYS),                        \
		COLUMN_TO(type, 5, call.parent_id, OFFSET_PLANES, 4),                              \
		COLUMN_TO(type, 6, call.correlation, DRIFT_PLANES, 4),                             \
		COLUMN(type, 7, call.status, DICTIONARY), COLUMN(type, 8, call.api, DICTIONARY),   \
		COLUMN(type, 9, call.flags, DICTIONARY), COLUMN(type, 10, call.device, DICTIONARY)

#define GPU_COLUMNS(type)                                                                          \
	COLUMN_BEGIN(type, gpu.begin_ns, 2, 32), COLUMN_TO(type, 2, gpu.end_ns, OFFSET_PLANES, 1), \
		COLUMN_VARIES(type, 3, gpu.correlation, DELTA_PLANES, ALWAYS),                     \
		COLUMN(type, 4, gpu.device, DICTIONARY), COLUMN(type, 5, gpu.context, DICTIONARY), \
		COLUMN(type, 6, gpu.stream, DICTIONARY),                                           \
		COLUMN_VARIES(type, 7, gpu.graph_node, DELTA_PLANES, FREELY),                      \
		COLUMN(type, 8, gpu.graph, DICTIONARY)

static const struct record_column columns_clock[] = {
	COLUMN(struct record_clock, 1, ticks, DELTA_PLANES),
	COLUMN(struct record_clock, 2, realtime_ns, DELTA_PLANES),
	COLUMN(struct record_clock, 3, monotonic_ns, DELTA_PLANES),
	COLUMN(struct record_clock, 4, gpu_ns, DELTA_PLANES),
};

static const struct record_column columns_loss[] = {
	COLUMN(struct record_loss, 1, ticks, DELTA_PLANES),
	COLUMN(struct record_loss, 2, count, PLAIN),
	COLUMN(struct record_loss, 3, lost_kind, PLAIN),
	COLUMN(struct record_loss, 4, reason, PLAIN),
};

static const struct record_column columns_sample[] = {
	COLUMN(struct record_sample, 1, ticks, DELTA_PLANES),
	COLUMN(struct record_sample, 32, value, DELTA_PLANES),
	COLUMN(struct record_sample, 33, subject, DICTIONARY),
	COLUMN(struct record_sample, 34, metric, DICTIONARY),
};

static const struct record_column columns_pages[] = {
	COLUMN(struct record_pages, 1, ticks, DELTA_PLANES),
	COLUMN(struct record_pages, 32, address, DICTIONARY),
	COLUMN(struct record_pages, 33, size_bytes, DICTIONARY),
	COLUMN(struct record_pages, 34, pages_sampled, DICTIONARY),
	COLUMN(struct record_pages, 35, pages_on_node, DICTIONARY),
	COLUMN(struct record_pages, 36, node, DICTIONARY),
	COLUMN(struct record_pages, 37, device, DICTIONARY),
};

static const struct record_column columns_call[] = {
	CALL_COLUMNS(struct record_call),
	COLUMN(struct record_call, 32, object, DICTIONARY),
};

static const struct record_column columns_sync[] = {
	CALL_COLUMNS(struct record_sync),
	COLUMN(struct record_sync, 32, object, DICTIONARY),
	COLUMN(struct record_sync, 33, scope, DICTIONARY),
};

static const struct record_column columns_copy[] = {
	CALL_COLUMNS(struct record_copy),
	COLUMN_VARIES(struct record_copy, 32, destination, DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_copy, 33, source, DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_copy, 34, size_bytes, DICTIONARY, FREELY),
	COLUMN(struct record_copy, 35, stream, DICTIONARY),
	COLUMN(struct record_copy, 36, direction, PLAIN),
	COLUMN(struct record_copy, 37, source_kind, PLAIN),
	COLUMN(struct record_copy, 38, destination_kind, PLAIN),
	COLUMN(struct record_copy, 39, peer_device, DICTIONARY),
};

static const struct record_column columns_set[] = {
	CALL_COLUMNS(struct record_set),
	COLUMN_VARIES(struct record_set, 32, destination, DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_set, 33, size_bytes, DICTIONARY, FREELY),
	COLUMN(struct record_set, 34, stream, DICTIONARY),
};

static const struct record_column columns_launch[] = {
	CALL_COLUMNS(struct record_launch),
	COLUMN(struct record_launch, 32, kernel, DICTIONARY),
	COLUMN(struct record_launch, 33, stream, DICTIONARY),
	COLUMN_VARIES(struct record_launch, 34, grid[0], DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_launch, 35, grid[1], DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_launch, 36, grid[2], DICTIONARY, FREELY),
	COLUMN(struct record_launch, 37, block[0], DICTIONARY),
	COLUMN(struct record_launch, 38, block[1], DICTIONARY),
	COLUMN(struct record_launch, 39, block[2], DICTIONARY),
	COLUMN(struct record_launch, 40, shared_bytes, DICTIONARY),
	COLUMN(struct record_launch, 41, launch_flags, DICTIONARY),
};

static const struct record_column columns_memory[] = {
	CALL_COLUMNS(struct record_memory),
	COLUMN_VARIES(struct record_memory, 32, address, DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_memory, 33, size_bytes, DICTIONARY, FREELY),
	COLUMN(struct record_memory, 34, stream, DICTIONARY),
	COLUMN(struct record_memory, 35, op, PLAIN),
	COLUMN(struct record_memory, 36, memory_kind, PLAIN),
	COLUMN(struct record_memory, 37, backing, DICTIONARY),
};

static const struct record_column columns_gemm[] = {
	CALL_COLUMNS(struct record_gemm),
	COLUMN_VARIES(struct record_gemm, 32, a, DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_gemm, 33, b, DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_gemm, 34, c, DICTIONARY, FREELY),
	COLUMN(struct record_gemm, 35, stream, DICTIONARY),
	COLUMN(struct record_gemm, 36, stride_a, DICTIONARY),
	COLUMN(struct record_gemm, 37, stride_b, DICTIONARY),
	COLUMN(struct record_gemm, 38, stride_c, DICTIONARY),
	COLUMN(struct record_gemm, 39, m, DICTIONARY),
	COLUMN(struct record_gemm, 40, n, DICTIONARY),
	COLUMN(struct record_gemm, 41, k, DICTIONARY),
	COLUMN(struct record_gemm, 42, lda, DICTIONARY),
	COLUMN(struct record_gemm, 43, ldb, DICTIONARY),
	COLUMN(struct record_gemm, 44, ldc, DICTIONARY),
	COLUMN(struct record_gemm, 45, batch, DICTIONARY),
	COLUMN(struct record_gemm, 46, op_a, PLAIN),
	COLUMN(struct record_gemm, 47, op_b, PLAIN),
	COLUMN(struct record_gemm, 48, type_a, PLAIN),
	COLUMN(struct record_gemm, 49, type_b, PLAIN),
	COLUMN(struct record_gemm, 50, type_c, PLAIN),
	COLUMN(struct record_gemm, 51, type_compute, PLAIN),
	COLUMN(struct record_gemm, 52, math_flags, PLAIN),
	COLUMN(struct record_gemm, 53, epilogue, DICTIONARY),
};

static const struct record_column columns_conv[] = {
	CALL_COLUMNS(struct record_conv),
	COLUMN_VARIES(struct record_conv, 32, x, DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_conv, 33, w, DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_conv, 34, y, DICTIONARY, FREELY),
	COLUMN(struct record_conv, 35, stream, DICTIONARY),
	COLUMN(struct record_conv, 36, batch, DICTIONARY),
	COLUMN(struct record_conv, 37, channels_in, DICTIONARY),
	COLUMN(struct record_conv, 38, channels_out, DICTIONARY),
	COLUMN(struct record_conv, 39, groups, DICTIONARY),
	COLUMN(struct record_conv, 40, in[0], DICTIONARY),
	COLUMN(struct record_conv, 41, in[1], DICTIONARY),
	COLUMN(struct record_conv, 42, in[2], DICTIONARY),
	COLUMN(struct record_conv, 43, filter[0], DICTIONARY),
	COLUMN(struct record_conv, 44, filter[1], DICTIONARY),
	COLUMN(struct record_conv, 45, filter[2], DICTIONARY),
	COLUMN(struct record_conv, 46, out[0], DICTIONARY),
	COLUMN(struct record_conv, 47, out[1], DICTIONARY),
	COLUMN(struct record_conv, 48, out[2], DICTIONARY),
	COLUMN(struct record_conv, 49, stride[0], DICTIONARY),
	COLUMN(struct record_conv, 50, stride[1], DICTIONARY),
	COLUMN(struct record_conv, 51, stride[2], DICTIONARY),
	COLUMN(struct record_conv, 52, dilation[0], DICTIONARY),
	COLUMN(struct record_conv, 53, dilation[1], DICTIONARY),
	COLUMN(struct record_conv, 54, dilation[2], DICTIONARY),
	COLUMN(struct record_conv, 55, pad[0], DICTIONARY),
	COLUMN(struct record_conv, 56, pad[1], DICTIONARY),
	COLUMN(struct record_conv, 57, pad[2], DICTIONARY),
	COLUMN(struct record_conv, 58, operations, DICTIONARY),
	COLUMN(struct record_conv, 59, dimensions, DICTIONARY),
	COLUMN(struct record_conv, 60, op, DICTIONARY),
	COLUMN(struct record_conv, 61, layout_x, DICTIONARY),
	COLUMN(struct record_conv, 62, layout_w, DICTIONARY),
	COLUMN(struct record_conv, 63, layout_y, DICTIONARY),
	COLUMN(struct record_conv, 64, type_x, DICTIONARY),
	COLUMN(struct record_conv, 65, type_w, DICTIONARY),
	COLUMN(struct record_conv, 66, type_y, DICTIONARY),
	COLUMN(struct record_conv, 67, type_compute, DICTIONARY),
	COLUMN(struct record_conv, 68, math_flags, DICTIONARY),
};

static const struct record_column columns_mark[] = {
	COLUMN(struct record_mark, 1, begin_ticks, DELTA_PLANES),
	COLUMN_TO(struct record_mark, 2, end_ticks, OFFSET_PLANES, 1),
	COLUMN(struct record_mark, 32, name, DICTIONARY),
	COLUMN(struct record_mark, 33, domain, DICTIONARY),
	COLUMN(struct record_mark, 34, value, DICTIONARY),
	COLUMN(struct record_mark, 35, type, DICTIONARY),
	COLUMN(struct record_mark, 36, source, DICTIONARY),
	COLUMN(struct record_mark, 37, category, DICTIONARY),
	COLUMN(struct record_mark, 38, communicator, DICTIONARY),
	COLUMN(struct record_mark, 39, peer, DICTIONARY),
};

static const struct record_column columns_block[] = {
	COLUMN(struct record_block, 1, ticks, DELTA_PLANES),
	COLUMN(struct record_block, 32, site, DICTIONARY),
	COLUMN(struct record_block, 33, address, DICTIONARY),
	COLUMN(struct record_block, 34, size_bytes, DICTIONARY),
	COLUMN(struct record_block, 35, requested_bytes, DICTIONARY),
	COLUMN(struct record_block, 36, stream, DICTIONARY),
	COLUMN(struct record_block, 37, allocated_bytes, DELTA_PLANES),
	COLUMN(struct record_block, 38, reserved_bytes, DELTA_PLANES),
	COLUMN(struct record_block, 39, device, DICTIONARY),
	COLUMN(struct record_block, 40, op, DICTIONARY),
	COLUMN(struct record_block, 41, flags, DICTIONARY),
};

static const struct record_column columns_communicator[] = {
	CALL_COLUMNS(struct record_communicator),
	COLUMN_VARIES(struct record_communicator, 32, handle, DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_communicator, 33, hash, DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_communicator, 34, parent, DICTIONARY, FREELY),
	COLUMN(struct record_communicator, 35, rank, DICTIONARY),
	COLUMN(struct record_communicator, 36, rank_count, DICTIONARY),
	COLUMN(struct record_communicator, 37, device, DICTIONARY),
	COLUMN(struct record_communicator, 38, op, DICTIONARY),
};

static const struct record_column columns_collective[] = {
	CALL_COLUMNS(struct record_collective),
	COLUMN(struct record_collective, 32, communicator, DICTIONARY),
	COLUMN(struct record_collective, 33, hash, DICTIONARY),
	COLUMN_VARIES(struct record_collective, 34, send, DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_collective, 35, receive, DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_collective, 36, count, DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_collective, 37, size_bytes, DICTIONARY, FREELY),
	COLUMN(struct record_collective, 38, stream, DICTIONARY),
	COLUMN_VARIES(struct record_collective, 39, sequence, DELTA_PLANES, STEADILY),
	COLUMN_VARIES(struct record_collective, 40, group, DELTA_PLANES, STEADILY),
	COLUMN(struct record_collective, 41, peer, DICTIONARY),
	COLUMN(struct record_collective, 42, op, DICTIONARY),
	COLUMN(struct record_collective, 43, element, DICTIONARY),
	COLUMN(struct record_collective, 44, reduction, DICTIONARY),
	COLUMN(struct record_collective, 45, flags, DICTIONARY),
};

static const struct record_column columns_graph[] = {
	CALL_COLUMNS(struct record_graph),
	COLUMN_VARIES(struct record_graph, 32, graph, DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_graph, 33, executable, DICTIONARY, FREELY),
	COLUMN(struct record_graph, 34, stream, DICTIONARY),
	COLUMN(struct record_graph, 35, capture_site, DICTIONARY),
	COLUMN(struct record_graph, 36, node_count, DICTIONARY),
	COLUMN(struct record_graph, 37, kernel_nodes, DICTIONARY),
	COLUMN(struct record_graph, 38, copy_nodes, DICTIONARY),
	COLUMN(struct record_graph, 39, set_nodes, DICTIONARY),
	COLUMN(struct record_graph, 40, graph_id, DICTIONARY),
	COLUMN(struct record_graph, 41, op, DICTIONARY),
};

static const struct record_column columns_total[] = {
	COLUMN(struct record_total, 1, begin_ticks, DICTIONARY),
	COLUMN(struct record_total, 2, end_ticks, DICTIONARY),
	COLUMN(struct record_total, 32, site, DICTIONARY),
	COLUMN(struct record_total, 33, detail, DICTIONARY),
	COLUMN(struct record_total, 34, count, DICTIONARY),
	COLUMN(struct record_total, 35, failed, DICTIONARY),
	COLUMN(struct record_total, 36, size_bytes, DICTIONARY),
	COLUMN(struct record_total, 37, duration, DELTA_PLANES),
	COLUMN(struct record_total, 38, longest, DICTIONARY),
	COLUMN(struct record_total, 39, device, DICTIONARY),
	COLUMN(struct record_total, 40, api, DICTIONARY),
	COLUMN(struct record_total, 41, variant, DICTIONARY),
	COLUMN(struct record_total, 42, total_of, DICTIONARY),
	COLUMN(struct record_total, 43, flags, DICTIONARY),
};

static const struct record_column columns_gpu_kernel[] = {
	GPU_COLUMNS(struct record_gpu_kernel),
	COLUMN(struct record_gpu_kernel, 32, kernel, DICTIONARY),
	COLUMN_VARIES(struct record_gpu_kernel, 33, grid[0], DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_gpu_kernel, 34, grid[1], DICTIONARY, FREELY),
	COLUMN_VARIES(struct record_gpu_kernel, 35, grid[2], DICTIONARY, FREELY),
	COLUMN(struct record_gpu_kernel, 36, block[0], DICTIONARY),
	COLUMN(struct record_gpu_kernel, 37, block[1], DICTIONARY),
	COLUMN(struct record_gpu_kernel, 38, block[2], DICTIONARY),
	COLUMN(struct record_gpu_kernel, 39, shared_static_bytes, DICTIONARY),
	COLUMN(struct record_gpu_kernel, 40, shared_dynamic_bytes, DICTIONARY),
	COLUMN(struct record_gpu_kernel, 41, registers, DICTIONARY),
};

static const struct record_column columns_gpu_copy[] = {
	GPU_COLUMNS(struct record_gpu_copy),
	COLUMN_VARIES(struct record_gpu_copy, 32, size_bytes, DICTIONARY, FREELY),
	COLUMN(struct record_gpu_copy, 33, direction, PLAIN),
	COLUMN(struct record_gpu_copy, 34, source_kind, PLAIN),
	COLUMN(struct record_gpu_copy, 35, destination_kind, PLAIN),
	COLUMN(struct record_gpu_copy, 36, is_async, PLAIN),
	COLUMN(struct record_gpu_copy, 37, peer_device, DICTIONARY),
};

static const struct record_column columns_gpu_set[] = {
	GPU_COLUMNS(struct record_gpu_set),
	COLUMN_VARIES(struct record_gpu_set, 32, size_bytes, DICTIONARY, FREELY),
	COLUMN(struct record_gpu_set, 33, value, DICTIONARY),
	COLUMN(struct record_gpu_set, 34, memory_kind, DICTIONARY),
};

static const struct record_column columns_gpu_sync[] = {
	GPU_COLUMNS(struct record_gpu_sync),
	COLUMN(struct record_gpu_sync, 32, scope, DICTIONARY),
};

static const struct record_column columns_gpu_graph[] = {
	GPU_COLUMNS(struct record_gpu_graph),
};

static const struct record_column columns_gpu_memory[] = {
	GPU_COLUMNS(struct record_gpu_memory),
	COLUMN(struct record_gpu_memory, 32, address, DICTIONARY),
	COLUMN(struct record_gpu_memory, 33, size_bytes, DICTIONARY),
	COLUMN(struct record_gpu_memory, 34, pool, DICTIONARY),
	COLUMN(struct record_gpu_memory, 35, pool_reserved_bytes, DICTIONARY),
	COLUMN(struct record_gpu_memory, 36, pool_used_bytes, DICTIONARY),
	COLUMN(struct record_gpu_memory, 37, op, PLAIN),
	COLUMN(struct record_gpu_memory, 38, memory_kind, PLAIN),
	COLUMN(struct record_gpu_memory, 39, is_async, PLAIN),
};

static const struct record_column columns_gpu_pool[] = {
	GPU_COLUMNS(struct record_gpu_pool),
	COLUMN(struct record_gpu_pool, 32, pool, DICTIONARY),
	COLUMN(struct record_gpu_pool, 33, reserved_bytes, DICTIONARY),
	COLUMN(struct record_gpu_pool, 34, used_bytes, DICTIONARY),
	COLUMN(struct record_gpu_pool, 35, threshold_bytes, DICTIONARY),
	COLUMN(struct record_gpu_pool, 36, op, PLAIN),
	COLUMN(struct record_gpu_pool, 37, is_imported, PLAIN),
};

#define SCHEMA_FIXED(kind, time) SCHEMA_GROWN(kind, time, sizeof(struct record_##kind))
/* A kind that was only `least` bytes long once. */
#define SCHEMA_GROWN(kind, time, least)                                                            \
	{                                                                                          \
		.name = #kind, .size_bytes = sizeof(struct record_##kind), .least_bytes = (least), \
		.column_count = sizeof(columns_##kind) / sizeof(columns_##kind[0]),                \
		.time_offset = offsetof(struct record_##kind, time), .columns = columns_##kind     \
	}
#define SCHEMA_TEXT(kind, variable)                                                                \
	{                                                                                          \
		.name = #kind, .size_bytes = offsetof(struct record_##kind, variable),             \
		.least_bytes = offsetof(struct record_##kind, variable)                            \
	}

static const struct record_schema schemas[RECORD_KIND_LIMIT] = {
	[RECORD_KIND_name] = SCHEMA_TEXT(name, text),
	[RECORD_KIND_info] = SCHEMA_TEXT(info, text),
	[RECORD_KIND_device] = SCHEMA_TEXT(device, name),
	[RECORD_KIND_clock] = SCHEMA_FIXED(clock, ticks),
	[RECORD_KIND_thread] = SCHEMA_TEXT(thread, name),
	[RECORD_KIND_library] = SCHEMA_TEXT(library, path),
	[RECORD_KIND_site] = SCHEMA_TEXT(site, frames),
	[RECORD_KIND_loss] = SCHEMA_FIXED(loss, ticks),
	[RECORD_KIND_sample] = SCHEMA_FIXED(sample, ticks),
	[RECORD_KIND_pages] = SCHEMA_FIXED(pages, ticks),
	[RECORD_KIND_total] = SCHEMA_FIXED(total, begin_ticks),
	[RECORD_KIND_call] = SCHEMA_FIXED(call, call.begin_ticks),
	[RECORD_KIND_sync] = SCHEMA_FIXED(sync, call.begin_ticks),
	[RECORD_KIND_copy] = SCHEMA_FIXED(copy, call.begin_ticks),
	[RECORD_KIND_set] = SCHEMA_FIXED(set, call.begin_ticks),
	[RECORD_KIND_launch] = SCHEMA_FIXED(launch, call.begin_ticks),
	[RECORD_KIND_memory] = SCHEMA_GROWN(memory, call.begin_ticks, 88),
	[RECORD_KIND_gemm] = SCHEMA_FIXED(gemm, call.begin_ticks),
	[RECORD_KIND_mark] = SCHEMA_FIXED(mark, begin_ticks),
	[RECORD_KIND_block] = SCHEMA_FIXED(block, ticks),
	[RECORD_KIND_communicator] = SCHEMA_FIXED(communicator, call.begin_ticks),
	[RECORD_KIND_collective] = SCHEMA_FIXED(collective, call.begin_ticks),
	[RECORD_KIND_graph] = SCHEMA_FIXED(graph, call.begin_ticks),
	[RECORD_KIND_conv] = SCHEMA_FIXED(conv, call.begin_ticks),
	[RECORD_KIND_gpu_kernel] = SCHEMA_FIXED(gpu_kernel, gpu.begin_ns),
	[RECORD_KIND_gpu_copy] = SCHEMA_FIXED(gpu_copy, gpu.begin_ns),
	[RECORD_KIND_gpu_set] = SCHEMA_FIXED(gpu_set, gpu.begin_ns),
	[RECORD_KIND_gpu_sync] = SCHEMA_FIXED(gpu_sync, gpu.begin_ns),
	[RECORD_KIND_gpu_graph] = SCHEMA_FIXED(gpu_graph, gpu.begin_ns),
	[RECORD_KIND_gpu_memory] = SCHEMA_FIXED(gpu_memory, gpu.begin_ns),
	[RECORD_KIND_gpu_pool] = SCHEMA_FIXED(gpu_pool, gpu.begin_ns),
};

const struct record_schema *record_schema_of(uint16_t kind)
{
	static const struct record_schema unknown;

	return kind < RECORD_KIND_LIMIT ? &schemas[kind] : &unknown;
}
