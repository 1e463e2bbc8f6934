/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of matrix products through the simulated cuBLAS in every form, among them a group without
 * products and a call with a wrong group. Prints every status.
 */
#include <stdint.h>
#include <stdio.h>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#define PRINT(call) printf("%s = %d\n", #call, (int)(call))

enum { GROUPS = 3, PRODUCTS = 7 };

static const cublasOperation_t opa[GROUPS] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_N};
static const cublasOperation_t opb[GROUPS] = {CUBLAS_OP_N, CUBLAS_OP_N, CUBLAS_OP_T};
static const int m[GROUPS] = {64, 128, 256}, n[GROUPS] = {32, 64, 48}, k[GROUPS] = {16, 96, 80};
static const int lda[GROUPS] = {64, 96, 264}, ldb[GROUPS] = {16, 96, 56},
		 ldc[GROUPS] = {64, 128, 256};
static const int sizes[GROUPS] = {4, 1, 2};
static const int64_t m64[GROUPS] = {64, 128, 256}, n64[GROUPS] = {32, 64, 48};
static const int64_t k64[GROUPS] = {16, 96, 80}, lda64[GROUPS] = {64, 96, 264};
static const int64_t ldb64[GROUPS] = {16, 96, 56}, ldc64[GROUPS] = {64, 128, 256};
/* The second group has no products. */
static const int64_t sizes64[GROUPS] = {4, 0, 2};

int main(void)
{
	const float one[GROUPS] = {1, 1, 1}, zero[GROUPS] = {0, 0, 0};
	const double one_64f[GROUPS] = {1, 1, 1}, zero_64f[GROUPS] = {0, 0, 0};
	const int wrong[GROUPS] = {64, 95, 264}; /* of a transposed A with k of 96 */
	cublasHandle_t handle;
	cudaStream_t stream;
	void **a, **b, **c; /* in device memory, never touched */

	PRINT(cudaMalloc((void **)&a, PRODUCTS * sizeof(void *)));
	PRINT(cudaMalloc((void **)&b, PRODUCTS * sizeof(void *)));
	PRINT(cudaMalloc((void **)&c, PRODUCTS * sizeof(void *)));
	PRINT(cudaStreamCreate(&stream));
	PRINT(cublasCreate(&handle));
	PRINT(cublasSetStream(handle, stream));
	PRINT(cublasGemmGroupedBatchedEx(handle, opa, opb, m, n, k, one, (const void *const *)a,
					 CUDA_R_16BF, lda, (const void *const *)b, CUDA_R_16BF, ldb,
					 zero, c, CUDA_R_16BF, ldc, GROUPS, sizes,
					 CUBLAS_COMPUTE_32F));
	PRINT(cublasGemmGroupedBatchedEx_64(
		handle, opa, opb, m64, n64, k64, one, (const void *const *)a, CUDA_R_16F, lda64,
		(const void *const *)b, CUDA_R_16F, ldb64, zero, c, CUDA_R_16F, ldc64, GROUPS,
		sizes64, CUBLAS_COMPUTE_32F));
	PRINT(cublasSgemmGroupedBatched(handle, opa, opb, m, n, k, one, (const float *const *)a,
					lda, (const float *const *)b, ldb, zero, (float *const *)c,
					ldc, GROUPS, sizes));
	PRINT(cublasSgemmGroupedBatched_64(handle, opa, opb, m64, n64, k64, one,
					   (const float *const *)a, lda64, (const float *const *)b,
					   ldb64, zero, (float *const *)c, ldc64, GROUPS, sizes64));
	PRINT(cublasDgemmGroupedBatched(handle, opa, opb, m, n, k, one_64f,
					(const double *const *)a, lda, (const double *const *)b,
					ldb, zero_64f, (double *const *)c, ldc, 1, sizes));
	PRINT(cublasDgemmGroupedBatched_64(handle, opa, opb, m64, n64, k64, one_64f,
					   (const double *const *)a, lda64,
					   (const double *const *)b, ldb64, zero_64f,
					   (double *const *)c, ldc64, GROUPS, sizes64));
	/* A wrong group: none of them runs. */
	PRINT(cublasSgemmGroupedBatched(handle, opa, opb, m, n, k, one, (const float *const *)a,
					wrong, (const float *const *)b, ldb, zero,
					(float *const *)c, ldc, GROUPS, sizes));
	PRINT(cublasSgemmGroupedBatched(handle, opa, opb, m, n, k, one, (const float *const *)a,
					lda, (const float *const *)b, ldb, zero, (float *const *)c,
					ldc, -1, sizes));
	PRINT(cudaStreamSynchronize(stream));
	PRINT(cublasDestroy(handle));
	PRINT(cudaStreamDestroy(stream));
	PRINT(cudaFree(a));
	PRINT(cudaFree(b));
	PRINT(cudaFree(c));
	return 0;
}
