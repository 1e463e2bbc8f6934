/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thirty steps of a convolution forward and backward in fp16, channels last; the argument says how
 * many input channels it has.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>
#include <cudnn.h>

static int failures;
static void check(const char *what, int result)
{
	if (result)
		printf("%s: %d\n", what, result);
	failures += result != 0;
}
#define TRY(call) check(#call, (int)(call))

int main(int argc, char **argv)
{
	const int channels = argc > 1 ? atoi(argv[1]) : 34;
	const float one = 1, zero = 0;
	cudnnTensorDescriptor_t x, y;
	cudnnFilterDescriptor_t w;
	cudnnConvolutionDescriptor_t conv;
	cudnnHandle_t handle;
	char *memory;

	TRY(cudaMalloc((void **)&memory, 256u << 20));
	TRY(cudnnCreate(&handle));
	TRY(cudnnCreateTensorDescriptor(&x));
	TRY(cudnnCreateTensorDescriptor(&y));
	TRY(cudnnCreateFilterDescriptor(&w));
	TRY(cudnnCreateConvolutionDescriptor(&conv));
	TRY(cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 64, channels, 56,
				       56));
	TRY(cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 64, 256, 56, 56));
	TRY(cudnnSetFilter4dDescriptor(w, CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC, 256, channels, 3, 3));
	TRY(cudnnSetConvolution2dDescriptor(conv, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
					    CUDNN_DATA_FLOAT));
	for (int step = 0; step < 30; step++) {
		TRY(cudnnConvolutionForward(handle, &one, x, memory, w, memory, conv, 0, NULL, 0,
					    &zero, y, memory));
		TRY(cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL,
					&one, y, memory, &zero, y, memory));
		TRY(cudnnConvolutionBackwardData(handle, &one, w, memory, y, memory, conv, 0, NULL,
						 0, &zero, x, memory));
		TRY(cudnnConvolutionBackwardFilter(handle, &one, x, memory, y, memory, conv, 0,
						   NULL, 0, &zero, w, memory));
		TRY(cudaDeviceSynchronize());
	}
	TRY(cudnnDestroy(handle));
	return failures != 0;
}
