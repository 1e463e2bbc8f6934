/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live memory by kind balances to zero when all is freed, whatever the order of frees, mappings and
 * handles; and the libraries on the stack of an allocation name its owner.
 */
#include <stdlib.h>
#include <string.h>

#include "memory_map.h"
#include "memory_owner.h"
#include "model_script.h"
#include "unit_test.h"

#define M UINT64_C(1048576)

struct desk {
	struct script *script;
	int64_t now_ns;
};

static struct desk desk_new(void)
{
	return (struct desk){script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16), 0};
}

static void event(struct desk *desk, uint8_t op, uint8_t kind, uint64_t address, uint64_t bytes,
		  uint64_t backing)
{
	struct script_call call = {.begin_ns = desk->now_ns + 10,
				   .end_ns = desk->now_ns + 20,
				   .thread = 1,
				   .api = "cuMem",
				   .backing = backing};

	script_add_memory(desk->script, &call, op, kind, address, bytes);
	desk->now_ns += 100;
}

static uint64_t sum_at(const struct model *model, int64_t time_ns, enum live_kind kind)
{
	uint64_t sums[LIVE_KIND_COUNT];

	memory_live_sums(model, 0, time_ns, sums);
	return sums[kind];
}

static void assert_nothing_is_live(const struct model *model)
{
	for (int kind = 0; kind < LIVE_KIND_COUNT; kind++)
		assert_int_equal(sum_at(model, INT64_MAX, (enum live_kind)kind), 0);
}

static void end(struct desk *desk, struct model *model)
{
	model_free(model);
	script_free(desk->script);
}

static void kinds_are_counted_apart_and_balance(void **state)
{
	static const uint8_t kinds[] = {MEMORY_DEVICE, MEMORY_MANAGED, MEMORY_POOL, MEMORY_PINNED,
					MEMORY_RESERVED};
	static const enum live_kind live[] = {LIVE_PLAIN, LIVE_MANAGED, LIVE_POOL, LIVE_PINNED,
					      LIVE_ADDRESSES};
	struct desk desk = desk_new();
	struct model *model;

	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		event(&desk, MEMORY_ALLOC, kinds[i], (i + 1) * 100 * M, (i + 1) * M, 0);
	for (uint64_t i = 0; i < 5; i++)
		event(&desk, MEMORY_FREE, kinds[i], (i + 1) * 100 * M, 0, 0);
	model = script_model(desk.script);
	for (uint64_t i = 0; i < 5; i++) {
		assert_int_equal(sum_at(model, 500, live[i]), (i + 1) * M);
		assert_int_equal(model->devices[0].memory.kind_peak_bytes[live[i]], (i + 1) * M);
	}
	assert_nothing_is_live(model);
	assert_int_equal(model->devices[0].memory.peak_bytes, 6 * M); /* without the host's */
	end(&desk, model);
}

static void physical_memory_lives_until_its_last_handle_and_mapping(void **state)
{
	struct desk desk = desk_new();
	struct model *model;

	(void)state;
	event(&desk, MEMORY_ALLOC, MEMORY_PHYSICAL, 7, 20 * M, 7); /* 0 */
	event(&desk, MEMORY_MAP, MEMORY_PHYSICAL, 1000 * M, 20 * M, 7);
	event(&desk, MEMORY_ALLOC, MEMORY_PHYSICAL, 7, 0, 7); /* retained */
	event(&desk, MEMORY_FREE, MEMORY_PHYSICAL, 7, 0, 0);
	event(&desk, MEMORY_FREE, MEMORY_PHYSICAL, 7, 0, 0); /* 400: mapped, no handle */
	event(&desk, MEMORY_UNMAP, MEMORY_PHYSICAL, 1000 * M, 20 * M, 0);
	model = script_model(desk.script);
	assert_int_equal(sum_at(model, 490, LIVE_PHYSICAL), 20 * M);
	assert_int_equal(sum_at(model, 490, LIVE_MAPPED), 20 * M);
	assert_nothing_is_live(model);
	assert_int_equal(model->devices[0].memory.allocations, 1);
	assert_int_equal(model->devices[0].memory.frees, 1);
	end(&desk, model);
}

static void one_unmapping_ends_several_mappings(void **state)
{
	struct desk desk = desk_new();
	struct model *model;

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		event(&desk, MEMORY_ALLOC, MEMORY_PHYSICAL, 10 + i, 2 * M, 10 + i);
		event(&desk, MEMORY_MAP, MEMORY_PHYSICAL, 1000 * M + i * 2 * M, 2 * M, 10 + i);
		event(&desk, MEMORY_FREE, MEMORY_PHYSICAL, 10 + i, 0, 0);
	}
	event(&desk, MEMORY_UNMAP, MEMORY_PHYSICAL, 1000 * M, 4 * M, 0);
	model = script_model(desk.script);
	assert_int_equal(sum_at(model, 890, LIVE_MAPPED), 6 * M);
	assert_int_equal(sum_at(model, INT64_MAX, LIVE_MAPPED), 2 * M);
	assert_int_equal(sum_at(model, INT64_MAX, LIVE_PHYSICAL), 2 * M);
	end(&desk, model);
}

static void nonsense_does_not_confuse_the_sums(void **state)
{
	struct desk desk = desk_new();
	struct model *model;

	(void)state;
	event(&desk, MEMORY_UNMAP, MEMORY_PHYSICAL, 4 * M, UINT64_MAX, 0);
	event(&desk, MEMORY_FREE, MEMORY_PHYSICAL, 99, 0, 0);
	event(&desk, MEMORY_FREE, MEMORY_DEVICE, 99, 0, 0);
	event(&desk, MEMORY_MAP, MEMORY_PHYSICAL, 4 * M, 2 * M, 12345);
	event(&desk, MEMORY_UNMAP, MEMORY_PHYSICAL, 4 * M, 2 * M, 0);
	event(&desk, MEMORY_ALLOC, MEMORY_DEVICE, 8 * M, M, 0);
	event(&desk, MEMORY_ALLOC, MEMORY_DEVICE, 8 * M, 3 * M, 0); /* its free was lost */
	event(&desk, MEMORY_FREE, MEMORY_DEVICE, 8 * M, 0, 0);
	event(&desk, 200, 200, 8 * M, 3, 8);
	model = script_model(desk.script);
	assert_int_equal(sum_at(model, 690, LIVE_PLAIN), 3 * M);
	assert_nothing_is_live(model);
	assert_int_equal(model->devices[0].memory.unknown_frees, 3);
	end(&desk, model);
}

static void handles_and_addresses_with_one_number_are_two_things(void **state)
{
	struct desk desk = desk_new();
	struct model *model;

	(void)state;
	event(&desk, MEMORY_ALLOC, MEMORY_DEVICE, 64 * M, 5 * M, 0);
	event(&desk, MEMORY_ALLOC, MEMORY_ARRAY, 64 * M, 3 * M, 64 * M);
	event(&desk, MEMORY_FREE, MEMORY_ARRAY, 64 * M, 0, 0);
	model = script_model(desk.script);
	assert_int_equal(sum_at(model, INT64_MAX, LIVE_PLAIN), 5 * M);
	assert_int_equal(sum_at(model, INT64_MAX, LIVE_ARRAY), 0);
	end(&desk, model);
}

static void captured_allocations_take_nothing(void **state)
{
	struct desk desk = desk_new();
	struct script_call call = {.begin_ns = 10,
				   .end_ns = 20,
				   .thread = 1,
				   .api = "cudaMallocAsync",
				   .flags = CALL_CAPTURED};
	struct model *model;

	(void)state;
	script_add_memory(desk.script, &call, MEMORY_ALLOC, MEMORY_POOL, 5 * M, M);
	model = script_model(desk.script);
	assert_nothing_is_live(model);
	assert_int_equal(model->devices[0].memory.peak_bytes, 0);
	end(&desk, model);
}

static void a_reset_device_holds_nothing(void **state)
{
	struct desk desk = desk_new();
	struct script_call reset = {
		.begin_ns = 1000, .end_ns = 1100, .thread = 1, .api = "cudaDeviceReset"};
	struct model *model;

	(void)state;
	event(&desk, MEMORY_ALLOC, MEMORY_DEVICE, 5 * M, M, 0);
	event(&desk, MEMORY_ALLOC, MEMORY_ARRAY, 77, M, 77);
	event(&desk, MEMORY_ALLOC, MEMORY_PINNED, 9 * M, M, 0);
	script_add_plain(desk.script, &reset);
	desk.now_ns = 2000;
	event(&desk, MEMORY_ALLOC, MEMORY_DEVICE, 5 * M, 4 * M, 0);
	model = script_model(desk.script);
	assert_int_equal(sum_at(model, 999, LIVE_PLAIN), M);
	assert_int_equal(sum_at(model, 1500, LIVE_PLAIN), 0);
	assert_int_equal(sum_at(model, 1500, LIVE_ARRAY), 0);
	assert_int_equal(sum_at(model, 1500, LIVE_PINNED), 0);
	assert_int_equal(sum_at(model, INT64_MAX, LIVE_PLAIN), 4 * M);
	end(&desk, model);
}

static void memory_ends_with_the_context_that_it_is_in(void **state)
{
	struct desk desk = desk_new();
	struct model *model;

	(void)state;
	event(&desk, MEMORY_ALLOC, MEMORY_DEVICE, 5 * M, M, 0);
	event(&desk, MEMORY_ALLOC, MEMORY_DEVICE, 8 * M, 2 * M, 0xc0);
	event(&desk, MEMORY_ALLOC, MEMORY_ARRAY, 77, 4 * M, 0xc0);
	event(&desk, MEMORY_ALLOC, MEMORY_PINNED, 20 * M, 8 * M, 0xc0);
	event(&desk, MEMORY_ALLOC, MEMORY_POOL, 40 * M, 16 * M, 0xc0); /* a pool of that number */
	event(&desk, MEMORY_CONTEXT_END, 0, 0xc0, 0, 0);
	event(&desk, MEMORY_ALLOC, MEMORY_DEVICE, 8 * M, 32 * M, 0);
	event(&desk, MEMORY_PRIMARY_END, 0, 0, 0, 0);
	model = script_model(desk.script);
	assert_int_equal(sum_at(model, 450, LIVE_PLAIN), 3 * M);
	assert_int_equal(sum_at(model, 550, LIVE_PLAIN), M);
	assert_int_equal(sum_at(model, 550, LIVE_ARRAY), 0);
	assert_int_equal(sum_at(model, 550, LIVE_PINNED), 0);
	assert_int_equal(sum_at(model, 550, LIVE_POOL), 16 * M);
	assert_int_equal(sum_at(model, 650, LIVE_PLAIN), 33 * M);
	assert_int_equal(model->devices[0].memory.unknown_frees, 0);
	assert_nothing_is_live(model);
	end(&desk, model);
}

static void a_primary_context_that_ends_spares_the_others(void **state)
{
	struct desk desk = desk_new();
	struct model *model;

	(void)state;
	event(&desk, MEMORY_ALLOC, MEMORY_DEVICE, 5 * M, M, 0);
	event(&desk, MEMORY_ALLOC, MEMORY_ARRAY, 77, 2 * M, 77); /* as files of 1.0 have it */
	event(&desk, MEMORY_ALLOC, MEMORY_ARRAY, 78, 4 * M, 0xc0);
	event(&desk, MEMORY_ALLOC, MEMORY_MANAGED, 9 * M, 8 * M, 0xc0);
	event(&desk, MEMORY_PRIMARY_END, 0, 0, 0, 0);
	model = script_model(desk.script);
	assert_int_equal(sum_at(model, INT64_MAX, LIVE_PLAIN), 0);
	assert_int_equal(sum_at(model, INT64_MAX, LIVE_ARRAY), 4 * M);
	assert_int_equal(sum_at(model, INT64_MAX, LIVE_MANAGED), 8 * M);
	end(&desk, model);
}

static void pools_reserve_what_the_program_was_told(void **state)
{
	struct desk desk = desk_new();
	uint64_t last, most;
	struct model *model;

	(void)state;
	event(&desk, MEMORY_ALLOC, MEMORY_POOL, 5 * M, M, 0xa);
	model = script_model(desk.script);
	assert_false(memory_live_pools(model, 0, &last, &most));
	end(&desk, model);

	desk = desk_new();
	event(&desk, MEMORY_POOL_TOLD, MEMORY_POOL, 0xa, 32 * M, POOL_RESERVED_NOW);
	event(&desk, MEMORY_POOL_TOLD, MEMORY_POOL, 0xb, 4 * M, POOL_RESERVED_NOW);
	event(&desk, MEMORY_POOL_TOLD, MEMORY_POOL, 0xa, 2 * M, POOL_RESERVED_NOW);
	event(&desk, MEMORY_POOL_TOLD, MEMORY_POOL, 0xb, 8 * M, POOL_RESERVED_MOST);
	model = script_model(desk.script);
	assert_true(memory_live_pools(model, 0, &last, &most));
	assert_int_equal(last, 6 * M);
	assert_int_equal(most, 36 * M);
	assert_nothing_is_live(model);
	assert_int_equal(model->devices[0].memory.unknown_frees, 0);
	end(&desk, model);
}

static void mappings_that_touch_are_one_segment(void **state)
{
	struct desk desk = desk_new();
	struct memory_map map;
	struct model *model;

	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		event(&desk, MEMORY_ALLOC, MEMORY_PHYSICAL, 10 + i, 20 * M, 10 + i);
		event(&desk, MEMORY_MAP, MEMORY_PHYSICAL, 1000 * M + i * 20 * M, 20 * M, 10 + i);
	}
	/* A block across two mappings, one in the last. */
	script_add_block(desk.script, &(struct record_block){.ticks = 900,
							     .op = BLOCK_ALLOC,
							     .address = 1010 * M,
							     .size_bytes = 20 * M});
	script_add_block(desk.script, &(struct record_block){.ticks = 910,
							     .op = BLOCK_ALLOC,
							     .address = 1060 * M,
							     .size_bytes = 10 * M});
	model = script_model(desk.script);
	memory_map_at(model, 0, 1000, &map);
	assert_int_equal(map.total.segments, 1);
	assert_int_equal(map.total.reserved_bytes, 80 * M);
	assert_int_equal(map.total.fragmented_bytes, 50 * M);
	assert_int_equal(map.stray_bytes, 0);
	assert_true(map.is_expandable);
	end(&desk, model);
}

/* ---- owners ---- */

static void files_name_their_owners(void **state)
{
	static const struct {
		const char *path, *owner;
		bool is_pool;
	} files[] = {
		{"/opt/conda/lib/librmm.so", "RMM", true},
		{"/venv/lib/python3.11/site-packages/torch/lib/libc10_cuda.so",
		 "PyTorch's caching allocator", true},
		{"/venv/site-packages/cupy/cuda/memory.cpython-311-x86_64-linux-gnu.so",
		 "CuPy's memory pool", true},
		{"/venv/site-packages/jaxlib/xla_extension.so", "XLA's BFC allocator", true},
		{"/usr/lib/libnccl.so.2.28.9", "NCCL", false},
		{"/usr/local/cuda/lib64/libcublasLt.so.13", "cuBLASLt", false},
		{"/usr/local/cuda/lib64/libcublas.so.13", "cuBLAS", false},
	};
	static const char *const others[] = {"/usr/lib/libmpich.so.12", "/bin/python3.11",
					     "/data/me/libraries/nccl-tests", "librmmlike.so", ""};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const struct memory_owner *owner = memory_owner_of_file(files[i].path);

		assert_non_null(owner);
		assert_string_equal(owner->name, files[i].owner);
		assert_int_equal(owner->is_pool, files[i].is_pool);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_null(memory_owner_of_file(others[i]));
}

static void the_innermost_known_library_owns_an_allocation(void **state)
{
	static const char *const frames[] = {"allocate\x1f/venv/site-packages/cupy/cuda/memory.py",
					     "train\x1f/home/me/train.py"};
	struct desk desk = desk_new();
	struct script_call call = {
		.begin_ns = 10, .end_ns = 20, .thread = 1, .api = "cudaMalloc", .site = 3};
	struct owner_sum sums[OWNER_SUMS];
	struct model *model;

	(void)state;
	script_add_stack(desk.script, 3, frames, 2);
	script_add_memory(desk.script, &call, MEMORY_ALLOC, MEMORY_DEVICE, 5 * M, 512 * M);
	desk.now_ns = 100;
	event(&desk, MEMORY_ALLOC, MEMORY_DEVICE, 900 * M, M, 0);
	model = script_model(desk.script);
	assert_int_equal(memory_owner_sums(model, 0, INT64_MAX, sums), 2);
	assert_string_equal(sums[0].owner->name, "CuPy's memory pool");
	assert_int_equal(sums[0].live_bytes, 512 * M);
	assert_int_equal(sums[0].segments, 1);
	assert_null(sums[1].owner);
	assert_int_equal(sums[1].live_bytes, M);
	end(&desk, model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_counted_apart_and_balance),
		cmocka_unit_test(physical_memory_lives_until_its_last_handle_and_mapping),
		cmocka_unit_test(one_unmapping_ends_several_mappings),
		cmocka_unit_test(nonsense_does_not_confuse_the_sums),
		cmocka_unit_test(handles_and_addresses_with_one_number_are_two_things),
		cmocka_unit_test(captured_allocations_take_nothing),
		cmocka_unit_test(a_reset_device_holds_nothing),
		cmocka_unit_test(pools_reserve_what_the_program_was_told),
		cmocka_unit_test(memory_ends_with_the_context_that_it_is_in),
		cmocka_unit_test(a_primary_context_that_ends_spares_the_others),
		cmocka_unit_test(mappings_that_touch_are_one_segment),
		cmocka_unit_test(files_name_their_owners),
		cmocka_unit_test(the_innermost_known_library_owns_an_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
