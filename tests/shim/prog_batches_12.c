/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of copies in the runtime's form of CUDA 12.8, which says which copy failed, on a runtime
 * of CUDA 12. Prints every result, the index and a sum of the bytes that arrived. With
 * BATCH_PER_THREAD by the twins for per-thread default streams.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The headers of CUDA 13 declare the form without the index. */
#define cudaMemcpyBatchAsync   cudaMemcpyBatchAsync_of_13
#define cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_of_13
#include <cuda_runtime_api.h>
#undef cudaMemcpyBatchAsync
#undef cudaMemcpy3DBatchAsync
#ifdef BATCH_PER_THREAD
#define cudaMemcpyBatchAsync   cudaMemcpyBatchAsync_ptsz
#define cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_ptsz
#endif

cudaError_t cudaMemcpyBatchAsync(void **dsts, void **srcs, size_t *sizes, size_t count,
				 struct cudaMemcpyAttributes *attributes, size_t *indices,
				 size_t attribute_count, size_t *failed, cudaStream_t stream);
cudaError_t cudaMemcpy3DBatchAsync(size_t count, struct cudaMemcpy3DBatchOp *operations,
				   size_t *failed, unsigned long long flags, cudaStream_t stream);

#define PRINT(call) printf("%s = %d\n", #call, (int)(call))

enum { BYTES = 8192, WIDTH = 64, ROWS = 8 };

static unsigned char host[BYTES], back[BYTES];

static void print_back(const unsigned char *device)
{
	uint32_t sum = 2166136261U;

	PRINT(cudaMemcpy(back, device, BYTES, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < BYTES; i++)
		sum = (sum ^ back[i]) * 16777619U;
	printf("bytes %08x\n", sum);
}

static void plain(unsigned char *device, cudaStream_t stream)
{
	void *to[] = {device, device + 1000, device + 5000}, *from[] = {host, host + 7, host + 99};
	size_t sizes[] = {900, 3001, 17}, index = 0, failed = 77;
	struct cudaMemcpyAttributes attributes = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};

	PRINT(cudaMemcpyBatchAsync(to, from, sizes, 3, &attributes, &index, 1, &failed, stream));
	PRINT(cudaStreamSynchronize(stream));
	print_back(device);
	/* Refused as a whole: no attributes. The index says so. */
	PRINT(cudaMemcpyBatchAsync(to, from, sizes, 3, NULL, NULL, 0, &failed, stream));
	printf("all failed: %d\n", failed == SIZE_MAX);
	PRINT(cudaMemcpyBatchAsync(to, from, sizes, 3, NULL, NULL, 0, NULL, stream));
}

static void boxes(unsigned char *device, cudaArray_t array, cudaStream_t stream)
{
	struct cudaMemcpy3DBatchOp operations[2] = {
		{.src = {.type = cudaMemcpyOperandTypePointer, .op.ptr = {.ptr = host + 64}},
		 .dst = {.type = cudaMemcpyOperandTypePointer, .op.ptr = {.ptr = device}},
		 .extent = {100, 9, 1},
		 .srcAccessOrder = cudaMemcpySrcAccessOrderStream},
		{.src = {.type = cudaMemcpyOperandTypePointer, .op.ptr = {.ptr = host}},
		 .dst = {.type = cudaMemcpyOperandTypeArray, .op.array = {.array = array}},
		 .extent = {WIDTH, ROWS, 1},
		 .srcAccessOrder = cudaMemcpySrcAccessOrderStream},
	};
	size_t failed = 77;

	PRINT(cudaMemcpy3DBatchAsync(2, operations, &failed, 0, stream));
	PRINT(cudaStreamSynchronize(stream));
	print_back(device);
	operations[1].dst.op.array.offset.x = WIDTH; /* past the array's end */
	PRINT(cudaMemcpy3DBatchAsync(2, operations, &failed, 0, stream));
	printf("failed: %zu\n", failed);
}

int main(void)
{
	const struct cudaChannelFormatDesc pairs = {16, 16, 0, 0, cudaChannelFormatKindUnsigned};
	unsigned char *device;
	cudaStream_t stream;
	cudaArray_t array;

	for (size_t i = 0; i < BYTES; i++)
		host[i] = (unsigned char)(i * 31 + i / 253);
	PRINT(cudaMalloc((void **)&device, BYTES));
	PRINT(cudaMallocArray(&array, &pairs, WIDTH, ROWS, 0));
	PRINT(cudaMemset(device, 0x5a, BYTES));
	PRINT(cudaStreamCreate(&stream));
	plain(device, stream);
	boxes(device, array, stream);
	PRINT(cudaStreamDestroy(stream));
	PRINT(cudaFreeArray(array));
	PRINT(cudaFree(device));
	return 0;
}
