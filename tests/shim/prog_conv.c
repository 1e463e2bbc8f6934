/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions by both APIs of cuDNN, one that is refused, a layer that is none, a plan that is run
 * by another thread than it was made by, and one whose descriptors are gone. Prints what came back.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include <cuda_runtime_api.h>
#include <cudnn.h>

#define PRINT(call)                                                                                \
	do {                                                                                       \
		int result_here = (int)(call);                                                     \
		printf("%.40s %d\n", #call, result_here);                                          \
	} while (0)

static cudnnHandle_t handle;
static char *memory;

static void run_layers(void)
{
	const float one = 1, zero = 0;
	cudnnTensorDescriptor_t x, y;
	cudnnFilterDescriptor_t w;
	cudnnConvolutionDescriptor_t conv;

	PRINT(cudnnCreateTensorDescriptor(&x));
	PRINT(cudnnCreateTensorDescriptor(&y));
	PRINT(cudnnCreateFilterDescriptor(&w));
	PRINT(cudnnCreateConvolutionDescriptor(&conv));
	PRINT(cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 16, 34, 56, 48));
	PRINT(cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 16, 128, 56, 48));
	PRINT(cudnnSetFilter4dDescriptor(w, CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC, 128, 34, 3, 5));
	PRINT(cudnnSetConvolution2dDescriptor(conv, 1, 2, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
					      CUDNN_DATA_FLOAT));
	errno = 77;
	PRINT(cudnnConvolutionForward(handle, &one, x, memory, w, memory + 4096, conv, 0, NULL, 0,
				      &zero, y, memory + 8192));
	printf("errno %d\n", errno);
	PRINT(cudnnConvolutionBackwardData(handle, &one, w, memory, y, memory, conv, 0, NULL, 0,
					   &zero, x, memory));
	PRINT(cudnnConvolutionBackwardFilter(handle, &one, x, memory, y, memory, conv, 0, NULL, 0,
					     &zero, w, memory));
	PRINT(cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 16, 34, 56, 48));
	PRINT(cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 16, 128, 56, 48));
	PRINT(cudnnSetFilter4dDescriptor(w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 128, 34, 3, 5));
	PRINT(cudnnConvolutionForward(handle, &one, x, memory, w, memory, conv, 0, NULL, 0, &zero,
				      y, memory));
	PRINT(cudnnSetConvolutionMathType(conv, CUDNN_FMA_MATH));
	PRINT(cudnnConvolutionForward(handle, &one, x, memory, w, memory, conv, 0, NULL, 0, &zero,
				      y, memory));
	/* x is too small for y. */
	PRINT(cudnnConvolutionForward(handle, &one, y, memory, w, memory, conv, 0, NULL, 0, &zero,
				      x, memory));
	PRINT(cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &one,
				  y, memory, &zero, y, memory));
	PRINT(cudnnDestroyTensorDescriptor(x));
	PRINT(cudnnDestroyTensorDescriptor(y));
	PRINT(cudnnDestroyFilterDescriptor(w));
	PRINT(cudnnDestroyConvolutionDescriptor(conv));
}

static void set(cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name,
		cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
	int result = (int)cudnnBackendSetAttribute(to, name, type, count, elements);
	if (result)
		printf("attribute %d: %d\n", (int)name, result);
}

static cudnnBackendDescriptor_t create(cudnnBackendDescriptorType_t type)
{
	cudnnBackendDescriptor_t made = NULL;
	if (cudnnBackendCreateDescriptor(type, &made))
		puts("not created");
	return made;
}

static cudnnBackendDescriptor_t tensor(int64_t id, const int64_t dims[4])
{
	const cudnnDataType_t half = CUDNN_DATA_HALF;
	const int64_t strides[4] = {dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3], dims[1]};
	cudnnBackendDescriptor_t made = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);

	set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &half);
	set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims);
	set(made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
	set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
	cudnnBackendFinalize(made);
	return made;
}

/* A plan of 8 images of 20 channels, and of the rest only the plan is left. */
static cudnnBackendDescriptor_t make_plan(void)
{
	const int64_t x[4] = {8, 20, 32, 32}, w[4] = {64, 20, 3, 3}, y[4] = {8, 64, 16, 16};
	const int64_t ones[2] = {1, 1}, twos[2] = {2, 2}, space = 2;
	const cudnnDataType_t single = CUDNN_DATA_FLOAT;
	int64_t found = 0;
	cudnnBackendDescriptor_t how = create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
	cudnnBackendDescriptor_t tensors[3] = {tensor('x', x), tensor('w', w), tensor('y', y)};
	cudnnBackendDescriptor_t operation =
		create(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
	cudnnBackendDescriptor_t graph = create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
	cudnnBackendDescriptor_t heuristic = create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
	cudnnBackendDescriptor_t config = create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	cudnnBackendDescriptor_t plan = create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);

	set(how, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &single);
	set(how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &space);
	set(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, ones);
	set(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, twos);
	set(how, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, ones);
	set(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
	    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &how);
	set(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
	    &tensors[0]);
	set(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
	    &tensors[1]);
	set(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
	    &tensors[2]);
	set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &operation);
	set(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
	    &graph);
	cudnnBackendFinalize(heuristic);
	PRINT(cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
				       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &found, &config));
	set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
	    &config);
	cudnnBackendFinalize(plan);
	cudnnBackendDestroyDescriptor(heuristic);
	return plan;
}

static void *run_plan(void *plan)
{
	const int64_t ids[3] = {'y', 'x', 'w'};
	void *pointers[3] = {memory + 0x3000, memory + 0x1000, memory + 0x2000};
	cudnnBackendDescriptor_t pack = create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);

	set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, ids);
	set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers);
	cudnnBackendFinalize(pack);
	PRINT(cudnnBackendExecute(handle, plan, pack));
	cudnnBackendDestroyDescriptor(pack);
	return NULL;
}

int main(void)
{
	cudnnBackendDescriptor_t plan;
	cudaStream_t stream;
	pthread_t thread;

	PRINT(cudaMalloc((void **)&memory, 64u << 20));
	PRINT(cudaStreamCreate(&stream));
	PRINT(cudnnCreate(&handle));
	PRINT(cudnnSetStream(handle, stream));
	run_layers();
	plan = make_plan();
	run_plan(plan);
	pthread_create(&thread, NULL, run_plan, plan);
	pthread_join(thread, NULL);
	PRINT(cudnnBackendDestroyDescriptor(plan));
	PRINT(cudnnBackendExecute(handle, NULL, NULL));
	PRINT(cudaDeviceSynchronize());
	PRINT(cudnnDestroy(handle));
	return 0;
}
