/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and sets in every shape, by runtime and driver, between host, device and two devices.
 * Prints every result code and a sum of the bytes that arrived, so that a run with the shim can be
 * compared with one without. Compiled once for the legacy and once for per-thread default streams.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#define PRINT(call)                                                                                \
	do {                                                                                       \
		errno = 1234;                                                                      \
		int status_ = (int)(call);                                                         \
		printf("%s = %d%s\n", #call, status_, errno == 1234 ? "" : " ERRNO CHANGED");      \
	} while (0)

enum { PITCH = 512, ROWS = 16, SLICES = 4, BYTES = PITCH * ROWS * SLICES };

static unsigned char host[BYTES], back[BYTES];
static cudaStream_t stream;

static void print_sum(const char *what, const void *device)
{
	uint32_t sum = 2166136261U;

	memset(back, 0, sizeof(back));
	PRINT(cudaDeviceSynchronize());
	PRINT(cudaMemcpy(back, device, BYTES, cudaMemcpyDefault));
	for (size_t i = 0; i < BYTES; i++)
		sum = (sum ^ back[i]) * 16777619U;
	printf("%s: %08x\n", what, sum);
}

static void flat(void *one, void *two)
{
	PRINT(cudaMemcpy2D(one, PITCH, host, 300, 250, 9, cudaMemcpyHostToDevice));
	PRINT(cudaMemcpy2DAsync(two, PITCH, one, PITCH, 200, 8, cudaMemcpyDeviceToDevice, stream));
	PRINT(cudaMemcpy2DAsync(back, 100, two, PITCH, 100, 7, cudaMemcpyDefault, stream));
	PRINT(cudaMemset2D((char *)one + 5, PITCH, 0x11, 40, 3));
	PRINT(cudaMemset2DAsync((char *)two + PITCH, PITCH, 0x22, 50, 4, stream));
	PRINT(cudaMemcpy2D(one, 100, host, 300, 250, 9,
			   cudaMemcpyHostToDevice)); /* pitch too small */
	print_sum("flat one", one);
	print_sum("flat two", two);
}

static void deep(void *one, void *two)
{
	struct cudaPitchedPtr memory = {one, PITCH, PITCH, ROWS};
	struct cudaMemcpy3DParms parms = {
		.srcPtr = {host, 128, 128, 8},
		.dstPtr = memory,
		.dstPos = {16, 2, 1},
		.extent = {100, 6, 2},
		.kind = cudaMemcpyHostToDevice,
	};

	PRINT(cudaMemcpy3D(&parms));
	parms.srcPtr = memory;
	parms.srcPos = parms.dstPos;
	parms.dstPtr.ptr = two;
	parms.kind = cudaMemcpyDeviceToDevice;
	PRINT(cudaMemcpy3DAsync(&parms, stream));
	PRINT(cudaMemset3D(memory, 0x33, (struct cudaExtent){20, 5, 2}));
	memory.ptr = two;
	PRINT(cudaMemset3DAsync(memory, 0x44, (struct cudaExtent){PITCH, 3, 2}, stream));
	PRINT(cudaMemcpy3D(NULL));
	print_sum("deep one", one);
	print_sum("deep two", two);
}

static void peers(void *one, void *far)
{
	struct cudaMemcpy3DPeerParms parms = {
		.srcPtr = {one, PITCH, PITCH, ROWS},
		.srcDevice = 0,
		.dstPtr = {far, PITCH, PITCH, ROWS},
		.dstPos = {8, 1, 0},
		.dstDevice = 1,
		.extent = {64, 10, 3},
	};
	int can = -1;

	PRINT(cudaMemcpyPeer(far, 1, one, 0, BYTES));
	PRINT(cudaMemset(one, 0x55, BYTES));
	PRINT(cudaMemcpyPeerAsync((char *)far + 100, 1, one, 0, 1000, stream));
	PRINT(cudaDeviceCanAccessPeer(&can, 0, 1));
	PRINT(cudaDeviceEnablePeerAccess(1, 0));
	PRINT(cudaDeviceEnablePeerAccess(1, 0)); /* already */
	PRINT(cudaMemcpy3DPeer(&parms));
	parms.dstPos.z = 1;
	PRINT(cudaMemcpy3DPeerAsync(&parms, stream));
	PRINT(cudaMemcpyPeer(far, 7, one, 0, 16)); /* no such device */
	PRINT(cudaMemcpy(far, one, 300, cudaMemcpyDefault));
	print_sum("peers", far);
}

static void by_driver(void *one, void *two)
{
	CUdeviceptr first = (CUdeviceptr)(uintptr_t)one, second = (CUdeviceptr)(uintptr_t)two;
	CUDA_MEMCPY2D flat_shape = {.srcMemoryType = CU_MEMORYTYPE_HOST,
				    .srcHost = host,
				    .srcPitch = 64,
				    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				    .dstDevice = first,
				    .dstPitch = PITCH,
				    .WidthInBytes = 60,
				    .Height = 11};
	CUDA_MEMCPY3D deep_shape = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
				    .srcDevice = first,
				    .srcPitch = PITCH,
				    .srcHeight = ROWS,
				    .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
				    .dstDevice = second,
				    .dstPitch = PITCH,
				    .dstHeight = ROWS,
				    .WidthInBytes = 33,
				    .Height = 5,
				    .Depth = 2};

	PRINT(cuMemcpy2D(&flat_shape));
	PRINT(cuMemcpy2DUnaligned(&flat_shape));
	PRINT(cuMemcpy2DAsync(&flat_shape, stream));
	PRINT(cuMemcpy3D(&deep_shape));
	PRINT(cuMemcpy3DAsync(&deep_shape, stream));
	PRINT(cuMemsetD2D8(first, PITCH, 0x66, 30, 3));
	PRINT(cuMemsetD2D16(first + 64, PITCH, 0x7788, 30, 3));
	PRINT(cuMemsetD2D32Async(second + 64, PITCH, 0x99aabbcc, 30, 3, stream));
	PRINT(cuMemcpy2D(NULL));
	print_sum("driver one", one);
	print_sum("driver two", two);
}

static void batches(void *one, void *two)
{
	CUdeviceptr first = (CUdeviceptr)(uintptr_t)one, second = (CUdeviceptr)(uintptr_t)two;
	CUdeviceptr to[3] = {first, first + 1000, first + 2000};
	CUdeviceptr from[3] = {(CUdeviceptr)(uintptr_t)host, (CUdeviceptr)(uintptr_t)host + 5000,
			       (CUdeviceptr)(uintptr_t)host + 7000};
	CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	size_t sizes[3] = {100, 200, 300}, index = 0;

	PRINT(cuMemcpyBatchAsync(to, from, sizes, 3, &attributes, &index, 1, stream));
	from[1] = second; /* now the directions differ */
	PRINT(cuMemcpyBatchAsync(to, from, sizes, 3, &attributes, &index, 1, stream));
	PRINT(cuMemcpyBatchAsync(to, from, sizes, 0, &attributes, &index, 1, stream));
	print_sum("batches", one);
}

int main(void)
{
	void *one, *two, *far;

	/* Read when the driver is initialised. */
	setenv("SIMCUDA_GPUS", "2", 1);
	for (size_t i = 0; i < BYTES; i++)
		host[i] = (unsigned char)(i * 31 + i / 253);
	PRINT(cudaSetDevice(1));
	PRINT(cudaMalloc(&far, BYTES));
	PRINT(cudaMemset(far, 0, BYTES));
	PRINT(cudaSetDevice(0));
	PRINT(cudaMalloc(&one, BYTES));
	PRINT(cudaMalloc(&two, BYTES));
	PRINT(cudaMemset(one, 0, BYTES));
	PRINT(cudaMemset(two, 0, BYTES));
	PRINT(cudaStreamCreate(&stream));
	flat(one, two);
	deep(one, two);
	by_driver(one, two);
	batches(one, two);
	peers(one, far);
	PRINT(cudaStreamDestroy(stream));
	PRINT(cudaFree(one));
	PRINT(cudaFree(two));
	PRINT(cudaFree(far));
	printf("last error %d\n", (int)cudaGetLastError());
	return 0;
}
