/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of the simulated cuBLASLt: column-major layouts, or row-major ones alone, which are the
 * transposed product. The model of the simulated cuBLAS chooses and launches.
 */
#include "simblaslt_internal.h"

#include <stdlib.h>
#include <string.h>

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out)
{
	struct cublasContext *handle;
	cublasStatus_t status;

	if (!out)
		return CUBLAS_STATUS_INVALID_VALUE;
	handle = calloc(1, sizeof(*handle));
	if (!handle)
		return CUBLAS_STATUS_ALLOC_FAILED;
	status = simblas_handle_open(handle);
	handle->uses_lt = false;
	if (status == CUBLAS_STATUS_SUCCESS)
		*out = (cublasLtHandle_t)handle;
	else
		free(handle);
	return status;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
	if (!simblas_handle_is_valid((cublasHandle_t)handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	((struct cublasContext *)handle)->magic = 0;
	free(handle);
	return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion(void)
{
	return CUBLAS_VERSION;
}

struct operands {
	const struct simblaslt_product *product;
	const struct simblaslt_layout *a, *b, *c, *d;
};

static bool read_operands(struct operands *o, const void *product, const void *a, const void *b,
			  const void *c, const void *d)
{
	o->product = simblaslt_product_of(product);
	o->a = simblaslt_layout_of(a);
	o->b = simblaslt_layout_of(b);
	o->c = simblaslt_layout_of(c);
	o->d = simblaslt_layout_of(d);
	return o->product && o->a && o->b && o->c && o->d;
}

/* Whether the three matrices fit together. */
static bool fits(const struct operands *o)
{
	uint64_t m = o->product->opa ? o->a->columns : o->a->rows;
	uint64_t k = o->product->opa ? o->a->rows : o->a->columns;
	uint64_t k_of_b = o->product->opb ? o->b->columns : o->b->rows;
	uint64_t n = o->product->opb ? o->b->rows : o->b->columns;

	return o->d->rows == m && o->d->columns == n && k == k_of_b && o->c->rows == m &&
	       o->c->columns == n && o->a->batch == o->d->batch && o->b->batch == o->d->batch;
}

static struct simblas_gemm gemm_of(const struct operands *o, const void *a, const void *b, void *d)
{
	const struct simblaslt_layout *first = o->a, *second = o->b;
	int op_first = o->product->opa, op_second = o->product->opb;
	bool is_row_major = o->d->order == CUBLASLT_ORDER_ROW;
	uint64_t k = o->product->opa ? o->a->rows : o->a->columns;

	if (is_row_major) {
		const void *swapped = a;

		first = o->b;
		second = o->a;
		op_first = o->product->opb;
		op_second = o->product->opa;
		a = b;
		b = swapped;
	}
	return (struct simblas_gemm){
		.function = "cublasLtMatmul",
		.opa = (cublasOperation_t)op_first,
		.opb = (cublasOperation_t)op_second,
		.m = (int64_t)(is_row_major ? o->d->columns : o->d->rows),
		.n = (int64_t)(is_row_major ? o->d->rows : o->d->columns),
		.k = (int64_t)k,
		.lda = first->ld,
		.ldb = second->ld,
		.ldc = o->d->ld,
		.a = a,
		.b = b,
		.c = d,
		.typea = (cudaDataType_t)first->type,
		.typeb = (cudaDataType_t)second->type,
		.typec = (cudaDataType_t)o->d->type,
		.compute = (cublasComputeType_t)o->product->compute,
		.batch = o->d->batch,
		.stridea = first->stride,
		.strideb = second->stride,
		.stridec = o->d->stride,
		.epilogue = (int)o->product->epilogue,
	};
}

static bool has_one_order(const struct operands *o)
{
	return (o->d->order == CUBLASLT_ORDER_COL || o->d->order == CUBLASLT_ORDER_ROW) &&
	       o->a->order == o->d->order && o->b->order == o->d->order &&
	       o->c->order == o->d->order;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
			      const void *alpha, const void *a, cublasLtMatrixLayout_t layout_a,
			      const void *b, cublasLtMatrixLayout_t layout_b, const void *beta,
			      const void *c, cublasLtMatrixLayout_t layout_c, void *d,
			      cublasLtMatrixLayout_t layout_d,
			      const cublasLtMatmulAlgo_t *algorithm, void *workspace,
			      size_t workspace_bytes, cudaStream_t stream)
{
	struct cublasContext *owner = (struct cublasContext *)handle, context;
	struct simblas_gemm gemm;
	struct operands o;

	(void)c;
	(void)algorithm;
	(void)workspace;
	(void)workspace_bytes;
	if (!simblas_handle_is_valid(owner))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!read_operands(&o, product, layout_a, layout_b, layout_c, layout_d) || !fits(&o))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!has_one_order(&o))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	gemm = gemm_of(&o, a, b, d);
	gemm.alpha = alpha;
	gemm.beta = beta;
	/* A handle of cuBLASLt has no stream; several threads may use it at a time. */
	context = *owner;
	context.stream = stream;
	return simblas_gemm_run(&context, &gemm);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
					      cublasLtMatrixLayout_t layout_a,
					      cublasLtMatrixLayout_t layout_b,
					      cublasLtMatrixLayout_t layout_c,
					      cublasLtMatrixLayout_t layout_d,
					      cublasLtMatmulPreference_t wish, int wanted,
					      cublasLtMatmulHeuristicResult_t results[], int *found)
{
	static const float one = 1;
	struct simblas_gemm gemm;
	struct operands o;

	if (!simblas_handle_is_valid((cublasHandle_t)handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!wish || !results || !found || wanted < 1 ||
	    !read_operands(&o, product, layout_a, layout_b, layout_c, layout_d) || !fits(&o))
		return CUBLAS_STATUS_INVALID_VALUE;
	gemm = gemm_of(&o, NULL, NULL, NULL);
	gemm.alpha = gemm.beta = &one;
	*found = 0;
	if (!has_one_order(&o) || simblas_gemm_check(&gemm))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	memset(&results[0], 0, sizeof(results[0]));
	results[0].state = CUBLAS_STATUS_SUCCESS;
	results[0].wavesCount = 1;
	*found = 1;
	return CUBLAS_STATUS_SUCCESS;
}
