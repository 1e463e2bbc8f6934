/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI tells of memory: pools are summed whatever the order of records, and memory that no
 * call asked for is counted, but not when calls were lost.
 */
#include <stdlib.h>

#include "model_script.h"
#include "unit_test.h"

#define M UINT64_C(1048576)

static void add_call(struct script *script, int64_t at_ns, uint8_t op, uint64_t address,
		     uint64_t bytes)
{
	struct script_call call = {
		.begin_ns = at_ns, .end_ns = at_ns + 10, .thread = 1, .api = "cuMem"};

	script_add_memory(script, &call, op, MEMORY_DEVICE, address, bytes);
}

static void add_seen(struct script *script, uint64_t at_ns, uint8_t op, uint8_t kind,
		     uint64_t address, uint64_t bytes)
{
	struct record_gpu_memory record = {.gpu = {.begin_ns = at_ns, .end_ns = at_ns},
					   .address = address,
					   .size_bytes = bytes,
					   .op = op,
					   .memory_kind = kind};

	script_add_record(script, RECORD_KIND_gpu_memory, &record, sizeof(record));
}

static void add_of_pool(struct script *script, uint64_t at_ns, uint64_t pool, uint64_t reserved,
			uint64_t used)
{
	struct record_gpu_memory record = {.gpu = {.begin_ns = at_ns, .end_ns = at_ns},
					   .address = at_ns * M,
					   .size_bytes = M,
					   .pool = pool,
					   .pool_reserved_bytes = reserved,
					   .pool_used_bytes = used,
					   .op = MEMORY_ALLOC,
					   .memory_kind = MEMORY_POOL};

	script_add_record(script, RECORD_KIND_gpu_memory, &record, sizeof(record));
}

static void add_pool(struct script *script, uint64_t at_ns, uint64_t pool, uint8_t op,
		     uint64_t reserved)
{
	struct record_gpu_pool record = {.gpu = {.begin_ns = at_ns, .end_ns = at_ns},
					 .pool = pool,
					 .reserved_bytes = reserved,
					 .op = op};

	script_add_record(script, RECORD_KIND_gpu_pool, &record, sizeof(record));
}

static struct script *new_script(void)
{
	return script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
}

static void pools_are_summed_whatever_the_order_of_records(void **state)
{
	struct script *script = new_script();
	struct model *model;
	const struct driver_memory *memory;

	(void)state;
	add_pool(script, 600, 1, GPU_POOL_DESTROY, 0);
	add_of_pool(script, 300, 1, 6 * M, 5 * M);
	add_of_pool(script, 200, 1, 4 * M, 3 * M);
	add_pool(script, 100, 1, GPU_POOL_CREATE, 0);
	add_of_pool(script, 400, 2, 32 * M, 10 * M);
	add_pool(script, 500, 2, GPU_POOL_TRIM, 12 * M);
	model = script_model(script);
	memory = &model->devices[0].driver_memory;
	assert_true(memory->has_pools);
	assert_int_equal(memory->reserved_peak_bytes, 38 * M);
	assert_int_equal(memory->used_peak_bytes, 15 * M);
	assert_int_equal(memory->reserved_bytes, 12 * M);
	assert_int_equal(memory->used_bytes, 0);
	model_free(model);
	script_free(script);
}

static void what_no_call_asked_for_is_counted(void **state)
{
	struct script *script = new_script();
	struct model *model;
	const struct driver_memory *memory;

	(void)state;
	add_call(script, 100, MEMORY_ALLOC, 10 * M, M);
	add_seen(script, 105, MEMORY_ALLOC, MEMORY_DEVICE, 10 * M, M);
	add_seen(script, 200, MEMORY_ALLOC, MEMORY_DEVICE, 20 * M, 3 * M);  /* nobody's */
	add_seen(script, 210, MEMORY_ALLOC, MEMORY_MANAGED, 30 * M, 2 * M); /* nobody's */
	add_seen(script, 300, MEMORY_FREE, MEMORY_DEVICE, 20 * M, 3 * M);
	add_call(script, 400, MEMORY_FREE, 10 * M, 0);
	add_seen(script, 405, MEMORY_FREE, MEMORY_DEVICE, 10 * M, M);
	/* The same address again, and this time nobody called. */
	add_seen(script, 500, MEMORY_ALLOC, MEMORY_DEVICE, 10 * M, M);
	/* Host memory is none of the device's. */
	add_seen(script, 600, MEMORY_ALLOC, MEMORY_PINNED, 90 * M, M);
	model = script_model(script);
	memory = &model->devices[0].driver_memory;
	assert_true(memory->is_unseen_judged);
	assert_int_equal(memory->allocations, 4);
	assert_int_equal(memory->frees, 2);
	assert_int_equal(memory->unseen, 3);
	assert_int_equal(memory->unseen_peak_bytes, 5 * M);
	assert_int_equal(memory->unseen_bytes, 3 * M);
	assert_false(memory->has_pools);
	model_free(model);
	script_free(script);
}

static void every_allocation_by_a_call_is_none_of_nobody(void **state)
{
	struct script *script = new_script();
	struct model *model;

	(void)state;
	for (uint64_t i = 0; i < 20; i++) {
		add_call(script, (int64_t)(i * 100 + 10), MEMORY_ALLOC, 10 * M, M);
		add_seen(script, i * 100 + 15, MEMORY_ALLOC, MEMORY_DEVICE, 10 * M, M);
		add_call(script, (int64_t)(i * 100 + 50), MEMORY_FREE, 10 * M, 0);
		add_seen(script, i * 100 + 55, MEMORY_FREE, MEMORY_DEVICE, 10 * M, M);
	}
	model = script_model(script);
	assert_int_equal(model->devices[0].driver_memory.allocations, 20);
	assert_int_equal(model->devices[0].driver_memory.unseen, 0);
	model_free(model);
	script_free(script);
}

static void nothing_is_judged_when_calls_about_memory_were_lost(void **state)
{
	struct script *script = new_script();
	struct model *model;

	(void)state;
	add_seen(script, 200, MEMORY_ALLOC, MEMORY_DEVICE, 20 * M, 3 * M);
	script_health(script)->lost[RECORD_KIND_memory] = 2;
	model = script_model(script);
	assert_false(model->devices[0].driver_memory.is_unseen_judged);
	model_free(model);
	script_free(script);
}

static void a_recording_without_them_says_nothing(void **state)
{
	struct script *script = new_script();
	struct model *model;

	(void)state;
	add_call(script, 100, MEMORY_ALLOC, 10 * M, M);
	model = script_model(script);
	assert_int_equal(model->devices[0].driver_memory.allocations, 0);
	assert_false(model->devices[0].driver_memory.has_pools);
	assert_false(model->devices[0].driver_memory.is_unseen_judged);
	model_free(model);
	script_free(script);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pools_are_summed_whatever_the_order_of_records),
		cmocka_unit_test(what_no_call_asked_for_is_counted),
		cmocka_unit_test(every_allocation_by_a_call_is_none_of_nobody),
		cmocka_unit_test(nothing_is_judged_when_calls_about_memory_were_lost),
		cmocka_unit_test(a_recording_without_them_says_nothing),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
