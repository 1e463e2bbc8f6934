/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and kernels of the simulated driver whose times events can tell exactly: behind a kernel
 * that keeps their stream busy until all of them are issued. In two devices' contexts and a third
 * one, on own and default streams, from two threads, one after the other. Then everything that can
 * go while it is measured goes: a stream, a context, a primary context that somebody else still
 * holds.
 */
#include <pthread.h>
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

enum { BYTES = 4 << 20, BUSY_NS = 40000000, SHORT_NS = 300000 };

/* The simulated driver forgets a cost with the launch. Launches of a thread within 200 us are
 * sampled, and here each is to be measured. */
static void launch(const char *name, double ns, CUstream stream)
{
	struct simcuda_cost cost = {.fixed_ns = ns};
	CUfunction function = simcuda_library_kernel(name, &cost);
	struct timespec apart = {0, 1000000};

	nanosleep(&apart, NULL);
	CHECK(cuLaunchKernel(function, 8, 1, 1, 64, 1, 1, 0, stream, NULL, NULL));
}

/* Everything here is issued within the time of the first kernel. */
static void work_in(CUstream stream)
{
	CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	size_t sizes[2] = {BYTES / 2, BYTES / 4}, index = 0;
	CUdeviceptr device, other;
	void *host;

	CHECK(cuMemAlloc(&device, BYTES));
	CHECK(cuMemAlloc(&other, BYTES));
	CHECK(cuMemAllocHost(&host, BYTES));
	memset(host, 5, BYTES);
	launch("busy_kernel", BUSY_NS, stream);
	CHECK(cuMemcpyHtoDAsync(device, host, BYTES, stream));
	CHECK(cuMemcpyDtoDAsync(other, device, BYTES, stream));
	CHECK(cuMemcpyDtoHAsync(host, other, BYTES, stream));
	CHECK(cuMemcpyAsync(device, other, BYTES / 2, stream));
	CUDA_MEMCPY2D shape = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = host,
			       .srcPitch = 4096,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstDevice = device,
			       .dstPitch = 8192,
			       .WidthInBytes = 4000,
			       .Height = 500};
	CHECK(cuMemcpy2DAsync(&shape, stream));
	if (stream) {
		CUdeviceptr to[2] = {device, device + BYTES / 2},
			    from[2] = {(CUdeviceptr)(uintptr_t)host, other};
		CHECK(cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, &index, 1, stream));
	}
	launch("short_kernel", SHORT_NS, stream);
	CHECK(cuStreamSynchronize(stream));
	/* Blocking ones. */
	CHECK(cuMemcpyHtoD(device, host, BYTES));
	CHECK(cuMemcpyDtoH(host, device, BYTES / 2));
	CHECK(cuMemcpy(other, device, BYTES));
	CHECK(cuMemcpy2D(&shape));
	CHECK(cuMemFree(device));
	CHECK(cuMemFree(other));
	CHECK(cuMemFreeHost(host));
}

static void *work_of_a_thread(void *context)
{
	CUstream stream;

	CHECK(cuCtxSetCurrent(context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	work_in(stream);
	CHECK(cuStreamDestroy(stream));
	return NULL;
}

/* A stream that is destroyed while its copies are under way: they are finished all the same. */
static void leave_a_stream(CUdeviceptr device, void *host)
{
	CUstream stream;

	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	launch("busy_kernel", BUSY_NS, stream);
	CHECK(cuMemcpyHtoDAsync(device, host, BYTES, stream));
	CHECK(cuStreamDestroy(stream));
}

static void leave_a_context(CUdevice gpu)
{
	CUcontext context;
	CUdeviceptr device;
	CUstream stream;
	void *host;

	CHECK(cuCtxCreate(&context, NULL, 0, gpu));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&device, BYTES));
	CHECK(cuMemAllocHost(&host, BYTES));
	launch("busy_kernel", BUSY_NS, stream);
	CHECK(cuMemcpyHtoDAsync(device, host, BYTES, stream));
	CHECK(cuCtxDestroy(context));
}

/* Libraries hold the primary context for a moment, again and again. */
static void hold_and_release(CUdevice gpu, CUdeviceptr device, void *host)
{
	CUcontext held;

	for (int i = 0; i < 20; i++) {
		CHECK(cuDevicePrimaryCtxRetain(&held, gpu));
		CHECK(cuMemcpyHtoDAsync(device, host, BYTES / 8, NULL));
		CHECK(cuDevicePrimaryCtxRelease(gpu));
	}
	CHECK(cuCtxSynchronize());
}

int main(void)
{
	CUcontext contexts[2];
	pthread_t thread;
	CUdeviceptr device;
	CUdevice gpu;
	void *host;

	CHECK(cuInit(0));
	for (int i = 1; i >= 0; i--) {
		CHECK(cuDeviceGet(&gpu, i));
		CHECK(cuDevicePrimaryCtxRetain(&contexts[i], gpu));
		CHECK(cuCtxSetCurrent(contexts[i]));
		work_in(NULL);
	}
	CHECK(pthread_create(&thread, NULL, work_of_a_thread, contexts[1]));
	CHECK(pthread_join(thread, NULL));
	work_of_a_thread(contexts[0]);

	CHECK(cuMemAlloc(&device, BYTES));
	CHECK(cuMemAllocHost(&host, BYTES));
	leave_a_stream(device, host);
	CHECK(cuCtxSynchronize());
	leave_a_context(gpu);
	CHECK(cuCtxSetCurrent(contexts[0]));
	hold_and_release(gpu, device, host);
	printf("done\n");
	return 0;
}
