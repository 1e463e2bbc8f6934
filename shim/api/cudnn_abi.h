/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own declaration of the part of cuDNN's ABI (8 and 9) that the wrappers touch: descriptors are
 * opaque, enums are int. abi_check_cudnn.c holds it against the header where one is installed.
 */
#ifndef GPUTRACE_SHIM_CUDNN_ABI_H
#define GPUTRACE_SHIM_CUDNN_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "cudnn_numbers.h"

typedef struct cudnnContext *cudnnHandle_t;
typedef struct cudnnTensorStruct *cudnnTensorDescriptor_t;
typedef struct cudnnFilterStruct *cudnnFilterDescriptor_t;
typedef struct cudnnConvolutionStruct *cudnnConvolutionDescriptor_t;
typedef struct cudnnActivationStruct *cudnnActivationDescriptor_t;
typedef struct cudnnPoolingStruct *cudnnPoolingDescriptor_t;
typedef struct cudnnLRNStruct *cudnnLRNDescriptor_t;
typedef struct cudnnDropoutStruct *cudnnDropoutDescriptor_t;
typedef struct cudnnOpTensorStruct *cudnnOpTensorDescriptor_t;
typedef struct cudnnReduceTensorStruct *cudnnReduceTensorDescriptor_t;
typedef struct cudnnSpatialTransformerStruct *cudnnSpatialTransformerDescriptor_t;
typedef struct cudnnTensorTransformStruct *cudnnTensorTransformDescriptor_t;
typedef struct cudnnRNNStruct *cudnnRNNDescriptor_t;
typedef struct cudnnRNNDataStruct *cudnnRNNDataDescriptor_t;
typedef struct cudnnSeqDataStruct *cudnnSeqDataDescriptor_t;
typedef struct cudnnAttnStruct *cudnnAttnDescriptor_t;
typedef struct cudnnCTCLossStruct *cudnnCTCLossDescriptor_t;
typedef struct cudnnFusedOpsPlanStruct *cudnnFusedOpsPlan_t;
typedef struct cudnnFusedOpsVariantParamStruct *cudnnFusedOpsVariantParamPack_t;
typedef void *cudnnBackendDescriptor_t;
typedef struct cudnnAlgoPerf cudnnConvolutionFwdAlgoPerf_t;
typedef struct cudnnAlgoPerf cudnnConvolutionBwdDataAlgoPerf_t;
typedef struct cudnnAlgoPerf cudnnConvolutionBwdFilterAlgoPerf_t;

typedef int cudnnConvolutionFwdAlgo_t;
typedef int cudnnConvolutionBwdDataAlgo_t;
typedef int cudnnConvolutionBwdFilterAlgo_t;
typedef int cudnnBatchNormMode_t;
typedef int cudnnBatchNormOps_t;
typedef int cudnnNormMode_t;
typedef int cudnnNormOps_t;
typedef int cudnnNormAlgo_t;
typedef int cudnnSoftmaxAlgorithm_t;
typedef int cudnnSoftmaxMode_t;
typedef int cudnnLRNMode_t;
typedef int cudnnDivNormMode_t;
typedef int cudnnForwardMode_t;
typedef int cudnnWgradMode_t;
typedef int cudnnReorderType_t;
typedef int cudnnCTCLossAlgo_t;
typedef int cudnnBackendDescriptorType_t;
typedef int cudnnBackendAttributeName_t;
typedef int cudnnBackendAttributeType_t;

#endif
