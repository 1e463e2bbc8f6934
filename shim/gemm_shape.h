/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix product as a library's caller gave it, before it becomes a record. */
#ifndef GPUTRACE_SHIM_GEMM_SHAPE_H
#define GPUTRACE_SHIM_GEMM_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "../collector/format/record.h"

struct gemm_shape {
	int op_a, op_b;
	int64_t m, n, k, lda, ldb, ldc, batch;
	int64_t stride_a, stride_b, stride_c;
	const void *a, *b, *c;
	int type_a, type_b, type_c; /* cudaDataType, or element types below 0: GEMM_ELEMENT */
	int compute;		    /* cublasComputeType_t; BLAS_COMPUTE_SAME: the element's own */
};
/* Several products of one call: arrays of `count` integers of int_bytes each. */
struct gemm_groups {
	const int *op_a, *op_b;
	const void *m, *n, *k, *lda, *ldb, *ldc, *batch;
	int64_t count;
	size_t int_bytes;
	int type_a, type_b, type_c, compute; /* of all of them, as in gemm_shape */
};

#define GEMM_ELEMENT(type) (-(int)ELEMENT_##type)
enum {
	BLAS_COMPUTE_SAME = -1,
	GEMM_COMPUTE_UNKNOWN = -2,
	BLAS_COMPUTE_16F = 64,
	BLAS_COMPUTE_32F = 68,
	BLAS_COMPUTE_64F = 70,
	BLAS_COMPUTE_32I = 72
};

#endif
