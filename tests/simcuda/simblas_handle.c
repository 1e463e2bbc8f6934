/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of the simulated cuBLAS and everything that is set on them.
 */
#include "simblas_internal.h"

#include <stdlib.h>

#define HANDLE_MAGIC 0x6870617247736c62u
#define MIB	     (1024ul * 1024)

bool simblas_handle_is_valid(cublasHandle_t handle)
{
	return handle && handle->magic == HANDLE_MAGIC;
}

/* The handle belongs to the current context; without one, to the primary context of device 0, as
 * with the runtime inside the real library. */
static cublasStatus_t bind_context(const struct simblas_driver *driver, CUcontext *context)
{
	CUdevice device = 0;

	if (driver->Init(0))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (driver->CtxGetCurrent(context) == CUDA_SUCCESS && *context)
		return CUBLAS_STATUS_SUCCESS;
	if (driver->DeviceGet(&device, 0) || driver->DevicePrimaryCtxRetain(context, device) ||
	    driver->CtxSetCurrent(*context))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	return CUBLAS_STATUS_SUCCESS;
}

void simblas_handle_bind_thread(const struct cublasContext *handle)
{
	static _Thread_local bool has_context;
	CUcontext context = NULL;

	if (has_context)
		return;
	if (handle->driver->CtxGetCurrent(&context) != CUDA_SUCCESS || !context)
		handle->driver->CtxSetCurrent(handle->context);
	has_context = true;
}

/* The default workspace by architecture, from the text on cublasSetWorkspace in NVIDIA's cuBLAS
 * documentation: it recommends 32 MiB on Hopper and Blackwell data centre, 12 on sm_12x, else 4. */
static size_t default_workspace_bytes(const struct simblas_gpu *gpu)
{
	if (gpu->major == 9 || gpu->major == 10)
		return 32 * MIB;
	return gpu->major == 12 ? 12 * MIB : 4 * MIB;
}

cublasStatus_t simblas_handle_open(struct cublasContext *handle)
{
	const struct simblas_driver *driver = simblas_driver_get();
	const char *override = getenv("NVIDIA_TF32_OVERRIDE"),
		   *by_lt = getenv("SIMCUDA_BLAS_BY_LT");
	cublasStatus_t status;

	if (!driver)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	status = bind_context(driver, &handle->context);
	if (status != CUBLAS_STATUS_SUCCESS)
		return status;
	handle->driver = driver;
	handle->tf32_override =
		override && (*override == '0' || *override == '1') ? *override - '0' : -1;
	handle->uses_lt = by_lt && *by_lt == '1';
	if (!simblas_gpu_read(driver, &handle->gpu))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	handle->magic = HANDLE_MAGIC;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *out)
{
	cublasHandle_t handle;
	cublasStatus_t status;

	if (!out)
		return CUBLAS_STATUS_INVALID_VALUE;
	handle = calloc(1, sizeof(*handle));
	if (!handle)
		return CUBLAS_STATUS_ALLOC_FAILED;
	status = simblas_handle_open(handle);
	if (status == CUBLAS_STATUS_SUCCESS) {
		handle->workspace_bytes = default_workspace_bytes(&handle->gpu);
		if (handle->driver->MemAlloc(&handle->own_workspace, handle->workspace_bytes))
			status = CUBLAS_STATUS_ALLOC_FAILED;
	}
	if (status != CUBLAS_STATUS_SUCCESS) {
		free(handle);
		return status;
	}
	handle->workspace = (void *)(uintptr_t)handle->own_workspace;
	*out = handle;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
	if (!simblas_handle_is_valid(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	handle->driver->MemFree(handle->own_workspace);
	handle->magic = 0;
	free(handle);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
	(void)handle; /* the real one answers without a handle too */
	if (!version)
		return CUBLAS_STATUS_INVALID_VALUE;
	*version = CUBLAS_VERSION;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
	if (!value)
		return CUBLAS_STATUS_INVALID_VALUE;
	switch ((int)type) {
	case MAJOR_VERSION:
		*value = CUBLAS_VER_MAJOR;
		return CUBLAS_STATUS_SUCCESS;
	case MINOR_VERSION:
		*value = CUBLAS_VER_MINOR;
		return CUBLAS_STATUS_SUCCESS;
	case PATCH_LEVEL:
		*value = CUBLAS_VER_PATCH;
		return CUBLAS_STATUS_SUCCESS;
	default:
		return CUBLAS_STATUS_INVALID_VALUE;
	}
}

/* Setting a stream takes the handle back to its own workspace, as the documentation warns. */
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
	if (!simblas_handle_is_valid(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	handle->stream = stream;
	handle->workspace = (void *)(uintptr_t)handle->own_workspace;
	handle->workspace_bytes = default_workspace_bytes(&handle->gpu);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream)
{
	if (!simblas_handle_is_valid(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!stream)
		return CUBLAS_STATUS_INVALID_VALUE;
	*stream = handle->stream;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
	if (!simblas_handle_is_valid(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if ((uintptr_t)workspace % 256)
		return CUBLAS_STATUS_INVALID_VALUE;
	handle->workspace = workspace;
	handle->workspace_bytes = bytes;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
	int base = (int)mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;

	if (!simblas_handle_is_valid(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (base < CUBLAS_DEFAULT_MATH || base > CUBLAS_TF32_TENSOR_OP_MATH)
		return CUBLAS_STATUS_INVALID_VALUE;
	handle->math = mode;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
	if (!simblas_handle_is_valid(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!mode)
		return CUBLAS_STATUS_INVALID_VALUE;
	*mode = handle->math;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
	if (!simblas_handle_is_valid(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE)
		return CUBLAS_STATUS_INVALID_VALUE;
	handle->pointer_mode = mode;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
	if (!simblas_handle_is_valid(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!mode)
		return CUBLAS_STATUS_INVALID_VALUE;
	*mode = handle->pointer_mode;
	return CUBLAS_STATUS_SUCCESS;
}

/* Every status has a row: the enumerator and what the real library calls it. */
#define STATUSES(ROW)                                                                              \
	ROW(CUBLAS_STATUS_SUCCESS, "success")                                                      \
	ROW(CUBLAS_STATUS_NOT_INITIALIZED, "the library was not initialized")                      \
	ROW(CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed")                          \
	ROW(CUBLAS_STATUS_INVALID_VALUE, "an invalid value was passed to the function")            \
	ROW(CUBLAS_STATUS_ARCH_MISMATCH, "the device lacks a feature that the function needs")     \
	ROW(CUBLAS_STATUS_MAPPING_ERROR, "an access to GPU memory space failed")                   \
	ROW(CUBLAS_STATUS_EXECUTION_FAILED, "the function failed to launch on the GPU")            \
	ROW(CUBLAS_STATUS_INTERNAL_ERROR, "an internal operation failed")                          \
	ROW(CUBLAS_STATUS_NOT_SUPPORTED, "the requested functionality is not supported")           \
	ROW(CUBLAS_STATUS_LICENSE_ERROR, "the licence could not be checked")

const char *cublasGetStatusName(cublasStatus_t status)
{
	switch ((int)status) {
#define ROW(name, sentence)                                                                        \
	case name:                                                                                 \
		return #name;
		STATUSES(ROW)
#undef ROW
	default:
		return "CUBLAS_STATUS_UNKNOWN";
	}
}

const char *cublasGetStatusString(cublasStatus_t status)
{
	switch ((int)status) {
#define ROW(name, sentence)                                                                        \
	case name:                                                                                 \
		return sentence;
		STATUSES(ROW)
#undef ROW
	default:
		return "unknown status";
	}
}
