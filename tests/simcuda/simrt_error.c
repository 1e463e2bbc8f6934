/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last error of a thread, and names and sentences of errors. The names come from the installed
 * driver_types.h at build time.
 */
#include "simrt_internal.h"

/* cudaGetLastError clears the error, except one that its device will never be rid of. */
cudaError_t cudaGetLastError(void)
{
	cudaError_t status = simrt_thread.last_error;

	simrt_thread.last_error = simrt_context_sticky();
	return status;
}

cudaError_t cudaPeekAtLastError(void)
{
	return simrt_thread.last_error;
}

const char *cudaGetErrorName(cudaError_t error)
{
	switch ((int)error) {
#define SIMRT_ERROR(name)                                                                          \
	case name:                                                                                 \
		return #name;
#include "simrt_error_names.inc"
#undef SIMRT_ERROR
	default:
		return "unrecognized error code";
	}
}

/* The sentences that programs most often print; for the rest the name must do. */
const char *cudaGetErrorString(cudaError_t error)
{
	switch ((int)error) {
	case cudaSuccess:
		return "no error";
	case cudaErrorInvalidValue:
		return "invalid argument";
	case cudaErrorMemoryAllocation:
		return "out of memory";
	case cudaErrorInitializationError:
		return "initialization error";
	case cudaErrorInvalidConfiguration:
		return "invalid configuration argument";
	case cudaErrorInvalidSymbol:
		return "invalid device symbol";
	case cudaErrorInvalidMemcpyDirection:
		return "invalid copy direction for memcpy";
	case cudaErrorInsufficientDriver:
		return "CUDA driver version is insufficient for CUDA runtime version";
	case cudaErrorInvalidDeviceFunction:
		return "invalid device function";
	case cudaErrorNoDevice:
		return "no CUDA-capable device is detected";
	case cudaErrorInvalidDevice:
		return "invalid device ordinal";
	case cudaErrorInvalidResourceHandle:
		return "invalid resource handle";
	case cudaErrorNotReady:
		return "device not ready";
	case cudaErrorIllegalAddress:
		return "an illegal memory access was encountered";
	case cudaErrorLaunchFailure:
		return "unspecified launch failure";
	case cudaErrorUnknown:
		return "unknown error";
	default:
		return cudaGetErrorName(error);
	}
}
