/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few cuBLAS functions that the samples call, declared here so that they also build where only
 * the CUDA runtime is installed. The ABI is the same in cuBLAS 11, 12 and 13.
 */
#ifndef GPUTRACE_SAMPLES_GPU_BLAS_H
#define GPUTRACE_SAMPLES_GPU_BLAS_H

/* Values of cublasOperation_t, cudaDataType_t, cublasComputeType_t and cublasGemmAlgo_t. */
enum {
	GPU_BLAS_N = 0,
	GPU_BLAS_T = 1,
	GPU_BLAS_BF16 = 14,
	GPU_BLAS_COMPUTE_F32 = 68,
	GPU_BLAS_ALGORITHM_DEFAULT = -1
};

typedef void *gpu_blas_handle;

typedef int gpu_blas_create_function(gpu_blas_handle *handle);
typedef int gpu_blas_destroy_function(gpu_blas_handle handle);
typedef int gpu_blas_set_stream_function(gpu_blas_handle handle, void *stream);
typedef int gpu_blas_gemm_function(gpu_blas_handle handle, int op_a, int op_b, int m, int n, int k,
				   const void *alpha, const void *a, int type_a, int lda,
				   const void *b, int type_b, int ldb, const void *beta, void *c,
				   int type_c, int ldc, int compute_type, int algorithm);
typedef int gpu_blas_gemm_batched_function(gpu_blas_handle handle, int op_a, int op_b, int m, int n,
					   int k, const void *alpha, const void *a, int type_a,
					   int lda, long long stride_a, const void *b, int type_b,
					   int ldb, long long stride_b, const void *beta, void *c,
					   int type_c, int ldc, long long stride_c, int batch,
					   int compute_type, int algorithm);

#endif
