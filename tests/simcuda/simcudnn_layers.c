/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API without graphs of the simulated cuDNN: descriptors that can be set and asked, the four
 * convolutions, and one layer that is none.
 */
#include "simcudnn_internal.h"

#include <stdlib.h>

/* The tags of these structs are the header's: descriptors are pointers to them. */
struct cudnnTensorStruct {
	struct simcudnn_tensor is;
};
struct cudnnFilterStruct {
	struct simcudnn_tensor is;
	cudnnTensorFormat_t format;
};
struct cudnnConvolutionStruct {
	int length, pad[3], stride[3], dilation[3];
	cudnnConvolutionMode_t mode;
	cudnnDataType_t type;
	cudnnMathType_t math;
};

#define OBJECT(name, type)                                                                         \
	cudnnStatus_t cudnnCreate##name(type *out)                                                 \
	{                                                                                          \
		if (!out)                                                                          \
			return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;                                \
		*out = calloc(1, sizeof(**out));                                                   \
		return *out ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;                    \
	}                                                                                          \
	cudnnStatus_t cudnnDestroy##name(type object)                                              \
	{                                                                                          \
		free(object);                                                                      \
		return CUDNN_STATUS_SUCCESS;                                                       \
	}
OBJECT(TensorDescriptor, cudnnTensorDescriptor_t)
OBJECT(FilterDescriptor, cudnnFilterDescriptor_t)
OBJECT(ConvolutionDescriptor, cudnnConvolutionDescriptor_t)

static void pack(struct simcudnn_tensor *tensor, bool is_last)
{
	int64_t stride = is_last ? tensor->dims[1] : 1;

	for (int i = tensor->rank - 1; i >= 2; i--) {
		tensor->strides[i] = stride;
		stride *= tensor->dims[i];
	}
	tensor->strides[1] = is_last ? 1 : stride;
	tensor->strides[0] = is_last ? stride : stride * tensor->dims[1];
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
					 cudnnDataType_t type, int n, int c, int h, int w)
{
	if (!tensor || n < 1 || c < 1 || h < 1 || w < 1)
		return CUDNN_STATUS_BAD_PARAM;
	tensor->is = (struct simcudnn_tensor){.dims = {n, c, h, w}, .rank = 4, .type = (int)type};
	pack(&tensor->is, format == CUDNN_TENSOR_NHWC);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensor, int requested,
					 cudnnDataType_t *type, int *rank, int dims[],
					 int strides[])
{
	if (!tensor || requested < 0 || requested > SIMCUDNN_RANK)
		return CUDNN_STATUS_BAD_PARAM;
	*type = (cudnnDataType_t)tensor->is.type;
	*rank = tensor->is.rank;
	for (int i = 0; i < requested && i < tensor->is.rank; i++) {
		dims[i] = (int)tensor->is.dims[i];
		strides[i] = (int)tensor->is.strides[i];
	}
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
					 cudnnTensorFormat_t format, int k, int c, int h, int w)
{
	if (!filter || k < 1 || c < 1 || h < 1 || w < 1)
		return CUDNN_STATUS_BAD_PARAM;
	filter->is = (struct simcudnn_tensor){.dims = {k, c, h, w}, .rank = 4, .type = (int)type};
	filter->format = format;
	pack(&filter->is, format == CUDNN_TENSOR_NHWC);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filter, int requested,
					 cudnnDataType_t *type, cudnnTensorFormat_t *format,
					 int *rank, int dims[])
{
	if (!filter || requested < 0 || requested > SIMCUDNN_RANK)
		return CUDNN_STATUS_BAD_PARAM;
	*type = (cudnnDataType_t)filter->is.type;
	*format = filter->format;
	*rank = filter->is.rank;
	for (int i = 0; i < requested && i < filter->is.rank; i++)
		dims[i] = (int)filter->is.dims[i];
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t conv, int pad_h,
					      int pad_w, int u, int v, int dilation_h,
					      int dilation_w, cudnnConvolutionMode_t mode,
					      cudnnDataType_t type)
{
	if (!conv || pad_h < 0 || pad_w < 0 || u < 1 || v < 1)
		return CUDNN_STATUS_BAD_PARAM;
	*conv = (struct cudnnConvolutionStruct){.length = 2,
						.pad = {pad_h, pad_w},
						.stride = {u, v},
						.dilation = {dilation_h, dilation_w},
						.mode = mode,
						.type = type};
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionNdDescriptor(const cudnnConvolutionDescriptor_t conv,
					      int requested, int *length, int pad[], int stride[],
					      int dilation[], cudnnConvolutionMode_t *mode,
					      cudnnDataType_t *type)
{
	if (!conv || requested < 0)
		return CUDNN_STATUS_BAD_PARAM;
	*length = conv->length;
	for (int i = 0; i < requested && i < conv->length; i++) {
		pad[i] = conv->pad[i];
		stride[i] = conv->stride[i];
		dilation[i] = conv->dilation[i];
	}
	*mode = conv->mode;
	*type = conv->type;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t conv, cudnnMathType_t math)
{
	if (!conv)
		return CUDNN_STATUS_BAD_PARAM;
	conv->math = math;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t conv, cudnnMathType_t *math)
{
	if (!conv || !math)
		return CUDNN_STATUS_BAD_PARAM;
	*math = conv->math;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t run(cudnnHandle_t handle, const char *function, int op,
			 cudnnTensorDescriptor_t x, const void *at_x, cudnnFilterDescriptor_t w,
			 const void *at_w, cudnnConvolutionDescriptor_t how,
			 cudnnTensorDescriptor_t y, const void *at_y)
{
	struct simcudnn_conv conv = {
		.function = function, .op = op, .at_x = at_x, .at_w = at_w, .at_y = at_y};

	if (!x || !w || !y || !how)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	conv.x = x->is;
	conv.w = w->is;
	conv.y = y->is;
	conv.is_exact = how->math == CUDNN_FMA_MATH;
	for (int i = 0; i < how->length; i++) {
		conv.pad[i] = how->pad[i];
		conv.stride[i] = how->stride[i];
		conv.dilation[i] = how->dilation[i];
	}
	return simcudnn_conv_run(handle, &conv);
}

#define UNUSED (void)alpha, (void)beta, (void)algorithm, (void)workspace, (void)workspace_bytes

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
				      const cudnnTensorDescriptor_t x_desc, const void *x,
				      const cudnnFilterDescriptor_t w_desc, const void *w,
				      const cudnnConvolutionDescriptor_t conv,
				      cudnnConvolutionFwdAlgo_t algorithm, void *workspace,
				      size_t workspace_bytes, const void *beta,
				      const cudnnTensorDescriptor_t y_desc, void *y)
{
	UNUSED;
	return run(handle, __func__, 1, x_desc, x, w_desc, w, conv, y_desc, y);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
					   const cudnnFilterDescriptor_t w_desc, const void *w,
					   const cudnnTensorDescriptor_t dy_desc, const void *dy,
					   const cudnnConvolutionDescriptor_t conv,
					   cudnnConvolutionBwdDataAlgo_t algorithm, void *workspace,
					   size_t workspace_bytes, const void *beta,
					   const cudnnTensorDescriptor_t dx_desc, void *dx)
{
	UNUSED;
	return run(handle, __func__, 2, dx_desc, dx, w_desc, w, conv, dy_desc, dy);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha,
					     const cudnnTensorDescriptor_t x_desc, const void *x,
					     const cudnnTensorDescriptor_t dy_desc, const void *dy,
					     const cudnnConvolutionDescriptor_t conv,
					     cudnnConvolutionBwdFilterAlgo_t algorithm,
					     void *workspace, size_t workspace_bytes,
					     const void *beta,
					     const cudnnFilterDescriptor_t dw_desc, void *dw)
{
	UNUSED;
	return run(handle, __func__, 3, x_desc, x, dw_desc, dw, conv, dy_desc, dy);
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
				  cudnnSoftmaxMode_t mode, const void *alpha,
				  const cudnnTensorDescriptor_t x_desc, const void *x,
				  const void *beta, const cudnnTensorDescriptor_t y_desc, void *y)
{
	double bytes = 4;

	(void)algorithm, (void)mode, (void)alpha, (void)x, (void)beta, (void)y;
	if (!x_desc || !y_desc)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	for (int i = 0; i < x_desc->is.rank; i++)
		bytes *= (double)x_desc->is.dims[i];
	return simcudnn_layer_run(handle, __func__, "softmax_fw_kernel", 2 * bytes);
}
