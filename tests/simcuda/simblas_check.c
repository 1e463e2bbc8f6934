/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The argument checks of a gemm, as NVIDIA's documentation of cublasGemmEx states them: signs,
 * leading dimensions, and which types go with which compute type.
 */
#include "simblas_internal.h"

size_t simblas_type_size(cudaDataType_t type)
{
	switch ((int)type) {
	case CUDA_R_8I:
		return 1;
	case CUDA_R_16F:
	case CUDA_R_16BF:
		return 2;
	case CUDA_R_32F:
	case CUDA_R_32I:
		return 4;
	case CUDA_R_64F:
	case CUDA_C_32F:
		return 8;
	case CUDA_C_64F:
		return 16;
	default:
		return 0;
	}
}

/* The documented table: compute type, type of A and B, type of C. */
static const struct {
	cublasComputeType_t compute;
	cudaDataType_t input, output;
} supported[] = {
	{CUBLAS_COMPUTE_16F, CUDA_R_16F, CUDA_R_16F},
	{CUBLAS_COMPUTE_32I, CUDA_R_8I, CUDA_R_32I},
	{CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_16BF},
	{CUBLAS_COMPUTE_32F, CUDA_R_16F, CUDA_R_16F},
	{CUBLAS_COMPUTE_32F, CUDA_R_8I, CUDA_R_32F},
	{CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_32F},
	{CUBLAS_COMPUTE_32F, CUDA_R_16F, CUDA_R_32F},
	{CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F},
	{CUBLAS_COMPUTE_32F, CUDA_C_32F, CUDA_C_32F},
	{CUBLAS_COMPUTE_32F_FAST_16F, CUDA_R_32F, CUDA_R_32F},
	{CUBLAS_COMPUTE_32F_FAST_16F, CUDA_C_32F, CUDA_C_32F},
	{CUBLAS_COMPUTE_32F_FAST_16BF, CUDA_R_32F, CUDA_R_32F},
	{CUBLAS_COMPUTE_32F_FAST_16BF, CUDA_C_32F, CUDA_C_32F},
	{CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F},
	{CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_C_32F, CUDA_C_32F},
	{CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F},
	{CUBLAS_COMPUTE_64F, CUDA_C_64F, CUDA_C_64F},
};

/* The pedantic forms take what the plain ones take. */
static cublasComputeType_t without_pedantic(cublasComputeType_t compute)
{
	switch ((int)compute) {
	case CUBLAS_COMPUTE_16F_PEDANTIC:
		return CUBLAS_COMPUTE_16F;
	case CUBLAS_COMPUTE_32F_PEDANTIC:
		return CUBLAS_COMPUTE_32F;
	case CUBLAS_COMPUTE_64F_PEDANTIC:
		return CUBLAS_COMPUTE_64F;
	case CUBLAS_COMPUTE_32I_PEDANTIC:
		return CUBLAS_COMPUTE_32I;
	default:
		return compute;
	}
}

static bool is_supported(const struct simblas_gemm *gemm)
{
	cublasComputeType_t compute = without_pedantic(gemm->compute);

	for (size_t i = 0; i < sizeof(supported) / sizeof(supported[0]); i++) {
		if (supported[i].compute == compute && supported[i].input == gemm->typea &&
		    supported[i].input == gemm->typeb && supported[i].output == gemm->typec)
			return true;
	}
	return false;
}

static bool is_operation(cublasOperation_t operation)
{
	return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

static int64_t at_least_one(int64_t value)
{
	return value > 1 ? value : 1;
}

cublasStatus_t simblas_gemm_check(const struct simblas_gemm *gemm)
{
	if (!is_operation(gemm->opa) || !is_operation(gemm->opb))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (gemm->m < 0 || gemm->n < 0 || gemm->k < 0 || gemm->batch < 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (gemm->lda < at_least_one(gemm->opa == CUBLAS_OP_N ? gemm->m : gemm->k) ||
	    gemm->ldb < at_least_one(gemm->opb == CUBLAS_OP_N ? gemm->k : gemm->n) ||
	    gemm->ldc < at_least_one(gemm->m))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!gemm->alpha || !gemm->beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!is_supported(gemm))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	/* int8 is packed by four along the contiguous dimension. */
	if (gemm->typea == CUDA_R_8I && (gemm->lda % 4 || gemm->ldb % 4))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return CUBLAS_STATUS_SUCCESS;
}
