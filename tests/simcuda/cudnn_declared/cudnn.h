/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for cuDNN's header where there is none (it comes with 490 MB of library): what the
 * simulated cuDNN and the programs that test it use, made of cudnn_lists.h.
 */
#ifndef GPUTRACE_CUDNN_DECLARED_H
#define GPUTRACE_CUDNN_DECLARED_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include "cudnn_lists.h"

#define CUDNN_VERSION 90100 /* what the simulated library says of itself */

typedef struct cudnnContext *cudnnHandle_t;
typedef struct cudnnTensorStruct *cudnnTensorDescriptor_t;
typedef struct cudnnFilterStruct *cudnnFilterDescriptor_t;
typedef struct cudnnConvolutionStruct *cudnnConvolutionDescriptor_t;
typedef void *cudnnBackendDescriptor_t;

#define CUDNN_VALUE(name, number) name = (number),
#define CUDNN_ENUM(type)	  typedef enum { VALUES_OF_##type(CUDNN_VALUE) } type;
CUDNN_ENUMS(CUDNN_ENUM)

size_t cudnnGetVersion(void);
#define CUDNN_FUNCTION(name, parameters) cudnnStatus_t name parameters;
CUDNN_FUNCTIONS(CUDNN_FUNCTION)

#undef CUDNN_VALUE
#undef CUDNN_ENUM
#undef CUDNN_FUNCTION

#endif
