/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and sets of the simulated driver: every byte, every direction, the errors.
 */
#include "sim_scenario.h"

#include <signal.h>

static const size_t sizes[] = {1, 3, 64, 4095, 65536, 65537, 131072, 131073, 1 << 20, 3000001};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), MARGIN = 64, MAX_BYTES = 3000001 + 2 * MARGIN };

/* How a round trip is made: host to device, device to device, device to host. */
enum way { SYNC, ASYNC, UNIFIED, UNIFIED_ASYNC, WAYS };

static void to_device(enum way way, CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	switch (way) {
	case SYNC:
		OK(cuMemcpyHtoD(to, from, bytes));
		break;
	case ASYNC:
		OK(cuMemcpyHtoDAsync(to, from, bytes, stream));
		break;
	case UNIFIED:
		OK(cuMemcpy(to, (uintptr_t)from, bytes));
		break;
	default:
		OK(cuMemcpyAsync(to, (uintptr_t)from, bytes, stream));
		break;
	}
}

static void to_host(enum way way, void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	switch (way) {
	case SYNC:
		OK(cuMemcpyDtoH(to, from, bytes));
		break;
	case ASYNC:
		OK(cuMemcpyDtoHAsync(to, from, bytes, stream));
		break;
	case UNIFIED:
		OK(cuMemcpy((uintptr_t)to, from, bytes));
		break;
	default:
		OK(cuMemcpyAsync((uintptr_t)to, from, bytes, stream));
		break;
	}
}

static void inside(enum way way, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	if (way == SYNC)
		OK(cuMemcpyDtoD(to, from, bytes));
	else
		OK(cuMemcpyDtoDAsync(to, from, bytes, stream));
}

/* One buffer through two device blocks and back, with untouched bytes around it. */
static void round_trip(enum way way, unsigned char *sent, unsigned char *back, size_t bytes,
		       CUdeviceptr first, CUdeviceptr second, CUstream stream)
{
	fill_pattern(sent, bytes, (unsigned)bytes + way);
	memset(back, 0xee, bytes + 2 * MARGIN);
	to_device(way, first + 5, sent, bytes, stream);
	inside(way, second + 9, first + 5, bytes, stream);
	to_host(way, back + MARGIN, second + 9, bytes, stream);
	OK(cuStreamSynchronize(stream));
	CHECK(memcmp(back + MARGIN, sent, bytes) == 0);
	for (size_t i = 0; i < MARGIN; i++)
		CHECK(back[i] == 0xee && back[MARGIN + bytes + i] == 0xee);
}

static void copy_all(void)
{
	unsigned char *sent[3], *back[3];
	CUdeviceptr first, second;
	CUstream streams[3];

	open_device(0);
	first = device_alloc(MAX_BYTES);
	second = device_alloc(MAX_BYTES);
	streams[0] = NULL;
	OK(cuStreamCreate(&streams[1], CU_STREAM_DEFAULT));
	streams[2] = CU_STREAM_PER_THREAD;
	/* Pageable, pinned, registered. */
	sent[0] = malloc(MAX_BYTES);
	back[0] = malloc(MAX_BYTES);
	OK(cuMemAllocHost((void **)&sent[1], MAX_BYTES));
	OK(cuMemAllocHost((void **)&back[1], MAX_BYTES));
	sent[2] = malloc(MAX_BYTES);
	back[2] = malloc(MAX_BYTES);
	OK(cuMemHostRegister(sent[2], MAX_BYTES, 0));
	OK(cuMemHostRegister(back[2], MAX_BYTES, 0));
	for (int memory = 0; memory < 3; memory++) {
		for (int way = 0; way < WAYS; way++) {
			for (int size = 0; size < SIZES; size++)
				round_trip((enum way)way, sent[memory], back[memory], sizes[size],
					   first, second, streams[(size + way) % 3]);
		}
	}
	OK(cuMemHostUnregister(sent[2]));
	OK(cuMemHostUnregister(back[2]));
	for (int memory = 0; memory < 3; memory += 2) {
		free(sent[memory]);
		free(back[memory]);
	}
}

static void every_copy_is_exact_to_the_byte(void **state)
{
	(void)state;
	run_scenario(copy_all, NULL);
	run_scenario(copy_all, "SIMCUDA_TIME_SCALE", "0", NULL);
}

static void set_all(void)
{
	static unsigned char seen[1 << 21];
	CUdeviceptr memory;
	CUstream stream;

	open_device(0);
	memory = device_alloc(sizeof(seen));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemsetD8(memory, 0xff, sizeof(seen)));
	/* A large zero over part of the pages takes another way inside. */
	OK(cuMemsetD8(memory + 100, 0, sizeof(seen) - 300));
	OK(cuMemcpyDtoH(seen, memory, sizeof(seen)));
	for (size_t i = 0; i < sizeof(seen); i++)
		CHECK(seen[i] == (i >= 100 && i < sizeof(seen) - 200 ? 0 : 0xff));
	OK(cuMemsetD16Async(memory + 2, 0x1234, 1000, stream));
	OK(cuMemsetD32Async(memory + 4000, 0xdeadbeef, 100000, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH(seen, memory, sizeof(seen)));
	CHECK(seen[1] == 0xff && seen[2] == 0x34 && seen[2001] == 0x12 && seen[2002] == 0);
	CHECK(seen[4000] == 0xef && seen[403999] == 0xde && seen[404000] == 0);
	CHECK_RESULT(cuMemsetD32(memory + 2, 1, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemsetD8(memory, 1, sizeof(seen) + 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemsetD8((uintptr_t)seen, 1, 1), CUDA_ERROR_INVALID_VALUE);
}

static void sets_write_exactly_their_range(void **state)
{
	(void)state;
	run_scenario(set_all, NULL);
}

static void refuse_copies(void)
{
	CUdeviceptr memory;
	char host[64] = "unchanged";

	open_device(0);
	memory = device_alloc(1000);
	CHECK_RESULT(cuMemcpyDtoH(host, memory + 990, 11), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemcpyHtoD(memory + 1000, host, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemcpyHtoD((uintptr_t)host, host, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemcpyDtoD(memory, 64, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemcpyHtoD(memory, NULL, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuMemcpyHtoDAsync(memory, host, 1, (CUstream)host), CUDA_ERROR_INVALID_HANDLE);
	OK(cuMemcpyHtoD(memory, NULL, 0));
	OK(cuMemFree(memory));
	CHECK_RESULT(cuMemcpyHtoD(memory, host, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK(strcmp(host, "unchanged") == 0);
}

static void copies_past_known_memory_are_invalid(void **state)
{
	(void)state;
	run_scenario(refuse_copies, NULL);
}

static void copy_between_devices(void)
{
	unsigned char sent[1000], back[1000];
	CUdeviceptr first, second;
	CUcontext contexts[2];
	int can = 0;

	contexts[0] = open_device(0);
	first = device_alloc(1000);
	contexts[1] = open_device(1);
	second = device_alloc(1000);
	OK(cuDeviceCanAccessPeer(&can, 0, 1));
	CHECK(can == 1);
	OK(cuCtxEnablePeerAccess(contexts[0], 0));
	CHECK_RESULT(cuCtxEnablePeerAccess(contexts[0], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	fill_pattern(sent, sizeof(sent), 4);
	OK(cuMemcpyHtoD(first, sent, 1000));
	OK(cuMemcpyPeer(second, contexts[1], first, contexts[0], 1000));
	OK(cuMemcpyDtoH(back, second, 1000));
	CHECK(memcmp(sent, back, 1000) == 0);
}

static void memory_moves_between_devices(void **state)
{
	(void)state;
	run_scenario(copy_between_devices, "SIMCUDA_GPUS", "2", NULL);
}

static void touch_device_memory(void)
{
	volatile char *address;

	open_device(0);
	address = (volatile char *)(uintptr_t)device_alloc(4096);
	signal(SIGSEGV, SIG_DFL);
	*address = 1;
}

static void the_host_cannot_touch_device_memory(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0) {
		touch_device_memory();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* What stream-ordered memory held is not written over what its successor gets. */
static void reuse_memory(void)
{
	const size_t bytes = 32 << 20;
	CUdeviceptr old, new;
	CUstream streams[2];
	char *pinned, *check;

	open_device(0);
	OK(cuMemAllocHost((void **)&pinned, bytes));
	memset(pinned, 1, bytes);
	check = malloc(bytes);
	OK(cuStreamCreate(&streams[0], CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING));
	for (int round = 0; round < 3; round++) {
		OK(cuMemAllocAsync(&old, bytes, streams[0]));
		OK(cuMemcpyHtoDAsync(old, pinned, bytes, streams[0]));
		OK(cuMemFreeAsync(old, streams[0]));
		OK(cuMemAllocAsync(&new, bytes, streams[1]));
		CHECK(new == old);
		OK(cuMemsetD8Async(new, 2, 1000, streams[1]));
		OK(cuMemsetD8Async(new + bytes - 1000, 3, 1000, streams[1]));
		OK(cuCtxSynchronize());
		OK(cuMemcpyDtoH(check, new, bytes));
		CHECK(check[0] == 2 && check[bytes - 1] == 3);
		OK(cuMemFreeAsync(new, streams[1]));
	}
	free(check);
}

static void reused_memory_is_not_written_by_its_former_owner(void **state)
{
	(void)state;
	run_scenario(reuse_memory, "SIMCUDA_TIME_SCALE", "0", NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_copy_is_exact_to_the_byte),
		cmocka_unit_test(sets_write_exactly_their_range),
		cmocka_unit_test(copies_past_known_memory_are_invalid),
		cmocka_unit_test(memory_moves_between_devices),
		cmocka_unit_test(the_host_cannot_touch_device_memory),
		cmocka_unit_test(reused_memory_is_not_written_by_its_former_owner),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
