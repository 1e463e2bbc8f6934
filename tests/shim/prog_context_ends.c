/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that ends otherwise than by being freed where it was taken, and prints every result code.
 * usage: prog_context_ends MODE
 *   own      contexts of the program's own are destroyed with all that is in them
 *   primary  primary contexts are reset, and released by the last one who holds them
 *   foreign  memory is freed on another thread and while another device is current
 *   refused  allocations that fail, and frees of nothing, between others that succeed
 * own, primary and foreign need two GPUs. All is freed in the end.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#define PRINT(call) printf("%s = %d\n", #call, (int)(call))
#define MIB	    ((size_t)1 << 20)

static CUdeviceptr taken[8];

static CUcontext make_context(int device)
{
	CUcontext context = NULL;

	PRINT(cuCtxCreate(&context, NULL, 0, device));
	return context;
}

static CUarray make_array(void)
{
	CUDA_ARRAY_DESCRIPTOR bytes = {640, 480, CU_AD_FORMAT_UNSIGNED_INT8, 4};
	CUarray array = NULL;

	PRINT(cuArrayCreate(&array, &bytes));
	return array;
}

static void own_contexts(void)
{
	CUcontext primary, first, second;
	void *pinned;

	PRINT(cuDevicePrimaryCtxRetain(&primary, 0));
	PRINT(cuCtxSetCurrent(primary));
	PRINT(cuMemAlloc(&taken[0], 1 * MIB));
	first = make_context(0);
	PRINT(cuMemAlloc(&taken[1], 2 * MIB));
	PRINT(cuMemAllocManaged(&taken[2], 3 * MIB, CU_MEM_ATTACH_GLOBAL));
	PRINT(cuMemAllocHost(&pinned, 4 * MIB));
	make_array();
	second = make_context(1);
	PRINT(cuMemAlloc(&taken[3], 5 * MIB));
	PRINT(cuCtxPushCurrent(first));
	PRINT(cuMemAlloc(&taken[4], 6 * MIB));
	PRINT(cuCtxPopCurrent(NULL));
	PRINT(cuMemAlloc(&taken[5], 7 * MIB)); /* of the second again */
	PRINT(cuCtxSetCurrent(primary));
	PRINT(cuMemAlloc(&taken[6], 8 * MIB));
	PRINT(cuMemFree(taken[1])); /* of the first, from another context */
	PRINT(cuCtxDestroy(first)); /* not current */
	PRINT(cuCtxDestroy(first) != CUDA_SUCCESS);
	PRINT(cuMemAlloc(&taken[7], 9 * MIB));
	PRINT(cuCtxSetCurrent(second));
	make_array();
	PRINT(cuCtxDestroy(second)); /* current */
	PRINT(cuCtxSetCurrent(primary));
	PRINT(cuMemFree(taken[0]));
	PRINT(cuMemFree(taken[6]));
	PRINT(cuMemFree(taken[7]));
	PRINT(cuDevicePrimaryCtxRelease(0));
}

static void primary_contexts(void)
{
	CUcontext here, there, again;
	void *pinned;

	PRINT(cuDevicePrimaryCtxRetain(&here, 0));
	PRINT(cuDevicePrimaryCtxRetain(&there, 1));
	PRINT(cuCtxSetCurrent(there));
	PRINT(cuMemAlloc(&taken[0], 1 * MIB));
	PRINT(cuMemAllocHost(&pinned, 2 * MIB));
	make_array();
	PRINT(cuCtxSetCurrent(here));
	PRINT(cuMemAlloc(&taken[1], 3 * MIB));
	PRINT(cuDevicePrimaryCtxReset(1)); /* not the current one */
	PRINT(cuMemAlloc(&taken[2], 4 * MIB));
	PRINT(cuMemFree(taken[1]));
	PRINT(cuDevicePrimaryCtxRetain(&again, 0));
	PRINT(cuDevicePrimaryCtxRelease(0));
	PRINT(cuMemAlloc(&taken[3], 5 * MIB)); /* there still is a holder */
	PRINT(cuDevicePrimaryCtxRelease(0));   /* and now there is none */
	PRINT(cuDevicePrimaryCtxRelease(1));
}

static void *free_all(void *device)
{
	PRINT(cudaSetDevice((int)(intptr_t)device));
	for (int i = 0; i < 8; i += 2)
		PRINT(cudaFree((void *)(uintptr_t)taken[i]));
	return NULL;
}

static void foreign_frees(void)
{
	pthread_t thread;

	for (int i = 0; i < 8; i++) {
		void *memory;

		PRINT(cudaSetDevice(i / 4));
		PRINT(cudaMalloc(&memory, (size_t)(i + 1) * MIB));
		taken[i] = (CUdeviceptr)memory;
	}
	pthread_create(&thread, NULL, free_all, (void *)(intptr_t)1);
	pthread_join(thread, NULL);
	PRINT(cudaSetDevice(0));
	for (int i = 7; i > 0; i -= 2)
		PRINT(cudaFree((void *)(uintptr_t)taken[i]));
}

static void refused(void)
{
	cudaStream_t stream;
	void *memory, *other;

	PRINT(cudaFree(NULL));
	PRINT(cudaStreamCreate(&stream));
	PRINT(cudaMalloc(&memory, MIB));
	PRINT(cudaMalloc(&other, (size_t)1 << 62));
	PRINT(cudaMalloc(NULL, MIB));
	PRINT(cudaMallocManaged(&other, (size_t)1 << 62, cudaMemAttachGlobal));
	PRINT(cudaMallocAsync(&other, (size_t)1 << 50, stream));
	PRINT(cudaMallocHost(&other, 0));
	PRINT(cudaFree(NULL));
	PRINT(cudaFreeHost(NULL));
	PRINT(cudaFree((char *)memory + 256)); /* not where it begins */
	PRINT(cudaFree((void *)(uintptr_t)0x123456));
	PRINT(cudaMallocAsync(&other, 2 * MIB, stream));
	PRINT(cudaFreeAsync(memory, stream) != cudaSuccess); /* not of a pool */
	PRINT(cudaFreeAsync(other, stream));
	PRINT(cudaFree(memory));
	PRINT(cudaFree(memory) != cudaSuccess); /* twice */
	PRINT(cudaStreamDestroy(stream));
	PRINT(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int devices = 0;

	PRINT(cuInit(0));
	PRINT(cuDeviceGetCount(&devices));
	if (!strcmp(mode, "refused"))
		refused();
	else if (devices < 2)
		puts("needs two GPUs");
	else if (!strcmp(mode, "own"))
		own_contexts();
	else if (!strcmp(mode, "primary"))
		primary_contexts();
	else if (!strcmp(mode, "foreign"))
		foreign_frees();
	else
		return 2;
	return 0;
}
