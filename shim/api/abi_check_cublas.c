/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles only if every row of cublas.def has the prototype that the installed header declares. */
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <stddef.h>

#define CHECK_PUBLIC(name, params)                                                                 \
	_Static_assert(__builtin_types_compatible_p(__typeof__(name), cublasStatus_t params),      \
		       #name);
#define CHECK_HIDDEN(name, params)
#define ROW(name, twin, check, effect, params, args, before, ...) CHECK_##check(name, params)
#include "blas_rows.h"

/* Numbers that capture_gemm.c translates. */
_Static_assert(CUDA_R_32F == 0 && CUDA_R_64F == 1 && CUDA_R_16F == 2 && CUDA_R_8I == 3, "type");
_Static_assert(CUDA_C_32F == 4 && CUDA_C_64F == 5 && CUDA_R_32I == 10, "type");
_Static_assert(CUDA_R_16BF == 14 && CUDA_R_8F_E4M3 == 28 && CUDA_R_8F_E5M2 == 29, "type");
_Static_assert(CUDA_R_4F_E2M1 == 33, "type");
_Static_assert(CUBLAS_COMPUTE_16F == 64 && CUBLAS_COMPUTE_16F_PEDANTIC == 65, "compute");
_Static_assert(CUBLAS_COMPUTE_32F == 68 && CUBLAS_COMPUTE_32F_PEDANTIC == 69, "compute");
_Static_assert(CUBLAS_COMPUTE_64F == 70 && CUBLAS_COMPUTE_64F_PEDANTIC == 71, "compute");
_Static_assert(CUBLAS_COMPUTE_32I == 72 && CUBLAS_COMPUTE_32I_PEDANTIC == 73, "compute");
_Static_assert(CUBLAS_COMPUTE_32F_FAST_16F == 74 && CUBLAS_COMPUTE_32F_FAST_16BF == 75, "compute");
_Static_assert(CUBLAS_COMPUTE_32F_FAST_TF32 == 77, "compute");
_Static_assert(CUBLAS_PEDANTIC_MATH == 2 && CUBLAS_TF32_TENSOR_OP_MATH == 3, "math mode");
_Static_assert(CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1 && CUBLAS_OP_C == 2, "operation");
_Static_assert(CUBLAS_STATUS_NOT_SUPPORTED == 15, "status");
