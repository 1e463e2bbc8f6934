/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is free in a segment beside a live block is fragmented; a wholly free segment is releasable.
 */
#include <stdlib.h>
#include <string.h>

#include "memory_failure.h"
#include "memory_map.h"
#include "memory_series.h"
#include "model_script.h"
#include "unit_test.h"

#define M UINT64_C(1048576)

static void add(struct script *script, int64_t at_ns, uint8_t op, uint8_t flags, uint64_t address,
		uint64_t bytes, uint64_t site)
{
	script_add_block(script, &(struct record_block){.ticks = (uint64_t)at_ns,
							.op = op,
							.flags = flags,
							.address = address,
							.size_bytes = bytes,
							.site = site});
}

static void driver(struct script *script, int64_t at_ns, uint8_t op, uint64_t address,
		   uint64_t bytes, int32_t status)
{
	struct script_call call = {.begin_ns = at_ns,
				   .end_ns = at_ns + 10,
				   .thread = 1,
				   .api = op == MEMORY_ALLOC ? "cudaMalloc" : "cudaFree",
				   .status = status};

	script_add_memory(script, &call, op, MEMORY_DEVICE, address, bytes);
}

static void pools_are_counted_apart(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct memory_map map;
	struct model *model;

	(void)state;
	script_add_site(script, 5, "keep\x1ftrain.py");
	/* In any order: a block may come before its segment. */
	add(script, 1, BLOCK_HELD_LIVE, 0, 100 * M + 4 * M, 2 * M, 5);
	add(script, 1, BLOCK_HELD_FREE, 0, 100 * M, 4 * M, 0);
	add(script, 1, BLOCK_HELD_SEGMENT, 0, 100 * M, 20 * M, 0);
	add(script, 1, BLOCK_HELD_FREE, 0, 106 * M, 14 * M, 0);
	add(script, 1, BLOCK_HELD_SEGMENT, 0, 200 * M, 30 * M, 0);
	add(script, 1, BLOCK_HELD_FREE, 0, 200 * M, 30 * M, 0);
	add(script, 1, BLOCK_HELD_SEGMENT, BLOCK_SMALL_POOL, 300 * M, 2 * M, 0);
	add(script, 1, BLOCK_HELD_PENDING, BLOCK_SMALL_POOL, 300 * M, M, 5);
	add(script, 1, BLOCK_HELD_SEGMENT, BLOCK_PRIVATE_POOL, 400 * M, 8 * M, 0);
	add(script, 1, BLOCK_HELD_LIVE, BLOCK_PRIVATE_POOL, 400 * M, 8 * M, 5);
	model = script_model(script);
	memory_map_held(model, 0, &map);
	assert_int_equal(map.source, MEMORY_MAP_HELD);
	assert_int_equal(map.pools[POOL_LARGE].reserved_bytes, 50 * M);
	assert_int_equal(map.pools[POOL_LARGE].allocated_bytes, 2 * M);
	assert_int_equal(map.pools[POOL_LARGE].releasable_bytes, 30 * M);
	assert_int_equal(map.pools[POOL_LARGE].fragmented_bytes, 18 * M);
	assert_int_equal(map.pools[POOL_LARGE].largest_free_bytes, 30 * M);
	assert_float_equal(memory_pool_scatter(&map.pools[POOL_LARGE]), 1 - 30.0 / 48, 1e-12);
	assert_int_equal(map.pools[POOL_SMALL].fragmented_bytes, M);
	assert_int_equal(map.pools[POOL_PRIVATE].fragmented_bytes, 0);
	assert_float_equal(memory_pool_scatter(&map.pools[POOL_PRIVATE]), 0, 0);
	assert_int_equal(map.total.fragmented_bytes, 19 * M);
	assert_int_equal(map.blocking_count, 1);
	assert_int_equal(map.blocking[0].blocked_bytes, 19 * M);
	assert_string_equal(map.strip, "15.#");
	model_free(model);
	script_free(script);
}

static void a_replay_stops_where_it_is_told(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct memory_map map;
	struct model *model;

	(void)state;
	driver(script, 100, MEMORY_ALLOC, 100 * M, 20 * M, 0);
	add(script, 200, BLOCK_ALLOC, 0, 100 * M, 5 * M, 0);
	add(script, 210, BLOCK_ALLOC, 0, 105 * M, 15 * M, 0);
	driver(script, 300, MEMORY_ALLOC, 500 * M, 64 * M, 0); /* nobody's block is in it */
	add(script, 400, BLOCK_FREE, 0, 105 * M, 15 * M, 0);
	add(script, 500, BLOCK_FREE, 0, 100 * M, 5 * M, 0);
	driver(script, 600, MEMORY_FREE, 100 * M, 0, 0);
	model = script_model(script);
	memory_map_at(model, 0, 350, &map);
	assert_int_equal(map.source, MEMORY_MAP_REPLAYED);
	assert_int_equal(map.total.allocated_bytes, 20 * M);
	assert_int_equal(map.total.fragmented_bytes, 0);
	assert_int_equal(map.outside_bytes, 64 * M);
	memory_map_at(model, 0, 450, &map);
	assert_int_equal(map.total.fragmented_bytes, 15 * M);
	memory_map_at(model, 0, 550, &map);
	assert_int_equal(map.total.releasable_bytes, 20 * M);
	memory_map_at(model, 0, 700, &map);
	assert_int_equal(map.source, MEMORY_MAP_NONE);
	assert_int_equal(memory_live_at(model, 0, 550), 84 * M);
	assert_int_equal(memory_live_at(model, 0, 700), 64 * M);
	model_free(model);
	script_free(script);
}

static void impossible_blocks_do_not_break_the_sums(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct memory_map map;
	struct model *model;

	(void)state;
	add(script, 1, BLOCK_HELD_SEGMENT, 0, UINT64_MAX - 10, 100, 0); /* beyond the end */
	add(script, 1, BLOCK_HELD_SEGMENT, 0, 100 * M, 10 * M, 0);
	add(script, 1, BLOCK_HELD_SEGMENT, 0, 700 * M, 0, 0);	/* empty */
	add(script, 1, BLOCK_HELD_LIVE, 0, 100 * M, 90 * M, 0); /* longer than its segment */
	add(script, 1, BLOCK_HELD_LIVE, 0, 101 * M, 9 * M, 0);	/* over the first */
	add(script, 1, BLOCK_HELD_LIVE, 0, 50 * M, M, 0);	/* in no segment */
	model = script_model(script);
	memory_map_held(model, 0, &map);
	assert_int_equal(map.total.reserved_bytes, 10 * M);
	assert_int_equal(map.total.allocated_bytes, 10 * M);
	assert_int_equal(map.total.fragmented_bytes, 0);
	assert_int_equal(map.stray_bytes, M);
	model_free(model);
	script_free(script);
}

static void calls_and_reports_of_one_failure_count_once(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct memory_failures failures;
	struct model *model;

	(void)state;
	driver(script, 1000, MEMORY_ALLOC, 0, 64 * M, 2);
	driver(script, 2000, MEMORY_ALLOC, 0, 64 * M, 2);
	add(script, 3000, BLOCK_OUT_OF_MEMORY, 0, 0, 63 * M, 0);
	/* Another error is no lack of memory. */
	driver(script, 4000, MEMORY_ALLOC, 0, 32 * M, 1);
	/* One more, without a framework; and one that fits in the end. */
	driver(script, 5000, MEMORY_ALLOC, 0, 16 * M, 2);
	driver(script, 6000, MEMORY_ALLOC, 0, 8 * M, 2);
	driver(script, 7000, MEMORY_ALLOC, 900 * M, 8 * M, 0);
	model = script_model(script);
	memory_failures_find(model, 0, &failures);
	assert_int_equal(failures.lasting, 2);
	assert_int_equal(failures.last.wanted_bytes, 16 * M);
	assert_false(failures.last.is_framework);
	assert_int_equal(failures.recovered, 1);
	assert_int_equal(failures.recovered_ns, 1010);
	assert_int_equal(failures.recovered_bytes, 8 * M);
	model_free(model);
	script_free(script);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pools_are_counted_apart),
		cmocka_unit_test(a_replay_stops_where_it_is_told),
		cmocka_unit_test(impossible_blocks_do_not_break_the_sums),
		cmocka_unit_test(calls_and_reports_of_one_failure_count_once),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
