/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a gemm of the simulated cuBLAS: checks, the model's choice, one launch through the public
 * driver API, one line of the exact log. No numbers are computed.
 */
#include "simblas_internal.h"

static cublasStatus_t launch(const struct cublasContext *handle, const struct simblas_gemm *gemm,
			     const struct simblas_choice *choice)
{
	const struct simblas_driver *driver = handle->driver;
	const void *operands[3] = {gemm->a, gemm->b, gemm->c};
	void *arguments[3] = {&operands[0], &operands[1], &operands[2]};
	int64_t rows = (gemm->m + choice->tile_m - 1) / choice->tile_m;
	int64_t columns = (gemm->n + choice->tile_n - 1) / choice->tile_n;
	size_t shared_bytes = (size_t)choice->stages * (size_t)choice->tile_k *
			      (size_t)(choice->tile_m + choice->tile_n) *
			      simblas_type_size(gemm->typea);
	int64_t x = rows, y = columns, z = gemm->batch;
	CUfunction function;
	CUresult result;

	if (choice->is_persistent) {
		x = choice->tiles < handle->gpu.sm_count ? choice->tiles : handle->gpu.sm_count;
		y = z = 1;
	}
	/* Rows may be many; y and z of a grid end at 65535, so larger ones wrap into x. */
	while (y > 65535 || z > 65535) {
		int64_t *large = y > 65535 ? &y : &z;

		*large = (*large + 1) / 2;
		x *= 2;
	}
	if (x > INT32_MAX)
		return CUBLAS_STATUS_EXECUTION_FAILED;
	function = driver->library_kernel(choice->name, &choice->cost);
	if (!function)
		return CUBLAS_STATUS_INTERNAL_ERROR;
	result = driver->LaunchKernel(function, (unsigned)x, (unsigned)y, (unsigned)z,
				      (unsigned)choice->threads, 1, 1, (unsigned)shared_bytes,
				      handle->stream, arguments, NULL);
	return result == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

static void write_log(const struct simblas_driver *driver, const struct simblas_gemm *g,
		      cublasStatus_t status)
{
	driver->log("blas", g->function, (int)status,
		    "m=%lld\tn=%lld\tk=%lld\tlda=%lld\tldb=%lld\tldc=%lld\topa=%d\topb=%d\t"
		    "typea=%d\ttypeb=%d\ttypec=%d\tbatch=%lld\tepilogue=%d",
		    (long long)g->m, (long long)g->n, (long long)g->k, (long long)g->lda,
		    (long long)g->ldb, (long long)g->ldc, (int)g->opa, (int)g->opb, (int)g->typea,
		    (int)g->typeb, (int)g->typec, (long long)g->batch, g->epilogue);
}

cublasStatus_t simblas_gemm_run(cublasHandle_t handle, const struct simblas_gemm *gemm)
{
	struct simblas_choice choice;
	cublasStatus_t status;

	if (!simblas_handle_is_valid(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	status = simblas_gemm_check(gemm);
	/* Nothing to do is done. */
	if (status == CUBLAS_STATUS_SUCCESS && gemm->m && gemm->n && gemm->batch) {
		simblas_handle_bind_thread(handle);
		if (handle->uses_lt && simblas_by_lt(handle, gemm, &status)) {
			write_log(handle->driver, gemm, status);
			return status;
		}
		simblas_model_choose(handle, gemm, &choice);
		status = launch(handle, gemm, &choice);
	}
	write_log(handle->driver, gemm, status);
	return status;
}
