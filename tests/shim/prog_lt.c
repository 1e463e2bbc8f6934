/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products by cuBLASLt: descriptors on the heap and on the stack, columns and rows, a batch, a
 * bias, refused arguments; then one of cuBLAS, which runs by cuBLASLt where SIMCUDA_BLAS_BY_LT is
 * set.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#define PRINT(call)                                                                                \
	do {                                                                                       \
		errno = 1234;                                                                      \
		int status_ = (int)(call);                                                         \
		printf("%s = %d%s\n", #call, status_, errno == 1234 ? "" : " ERRNO CHANGED");      \
	} while (0)

static const float one = 1, zero = 0;
static cublasLtHandle_t handle;
static cudaStream_t stream;
static void *a, *b, *d;

static void with_bias(void)
{
	const cublasLtEpilogue_t bias = CUBLASLT_EPILOGUE_BIAS;
	const cublasOperation_t transposed = CUBLAS_OP_T;
	cublasLtMatmulPreference_t wish;
	cublasLtMatmulHeuristicResult_t result;
	cublasLtMatrixLayout_t la, lb, ld;
	cublasLtMatmulDesc_t product;
	int found = 0;

	PRINT(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
	PRINT(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
					     sizeof(transposed)));
	PRINT(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE, &bias,
					     sizeof(bias)));
	PRINT(cublasLtMatrixLayoutCreate(&la, CUDA_R_16BF, 768, 3072, 768));
	PRINT(cublasLtMatrixLayoutCreate(&lb, CUDA_R_16BF, 768, 128, 768));
	PRINT(cublasLtMatrixLayoutCreate(&ld, CUDA_R_16BF, 3072, 128, 3072));
	PRINT(cublasLtMatmulPreferenceCreate(&wish));
	PRINT(cublasLtMatmulAlgoGetHeuristic(handle, product, la, lb, ld, ld, wish, 1, &result,
					     &found));
	PRINT(cublasLtMatmul(handle, product, &one, a, la, b, lb, &zero, d, ld, d, ld, &result.algo,
			     NULL, 0, stream));
	PRINT(cublasLtMatmul(handle, product, &one, a, lb, b, lb, &zero, d, ld, d, ld, NULL, NULL,
			     0, stream));
	PRINT(cublasLtMatmul(handle, NULL, &one, a, la, b, lb, &zero, d, ld, d, NULL, NULL, NULL, 0,
			     stream));
	PRINT(cublasLtMatmulPreferenceDestroy(wish));
	PRINT(cublasLtMatrixLayoutDestroy(la));
	PRINT(cublasLtMatrixLayoutDestroy(lb));
	PRINT(cublasLtMatrixLayoutDestroy(ld));
	PRINT(cublasLtMatmulDescDestroy(product));
}

static void row_by_row(void)
{
	const int32_t order = CUBLASLT_ORDER_ROW, batch = 3;
	const int64_t strides[3] = {64 * 32, 32 * 100, 64 * 100};
	cublasLtMatrixLayoutOpaque_t layouts[3];
	cublasLtMatmulDescOpaque_t product;

	cublasLtMatmulDescInit(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
	cublasLtMatrixLayoutInit(&layouts[0], CUDA_R_16F, 64, 32, 32);
	cublasLtMatrixLayoutInit(&layouts[1], CUDA_R_16F, 32, 100, 100);
	cublasLtMatrixLayoutInit(&layouts[2], CUDA_R_16F, 64, 100, 100);
	for (int i = 0; i < 3; i++) {
		PRINT(cublasLtMatrixLayoutSetAttribute(&layouts[i], CUBLASLT_MATRIX_LAYOUT_ORDER,
						       &order, sizeof(order)));
		PRINT(cublasLtMatrixLayoutSetAttribute(
			&layouts[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch)));
		PRINT(cublasLtMatrixLayoutSetAttribute(&layouts[i],
						       CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
						       &strides[i], sizeof(strides[i])));
	}
	PRINT(cublasLtMatmul(handle, &product, &one, a, &layouts[0], b, &layouts[1], &zero, d,
			     &layouts[2], d, &layouts[2], NULL, NULL, 0, stream));
}

int main(void)
{
	cublasHandle_t blas;

	PRINT(cudaMalloc(&a, 3072 * 768 * 2));
	PRINT(cudaMalloc(&b, 768 * 128 * 2));
	PRINT(cudaMalloc(&d, 3072 * 128 * 2));
	PRINT(cudaStreamCreate(&stream));
	PRINT(cublasLtCreate(&handle));
	with_bias();
	row_by_row();
	PRINT(cublasCreate_v2(&blas));
	PRINT(cublasSetStream_v2(blas, stream));
	PRINT(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 256, 128, 64, &one, a, CUDA_R_16F, 256,
			   b, CUDA_R_16F, 64, &zero, d, CUDA_R_16F, 256, CUBLAS_COMPUTE_32F,
			   CUBLAS_GEMM_DEFAULT));
	PRINT(cudaStreamSynchronize(stream));
	PRINT(cublasDestroy_v2(blas));
	PRINT(cublasLtDestroy(handle));
	PRINT(cudaFree(a));
	PRINT(cudaFree(b));
	PRINT(cudaFree(d));
	return 0;
}
