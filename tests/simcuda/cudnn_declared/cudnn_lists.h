/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the simulated cuDNN and its tests use of cuDNN's public ABI (9), in our own words: numbers
 * and parameters. cudnn.h beside it makes declarations of the lists, for machines without cuDNN;
 * simcudnn_check.c holds them against the real header where there is one.
 *
 *   CUDNN_ENUMS(ENUM)           the enumerations, each with a list of its numbers
 *   CUDNN_FUNCTIONS(FUNCTION)   the functions that give a cudnnStatus_t
 */
#ifndef GPUTRACE_CUDNN_LISTS_H
#define GPUTRACE_CUDNN_LISTS_H

#define VALUES_OF_cudnnBackendAttributeName_t(VALUE)                                               \
	VALUE(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, 100)                                               \
	VALUE(CUDNN_ATTR_CONVOLUTION_DILATIONS, 102)                                               \
	VALUE(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 103)                                          \
	VALUE(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 105)                                            \
	VALUE(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 106)                                            \
	VALUE(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 201)                                          \
	VALUE(CUDNN_ATTR_ENGINEHEUR_RESULTS, 202)                                                  \
	VALUE(CUDNN_ATTR_ENGINECFG_ENGINE, 300)                                                    \
	VALUE(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 401)                                        \
	VALUE(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, 702)                             \
	VALUE(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, 703)                                     \
	VALUE(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, 704)                                     \
	VALUE(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, 705)                                     \
	VALUE(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, 708)                            \
	VALUE(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, 709)                                    \
	VALUE(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, 710)                                   \
	VALUE(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, 711)                                   \
	VALUE(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, 714)                          \
	VALUE(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, 715)                                 \
	VALUE(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, 716)                                  \
	VALUE(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, 717)                                 \
	VALUE(CUDNN_ATTR_OPERATIONGRAPH_OPS, 801)                                                  \
	VALUE(CUDNN_ATTR_TENSOR_DATA_TYPE, 901)                                                    \
	VALUE(CUDNN_ATTR_TENSOR_DIMENSIONS, 902)                                                   \
	VALUE(CUDNN_ATTR_TENSOR_STRIDES, 903)                                                      \
	VALUE(CUDNN_ATTR_TENSOR_UNIQUE_ID, 906)                                                    \
	VALUE(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, 1000)                                            \
	VALUE(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, 1001)                                         \
	VALUE(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, 1300)

#define VALUES_OF_cudnnBackendDescriptorType_t(VALUE)                                              \
	VALUE(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, 1)                                             \
	VALUE(CUDNN_BACKEND_ENGINE_DESCRIPTOR, 2)                                                  \
	VALUE(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, 3)                                               \
	VALUE(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, 4)                                              \
	VALUE(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, 5)                                          \
	VALUE(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 10)                          \
	VALUE(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, 12)                    \
	VALUE(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, 15)                                         \
	VALUE(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, 16)                                           \
	VALUE(CUDNN_BACKEND_TENSOR_DESCRIPTOR, 17)

#define VALUES_OF_cudnnConvolutionMode_t(VALUE) VALUE(CUDNN_CROSS_CORRELATION, 1)

#define VALUES_OF_cudnnDataType_t(VALUE)                                                           \
	VALUE(CUDNN_DATA_FLOAT, 0)                                                                 \
	VALUE(CUDNN_DATA_DOUBLE, 1)                                                                \
	VALUE(CUDNN_DATA_HALF, 2)                                                                  \
	VALUE(CUDNN_DATA_INT8, 3)                                                                  \
	VALUE(CUDNN_DATA_BFLOAT16, 9)

#define VALUES_OF_cudnnMathType_t(VALUE) VALUE(CUDNN_FMA_MATH, 3)

#define VALUES_OF_cudnnSoftmaxAlgorithm_t(VALUE) VALUE(CUDNN_SOFTMAX_ACCURATE, 1)

#define VALUES_OF_cudnnSoftmaxMode_t(VALUE) VALUE(CUDNN_SOFTMAX_MODE_CHANNEL, 1)

#define VALUES_OF_cudnnStatus_t(VALUE)                                                             \
	VALUE(CUDNN_STATUS_SUCCESS, 0)                                                             \
	VALUE(CUDNN_STATUS_NOT_INITIALIZED, 1001)                                                  \
	VALUE(CUDNN_STATUS_BAD_PARAM, 2000)                                                        \
	VALUE(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, 2002)                                           \
	VALUE(CUDNN_STATUS_NOT_SUPPORTED, 3000)                                                    \
	VALUE(CUDNN_STATUS_ALLOC_FAILED, 4003)                                                     \
	VALUE(CUDNN_STATUS_EXECUTION_FAILED, 5000)

#define VALUES_OF_cudnnTensorFormat_t(VALUE)                                                       \
	VALUE(CUDNN_TENSOR_NCHW, 0)                                                                \
	VALUE(CUDNN_TENSOR_NHWC, 1)

#define VALUES_OF_cudnnBackendAttributeType_t(VALUE)                                               \
	VALUE(CUDNN_TYPE_HANDLE, 0)                                                                \
	VALUE(CUDNN_TYPE_DATA_TYPE, 1)                                                             \
	VALUE(CUDNN_TYPE_BOOLEAN, 2)                                                               \
	VALUE(CUDNN_TYPE_INT64, 3)                                                                 \
	VALUE(CUDNN_TYPE_DOUBLE, 5)                                                                \
	VALUE(CUDNN_TYPE_VOID_PTR, 6)                                                              \
	VALUE(CUDNN_TYPE_BACKEND_DESCRIPTOR, 15)

#define VALUES_OF_cudnnConvolutionFwdAlgo_t(VALUE)                                                 \
	VALUE(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, 1)

#define VALUES_OF_cudnnConvolutionBwdDataAlgo_t(VALUE) VALUE(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, 1)

#define VALUES_OF_cudnnConvolutionBwdFilterAlgo_t(VALUE)                                           \
	VALUE(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, 1)

#define CUDNN_ENUMS(ENUM)                                                                          \
	ENUM(cudnnBackendAttributeName_t)                                                          \
	ENUM(cudnnBackendDescriptorType_t)                                                         \
	ENUM(cudnnConvolutionMode_t)                                                               \
	ENUM(cudnnDataType_t)                                                                      \
	ENUM(cudnnMathType_t)                                                                      \
	ENUM(cudnnSoftmaxAlgorithm_t)                                                              \
	ENUM(cudnnSoftmaxMode_t)                                                                   \
	ENUM(cudnnStatus_t)                                                                        \
	ENUM(cudnnTensorFormat_t)                                                                  \
	ENUM(cudnnBackendAttributeType_t)                                                          \
	ENUM(cudnnConvolutionFwdAlgo_t)                                                            \
	ENUM(cudnnConvolutionBwdDataAlgo_t)                                                        \
	ENUM(cudnnConvolutionBwdFilterAlgo_t)

#define CUDNN_FUNCTIONS(FUNCTION)                                                                  \
	FUNCTION(cudnnBackendCreateDescriptor,                                                     \
		 (cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t *))                       \
	FUNCTION(cudnnBackendDestroyDescriptor, (cudnnBackendDescriptor_t))                        \
	FUNCTION(cudnnBackendExecute,                                                              \
		 (cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t))              \
	FUNCTION(cudnnBackendFinalize, (cudnnBackendDescriptor_t))                                 \
	FUNCTION(cudnnBackendGetAttribute,                                                         \
		 (cudnnBackendDescriptor_t const, cudnnBackendAttributeName_t,                     \
		  cudnnBackendAttributeType_t, int64_t, int64_t *, void *))                        \
	FUNCTION(cudnnBackendSetAttribute, (cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, \
					    cudnnBackendAttributeType_t, int64_t, const void *))   \
	FUNCTION(cudnnConvolutionBackwardData,                                                     \
		 (cudnnHandle_t, const void *, const cudnnFilterDescriptor_t, const void *,        \
		  const cudnnTensorDescriptor_t, const void *, const cudnnConvolutionDescriptor_t, \
		  cudnnConvolutionBwdDataAlgo_t, void *, size_t, const void *,                     \
		  const cudnnTensorDescriptor_t, void *))                                          \
	FUNCTION(cudnnConvolutionBackwardFilter,                                                   \
		 (cudnnHandle_t, const void *, const cudnnTensorDescriptor_t, const void *,        \
		  const cudnnTensorDescriptor_t, const void *, const cudnnConvolutionDescriptor_t, \
		  cudnnConvolutionBwdFilterAlgo_t, void *, size_t, const void *,                   \
		  const cudnnFilterDescriptor_t, void *))                                          \
	FUNCTION(cudnnConvolutionForward,                                                          \
		 (cudnnHandle_t, const void *, const cudnnTensorDescriptor_t, const void *,        \
		  const cudnnFilterDescriptor_t, const void *, const cudnnConvolutionDescriptor_t, \
		  cudnnConvolutionFwdAlgo_t, void *, size_t, const void *,                         \
		  const cudnnTensorDescriptor_t, void *))                                          \
	FUNCTION(cudnnCreate, (cudnnHandle_t *))                                                   \
	FUNCTION(cudnnCreateConvolutionDescriptor, (cudnnConvolutionDescriptor_t *))               \
	FUNCTION(cudnnCreateFilterDescriptor, (cudnnFilterDescriptor_t *))                         \
	FUNCTION(cudnnCreateTensorDescriptor, (cudnnTensorDescriptor_t *))                         \
	FUNCTION(cudnnDestroy, (cudnnHandle_t))                                                    \
	FUNCTION(cudnnDestroyConvolutionDescriptor, (cudnnConvolutionDescriptor_t))                \
	FUNCTION(cudnnDestroyFilterDescriptor, (cudnnFilterDescriptor_t))                          \
	FUNCTION(cudnnDestroyTensorDescriptor, (cudnnTensorDescriptor_t))                          \
	FUNCTION(cudnnGetConvolutionMathType, (cudnnConvolutionDescriptor_t, cudnnMathType_t *))   \
	FUNCTION(cudnnGetConvolutionNdDescriptor,                                                  \
		 (const cudnnConvolutionDescriptor_t, int, int *, int *, int *, int *,             \
		  cudnnConvolutionMode_t *, cudnnDataType_t *))                                    \
	FUNCTION(cudnnGetFilterNdDescriptor,                                                       \
		 (const cudnnFilterDescriptor_t, int, cudnnDataType_t *, cudnnTensorFormat_t *,    \
		  int *, int *))                                                                   \
	FUNCTION(cudnnGetTensorNdDescriptor,                                                       \
		 (const cudnnTensorDescriptor_t, int, cudnnDataType_t *, int *, int *, int *))     \
	FUNCTION(cudnnSetConvolution2dDescriptor,                                                  \
		 (cudnnConvolutionDescriptor_t, int, int, int, int, int, int,                      \
		  cudnnConvolutionMode_t, cudnnDataType_t))                                        \
	FUNCTION(cudnnSetConvolutionMathType, (cudnnConvolutionDescriptor_t, cudnnMathType_t))     \
	FUNCTION(cudnnSetFilter4dDescriptor, (cudnnFilterDescriptor_t, cudnnDataType_t,            \
					      cudnnTensorFormat_t, int, int, int, int))            \
	FUNCTION(cudnnSetStream, (cudnnHandle_t, cudaStream_t))                                    \
	FUNCTION(cudnnSetTensor4dDescriptor, (cudnnTensorDescriptor_t, cudnnTensorFormat_t,        \
					      cudnnDataType_t, int, int, int, int))                \
	FUNCTION(cudnnSoftmaxForward, (cudnnHandle_t, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t, \
				       const void *, const cudnnTensorDescriptor_t, const void *,  \
				       const void *, const cudnnTensorDescriptor_t, void *))

#endif
