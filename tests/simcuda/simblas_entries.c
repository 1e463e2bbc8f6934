/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported gemm functions of the simulated cuBLAS. Every one exists for 32-bit and, with _64,
 * for 64-bit dimensions; the typed ones are one body per letter of BLAS.
 */
#include "simblas_internal.h"

/* cublas_api.h declares the functions on halves for C++ only, where __half is a type. */
struct half {
	uint16_t bits;
};
#define HALF_PROTOTYPES(integer, suffix)                                                           \
	__attribute__((visibility("default"))) cublasStatus_t cublasHgemm##suffix(                 \
		cublasHandle_t, cublasOperation_t, cublasOperation_t, integer, integer, integer,   \
		const struct half *, const struct half *, integer, const struct half *, integer,   \
		const struct half *, struct half *, integer);                                      \
	__attribute__((visibility("default"))) cublasStatus_t cublasHgemmStridedBatched##suffix(   \
		cublasHandle_t, cublasOperation_t, cublasOperation_t, integer, integer, integer,   \
		const struct half *, const struct half *, integer, long long, const struct half *, \
		integer, long long, const struct half *, struct half *, integer, long long,        \
		integer);                                                                          \
	__attribute__((visibility("default"))) cublasStatus_t cublasHgemmBatched##suffix(          \
		cublasHandle_t, cublasOperation_t, cublasOperation_t, integer, integer, integer,   \
		const struct half *, const struct half *const[], integer,                          \
		const struct half *const[], integer, const struct half *, struct half *const[],    \
		integer, integer);
HALF_PROTOTYPES(int, )
HALF_PROTOTYPES(int64_t, _64)

/* The dimensions and operands that all forms share, from variables with the API's names. */
#define GEMM(name, ...)                                                                            \
	&(struct simblas_gemm)                                                                     \
	{                                                                                          \
		.function = #name, .opa = transa, .opb = transb, .m = m, .n = n, .k = k,           \
		.lda = lda, .ldb = ldb, .ldc = ldc, .alpha = alpha, .beta = beta, __VA_ARGS__      \
	}
#define ALL_OF(type) .typea = type, .typeb = type, .typec = type

/* cublas<t>gemm: X(exported name, C type, data type, compute type, integer type) */
#define PLAIN_GEMM(name, ctype, data, how, integer)                                                \
	cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa,                       \
			    cublasOperation_t transb, integer m, integer n, integer k,             \
			    const ctype *alpha, const ctype *a, integer lda, const ctype *b,       \
			    integer ldb, const ctype *beta, ctype *c, integer ldc)                 \
	{                                                                                          \
		return simblas_gemm_run(handle, GEMM(name, .a = a, .b = b, .c = c, .compute = how, \
						     .batch = 1, ALL_OF(data)));                   \
	}
#define STRIDED_GEMM(name, ctype, data, how, integer)                                              \
	cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa,                       \
			    cublasOperation_t transb, integer m, integer n, integer k,             \
			    const ctype *alpha, const ctype *a, integer lda, long long stridea,    \
			    const ctype *b, integer ldb, long long strideb, const ctype *beta,     \
			    ctype *c, integer ldc, long long stridec, integer count)               \
	{                                                                                          \
		return simblas_gemm_run(handle,                                                    \
					GEMM(name, .a = a, .b = b, .c = c, .compute = how,         \
					     .stridea = stridea, .strideb = strideb,               \
					     .stridec = stridec, .batch = count, ALL_OF(data)));   \
	}
#define ARRAY_GEMM(name, ctype, data, how, integer)                                                \
	cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa,                       \
			    cublasOperation_t transb, integer m, integer n, integer k,             \
			    const ctype *alpha, const ctype *const a[], integer lda,               \
			    const ctype *const b[], integer ldb, const ctype *beta,                \
			    ctype *const c[], integer ldc, integer count)                          \
	{                                                                                          \
		return simblas_gemm_run(                                                           \
			handle, GEMM(name, .a = (const void *)a, .b = (const void *)b,             \
				     .c = (void *)(uintptr_t)c, .compute = how, .batch = count,    \
				     .is_pointer_batch = true, ALL_OF(data)));                     \
	}

#define BOTH(FORM, name, ctype, data, how)                                                         \
	FORM(name, ctype, data, how, int)                                                          \
	FORM(name##_64, ctype, data, how, int64_t)

BOTH(PLAIN_GEMM, cublasSgemm_v2, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
BOTH(PLAIN_GEMM, cublasDgemm_v2, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
BOTH(PLAIN_GEMM, cublasCgemm_v2, cuComplex, CUDA_C_32F, CUBLAS_COMPUTE_32F)
BOTH(PLAIN_GEMM, cublasZgemm_v2, cuDoubleComplex, CUDA_C_64F, CUBLAS_COMPUTE_64F)
BOTH(PLAIN_GEMM, cublasHgemm, struct half, CUDA_R_16F, CUBLAS_COMPUTE_16F)
BOTH(STRIDED_GEMM, cublasSgemmStridedBatched, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
BOTH(STRIDED_GEMM, cublasDgemmStridedBatched, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
BOTH(STRIDED_GEMM, cublasHgemmStridedBatched, struct half, CUDA_R_16F, CUBLAS_COMPUTE_16F)
BOTH(ARRAY_GEMM, cublasSgemmBatched, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
BOTH(ARRAY_GEMM, cublasDgemmBatched, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
BOTH(ARRAY_GEMM, cublasHgemmBatched, struct half, CUDA_R_16F, CUBLAS_COMPUTE_16F)

/* The forms with a type per operand: X(exported name, integer type) */
#define SGEMM_EX(name, integer)                                                                    \
	cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa,                       \
			    cublasOperation_t transb, integer m, integer n, integer k,             \
			    const float *alpha, const void *a, cudaDataType typea, integer lda,    \
			    const void *b, cudaDataType typeb, integer ldb, const float *beta,     \
			    void *c, cudaDataType typec, integer ldc)                              \
	{                                                                                          \
		return simblas_gemm_run(handle, GEMM(name, .a = a, .b = b, .c = c, .typea = typea, \
						     .typeb = typeb, .typec = typec, .batch = 1,   \
						     .compute = CUBLAS_COMPUTE_32F));              \
	}
#define GEMM_EX(name, integer)                                                                     \
	cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa,                       \
			    cublasOperation_t transb, integer m, integer n, integer k,             \
			    const void *alpha, const void *a, cudaDataType typea, integer lda,     \
			    const void *b, cudaDataType typeb, integer ldb, const void *beta,      \
			    void *c, cudaDataType typec, integer ldc, cublasComputeType_t compute, \
			    cublasGemmAlgo_t algorithm)                                            \
	{                                                                                          \
		return simblas_gemm_run(handle, GEMM(name, .a = a, .b = b, .c = c, .typea = typea, \
						     .typeb = typeb, .typec = typec, .batch = 1,   \
						     .compute = compute, .algorithm = algorithm)); \
	}
#define GEMM_BATCHED_EX(name, integer)                                                             \
	cublasStatus_t name(                                                                       \
		cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,         \
		integer m, integer n, integer k, const void *alpha, const void *const a[],         \
		cudaDataType typea, integer lda, const void *const b[], cudaDataType typeb,        \
		integer ldb, const void *beta, void *const c[], cudaDataType typec, integer ldc,   \
		integer count, cublasComputeType_t compute, cublasGemmAlgo_t algorithm)            \
	{                                                                                          \
		return simblas_gemm_run(                                                           \
			handle, GEMM(name, .a = (const void *)a, .b = (const void *)b,             \
				     .c = (void *)(uintptr_t)c, .typea = typea, .typeb = typeb,    \
				     .typec = typec, .batch = count, .is_pointer_batch = true,     \
				     .compute = compute, .algorithm = algorithm));                 \
	}
#define GEMM_STRIDED_EX(name, integer)                                                             \
	cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa,                       \
			    cublasOperation_t transb, integer m, integer n, integer k,             \
			    const void *alpha, const void *a, cudaDataType typea, integer lda,     \
			    long long stridea, const void *b, cudaDataType typeb, integer ldb,     \
			    long long strideb, const void *beta, void *c, cudaDataType typec,      \
			    integer ldc, long long stridec, integer count,                         \
			    cublasComputeType_t compute, cublasGemmAlgo_t algorithm)               \
	{                                                                                          \
		return simblas_gemm_run(handle, GEMM(name, .a = a, .b = b, .c = c, .typea = typea, \
						     .typeb = typeb, .typec = typec,               \
						     .stridea = stridea, .strideb = strideb,       \
						     .stridec = stridec, .batch = count,           \
						     .compute = compute, .algorithm = algorithm)); \
	}

SGEMM_EX(cublasSgemmEx, int)
SGEMM_EX(cublasSgemmEx_64, int64_t)
GEMM_EX(cublasGemmEx, int)
GEMM_EX(cublasGemmEx_64, int64_t)
GEMM_BATCHED_EX(cublasGemmBatchedEx, int)
GEMM_BATCHED_EX(cublasGemmBatchedEx_64, int64_t)
GEMM_STRIDED_EX(cublasGemmStridedBatchedEx, int)
GEMM_STRIDED_EX(cublasGemmStridedBatchedEx_64, int64_t)
