/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's records become ours; unusable ones are counted. */
#include "../../../shim/cupti_failed.h"
#include "../../../shim/gpu_records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../collector/format/record.h"
#include "../../../shim/cupti_abi.h"
#include "../../../shim/kernels.h"
#include "../../../shim/thread.h"
#include "../../../shim/ticks.h"
#include "../../../shim/totals.h"

/* What the reader needs of the rest of the shim. */
static struct ring_header *ring;
static struct thread writer;
uint32_t ticks_clock_kind;
static const char *named;

uint64_t ticks_monotonic(void)
{
	return 42;
}

uint64_t kernels_number_of_name(struct thread *thread, const char *name)
{
	(void)thread;
	named = name;
	return 7777;
}

void *thread_reserve_full(struct thread *thread, unsigned int kind, size_t size_bytes)
{
	(void)thread;
	(void)kind;
	(void)size_bytes;
	return NULL;
}

void *thread_reserve_refused(struct thread *thread, unsigned int kind)
{
	(void)thread;
	(void)kind;
	return NULL;
}

int cupti_failed_note(enum cupti_failed_call call, int result)
{
	(void)call;
	return result;
}

/* A thread without totals. */
void *totals_reserve_gpu(struct thread *thread, unsigned int kind, size_t size_bytes)
{
	return thread_reserve(thread, kind, size_bytes);
}

void totals_commit_gpu(struct thread *thread)
{
	thread_commit(thread);
}

/* An iterator over records of a fixed stride, as long as any version's. */
#define STRIDE 256
static int next_record(uint8_t *buffer, size_t valid_size, void **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + STRIDE : buffer;
	if (next + STRIDE > buffer + valid_size)
		return 12; /* no more */
	*record = next;
	return CUPTI_OK;
}
static const struct cupti cupti = {.ActivityGetNextRecord = next_record};

static _Alignas(8) uint8_t buffer[8 * STRIDE];

static void put(size_t record, size_t offset, uint64_t value, size_t size)
{
	memcpy(buffer + record * STRIDE + offset, &value, size);
}
#define PUT(record, kind, field, value)                                                            \
	put(record, CUPTI_AT_##kind##_##field, value, CUPTI_SIZE_##kind##_##field)
enum {
#define FIELD_SIZE(record, field, type, offset, header_struct, member)                             \
	CUPTI_SIZE_##record##_##field = sizeof(type),
	CUPTI_FIELDS(FIELD_SIZE)
};

static int begin(void **state)
{
	(void)state;
	size_t size = RING_HEADER_BYTES + 64 * 1024;
	ring = memset(aligned_alloc(4096, (size + 4095) & ~(size_t)4095), 0, size);
	memset(&writer, 0, sizeof(writer));
	memset(buffer, 0, sizeof(buffer));
	ring_writer_attach(&writer.ring, ring, 64 * 1024, 0, 0);
	writer.is_live = 1;
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(ring);
	return 0;
}

static const void *written(size_t *at)
{
	const struct record_head *head =
		(const void *)((const unsigned char *)ring + RING_HEADER_BYTES + *at);
	if (*at >= writer.ring.head)
		return NULL;
	*at += head->size_bytes;
	return head;
}

static void a_launch_of_a_graph_is_one_record_with_the_executables_number(void **state)
{
	(void)state;
	size_t at = 0;
	put(0, 0, CUPTI_KIND_GRAPH_TRACE, 4);
	PUT(0, graph, start, 5000);
	PUT(0, graph, end, 9000);
	PUT(0, graph, correlation, 31);
	PUT(0, graph, device, 1);
	PUT(0, graph, context, 2);
	PUT(0, graph, stream, 13);
	PUT(0, graph, graph, 99);
	put(1, 0, CUPTI_KIND_GRAPH_TRACE, 4); /* no times: counted, not written */
	gpu_records_convert(&cupti, &writer, buffer, 2 * STRIDE);
	const struct record_gpu_graph *graph = written(&at);
	assert_non_null(graph);
	assert_int_equal(graph->gpu.head.kind, RECORD_KIND_gpu_graph);
	assert_int_equal(graph->gpu.begin_ns, 5000);
	assert_int_equal(graph->gpu.end_ns, 9000);
	assert_int_equal(graph->gpu.correlation, 31);
	assert_int_equal(graph->gpu.device, 1);
	assert_int_equal(graph->gpu.stream, 13);
	assert_int_equal(graph->gpu.graph, 99);
	assert_int_equal(graph->gpu.graph_node, 0);
	assert_null(written(&at));
	gpu_records_write_losses(&writer);
	const struct record_loss *loss = written(&at);
	assert_non_null(loss);
	assert_int_equal(loss->lost_kind, RECORD_KIND_gpu_graph);
	assert_int_equal(loss->reason, LOSS_ZERO_TIME);
}

static void a_kernel_keeps_all_its_fields(void **state)
{
	(void)state;
	size_t at = 0;
	put(0, 0, CUPTI_KIND_CONCURRENT_KERNEL, 4);
	PUT(0, kernel, start, 1000);
	PUT(0, kernel, end, 2500);
	PUT(0, kernel, device, 3);
	PUT(0, kernel, context, 4);
	PUT(0, kernel, stream, 5);
	PUT(0, kernel, grid_x, 10);
	PUT(0, kernel, grid_y, 11);
	PUT(0, kernel, grid_z, 12);
	PUT(0, kernel, block_x, 13);
	PUT(0, kernel, block_y, 14);
	PUT(0, kernel, block_z, 15);
	PUT(0, kernel, shared_static, 16);
	PUT(0, kernel, shared_dynamic, 17);
	PUT(0, kernel, registers, 18);
	PUT(0, kernel, correlation, 19);
	PUT(0, kernel, graph_node, 20);
	PUT(0, kernel, graph, 21);
	PUT(0, kernel, name, (uintptr_t) "kernel");
	gpu_records_convert(&cupti, &writer, buffer, STRIDE);
	const struct record_gpu_kernel *kernel = written(&at);
	assert_non_null(kernel);
	assert_int_equal(kernel->gpu.head.kind, RECORD_KIND_gpu_kernel);
	assert_int_equal(kernel->gpu.head.size_bytes, sizeof(*kernel));
	assert_int_equal(kernel->gpu.begin_ns, 1000);
	assert_int_equal(kernel->gpu.end_ns, 2500);
	assert_int_equal(kernel->gpu.device, 3);
	assert_int_equal(kernel->gpu.context, 4);
	assert_int_equal(kernel->gpu.stream, 5);
	assert_int_equal(kernel->gpu.correlation, 19);
	assert_int_equal(kernel->gpu.graph_node, 20);
	assert_int_equal(kernel->gpu.graph, 21);
	assert_int_equal(kernel->kernel, 7777);
	assert_string_equal(named, "kernel");
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(kernel->grid[i], 10 + i);
		assert_int_equal(kernel->block[i], 13 + i);
	}
	assert_int_equal(kernel->shared_static_bytes, 16);
	assert_int_equal(kernel->shared_dynamic_bytes, 17);
	assert_int_equal(kernel->registers, 18);
	assert_null(written(&at));
}

static void copies_sets_and_waits_are_told_apart(void **state)
{
	(void)state;
	size_t at = 0;
	put(0, 0, CUPTI_KIND_MEMCPY, 4);
	PUT(0, memcpy, copy_kind, 2);
	PUT(0, memcpy, source_kind, 3);
	PUT(0, memcpy, destination_kind, 2);
	PUT(0, memcpy, flags, 1);
	PUT(0, memcpy, bytes, 4096);
	PUT(0, memcpy, start, 10);
	PUT(0, memcpy, end, 20);
	PUT(0, memcpy, correlation, 5);
	put(1, 0, CUPTI_KIND_MEMCPY2, 4);
	PUT(1, memcpy2, copy_kind, 10);
	PUT(1, memcpy2, bytes, 8192);
	PUT(1, memcpy2, start, 10);
	PUT(1, memcpy2, end, 20);
	PUT(1, memcpy2, destination_device, 6);
	PUT(1, memcpy2, correlation, 7);
	put(2, 0, CUPTI_KIND_MEMSET, 4);
	PUT(2, memset, value, 0xab);
	PUT(2, memset, bytes, 100);
	PUT(2, memset, start, 10);
	PUT(2, memset, end, 20);
	put(3, 0, CUPTI_KIND_SYNCHRONIZATION, 4);
	PUT(3, sync, type, 3);
	PUT(3, sync, start, 10);
	PUT(3, sync, end, 30);
	put(4, 0, 99, 4); /* another tool's kind */
	gpu_records_convert(&cupti, &writer, buffer, 5 * STRIDE);
	const struct record_gpu_copy *copy = written(&at);
	assert_int_equal(copy->direction, COPY_D2H);
	assert_int_equal(copy->source_kind, MEMORY_DEVICE);
	assert_int_equal(copy->destination_kind, MEMORY_PINNED);
	assert_int_equal(copy->is_async, 1);
	assert_int_equal(copy->size_bytes, 4096);
	assert_int_equal(copy->gpu.correlation, 5);
	assert_int_equal(copy->peer_device, DEVICE_UNKNOWN);
	copy = written(&at);
	assert_int_equal(copy->direction, COPY_PEER);
	assert_int_equal(copy->peer_device, 6);
	assert_int_equal(copy->gpu.correlation, 7);
	const struct record_gpu_set *set = written(&at);
	assert_int_equal(set->gpu.head.kind, RECORD_KIND_gpu_set);
	assert_int_equal(set->value, 0xab);
	assert_int_equal(set->size_bytes, 100);
	const struct record_gpu_sync *sync = written(&at);
	assert_int_equal(sync->gpu.head.kind, RECORD_KIND_gpu_sync);
	assert_int_equal(sync->scope, SYNC_STREAM);
	assert_int_equal(sync->gpu.device, DEVICE_UNKNOWN);
	assert_null(written(&at));
}

static void allocations_and_pools_keep_all_their_fields(void **state)
{
	(void)state;
	size_t at = 0;
	put(0, 0, CUPTI_KIND_MEMORY2, 4);
	PUT(0, memory2, op, CUPTI_MEMORY_ALLOCATED);
	PUT(0, memory2, memory_kind, 3);
	PUT(0, memory2, correlation, 5);
	PUT(0, memory2, address, 0x7000000000);
	PUT(0, memory2, bytes, 4096);
	PUT(0, memory2, start, 100);
	PUT(0, memory2, device, 2);
	PUT(0, memory2, context, 6);
	PUT(0, memory2, stream, 7);
	PUT(0, memory2, is_async, 1);
	PUT(0, memory2, pool_type, CUPTI_POOL_LOCAL);
	PUT(0, memory2, pool, 0x1234);
	PUT(0, memory2, reserved, 1 << 20);
	PUT(0, memory2, used, 8192);
	put(1, 0, CUPTI_KIND_MEMORY2, 4);
	PUT(1, memory2, op, CUPTI_MEMORY_RELEASED);
	PUT(1, memory2, memory_kind, 5);
	PUT(1, memory2, start, 200);
	PUT(1, memory2, reserved, 99); /* of no pool: what lies there means nothing */
	put(2, 0, CUPTI_KIND_MEMORY2, 4);
	PUT(2, memory2, op, CUPTI_MEMORY_ALLOCATED);
	PUT(2, memory2, start, 250);
	PUT(2, memory2, pool_type, CUPTI_POOL_IMPORTED);
	PUT(2, memory2, pool, 0x99);
	PUT(2, memory2, reserved, 4242); /* another process's number */
	put(3, 0, CUPTI_KIND_MEMORY_POOL, 4);
	PUT(3, pool, op, 3);
	PUT(3, pool, type, CUPTI_POOL_LOCAL);
	PUT(3, pool, device, 2);
	PUT(3, pool, pool, 0x1234);
	PUT(3, pool, reserved, 2 << 20);
	PUT(3, pool, used, 77);
	PUT(3, pool, threshold, 88);
	PUT(3, pool, start, 300);
	put(4, 0, CUPTI_KIND_MEMORY2, 4); /* an operation of a newer version */
	PUT(4, memory2, op, 9);
	PUT(4, memory2, start, 400);
	gpu_records_convert(&cupti, &writer, buffer, 5 * STRIDE);
	const struct record_gpu_memory *memory = written(&at);
	assert_int_equal(memory->gpu.head.kind, RECORD_KIND_gpu_memory);
	assert_int_equal(memory->gpu.begin_ns, 100);
	assert_int_equal(memory->gpu.end_ns, 100);
	assert_int_equal(memory->gpu.correlation, 5);
	assert_int_equal(memory->gpu.device, 2);
	assert_int_equal(memory->gpu.context, 6);
	assert_int_equal(memory->gpu.stream, 7);
	assert_int_equal(memory->op, MEMORY_ALLOC);
	assert_int_equal(memory->memory_kind, MEMORY_POOL);
	assert_int_equal(memory->address, 0x7000000000);
	assert_int_equal(memory->size_bytes, 4096);
	assert_int_equal(memory->is_async, 1);
	assert_int_equal(memory->pool, 0x1234);
	assert_int_equal(memory->pool_reserved_bytes, 1 << 20);
	assert_int_equal(memory->pool_used_bytes, 8192);
	memory = written(&at);
	assert_int_equal(memory->op, MEMORY_FREE);
	assert_int_equal(memory->memory_kind, MEMORY_MANAGED);
	assert_int_equal(memory->pool, 0);
	assert_int_equal(memory->pool_reserved_bytes, 0);
	memory = written(&at);
	assert_int_equal(memory->pool, 0x99);
	assert_int_equal(memory->pool_reserved_bytes, 0);
	const struct record_gpu_pool *pool = written(&at);
	assert_int_equal(pool->gpu.head.kind, RECORD_KIND_gpu_pool);
	assert_int_equal(pool->op, GPU_POOL_TRIM);
	assert_int_equal(pool->gpu.device, 2);
	assert_int_equal(pool->pool, 0x1234);
	assert_int_equal(pool->reserved_bytes, 2 << 20);
	assert_int_equal(pool->used_bytes, 77);
	assert_int_equal(pool->threshold_bytes, 88);
	assert_int_equal(pool->is_imported, 0);
	assert_null(written(&at));
}

static void unusable_times_are_counted_and_reported_once(void **state)
{
	(void)state;
	size_t at = 0;
	put(0, 0, CUPTI_KIND_MEMSET, 4); /* no times at all */
	put(1, 0, CUPTI_KIND_MEMCPY, 4);
	PUT(1, memcpy, start, 20);
	PUT(1, memcpy, end, 10); /* ends before it begins */
	put(2, 0, CUPTI_KIND_MEMCPY, 4);
	PUT(2, memcpy, start, 20); /* never ended */
	gpu_records_convert(&cupti, &writer, buffer, 3 * STRIDE);
	assert_null(written(&at));
	gpu_records_count_dropped(5);
	gpu_records_write_losses(&writer);
	gpu_records_write_losses(&writer);
	unsigned int dropped = 0, zero = 0, bad = 0;
	const struct record_loss *loss;
	while ((loss = written(&at))) {
		assert_int_equal(loss->head.kind, RECORD_KIND_loss);
		if (loss->reason == LOSS_CUPTI)
			dropped += (unsigned int)loss->count;
		else if (loss->reason == LOSS_ZERO_TIME && loss->lost_kind == RECORD_KIND_gpu_set)
			zero += (unsigned int)loss->count;
		else if (loss->reason == LOSS_BAD_TIME && loss->lost_kind == RECORD_KIND_gpu_copy)
			bad += (unsigned int)loss->count;
	}
	assert_int_equal(dropped, 5);
	assert_int_equal(zero, 1);
	assert_int_equal(bad, 2);
}

static void an_empty_buffer_is_nothing(void **state)
{
	(void)state;
	size_t at = 0;
	gpu_records_convert(&cupti, &writer, buffer, 0);
	assert_null(written(&at));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_kernel_keeps_all_its_fields, begin, end),
		cmocka_unit_test_setup_teardown(
			a_launch_of_a_graph_is_one_record_with_the_executables_number, begin, end),
		cmocka_unit_test_setup_teardown(copies_sets_and_waits_are_told_apart, begin, end),
		cmocka_unit_test_setup_teardown(allocations_and_pools_keep_all_their_fields, begin,
						end),
		cmocka_unit_test_setup_teardown(unusable_times_are_counted_and_reported_once, begin,
						end),
		cmocka_unit_test_setup_teardown(an_empty_buffer_is_nothing, begin, end),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
