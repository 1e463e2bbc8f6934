/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains on managed memory: in every step the host writes a batch, a kernel reads it and writes a
 * result, and the host reads that. Without care both travel page by page, there and back; --cured
 * prefetches them. usage: prog_managed STEPS [--cured | --quiet]; --quiet: the host touches nothing
 * after the first step.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda.h>

#include "../simcuda/simcuda.h"

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int status_ = (int)(call);                                                         \
		if (status_) {                                                                     \
			printf("%s = %d\n", #call, status_);                                       \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum { BATCH_BYTES = 6 << 20, RESULT_BYTES = 3 << 20, KERNEL_NS = 1500000 };

static CUdevice gpu;
static CUstream stream;
static CUdeviceptr batch, result;

static void *as_pointer(CUdeviceptr address)
{
	return (void *)(uintptr_t)address;
}

static void launch(const char *name, CUdeviceptr touched, size_t bytes)
{
	struct simcuda_cost cost = {.fixed_ns = KERNEL_NS};
	CUfunction function = simcuda_library_kernel(name, &cost);

	simcuda_next_launch_touches(as_pointer(touched), bytes);
	CHECK(cuLaunchKernel(function, 200, 1, 1, 64, 1, 1, 0, stream, NULL, NULL));
}

static void move_to(int place, CUdeviceptr address, size_t bytes)
{
	CUmemLocation where = {.type = place == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST
							      : CU_MEM_LOCATION_TYPE_DEVICE,
			       .id = place == CU_DEVICE_CPU ? 0 : place};

	CHECK(cuMemPrefetchAsync(address, bytes, where, 0, stream));
}

static void step(int is_cured, int is_quiet)
{
	if (!is_quiet) {
		simcuda_host_touches(as_pointer(batch), BATCH_BYTES);
		memset(as_pointer(batch), 1, BATCH_BYTES);
	}
	if (is_cured) {
		move_to(gpu, batch, BATCH_BYTES);
		move_to(gpu, result, RESULT_BYTES);
	}
	launch("gelu_forward", batch, BATCH_BYTES);
	launch("adam_step", result, RESULT_BYTES);
	if (is_cured) {
		move_to(CU_DEVICE_CPU, result, RESULT_BYTES);
		move_to(CU_DEVICE_CPU, batch, BATCH_BYTES);
	}
	CHECK(cuStreamSynchronize(stream));
	if (!is_quiet)
		simcuda_host_touches(as_pointer(result), RESULT_BYTES);
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 20;
	int is_cured = argc > 2 && !strcmp(argv[2], "--cured");
	int is_quiet = argc > 2 && !strcmp(argv[2], "--quiet");
	CUcontext context;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&gpu, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, gpu));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAllocManaged(&batch, BATCH_BYTES, CU_MEM_ATTACH_GLOBAL));
	CHECK(cuMemAllocManaged(&result, RESULT_BYTES, CU_MEM_ATTACH_GLOBAL));
	/* Counters of managed memory begin a moment after the first call. */
	struct timespec pause = {0, 300000000};
	nanosleep(&pause, NULL);
	for (int i = 0; i < steps; i++)
		step(is_cured, is_quiet && i > 0);
	CHECK(cuMemFree(batch));
	CHECK(cuMemFree(result));
	printf("%d steps\n", steps);
	return 0;
}
