/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of the simulated cuBLAS that run through cuBLASLt: handle, descriptors, one call, all by
 * the public functions of libcublasLt.so.13, so that an interposer meets a product inside a
 * product.
 */
#include "simblas_internal.h"

#if __has_include(<cublasLt.h>)
#include <dlfcn.h>
#include <pthread.h>

#pragma GCC visibility push(default)
#include <cublasLt.h>
#pragma GCC visibility pop

#define FUNCTIONS(F)                                                                               \
	F(Create)                                                                                  \
	F(Matmul)                                                                                  \
	F(MatmulDescCreate)                                                                        \
	F(MatmulDescSetAttribute)                                                                  \
	F(MatmulDescDestroy)                                                                       \
	F(MatrixLayoutCreate)                                                                      \
	F(MatrixLayoutSetAttribute)                                                                \
	F(MatrixLayoutDestroy)

static struct {
#define F(name) __typeof__(&cublasLt##name) name;
	FUNCTIONS(F)
#undef F
	cublasLtHandle_t handle;
} lt;
static bool is_open;
static pthread_once_t open_once = PTHREAD_ONCE_INIT;

static void open_lt(void)
{
	void *library = dlopen("libcublasLt.so.13", RTLD_NOW);

	if (!library)
		return;
#define F(name)                                                                                    \
	*(void **)&lt.name = dlsym(library, "cublasLt" #name);                                     \
	if (!lt.name)                                                                              \
		return;
	FUNCTIONS(F)
#undef F
	is_open = lt.Create(&lt.handle) == CUBLAS_STATUS_SUCCESS;
}

static bool make_layout(cublasLtMatrixLayout_t *layout, cudaDataType_t type, int64_t rows,
			int64_t columns, int64_t ld, int64_t batch, int64_t stride)
{
	int32_t count = (int32_t)batch;

	return !lt.MatrixLayoutCreate(layout, type, (uint64_t)rows, (uint64_t)columns, ld) &&
	       !lt.MatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
					    sizeof(count)) &&
	       !lt.MatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
					    &stride, sizeof(stride));
}

bool simblas_by_lt(cublasHandle_t handle, const struct simblas_gemm *g, cublasStatus_t *status)
{
	bool a_is_plain = g->opa == CUBLAS_OP_N, b_is_plain = g->opb == CUBLAS_OP_N;
	cudaDataType_t scale = g->compute == CUBLAS_COMPUTE_16F	  ? CUDA_R_16F
			       : g->compute == CUBLAS_COMPUTE_64F ? CUDA_R_64F
			       : g->compute == CUBLAS_COMPUTE_32I ? CUDA_R_32I
								  : CUDA_R_32F;
	cublasLtMatmulDesc_t product = NULL;
	cublasLtMatrixLayout_t a = NULL, b = NULL, c = NULL;
	bool is_made;

	pthread_once(&open_once, open_lt);
	if (!is_open || g->is_pointer_batch)
		return false;
	is_made = !lt.MatmulDescCreate(&product, g->compute, scale) &&
		  !lt.MatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &g->opa,
					     sizeof(g->opa)) &&
		  !lt.MatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSB, &g->opb,
					     sizeof(g->opb)) &&
		  make_layout(&a, g->typea, a_is_plain ? g->m : g->k, a_is_plain ? g->k : g->m,
			      g->lda, g->batch, g->stridea) &&
		  make_layout(&b, g->typeb, b_is_plain ? g->k : g->n, b_is_plain ? g->n : g->k,
			      g->ldb, g->batch, g->strideb) &&
		  make_layout(&c, g->typec, g->m, g->n, g->ldc, g->batch, g->stridec);
	if (is_made)
		*status = lt.Matmul(lt.handle, product, g->alpha, g->a, a, g->b, b, g->beta, g->c,
				    c, g->c, c, NULL, handle->workspace, handle->workspace_bytes,
				    handle->stream);
	if (a)
		lt.MatrixLayoutDestroy(a);
	if (b)
		lt.MatrixLayoutDestroy(b);
	if (c)
		lt.MatrixLayoutDestroy(c);
	if (product)
		lt.MatmulDescDestroy(product);
	return is_made;
}
#else
bool simblas_by_lt(cublasHandle_t handle, const struct simblas_gemm *gemm, cublasStatus_t *status)
{
	(void)handle;
	(void)gemm;
	(void)status;
	return false;
}
#endif
