/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the simulated cuBLAS (libcublas.so.13): the handle, one gemm in one form for all entry
 * points, and what the model made of it. A call goes entry -> check -> choose -> launch.
 *
 * Threads: as cuBLAS, one handle by one thread at a time.
 */
#ifndef GPUTRACE_SIMBLAS_INTERNAL_H
#define GPUTRACE_SIMBLAS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>
#include <cudaTypedefs.h>
#pragma GCC visibility push(default)
#if __has_include(<cublas_api.h>)
#include <cublas_api.h>
#else
#include "simblas_abi.h"
#endif
#pragma GCC visibility pop

#include "simcuda.h"

/* Functions of the driver, each through cuGetProcAddress so that an interposer sees it. */
struct simblas_driver {
#define SIMBLAS_DRIVER(name, version) PFN_cu##name##_v##version name;
#include "simblas_driver.def"
#undef SIMBLAS_DRIVER
	void *(*library_kernel)(const char *name, const struct simcuda_cost *next_launch);
	void (*log)(const char *tag, const char *function, int result, const char *format, ...)
		__attribute__((format(printf, 4, 5)));
};
/* NULL when there is no simulated driver. */
const struct simblas_driver *simblas_driver_get(void);

/* Dense peaks of the device in TFLOP/s (TOP/s for int8); 0: it has no such units. */
struct simblas_gpu {
	const char *name_pattern;
	double fp64_tensor, tf32, fp16, bf16, int8, fp32;
	int major, minor, sm_count;
};
/* Fills in the current device. */
bool simblas_gpu_read(const struct simblas_driver *driver, struct simblas_gpu *gpu);

struct cublasContext {
	uint64_t magic;
	const struct simblas_driver *driver;
	struct simblas_gpu gpu;
	CUcontext context;
	cudaStream_t stream;
	cublasMath_t math;
	cublasPointerMode_t pointer_mode;
	CUdeviceptr own_workspace;
	void *workspace;
	size_t workspace_bytes;
	int tf32_override; /* NVIDIA_TF32_OVERRIDE: -1 unset, 0 never, 1 always */
	bool uses_lt;	   /* SIMCUDA_BLAS_BY_LT=1: products go through cublasLtMatmul */
};
/* What cuBLAS and cuBLASLt handles have in common: context, device, settings. */
cublasStatus_t simblas_handle_open(struct cublasContext *handle);
bool simblas_handle_is_valid(cublasHandle_t handle);
/* A thread that has no context yet gets the handle's, as by the runtime inside the real library. */
void simblas_handle_bind_thread(const struct cublasContext *handle);

struct simblas_gemm {
	const char *function;
	cublasOperation_t opa, opb;
	int64_t m, n, k, lda, ldb, ldc;
	const void *alpha, *beta;
	const void *a, *b; /* batched by pointers: arrays of pointers in device memory */
	void *c;
	cudaDataType_t typea, typeb, typec;
	cublasComputeType_t compute;
	cublasGemmAlgo_t algorithm;
	int64_t batch, stridea, strideb, stridec;
	bool is_pointer_batch;
	int epilogue; /* cublasLtEpilogue_t, 0 when it is no product of cuBLASLt */
};
/* The product by libcublasLt.so.13, as the real library runs many of its own. False: it is not
 * there or does not take such a product. */
bool simblas_by_lt(cublasHandle_t handle, const struct simblas_gemm *gemm, cublasStatus_t *status);
/* Runs one gemm: checks, model, launch, log. */
cublasStatus_t simblas_gemm_run(cublasHandle_t handle, const struct simblas_gemm *gemm);
/* The checks of the real library that do not need a device. */
cublasStatus_t simblas_gemm_check(const struct simblas_gemm *gemm);
size_t simblas_type_size(cudaDataType_t type);

enum simblas_math {
	SIMBLAS_SIMT_16,
	SIMBLAS_SIMT_32,
	SIMBLAS_SIMT_64,
	SIMBLAS_SIMT_COMPLEX,
	SIMBLAS_TENSOR_FP16,
	SIMBLAS_TENSOR_BF16,
	SIMBLAS_TENSOR_TF32,
	SIMBLAS_TENSOR_FP64,
	SIMBLAS_TENSOR_INT8,
};
/* What the model chose for a gemm. */
struct simblas_choice {
	enum simblas_math math;
	int tile_m, tile_n, tile_k, stages, threads;
	int align_bytes; /* 16 at most */
	int align_elements;
	int64_t tiles, waves; /* over the whole batch */
	bool is_persistent;
	struct simcuda_cost cost;
	char name[160];
};
void simblas_model_choose(const struct cublasContext *handle, const struct simblas_gemm *gemm,
			  struct simblas_choice *choice);
void simblas_names_write(const struct simblas_gpu *gpu, const struct simblas_gemm *gemm,
			 struct simblas_choice *choice);

#endif
