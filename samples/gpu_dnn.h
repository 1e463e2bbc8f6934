/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A convolution of fp16 with channels last by cuDNN, forward and backward. The few functions of
 * cuDNN are declared here and found at run time, so that the sample also builds where cuDNN is not
 * installed. Their ABI is the same in cuDNN 8 and 9.
 */
#ifndef GPUTRACE_SAMPLES_GPU_DNN_H
#define GPUTRACE_SAMPLES_GPU_DNN_H

#include <dlfcn.h>

#include "gpu.h"

/* Values of cudnnTensorFormat_t, cudnnDataType_t, cudnnConvolutionMode_t and of the algorithms. */
enum {
	GPU_DNN_NHWC = 1,
	GPU_DNN_FLOAT = 0,
	GPU_DNN_HALF = 2,
	GPU_DNN_CROSS_CORRELATION = 1,
	GPU_DNN_TENSOR_OP_MATH = 1,
	GPU_DNN_ALGORITHM_1 = 1 /* an implicit product in all three directions */
};

/* DNN(field, symbol, parameters); a descriptor is a pointer, whatever it describes. */
#define GPU_DNN_CALLS                                                                              \
	DNN(create, cudnnCreate, (void **handle))                                                  \
	DNN(destroy, cudnnDestroy, (void *handle))                                                 \
	DNN(set_stream, cudnnSetStream, (void *handle, void *stream))                              \
	DNN(tensor_create, cudnnCreateTensorDescriptor, (void **tensor))                           \
	DNN(tensor_set, cudnnSetTensor4dDescriptor,                                                \
	    (void *tensor, int format, int type, int n, int c, int h, int w))                      \
	DNN(tensor_destroy, cudnnDestroyTensorDescriptor, (void *tensor))                          \
	DNN(filter_create, cudnnCreateFilterDescriptor, (void **filter))                           \
	DNN(filter_set, cudnnSetFilter4dDescriptor,                                                \
	    (void *filter, int type, int format, int k, int c, int h, int w))                      \
	DNN(filter_destroy, cudnnDestroyFilterDescriptor, (void *filter))                          \
	DNN(conv_create, cudnnCreateConvolutionDescriptor, (void **conv))                          \
	DNN(conv_set, cudnnSetConvolution2dDescriptor,                                             \
	    (void *conv, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,         \
	     int dilation_w, int mode, int compute_type))                                          \
	DNN(conv_math, cudnnSetConvolutionMathType, (void *conv, int math))                        \
	DNN(conv_destroy, cudnnDestroyConvolutionDescriptor, (void *conv))                         \
	DNN(forward, cudnnConvolutionForward,                                                      \
	    (void *handle, const void *alpha, void *x_desc, const void *x, void *w_desc,           \
	     const void *w, void *conv, int algorithm, void *workspace, size_t bytes,              \
	     const void *beta, void *y_desc, void *y))                                             \
	DNN(backward_data, cudnnConvolutionBackwardData,                                           \
	    (void *handle, const void *alpha, void *w_desc, const void *w, void *dy_desc,          \
	     const void *dy, void *conv, int algorithm, void *workspace, size_t bytes,             \
	     const void *beta, void *dx_desc, void *dx))                                           \
	DNN(backward_filter, cudnnConvolutionBackwardFilter,                                       \
	    (void *handle, const void *alpha, void *x_desc, const void *x, void *dy_desc,          \
	     const void *dy, void *conv, int algorithm, void *workspace, size_t bytes,             \
	     const void *beta, void *dw_desc, void *dw))

struct gpu_dnn {
	void *handle;
#define DNN(field, symbol, parameters) int(*field) parameters;
	GPU_DNN_CALLS
#undef DNN
};

static inline void *gpu_dnn_find(void *library, const char *symbol)
{
	void *function = dlsym(library, symbol);

	if (!function) {
		fprintf(stderr, "libcudnn has no %s\n", symbol);
		exit(1);
	}
	return function;
}

/* Ends the sample with a sentence when there is no cuDNN. */
static inline void gpu_dnn_open(struct gpu_dnn *dnn)
{
	void *library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		library = dlopen("libcudnn.so.8", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "this sample needs cuDNN 8 or 9: %s\n", dlerror());
		exit(1);
	}
#define DNN(field, symbol, parameters) *(void **)&dnn->field = gpu_dnn_find(library, #symbol);
	GPU_DNN_CALLS
#undef DNN
	GPU_TRY(dnn->create(&dnn->handle));
}

#endif
