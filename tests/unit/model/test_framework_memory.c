/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peaks and failures come from the allocator's totals, retries from the driver's allocations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model_script.h"

#define S INT64_C(1000000000)

static struct model *model_of_blocks(struct script *script, const struct record_block *blocks,
				     size_t count)
{
	for (size_t i = 0; i < count; i++)
		script_add_block(script, &blocks[i]);
	return script_model(script);
}

static void peak_is_of_what_was_allocated(void **state)
{
	/* Out of order, as threads' chunks come. */
	static const struct record_block blocks[] = {
		{.ticks = 30, .op = BLOCK_FREE, .allocated_bytes = 10, .reserved_bytes = 900},
		{.ticks = 10, .op = BLOCK_ALLOC, .allocated_bytes = 300, .reserved_bytes = 400},
		{.ticks = 20, .op = BLOCK_ALLOC, .allocated_bytes = 500, .reserved_bytes = 800},
		{.ticks = 25, .op = BLOCK_ALLOC, .allocated_bytes = 7, .device = 1},
	};
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model = model_of_blocks(script, blocks, 4);
	const struct framework_memory *memory = &model->devices[0].framework;

	(void)state;
	assert_int_equal(memory->peak_allocated_bytes, 500);
	assert_int_equal(memory->reserved_at_peak_bytes, 800);
	assert_int_equal(memory->peak_reserved_bytes, 900);
	assert_int_equal(memory->peak_ns, 20);
	assert_int_equal(memory->allocations, 2);
	assert_int_equal(memory->frees, 1);
	assert_int_equal(memory->out_of_memory, 0);
	model_free(model);
	script_free(script);
}

static void every_failure_counts_and_the_first_are_kept(void **state)
{
	struct record_block blocks[FRAMEWORK_OOMS + 3];
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model;

	(void)state;
	for (size_t i = 0; i < FRAMEWORK_OOMS + 3; i++)
		blocks[i] = (struct record_block){.ticks = 100 + i,
						  .op = BLOCK_OUT_OF_MEMORY,
						  .site = 1,
						  .size_bytes = 4096 + i,
						  .allocated_bytes = 50,
						  .reserved_bytes = 80};
	script_add_site(script, 1, "load\x1ftrain.py");
	model = model_of_blocks(script, blocks, FRAMEWORK_OOMS + 3);
	assert_int_equal(model->devices[0].framework.out_of_memory, FRAMEWORK_OOMS + 3);
	for (size_t i = 0; i < FRAMEWORK_OOMS; i++) {
		const struct framework_oom *oom = &model->devices[0].framework.oom[i];

		assert_int_equal(oom->wanted_bytes, 4096 + i);
		assert_int_equal(oom->reserved_bytes, 80);
		assert_int_equal(model->sites[oom->site].id, 1);
	}
	model_free(model);
	script_free(script);
}

static void allocate(struct script *script, uint32_t thread, int64_t at_ns, uint64_t bytes,
		     int32_t status)
{
	struct script_call call = {.begin_ns = at_ns,
				   .end_ns = at_ns + 1000,
				   .thread = thread,
				   .api = "cudaMalloc",
				   .status = status};

	script_add_memory(script, &call, MEMORY_ALLOC, MEMORY_DEVICE, status ? 0 : (uint64_t)at_ns,
			  bytes);
}

static void retries_are_failures_that_then_fit(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model;

	(void)state;
	allocate(script, 1, 1 * S, 100, 2);	    /* fits later: a retry */
	allocate(script, 2, 1 * S + 50000, 100, 0); /* another thread's */
	allocate(script, 1, 1 * S + 90000, 100, 0);
	allocate(script, 1, 2 * S, 200, 2); /* never fits */
	allocate(script, 1, 2 * S + 90000, 300, 0);
	allocate(script, 1, 3 * S, 400, 2); /* fails twice, then the program makes room */
	allocate(script, 1, 3 * S + 90000, 400, 2);
	allocate(script, 1, 9 * S, 400, 0);
	for (uint64_t i = 0; i < 40; i++) /* more open ones than are kept in mind */
		allocate(script, 1, 10 * S + (int64_t)i * 2000, 1000 + i, 2);
	model = script_model(script);
	assert_int_equal(model->devices[0].framework.retries, 1);
	model_free(model);
	script_free(script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peak_is_of_what_was_allocated),
		cmocka_unit_test(every_failure_counts_and_the_first_are_kept),
		cmocka_unit_test(retries_are_failures_that_then_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
