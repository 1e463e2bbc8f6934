/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation functions of the simulated driver: what they give, count and refuse.
 */
#include "sim_scenario.h"

#include <sys/resource.h>

static void refuse_bad_frees(void)
{
	CUdeviceptr address, other = 0;
	void *host;

	open_device(0);
	address = device_alloc(1000);
	OK(cuMemFree(address));
	CHECK_RESULT(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemFree(0), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemFree(0x1234567), CUDA_ERROR_INVALID_VALUE);
	address = device_alloc(1000);
	CHECK_RESULT(cuMemFree(address + 8), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemFreeAsync(address, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemAlloc(NULL, 8), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemAlloc(&other, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemAlloc(&other, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK(other == 0);
	OK(cuMemAllocHost(&host, 10));
	CHECK_RESULT(cuMemFree((CUdeviceptr)(uintptr_t)host), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFreeHost(host));
	CHECK_RESULT(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
}

static void double_and_unknown_frees_are_invalid(void **state)
{
	(void)state;
	run_scenario(refuse_bad_frees, NULL);
}

static void run_out(void)
{
	const size_t mib = 1 << 20;
	CUdeviceptr address = 1, first;
	size_t available, total;

	open_device(0);
	OK(cuMemGetInfo(&available, &total));
	CHECK(total == 64 * mib && available == total);
	first = device_alloc(10 * mib);
	CHECK_RESULT(cuMemAlloc(&address, 10 * mib + 1), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK(address == 1);
	OK(cuMemAlloc(&address, 10 * mib));
	CHECK_RESULT(cuMemAllocAsync(&address, 1, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemGetInfo(&available, NULL));
	CHECK(available == 44 * mib);
	OK(cuMemFree(first));
	OK(cuMemAllocAsync(&address, 10 * mib, NULL));
}

static void allocations_fail_above_the_set_limit_only(void **state)
{
	(void)state;
	run_scenario(run_out, "SIMCUDA_MEMORY_MIB", "64", "SIMCUDA_OOM_AT", "20971520", NULL);
}

static void fill_device(void)
{
	size_t total, gib = (size_t)1 << 30;
	CUdeviceptr address;
	unsigned count = 0;

	open_device(0);
	OK(cuMemGetInfo(NULL, &total));
	CHECK(total == 80 * gib);
	while (cuMemAlloc(&address, gib) == CUDA_SUCCESS) {
		OK(cuMemsetD8(address + gib - 1, 1, 1));
		count++;
	}
	CHECK(count == 80);
}

static void an_80_gb_device_can_be_filled(void **state)
{
	(void)state;
	run_scenario(fill_device, NULL);
}

static long resident_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* Sizes and lifetimes of all kinds; each block is checked to be its own. */
static void churn(unsigned rounds)
{
	enum { LIVE = 512 };
	static CUdeviceptr live[LIVE];
	uint32_t random = 12345, tag;

	memset(live, 0, sizeof(live));
	for (unsigned i = 0; i < rounds; i++) {
		unsigned slot;
		size_t bytes;

		random = random * 1664525U + 1013904223U;
		slot = (random >> 16) % LIVE;
		bytes = 4 + ((random >> 8) % 1000) * ((random >> 20) % 50);
		if (live[slot]) {
			OK(cuMemcpyDtoH(&tag, live[slot], 4));
			CHECK(tag == slot + 1);
			OK(cuMemFree(live[slot]));
		}
		OK(cuMemAlloc(&live[slot], bytes));
		OK(cuMemsetD32(live[slot], slot + 1, 1));
	}
	for (unsigned slot = 0; slot < LIVE; slot++) {
		if (live[slot])
			OK(cuMemFree(live[slot]));
	}
}

static void churn_long(void)
{
	size_t available, total;
	long before;

	open_device(0);
	churn(20000);
	before = resident_kib();
	churn(40000);
	CHECK(resident_kib() - before < 8192);
	OK(cuMemGetInfo(&available, &total));
	CHECK(available == total);
}

static void thousands_of_allocations_leave_nothing_behind(void **state)
{
	(void)state;
	run_scenario(churn_long, "SIMCUDA_TIME_SCALE", "0", NULL);
}

static void give_host_memory(void)
{
	static char buffer[8192];
	CUdeviceptr mapped = 0;
	unsigned flags;
	char *host;

	open_device(0);
	OK(cuMemHostAlloc((void **)&host, 100, CU_MEMHOSTALLOC_PORTABLE));
	memset(host, 1, 100);
	OK(cuMemHostGetDevicePointer(&mapped, host, 0));
	CHECK(mapped == (uintptr_t)host);
	OK(cuMemHostGetFlags(&flags, host));
	CHECK(flags & CU_MEMHOSTALLOC_PORTABLE);
	CHECK_RESULT(cuMemHostGetDevicePointer(&mapped, buffer, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemHostUnregister(buffer), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	OK(cuMemHostRegister(buffer, sizeof(buffer), 0));
	CHECK_RESULT(cuMemHostRegister(buffer + 10, 10, 0),
		     CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	OK(cuMemHostGetDevicePointer(&mapped, buffer + 3, 0));
	OK(cuMemHostUnregister(buffer));
	CHECK_RESULT(cuMemHostUnregister(buffer), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	CHECK_RESULT(cuMemHostAlloc((void **)&host, 100, 0x80), CUDA_ERROR_INVALID_VALUE);
}

static void host_memory_can_be_allocated_and_registered(void **state)
{
	(void)state;
	run_scenario(give_host_memory, NULL);
}

static void ask_pointers(void)
{
	CUdeviceptr device, managed, base;
	unsigned type = 0, is_managed = 7;
	CUpointer_attribute wanted[2] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					 CU_POINTER_ATTRIBUTE_IS_MANAGED};
	void *answers[2] = {&type, &is_managed}, *host_view;
	CUcontext owner, context = open_device(0);
	size_t bytes, pitch;
	int stack;

	device = device_alloc(5000);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 4999));
	CHECK(type == CU_MEMORYTYPE_DEVICE);
	OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, device));
	CHECK(owner == context);
	OK(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, device + 1));
	CHECK(bytes == 5000);
	CHECK_RESULT(cuPointerGetAttribute(&host_view, CU_POINTER_ATTRIBUTE_HOST_POINTER, device),
		     CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 5000),
		     CUDA_ERROR_INVALID_VALUE);
	OK(cuMemGetAddressRange(&base, &bytes, device + 777));
	CHECK(base == device && bytes == 5000);
	CHECK_RESULT(cuMemGetAddressRange(&base, &bytes, (uintptr_t)&stack), CUDA_ERROR_NOT_FOUND);
	OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
	*(volatile char *)(uintptr_t)managed = 3;
	OK(cuPointerGetAttributes(2, wanted, answers, managed));
	CHECK(is_managed == 1);
	OK(cuPointerGetAttributes(2, wanted, answers, (uintptr_t)&stack));
	CHECK(type == 0 && is_managed == 0);
	OK(cuMemAllocPitch(&base, &pitch, 1000, 3, 4));
	CHECK(pitch == 1024);
	OK(cuMemGetAddressRange(NULL, &bytes, base));
	CHECK(bytes == 3 * 1024);
}

static void pointers_tell_what_they_are(void **state)
{
	(void)state;
	run_scenario(ask_pointers, NULL);
}

static void use_pool(void)
{
	CUmemoryPool pool, current;
	CUdeviceptr address;
	uint64_t used = 9, threshold = 1 << 20;
	CUstream stream;

	open_device(0);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cuDeviceGetMemPool(&current, 0));
	CHECK(current == pool);
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	OK(cuMemAllocAsync(&address, 12345, stream));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	CHECK(used == 12345);
	OK(cuMemFreeAsync(address, stream));
	CHECK_RESULT(cuMemFreeAsync(address, stream), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	CHECK(used == 0);
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &used));
	CHECK(used == 12345);
	OK(cuMemAllocFromPoolAsync(&address, 10, pool, stream));
	OK(cuMemFree(address));
	CHECK_RESULT(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
}

static void stream_ordered_memory_is_counted_by_its_pool(void **state)
{
	(void)state;
	run_scenario(use_pool, NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(double_and_unknown_frees_are_invalid),
		cmocka_unit_test(allocations_fail_above_the_set_limit_only),
		cmocka_unit_test(an_80_gb_device_can_be_filled),
		cmocka_unit_test(thousands_of_allocations_leave_nothing_behind),
		cmocka_unit_test(host_memory_can_be_allocated_and_registered),
		cmocka_unit_test(pointers_tell_what_they_are),
		cmocka_unit_test(stream_ordered_memory_is_counted_by_its_pool),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
