/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products through the simulated cuBLAS, in several ways. */
#include <stdint.h>
#include <stdio.h>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#define PRINT(call) printf("%s\n", (call) ? #call " failed" : "ok")

int main(void)
{
	cublasHandle_t handle;
	cudaStream_t stream;
	void *a, *b, *c;
	float one = 1, zero = 0;

	PRINT(cudaMalloc(&a, 50257 * 768 * 2));
	PRINT(cudaMalloc(&b, 768 * 128 * 4));
	PRINT(cudaMalloc(&c, 50257 * 128 * 2));
	PRINT(cudaStreamCreate(&stream));
	PRINT(cublasCreate_v2(&handle));
	PRINT(cublasSetStream_v2(handle, stream));
	PRINT(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 50257, 128, 768, &one, a, CUDA_R_16F,
			   768, b, CUDA_R_16F, 768, &zero, c, CUDA_R_16F, 50257, CUBLAS_COMPUTE_32F,
			   CUBLAS_GEMM_DEFAULT));
	PRINT(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
	PRINT(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 32, 16, &one, a, 64, b, 16,
			     &zero, c, 64));
	PRINT(cublasSgemm_v2_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 32, 16, &one, a, 64, b, 16,
				&zero, c, 64));
	PRINT(cublasGemmStridedBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, 64, 32, 16, &one, a,
					 CUDA_R_16BF, 64, 1024, b, CUDA_R_16BF, 32, 512, &zero, c,
					 CUDA_R_16BF, 64, 2048, 5, CUBLAS_COMPUTE_32F,
					 CUBLAS_GEMM_DEFAULT));
	PRINT(cudaStreamSynchronize(stream));
	PRINT(cublasDestroy_v2(handle));
	return 0;
}
