/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own declaration of the part of cuBLASLt's ABI that the wrappers touch; see cuda_abi.h. Its
 * descriptors are opaque here as well.
 */
#ifndef GPUTRACE_SHIM_CUBLASLT_ABI_H
#define GPUTRACE_SHIM_CUBLASLT_ABI_H

typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct cublasLtMatmulDescOpaque *cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayoutOpaque *cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulAlgo cublasLtMatmulAlgo_t;

#endif
