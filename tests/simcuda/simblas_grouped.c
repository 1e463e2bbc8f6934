/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grouped products of the simulated cuBLAS: the arrays of shapes lie on the host, each group is a
 * batch by pointers with a shape of its own. One kernel and one line of the exact log per group; a
 * call with a wrong group runs none.
 */
#include "simblas_internal.h"

/* The arguments of any form; integers are of 4 or 8 bytes. */
struct groups {
	const char *function;
	size_t integer_bytes;
	const cublasOperation_t *opa, *opb;
	const void *m, *n, *k, *lda, *ldb, *ldc, *sizes;
	const char *alpha, *beta; /* arrays of scalars, one per group */
	const void *const *a, *const *b;
	void *const *c;
	cudaDataType_t typea, typeb, typec;
	cublasComputeType_t compute;
	int64_t count;
};

static int64_t number_at(const struct groups *groups, const void *numbers, int64_t i)
{
	return groups->integer_bytes == sizeof(int) ? ((const int *)numbers)[i]
						    : ((const int64_t *)numbers)[i];
}

/* Scalars are of the type that is computed in. */
static size_t scalar_bytes(cublasComputeType_t compute)
{
	switch (compute) {
	case CUBLAS_COMPUTE_16F:
	case CUBLAS_COMPUTE_16F_PEDANTIC:
		return 2;
	case CUBLAS_COMPUTE_64F:
	case CUBLAS_COMPUTE_64F_PEDANTIC:
		return 8;
	default:
		return 4;
	}
}

/* Group i, whose products begin at `first` of all. */
static struct simblas_gemm group_at(const struct groups *g, int64_t i, int64_t first)
{
	size_t scalar = scalar_bytes(g->compute) * (size_t)i;

	return (struct simblas_gemm){
		.function = g->function,
		.opa = g->opa[i],
		.opb = g->opb[i],
		.m = number_at(g, g->m, i),
		.n = number_at(g, g->n, i),
		.k = number_at(g, g->k, i),
		.lda = number_at(g, g->lda, i),
		.ldb = number_at(g, g->ldb, i),
		.ldc = number_at(g, g->ldc, i),
		.alpha = g->alpha + scalar,
		.beta = g->beta + scalar,
		.a = (const void *)(g->a + first),
		.b = (const void *)(g->b + first),
		.c = (void *)(uintptr_t)(g->c + first),
		.typea = g->typea,
		.typeb = g->typeb,
		.typec = g->typec,
		.compute = g->compute,
		.batch = number_at(g, g->sizes, i),
		.is_pointer_batch = true,
	};
}

static cublasStatus_t check(const struct groups *g)
{
	if (g->count < 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (g->count > 0 &&
	    (!g->opa || !g->opb || !g->m || !g->n || !g->k || !g->lda || !g->ldb || !g->ldc ||
	     !g->sizes || !g->alpha || !g->beta || !g->a || !g->b || !g->c))
		return CUBLAS_STATUS_INVALID_VALUE;
	for (int64_t i = 0; i < g->count; i++) {
		const struct simblas_gemm group = group_at(g, i, 0);
		cublasStatus_t status = simblas_gemm_check(&group);

		if (status != CUBLAS_STATUS_SUCCESS)
			return status;
	}
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t run(cublasHandle_t handle, const struct groups *g)
{
	cublasStatus_t status;
	int64_t first = 0;

	if (!simblas_handle_is_valid(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	status = check(g);
	if (status != CUBLAS_STATUS_SUCCESS)
		handle->driver->log("blas", g->function, (int)status, "groups=%lld",
				    (long long)g->count);
	for (int64_t i = 0; status == CUBLAS_STATUS_SUCCESS && i < g->count; i++) {
		const struct simblas_gemm group = group_at(g, i, first);

		first += group.batch;
		if (group.batch > 0)
			status = simblas_gemm_run(handle, &group);
	}
	return status;
}

/* From variables with the API's names. */
#define GROUPS(name, integer, ...)                                                                 \
	&(const struct groups)                                                                     \
	{                                                                                          \
		.function = #name, .integer_bytes = sizeof(integer), .opa = transa, .opb = transb, \
		.m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .sizes = sizes,        \
		.alpha = (const void *)alpha, .beta = (const void *)beta,                          \
		.a = (const void *const *)a, .b = (const void *const *)b, .c = (void *const *)c,   \
		.count = count, __VA_ARGS__                                                        \
	}

#define GROUPED(name, ctype, data, how, integer)                                                   \
	cublasStatus_t name(cublasHandle_t handle, const cublasOperation_t transa[],               \
			    const cublasOperation_t transb[], const integer m[],                   \
			    const integer n[], const integer k[], const ctype alpha[],             \
			    const ctype *const a[], const integer lda[], const ctype *const b[],   \
			    const integer ldb[], const ctype beta[], ctype *const c[],             \
			    const integer ldc[], integer count, const integer sizes[])             \
	{                                                                                          \
		return run(handle, GROUPS(name, integer, .typea = data, .typeb = data,             \
					  .typec = data, .compute = how));                         \
	}
#define GROUPED_EX(name, integer)                                                                  \
	cublasStatus_t name(cublasHandle_t handle, const cublasOperation_t transa[],               \
			    const cublasOperation_t transb[], const integer m[],                   \
			    const integer n[], const integer k[], const void *alpha,               \
			    const void *const a[], cudaDataType_t typea, const integer lda[],      \
			    const void *const b[], cudaDataType_t typeb, const integer ldb[],      \
			    const void *beta, void *const c[], cudaDataType_t typec,               \
			    const integer ldc[], integer count, const integer sizes[],             \
			    cublasComputeType_t compute)                                           \
	{                                                                                          \
		return run(handle, GROUPS(name, integer, .typea = typea, .typeb = typeb,           \
					  .typec = typec, .compute = compute));                    \
	}

GROUPED(cublasSgemmGroupedBatched, float, CUDA_R_32F, CUBLAS_COMPUTE_32F, int)
GROUPED(cublasSgemmGroupedBatched_64, float, CUDA_R_32F, CUBLAS_COMPUTE_32F, int64_t)
GROUPED(cublasDgemmGroupedBatched, double, CUDA_R_64F, CUBLAS_COMPUTE_64F, int)
GROUPED(cublasDgemmGroupedBatched_64, double, CUDA_R_64F, CUBLAS_COMPUTE_64F, int64_t)
GROUPED_EX(cublasGemmGroupedBatchedEx, int)
GROUPED_EX(cublasGemmGroupedBatchedEx_64, int64_t)
