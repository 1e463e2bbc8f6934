/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result codes have the names of the library that returned them; where the toolkit's headers are
 * there, they agree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "error_name.h"

#ifdef HAS_CUDA_HEADERS
#include <cuda.h>
#include <driver_types.h>
#endif

static void the_library_of_the_call_names_the_code(void **state)
{
	(void)state;
	assert_string_equal(error_name_of("cudaMemcpyAsync", 700), "cudaErrorIllegalAddress");
	assert_string_equal(error_name_of("__cudaLaunchKernel", 98),
			    "cudaErrorInvalidDeviceFunction");
	assert_string_equal(error_name_of("cuLaunchKernelEx", 700), "CUDA_ERROR_ILLEGAL_ADDRESS");
	assert_string_equal(error_name_of("cublasGemmEx", 13), "CUBLAS_STATUS_EXECUTION_FAILED");
	assert_string_equal(error_name_of("ncclAllReduce", 2), "ncclSystemError");
}

static void what_a_library_does_not_have_has_no_name(void **state)
{
	(void)state;
	assert_null(error_name_of("cuLaunchKernel", 98)); /* the runtime's own */
	assert_null(error_name_of("cudaMalloc", 54321));
	assert_null(error_name_of("cudnnConvolutionForward", 3));
	assert_null(error_name_of("hipMalloc", 2));
	assert_null(error_name_of("cublasGemmEx", 2));
}

static void only_a_lost_context_is_sticky(void **state)
{
	(void)state;
	assert_true(error_name_is_sticky("cudaStreamSynchronize", 700));
	assert_true(error_name_is_sticky("cuCtxSynchronize", 719));
	assert_true(error_name_is_sticky("cuCtxSynchronize", 214));
	assert_false(error_name_is_sticky("cudaMalloc", 2));
	assert_false(error_name_is_sticky("cudaEventQuery", 600));
	assert_false(error_name_is_sticky("cublasGemmEx", 700));
}

#ifdef HAS_CUDA_HEADERS
static void numbers_are_those_of_the_headers(void **state)
{
	static const struct {
		int32_t number;
		const char *api, *name;
	} codes[] = {
#define RUNTIME(code) {code, "cudaX", #code}
#define DRIVER(code)                                                                               \
	{                                                                                          \
		code, "cuX", #code                                                                 \
	}
		RUNTIME(cudaErrorMemoryAllocation),
		RUNTIME(cudaErrorInsufficientDriver),
		RUNTIME(cudaErrorNoKernelImageForDevice),
		RUNTIME(cudaErrorECCUncorrectable),
		RUNTIME(cudaErrorNotReady),
		RUNTIME(cudaErrorPeerAccessAlreadyEnabled),
		RUNTIME(cudaErrorAssert),
		RUNTIME(cudaErrorLaunchFailure),
		RUNTIME(cudaErrorSystemDriverMismatch),
		RUNTIME(cudaErrorStreamCaptureInvalidated),
		DRIVER(CUDA_ERROR_OUT_OF_MEMORY),
		DRIVER(CUDA_ERROR_NO_BINARY_FOR_GPU),
		DRIVER(CUDA_ERROR_UNSUPPORTED_PTX_VERSION),
		DRIVER(CUDA_ERROR_NOT_FOUND),
		DRIVER(CUDA_ERROR_LAUNCH_TIMEOUT),
		DRIVER(CUDA_ERROR_MISALIGNED_ADDRESS),
		DRIVER(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE),
#undef RUNTIME
#undef DRIVER
	};

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		assert_string_equal(error_name_of(codes[i].api, codes[i].number), codes[i].name);
}
#endif

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_library_of_the_call_names_the_code),
		cmocka_unit_test(what_a_library_does_not_have_has_no_name),
		cmocka_unit_test(only_a_lost_context_is_sticky),
#ifdef HAS_CUDA_HEADERS
		cmocka_unit_test(numbers_are_those_of_the_headers),
#endif
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
