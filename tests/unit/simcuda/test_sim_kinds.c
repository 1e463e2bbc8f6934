/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools, virtual memory, arrays and managed memory of the simulated driver: what comes back when,
 * what the device has left, and what is refused.
 */
#include "sim_scenario.h"

#define MIB ((size_t)1 << 20)

static size_t free_bytes(void)
{
	size_t left = 0;

	OK(cuMemGetInfo(&left, NULL));
	return left;
}

static uint64_t pool_number(CUmemoryPool pool, CUmemPool_attribute attribute)
{
	uint64_t value = 0;

	OK(cuMemPoolGetAttribute(pool, attribute, &value));
	return value;
}

static CUmemoryPool new_pool(uint64_t threshold)
{
	CUmemPoolProps properties;
	CUmemoryPool pool;

	memset(&properties, 0, sizeof(properties));
	properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	OK(cuMemPoolCreate(&pool, &properties));
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	return pool;
}

static void keep_and_release(void)
{
	CUdeviceptr block;
	CUstream stream;
	size_t before;
	CUmemoryPool pool;

	open_device(0);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	before = free_bytes();
	pool = new_pool(0);
	OK(cuMemAllocFromPoolAsync(&block, 3 * MIB, pool, stream));
	CHECK(pool_number(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 3 * MIB);
	CHECK(pool_number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 4 * MIB);
	CHECK(free_bytes() == before - 4 * MIB);
	OK(cuMemFreeAsync(block, stream));
	CHECK(pool_number(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
	CHECK(pool_number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 4 * MIB);
	OK(cuStreamSynchronize(stream));
	CHECK(pool_number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
	CHECK(pool_number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 4 * MIB);
	CHECK(free_bytes() == before);
	OK(cuMemPoolDestroy(pool));
	/* With a threshold it stays, until it is trimmed. */
	pool = new_pool(UINT64_MAX);
	OK(cuMemAllocFromPoolAsync(&block, 3 * MIB, pool, stream));
	OK(cuMemFreeAsync(block, stream));
	OK(cuCtxSynchronize());
	CHECK(free_bytes() == before - 4 * MIB);
	OK(cuMemPoolTrimTo(pool, 0));
	CHECK(free_bytes() == before);
	OK(cuMemPoolDestroy(pool));
}

static void pools_keep_memory_down_to_their_threshold(void **state)
{
	(void)state;
	run_scenario(keep_and_release, "SIMCUDA_TIME_SCALE", "0", NULL);
}

static void reuse(void)
{
	CUdeviceptr first, second, third;
	CUstream busy, other;
	CUmemoryPool pool;
	int no = 0;

	open_device(0);
	OK(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	pool = new_pool(UINT64_MAX);
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &no));
	OK(cuMemAllocFromPoolAsync(&first, 64 * MIB, pool, busy));
	for (int i = 0; i < 50; i++)
		OK(cuMemsetD8Async(first, 0, 64 * MIB, busy));
	OK(cuMemFreeAsync(first, busy));
	OK(cuMemAllocFromPoolAsync(&second, 64 * MIB, pool, other));
	CHECK(second != first); /* the other stream may not overtake the sets */
	OK(cuMemAllocFromPoolAsync(&third, 64 * MIB, pool, busy));
	CHECK(third == first);
	OK(cuMemFreeAsync(second, other));
	OK(cuMemFreeAsync(third, busy));
	OK(cuCtxSynchronize());
	CHECK_RESULT(cuMemFreeAsync(third, busy), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemPoolDestroy(pool));
}

static void freed_blocks_come_back_in_stream_order(void **state)
{
	(void)state;
	/* Slow enough that a busy machine does not finish the sets before the next call. */
	run_scenario(reuse, "SIMCUDA_TIME_SCALE", "20", NULL);
}

static void give_way(void)
{
	CUdeviceptr block, large;
	CUmemoryPool pool;

	open_device(0);
	pool = new_pool(UINT64_MAX);
	OK(cuMemAllocFromPoolAsync(&block, 600 * MIB, pool, NULL));
	OK(cuMemFreeAsync(block, NULL));
	OK(cuCtxSynchronize());
	CHECK(free_bytes() == 424 * MIB);
	OK(cuMemAlloc(&large, 700 * MIB)); /* what the pool kept is given back for it */
	CHECK_RESULT(cuMemAllocFromPoolAsync(&block, 600 * MIB, pool, NULL),
		     CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemFree(large));
	OK(cuMemAllocFromPoolAsync(&block, 600 * MIB, pool, NULL));
	OK(cuMemPoolDestroy(pool)); /* lives until its last block is free */
	CHECK(free_bytes() == 424 * MIB);
	OK(cuMemFreeAsync(block, NULL));
	CHECK(free_bytes() == 1024 * MIB);
}

static void pools_give_way_before_a_request_fails(void **state)
{
	(void)state;
	run_scenario(give_way, "SIMCUDA_MEMORY_MIB", "1024", "SIMCUDA_TIME_SCALE", "0", NULL);
}

static CUmemAllocationProp on_device(void)
{
	CUmemAllocationProp properties;

	memset(&properties, 0, sizeof(properties));
	properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	return properties;
}

static void map_and_copy(void)
{
	CUmemAllocationProp properties = on_device();
	CUmemAccessDesc access = {.location = properties.location,
				  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle handle;
	unsigned char out[256], in[256];
	CUdeviceptr base;
	size_t granularity = 0;

	open_device(0);
	OK(cuMemGetAllocationGranularity(&granularity, &properties,
					 CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	CHECK(granularity == 2 * MIB);
	OK(cuMemAddressReserve(&base, 8 * MIB, 0, 0, 0));
	CHECK(free_bytes() == 1024 * MIB); /* addresses cost no memory */
	OK(cuMemCreate(&handle, 2 * MIB, &properties, 0));
	CHECK(free_bytes() == 1022 * MIB);
	OK(cuMemMap(base, 2 * MIB, 0, handle, 0));
	CHECK_RESULT(cuMemcpyHtoD(base, in, sizeof(in)), CUDA_ERROR_INVALID_VALUE); /* no access */
	OK(cuMemSetAccess(base, 2 * MIB, &access, 1));
	fill_pattern(in, sizeof(in), 1);
	OK(cuMemcpyHtoD(base + 1000, in, sizeof(in)));
	/* The same memory at a second address. */
	OK(cuMemMap(base + 4 * MIB, 2 * MIB, 0, handle, 0));
	OK(cuMemSetAccess(base + 4 * MIB, 2 * MIB, &access, 1));
	OK(cuMemcpyDtoH(out, base + 4 * MIB + 1000, sizeof(out)));
	CHECK(memcmp(in, out, sizeof(in)) == 0);
	OK(cuMemRelease(handle));
	CHECK_RESULT(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemAddressFree(base, 8 * MIB), CUDA_ERROR_INVALID_VALUE); /* still mapped */
	CHECK_RESULT(cuMemUnmap(base, MIB), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemFree(base), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemUnmap(base, 2 * MIB));
	CHECK(free_bytes() == 1022 * MIB);
	OK(cuMemUnmap(base + 4 * MIB, 2 * MIB));
	CHECK(free_bytes() == 1024 * MIB);
	OK(cuMemAddressFree(base, 8 * MIB));
	CHECK_RESULT(cuMemAddressFree(base, 8 * MIB), CUDA_ERROR_INVALID_VALUE);
}

static void physical_memory_lives_until_it_is_neither_held_nor_mapped(void **state)
{
	(void)state;
	run_scenario(map_and_copy, "SIMCUDA_MEMORY_MIB", "1024", NULL);
}

/* Each kind runs into the limit, and only that kind's function fails. */
static void run_into_the_limit(void)
{
	CUDA_ARRAY3D_DESCRIPTOR cube = {.Width = 1024,
					.Height = 1024,
					.Depth = 4,
					.Format = CU_AD_FORMAT_FLOAT,
					.NumChannels = 4};
	CUmemAllocationProp properties = on_device();
	CUmemGenericAllocationHandle handle;
	CUdeviceptr plain, managed, block;
	CUarray array;
	void *pinned;

	open_device(0);
	plain = device_alloc(90 * MIB);
	CHECK_RESULT(cuMemAlloc(&block, 11 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_RESULT(cuMemAllocAsync(&block, 11 * MIB, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_RESULT(cuMemCreate(&handle, 12 * MIB, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_RESULT(cuArray3DCreate(&array, &cube), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemHostAlloc(&pinned, 20 * MIB, 0));
	OK(cuMemAllocManaged(&managed, 20 * MIB, CU_MEM_ATTACH_GLOBAL));
	OK(cuMemFree(plain));
	OK(cuArray3DCreate(&array, &cube));
	CHECK_RESULT(cuMemAlloc(&block, 40 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuArrayDestroy(array));
	OK(cuMemAlloc(&block, 40 * MIB));
	OK(cuMemCreate(&handle, 60 * MIB, &properties, 0));
	OK(cuMemRelease(handle));
	OK(cuMemFree(block));
	OK(cuMemFree(managed));
	OK(cuMemFreeHost(pinned));
}

static void the_set_limit_holds_for_every_kind_of_device_memory(void **state)
{
	(void)state;
	run_scenario(run_into_the_limit, "SIMCUDA_OOM_AT", "104857600", "SIMCUDA_TIME_SCALE", "0",
		     NULL);
}

static void share_the_card(void)
{
	size_t left, total;
	CUdeviceptr block;

	open_device(0);
	OK(cuMemGetInfo(&left, &total));
	CHECK(total == 1024 * MIB && left == 324 * MIB);
	CHECK_RESULT(cuMemAlloc(&block, 400 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemAlloc(&block, 300 * MIB));
}

static void memory_of_others_is_not_free(void **state)
{
	(void)state;
	run_scenario(share_the_card, "SIMCUDA_MEMORY_MIB", "1024", "SIMCUDA_OTHERS_MIB", "700",
		     NULL);
}

static CUmemLocation device(int ordinal)
{
	CUmemLocation location;

	memset(&location, 0, sizeof(location));
	location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	location.id = ordinal;
	return location;
}

static void touch_managed(void)
{
	CUdeviceptr managed;
	int where = 0, mostly = 0;
	char *bytes, out[4];

	open_device(0);
	OK(cuMemAllocManaged(&managed, MIB, CU_MEM_ATTACH_GLOBAL));
	bytes = (char *)(uintptr_t)managed;
	memcpy(bytes, "abc", 4);
	OK(cuMemPrefetchAsync(managed, MIB, device(0), 0, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemRangeGetAttribute(&where, sizeof(where),
				  CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, managed, MIB));
	CHECK(where == 0);
	OK(cuMemAdvise(managed, MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, device(0)));
	OK(cuMemRangeGetAttribute(&mostly, sizeof(mostly), CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
				  managed, MIB));
	CHECK(mostly == 1);
	OK(cuMemcpyDtoH(out, managed, 4));
	CHECK(strcmp(out, "abc") == 0 && strcmp(bytes, "abc") == 0);
	CHECK_RESULT(cuMemPrefetchAsync(managed, MIB, device(5), 0, NULL),
		     CUDA_ERROR_INVALID_DEVICE);
	CHECK_RESULT(cuMemAdvise(managed + MIB, 1, CU_MEM_ADVISE_SET_READ_MOSTLY, device(0)),
		     CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFree(managed));
}

static void managed_memory_is_valid_on_both_sides(void **state)
{
	(void)state;
	run_scenario(touch_managed, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pools_keep_memory_down_to_their_threshold),
		cmocka_unit_test(freed_blocks_come_back_in_stream_order),
		cmocka_unit_test(pools_give_way_before_a_request_fails),
		cmocka_unit_test(physical_memory_lives_until_it_is_neither_held_nor_mapped),
		cmocka_unit_test(the_set_limit_holds_for_every_kind_of_device_memory),
		cmocka_unit_test(memory_of_others_is_not_free),
		cmocka_unit_test(managed_memory_is_valid_on_both_sides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
