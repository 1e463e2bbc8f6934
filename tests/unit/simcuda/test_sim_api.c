/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated driver's entry: initialisation, look-ups, contexts, faults, forks, errors.
 */
#include "sim_scenario.h"

#include <dlfcn.h>

static void calls_before_init(void)
{
	int count = 77;
	CUdeviceptr address = 5;

	CHECK_RESULT(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_RESULT(cuMemAlloc(&address, 16), CUDA_ERROR_NOT_INITIALIZED);
	CHECK(count == 77 && address == 5);
	CHECK_RESULT(cuInit(1), CUDA_ERROR_INVALID_VALUE);
	OK(cuDriverGetVersion(&count));
	CHECK(count == CUDA_VERSION);
	OK(cuInit(0));
	OK(cuInit(0));
	CHECK_RESULT(cuMemAlloc(&address, 16), CUDA_ERROR_INVALID_CONTEXT);
	CHECK(address == 5);
}

static void before_init_calls_fail_and_leave_outputs(void **state)
{
	(void)state;
	run_scenario(calls_before_init, NULL);
}

static void look_up(void)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
	void *found = NULL, *older = NULL, *twin = NULL;
	void *self = dlopen(NULL, RTLD_NOW);

	OK(cuGetProcAddress("cuMemAlloc", &found, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
	CHECK(status == CU_GET_PROC_ADDRESS_SUCCESS && found != NULL);
	CHECK(found == dlsym(self, "cuMemAlloc_v2"));
	/* A driver asked for an ABI between two of its own gives the older. */
	OK(cuGetProcAddress("cuCtxCreate", &older, 12000, 0, &status));
	CHECK(older == dlsym(self, "cuCtxCreate_v3"));
	OK(cuGetProcAddress("cuCtxCreate", &found, 13000, 0, &status));
	CHECK(found == dlsym(self, "cuCtxCreate_v4"));
	OK(cuGetProcAddress("cuEventElapsedTime", &older, 12000, 0, &status));
	CHECK(older == dlsym(self, "cuEventElapsedTime"));
	OK(cuGetProcAddress("cuMemcpyHtoDAsync", &found, 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM,
			    &status));
	CHECK(found == dlsym(self, "cuMemcpyHtoDAsync_v2"));
	OK(cuGetProcAddress("cuMemcpyHtoDAsync", &twin, 13000,
			    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
	CHECK(twin == dlsym(self, "cuMemcpyHtoDAsync_v2_ptsz") && twin != found);
	/* A function without streams is the same for either flag. */
	OK(cuGetProcAddress("cuMemAlloc", &twin, 13000,
			    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
	CHECK(twin == dlsym(self, "cuMemAlloc_v2"));
	OK(cuGetProcAddress("cuGetProcAddress", &found, 12000, 0, &status));
	CHECK(found == dlsym(self, "cuGetProcAddress_v2"));
	OK(cuGetProcAddress("cuGetProcAddress", &found, 11030, 0, &status));
	CHECK(found == dlsym(self, "cuGetProcAddress"));
	CHECK_RESULT(cuGetProcAddress("cuMemAlloc", &found, 13000, 99, &status),
		     CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuGetProcAddress(NULL, &found, 13000, 0, &status), CUDA_ERROR_INVALID_VALUE);
}

static void lookup_gives_the_exported_symbol_of_each_version(void **state)
{
	(void)state;
	run_scenario(look_up, NULL);
}

static void look_up_missing(void)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
	void *found = &status;
	const void *table = &status;
	CUuuid id;

	OK(cuGetProcAddress("cuNoSuchFunction", &found, 13000, 0, &status));
	CHECK(found == NULL && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	found = &status;
	/* A real function that this driver does not have. */
	OK(cuGetProcAddress("cuGraphicsGLRegisterBuffer", &found, 13000, 0, &status));
	CHECK(found == NULL && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	OK(cuGetProcAddress("cuLaunchKernelEx", &found, 11000, 0, &status));
	CHECK(found == NULL && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	memset(&id, 0x42, sizeof(id));
	CHECK_RESULT(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND);
	CHECK(table == &status);
}

static void lookup_of_missing_functions_succeeds_with_null(void **state)
{
	(void)state;
	run_scenario(look_up_missing, NULL);
}

static void use_contexts(void)
{
	CUcontext primary = open_device(0), again, made, current = NULL;
	unsigned flags, version;
	CUdeviceptr address;
	CUdevice device = 9;
	int active;

	OK(cuDevicePrimaryCtxRetain(&again, 0));
	CHECK(again == primary);
	OK(cuDevicePrimaryCtxRelease(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK(active == 1);
	OK(cuCtxCreate(&made, NULL, CU_CTX_SCHED_BLOCKING_SYNC, 0));
	OK(cuCtxGetCurrent(&current));
	CHECK(current == made && made != primary);
	OK(cuCtxGetFlags(&flags));
	CHECK(flags == CU_CTX_SCHED_BLOCKING_SYNC);
	OK(cuCtxGetApiVersion(made, &version));
	OK(cuCtxGetDevice(&device));
	CHECK(device == 0);
	OK(cuCtxPopCurrent(&current));
	CHECK(current == made);
	OK(cuCtxGetCurrent(&current));
	CHECK(current == primary);
	OK(cuCtxPushCurrent(made));
	OK(cuCtxDestroy(made));
	OK(cuCtxGetCurrent(&current));
	CHECK(current == primary);
	CHECK_RESULT(cuCtxPushCurrent(made), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_RESULT(cuCtxDestroy(made), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_RESULT(cuCtxDestroy(primary), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_RESULT(cuCtxSetCurrent((CUcontext)&active), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuDevicePrimaryCtxRelease(0));
	CHECK_RESULT(cuMemAlloc(&address, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	CHECK_RESULT(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuDevicePrimaryCtxRetain(&again, 0));
	CHECK(again == primary);
	OK(cuMemAlloc(&address, 16));
	OK(cuCtxSetCurrent(NULL));
	CHECK_RESULT(cuMemAlloc(&address, 16), CUDA_ERROR_INVALID_CONTEXT);
}

static void contexts_follow_the_documented_life_cycle(void **state)
{
	(void)state;
	run_scenario(use_contexts, NULL);
}

static void reset_frees(void)
{
	CUcontext context = open_device(0);
	size_t free_before, free_after, total;
	CUstream stream;

	OK(cuMemGetInfo(&free_before, &total));
	for (int i = 0; i < 3000; i++)
		device_alloc(4096);
	OK(cuStreamCreate(&stream, 0));
	OK(cuDevicePrimaryCtxReset(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuMemGetInfo(&free_after, &total));
	CHECK(free_after == free_before && free_after == total);
	CHECK_RESULT(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
}

static void reset_of_the_primary_context_frees_everything(void **state)
{
	(void)state;
	run_scenario(reset_frees, NULL);
}

static void inject_faults(void)
{
	CUdeviceptr address = 3;
	CUstream stream;

	open_device(0);
	OK(cuMemAlloc(&address, 16));
	address = 3;
	CHECK_RESULT(cuMemAlloc(&address, 16), CUDA_ERROR_ECC_UNCORRECTABLE);
	CHECK(address == 3);
	OK(cuMemAlloc(&address, 16));
	CHECK_RESULT(cuStreamCreate(&stream, 0), CUDA_ERROR_LAUNCH_FAILED);
	OK(cuStreamCreate(&stream, 0));
}

static void injected_faults_hit_exactly_the_named_call(void **state)
{
	(void)state;
	run_scenario(inject_faults, "SIMCUDA_FAIL", "cuMemAlloc:2:214,cuStreamCreate:1:719", NULL);
}

static void fail_init(void)
{
	CHECK_RESULT(cuInit(0), CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
	OK(cuInit(0));
}

static void init_can_be_made_to_fail(void **state)
{
	(void)state;
	run_scenario(fail_init, "SIMCUDA_FAIL", "cuInit:1:803", NULL);
}

static void fork_after_init(void)
{
	int status;
	pid_t child;

	open_device(0);
	child = fork();
	if (child == 0) {
		CUdeviceptr address;

		CHECK_RESULT(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
		CHECK_RESULT(cuMemAlloc(&address, 16), CUDA_ERROR_NOT_INITIALIZED);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	device_alloc(16);
}

static void a_forked_child_has_no_driver(void **state)
{
	(void)state;
	run_scenario(fork_after_init, NULL);
}

static void name_errors(void)
{
	const char *text = NULL;

	OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
	CHECK(strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY") == 0);
	OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
	CHECK(strcmp(text, "out of memory") == 0);
	CHECK_RESULT(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
	CHECK(text == NULL);
	CHECK_RESULT(cuGetErrorName(CUDA_SUCCESS, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void errors_have_names_and_texts(void **state)
{
	(void)state;
	run_scenario(name_errors, NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_init_calls_fail_and_leave_outputs),
		cmocka_unit_test(lookup_gives_the_exported_symbol_of_each_version),
		cmocka_unit_test(lookup_of_missing_functions_succeeds_with_null),
		cmocka_unit_test(contexts_follow_the_documented_life_cycle),
		cmocka_unit_test(reset_of_the_primary_context_frees_everything),
		cmocka_unit_test(injected_faults_hit_exactly_the_named_call),
		cmocka_unit_test(init_can_be_made_to_fail),
		cmocka_unit_test(a_forked_child_has_no_driver),
		cmocka_unit_test(errors_have_names_and_texts),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
