/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies to, from and between arrays in two and three dimensions, and batches of three-dimensional
 * ones in both forms of the driver. Prints every result code and a sum of the bytes that arrived,
 * so that a run with the shim can be compared with one without. Compiled once for the legacy and
 * once for per-thread default streams.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#define PRINT(call) printf("%s = %d\n", #call, (int)(call))

/* Arrays of pairs of 16 bits: four bytes per element. */
enum { WIDTH = 32, ROWS = 12, SLICES = 3, ELEMENT = 4, PITCH = WIDTH * ELEMENT };
enum { BYTES = PITCH * ROWS * SLICES };

static unsigned char host[BYTES], back[BYTES];
static cudaStream_t stream;
static cudaArray_t flat_one, flat_two, deep_one, deep_two;
static unsigned char *device;

static void print_back(const char *what)
{
	uint32_t sum = 2166136261U;

	PRINT(cudaDeviceSynchronize());
	for (size_t i = 0; i < BYTES; i++)
		sum = (sum ^ back[i]) * 16777619U;
	printf("%s: %08x\n", what, sum);
	memset(back, 0, sizeof(back));
}

static void flat(void)
{
	PRINT(cudaMemcpy2DToArray(flat_one, 0, 0, host, PITCH, PITCH, ROWS,
				  cudaMemcpyHostToDevice));
	PRINT(cudaMemcpy2DToArray(flat_one, 8, 1, device, PITCH, 40, 3, cudaMemcpyDefault));
	PRINT(cudaMemcpy2DToArrayAsync(flat_two, 4, 2, host + 100, 64, 60, 7,
				       cudaMemcpyHostToDevice, stream));
	PRINT(cudaMemcpy2DArrayToArray(flat_two, 64, 0, flat_one, 0, 2, 48, 9,
				       cudaMemcpyDeviceToDevice));
	PRINT(cudaMemcpy2DFromArray(back, PITCH, flat_one, 0, 0, PITCH, ROWS,
				    cudaMemcpyDeviceToHost));
	print_back("flat one");
	PRINT(cudaMemcpy2DFromArrayAsync(back, PITCH, flat_two, 4, 0, PITCH - 4, ROWS,
					 cudaMemcpyDefault, stream));
	print_back("flat two");
	PRINT(cudaMemcpy2DFromArray(device, PITCH, flat_two, 0, 0, 100, 5,
				    cudaMemcpyDeviceToDevice));
	/* Refused: past the array's end, a pitch too small, a direction that cannot be. */
	PRINT(cudaMemcpy2DToArray(flat_one, 8, 0, host, PITCH, PITCH, 1, cudaMemcpyHostToDevice));
	PRINT(cudaMemcpy2DToArray(flat_one, 0, 0, host, 8, 16, 2, cudaMemcpyHostToDevice));
	PRINT(cudaMemcpy2DToArray(flat_one, 0, 0, host, 16, 16, 2, cudaMemcpyDeviceToHost));
	PRINT(cudaMemcpy2DToArray(NULL, 0, 0, host, 16, 16, 2, cudaMemcpyHostToDevice));
}

static void deep(void)
{
	struct cudaMemcpy3DParms parms = {
		.srcPtr = {host, PITCH, PITCH, ROWS},
		.dstArray = deep_one,
		.extent = {WIDTH, ROWS, SLICES},
		.kind = cudaMemcpyHostToDevice,
	};

	PRINT(cudaMemcpy3D(&parms));
	parms = (struct cudaMemcpy3DParms){.srcArray = deep_one,
					   .srcPos = {2, 1, 0},
					   .dstArray = deep_two,
					   .dstPos = {5, 0, 1},
					   .extent = {20, 9, 2},
					   .kind = cudaMemcpyDeviceToDevice};
	PRINT(cudaMemcpy3DAsync(&parms, stream));
	parms = (struct cudaMemcpy3DParms){.srcArray = deep_two,
					   .srcPos = {5, 0, 1},
					   .dstPtr = {back, PITCH, PITCH, ROWS},
					   .dstPos = {4, 1, 0}, /* four bytes, not elements */
					   .extent = {20, 9, 2},
					   .kind = cudaMemcpyDeviceToHost};
	PRINT(cudaMemcpy3DAsync(&parms, stream));
	print_back("deep two");
	parms.extent.width = WIDTH; /* past the array's end */
	PRINT(cudaMemcpy3D(&parms));
	parms.dstArray = deep_one; /* a pointer and an array */
	PRINT(cudaMemcpy3D(&parms));
}

static void peers(const struct cudaChannelFormatDesc *format, struct cudaExtent extent)
{
	struct cudaMemcpy3DPeerParms parms = {
		.srcPtr = {device, PITCH, PITCH, ROWS}, .dstDevice = 1, .extent = {24, 11, 3}};
	struct cudaMemcpy3DParms read = {.dstPtr = {back, PITCH, PITCH, ROWS},
					 .extent = extent,
					 .kind = cudaMemcpyDeviceToHost};
	cudaArray_t far;

	PRINT(cudaSetDevice(1));
	PRINT(cudaMalloc3DArray(&far, format, extent, 0));
	PRINT(cudaSetDevice(0));
	parms.dstArray = far;
	parms.dstPos.x = 8;
	PRINT(cudaMemcpy3DPeer(&parms));
	parms.srcArray = deep_one;
	PRINT(cudaMemcpy3DPeer(&parms)); /* a pointer and an array */
	memset(&parms.srcPtr, 0, sizeof(parms.srcPtr));
	parms.extent.height = 5;
	PRINT(cudaMemcpy3DPeerAsync(&parms, stream));
	PRINT(cudaStreamSynchronize(stream));
	read.srcArray = far;
	PRINT(cudaMemcpy3D(&read));
	print_back("far");
	PRINT(cudaFreeArray(far));
}

static void batches(void)
{
	struct cudaMemcpy3DBatchOp operations[2] = {
		{.src = {.type = cudaMemcpyOperandTypePointer,
			 .op.ptr = {.ptr = host, .rowLength = 100, .layerHeight = 5}},
		 .dst = {.type = cudaMemcpyOperandTypePointer, .op.ptr = {.ptr = device}},
		 .extent = {90, 4, 2},
		 .srcAccessOrder = cudaMemcpySrcAccessOrderStream},
		{.src = {.type = cudaMemcpyOperandTypePointer,
			 .op.ptr = {.ptr = host + 7, .rowLength = WIDTH}},
		 .dst = {.type = cudaMemcpyOperandTypeArray,
			 .op.array = {.array = deep_one, .offset = {3, 2, 1}}},
		 .extent = {10, 6, 2},
		 .srcAccessOrder = cudaMemcpySrcAccessOrderAny},
	};

	PRINT(cudaMemcpy3DBatchAsync(2, operations, 0, stream));
	PRINT(cudaMemcpy3DBatchAsync(1, operations, 0, stream));
	PRINT(cudaStreamSynchronize(stream));
	PRINT(cudaMemcpy(back, device, 90 * 4 * 2, cudaMemcpyDeviceToHost));
	print_back("batch to the device");
	operations[0].src = operations[1].dst;
	operations[0].dst.op.ptr.ptr = back;
	operations[0].extent = operations[1].extent;
	PRINT(cudaMemcpy3DBatchAsync(1, operations, 0, stream));
	print_back("batch from an array");
	PRINT(cudaMemcpy3DBatchAsync(2, operations, 0, stream)); /* two directions */
	print_back("batch of two directions");
	operations[1].extent.depth = 0;
	PRINT(cudaMemcpy3DBatchAsync(2, operations, 0, stream));
	PRINT(cudaMemcpy3DBatchAsync(0, operations, 0, stream));
	PRINT(cudaMemcpy3DBatchAsync(1, operations, 0, NULL));
}

/* The form of CUDA 12.8 says which copy failed; headers of CUDA 13 declare the later one only. */
static void batches_of_12_8(void)
{
	CUDA_MEMCPY3D_BATCH_OP operations[2] = {
		{.src = {.type = CU_MEMCPY_OPERAND_TYPE_ARRAY,
			 .op.array = {.array = (CUarray)deep_one}},
		 .dst = {.type = CU_MEMCPY_OPERAND_TYPE_ARRAY,
			 .op.array = {.array = (CUarray)deep_two, .offset = {8, 0, 0}}},
		 .extent = {16, 3, 2},
		 .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}};
	CUdeviceptr to[2] = {(CUdeviceptr)(uintptr_t)device, (CUdeviceptr)(uintptr_t)device + 64};
	CUdeviceptr from[2] = {(CUdeviceptr)(uintptr_t)host, (CUdeviceptr)(uintptr_t)host + 500};
	CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	size_t sizes[2] = {64, 32}, index = 0, failed = 77;
	PFN_cuMemcpy3DBatchAsync_v12080 deep_batch;
	PFN_cuMemcpyBatchAsync_v12080 batch;
	void *found = NULL;

	PRINT(cuGetProcAddress("cuMemcpy3DBatchAsync", &found, 12080, 0, NULL));
	memcpy(&deep_batch, &found, sizeof(deep_batch));
	PRINT(deep_batch(1, operations, &failed, 0, (CUstream)stream));
	operations[1] = operations[0];
	operations[1].dst.op.array.offset.x = WIDTH; /* past the array's end */
	PRINT(deep_batch(2, operations, &failed, 0, (CUstream)stream));
	printf("failed: %zu\n", failed);
	PRINT(deep_batch(1, operations, &failed, 1, (CUstream)stream));
	printf("all failed: %d\n", failed == SIZE_MAX);
	PRINT(cuGetProcAddress("cuMemcpyBatchAsync", &found, 12080, 0, NULL));
	memcpy(&batch, &found, sizeof(batch));
	PRINT(batch(to, from, sizes, 2, &attributes, &index, 1, &failed, (CUstream)stream));
	PRINT(cuMemcpy3DBatchAsync(1, operations, 0, (CUstream)stream));
	PRINT(cudaStreamSynchronize(stream));
	PRINT(cudaMemcpy(back, device, 96, cudaMemcpyDeviceToHost));
	print_back("batches of the driver");
}

int main(void)
{
	const struct cudaChannelFormatDesc pairs = {16, 16, 0, 0, cudaChannelFormatKindUnsigned};
	const struct cudaExtent extent = {WIDTH, ROWS, SLICES};

	for (size_t i = 0; i < BYTES; i++)
		host[i] = (unsigned char)(i * 31 + i / 253);
	PRINT(cudaMallocArray(&flat_one, &pairs, WIDTH, ROWS, 0));
	PRINT(cudaMallocArray(&flat_two, &pairs, WIDTH, ROWS, 0));
	PRINT(cudaMalloc3DArray(&deep_one, &pairs, extent, 0));
	PRINT(cudaMalloc3DArray(&deep_two, &pairs, extent, 0));
	PRINT(cudaMalloc((void **)&device, BYTES));
	PRINT(cudaMemset(device, 0x5a, BYTES));
	PRINT(cudaStreamCreate(&stream));
	flat();
	deep();
	peers(&pairs, extent);
	batches();
	batches_of_12_8();
	PRINT(cudaStreamDestroy(stream));
	PRINT(cudaFree(device));
	PRINT(cudaFreeArray(flat_one));
	PRINT(cudaFreeArray(flat_two));
	PRINT(cudaFreeArray(deep_one));
	PRINT(cudaFreeArray(deep_two));
	return 0;
}
