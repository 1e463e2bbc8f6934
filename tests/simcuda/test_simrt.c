/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated runtime's semantics: last errors, sticky errors, arguments, directions, what a
 * missing driver means. Each case runs in a process of its own.
 */
#include "simtest_child.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <cuda_runtime_api.h>

static void check_last_error(void)
{
	void *address = (void *)1;

	SIMTEST_EQUAL(cudaMalloc(&address, (size_t)1 << 60), cudaErrorMemoryAllocation);
	SIMTEST_CHECK(address == (void *)1); /* errors leave out-parameters alone */
	SIMTEST_EQUAL(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
	SIMTEST_EQUAL(cudaMalloc(&address, 4096), cudaSuccess);
	SIMTEST_EQUAL(cudaGetLastError(), cudaErrorMemoryAllocation);
	SIMTEST_EQUAL(cudaGetLastError(), cudaSuccess);
	SIMTEST_EQUAL(cudaFree(address), cudaSuccess);
}

static void last_error_is_returned_once_and_kept_by_success(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_last_error, NULL), 0);
}

static void *read_last_error(void *argument)
{
	*(cudaError_t *)argument = cudaGetLastError();
	return NULL;
}

static void check_error_of_other_thread(void)
{
	cudaError_t seen = cudaErrorUnknown;
	pthread_t thread;

	SIMTEST_EQUAL(cudaSetDevice(99), cudaErrorInvalidDevice);
	SIMTEST_EQUAL(pthread_create(&thread, NULL, read_last_error, &seen), 0);
	pthread_join(thread, NULL);
	SIMTEST_EQUAL(seen, cudaSuccess);
	SIMTEST_EQUAL(cudaGetLastError(), cudaErrorInvalidDevice);
}

static void last_error_belongs_to_its_thread(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_error_of_other_thread, NULL), 0);
}

static void check_sticky(void)
{
	void *address = NULL;
	char byte = 0;

	SIMTEST_EQUAL(cudaMalloc(&address, 4096), cudaSuccess);
	SIMTEST_EQUAL(cudaMemcpy(address, &byte, 1, cudaMemcpyHostToDevice),
		      cudaErrorIllegalAddress);
	SIMTEST_EQUAL(cudaGetLastError(), cudaErrorIllegalAddress);
	SIMTEST_EQUAL(cudaGetLastError(), cudaErrorIllegalAddress);
	SIMTEST_EQUAL(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	SIMTEST_EQUAL(cudaMalloc(&address, 4096), cudaErrorIllegalAddress);
}

static void sticky_error_stays_until_the_process_ends(void **state)
{
	const char *const settings[] = {"SIMCUDA_FAIL=cuMemcpyHtoD:1:700", NULL};

	(void)state;
	assert_int_equal(simtest_child_run(check_sticky, settings), 0);
}

static void check_arguments(void)
{
	char bytes[16] = {0};
	void *address = NULL;
	cudaStream_t stream = NULL;

	SIMTEST_EQUAL(cudaMalloc(NULL, 16), cudaErrorInvalidValue);
	SIMTEST_EQUAL(cudaMalloc(&address, 0), cudaSuccess);
	SIMTEST_CHECK(address == NULL);
	SIMTEST_EQUAL(cudaFree(NULL), cudaSuccess);
	SIMTEST_EQUAL(cudaMemcpy(bytes, bytes + 8, 8, (enum cudaMemcpyKind)9),
		      cudaErrorInvalidMemcpyDirection);
	SIMTEST_EQUAL(cudaMemcpy(NULL, bytes, 8, cudaMemcpyHostToHost), cudaErrorInvalidValue);
	SIMTEST_EQUAL(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice), cudaSuccess);
	SIMTEST_EQUAL(cudaMemcpyToSymbol(bytes, bytes, 8, 0, cudaMemcpyHostToDevice),
		      cudaErrorInvalidSymbol);
	SIMTEST_EQUAL(cudaMemcpyToSymbol(bytes, bytes, 8, 0, cudaMemcpyDeviceToHost),
		      cudaErrorInvalidMemcpyDirection);
	SIMTEST_EQUAL(cudaStreamDestroy(NULL), cudaErrorInvalidResourceHandle);
	SIMTEST_EQUAL(cudaStreamCreate(NULL), cudaErrorInvalidValue);
	SIMTEST_EQUAL(cudaStreamCreate(&stream), cudaSuccess);
	SIMTEST_EQUAL(cudaStreamDestroy(stream), cudaSuccess);
	SIMTEST_EQUAL(cudaGetDeviceCount(NULL), cudaErrorInvalidValue);
	SIMTEST_EQUAL(cudaFree(bytes), cudaErrorInvalidValue);
}

static void bad_arguments_give_the_real_codes(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_arguments, NULL), 0);
}

static void check_pointers(void)
{
	struct cudaPointerAttributes attributes;
	void *device = NULL, *host = NULL, *managed = NULL;
	char plain[64];

	SIMTEST_EQUAL(cudaMalloc(&device, 4096), cudaSuccess);
	SIMTEST_EQUAL(cudaMallocHost(&host, 4096), cudaSuccess);
	SIMTEST_EQUAL(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal), cudaSuccess);
	SIMTEST_EQUAL(cudaPointerGetAttributes(&attributes, (char *)device + 100), cudaSuccess);
	SIMTEST_EQUAL(attributes.type, cudaMemoryTypeDevice);
	SIMTEST_EQUAL(attributes.device, 0);
	SIMTEST_CHECK(attributes.devicePointer == (char *)device + 100);
	SIMTEST_EQUAL(cudaPointerGetAttributes(&attributes, host), cudaSuccess);
	SIMTEST_EQUAL(attributes.type, cudaMemoryTypeHost);
	SIMTEST_CHECK(attributes.hostPointer == host);
	SIMTEST_EQUAL(cudaPointerGetAttributes(&attributes, managed), cudaSuccess);
	SIMTEST_EQUAL(attributes.type, cudaMemoryTypeManaged);
	SIMTEST_EQUAL(cudaPointerGetAttributes(&attributes, plain), cudaSuccess);
	SIMTEST_EQUAL(attributes.type, cudaMemoryTypeUnregistered);
	SIMTEST_EQUAL(cudaHostRegister(plain, sizeof(plain), 0), cudaSuccess);
	SIMTEST_EQUAL(cudaPointerGetAttributes(&attributes, plain), cudaSuccess);
	SIMTEST_EQUAL(attributes.type, cudaMemoryTypeHost);
	SIMTEST_EQUAL(cudaHostUnregister(plain), cudaSuccess);
	SIMTEST_EQUAL(cudaGetLastError(), cudaSuccess);
}

static void pointers_tell_their_kind_of_memory(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_pointers, NULL), 0);
}

static void check_devices(void)
{
	struct cudaDeviceProp properties;
	int count = 0, device = -1, value = 0, version = 0;

	SIMTEST_EQUAL(cudaGetDeviceCount(&count), cudaSuccess);
	SIMTEST_EQUAL(count, 3);
	SIMTEST_EQUAL(cudaSetDevice(2), cudaSuccess);
	SIMTEST_EQUAL(cudaGetDevice(&device), cudaSuccess);
	SIMTEST_EQUAL(device, 2);
	SIMTEST_EQUAL(cudaSetDevice(3), cudaErrorInvalidDevice);
	SIMTEST_EQUAL(cudaGetDevice(&device), cudaSuccess);
	SIMTEST_EQUAL(device, 2);
	SIMTEST_EQUAL(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
	SIMTEST_CHECK(strstr(properties.name, "H100") != NULL);
	SIMTEST_EQUAL(properties.major, 9);
	SIMTEST_EQUAL(properties.multiProcessorCount, 132);
	SIMTEST_EQUAL(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 1),
		      cudaSuccess);
	SIMTEST_EQUAL(value, 132);
	SIMTEST_EQUAL(cudaDriverGetVersion(&version), cudaSuccess);
	SIMTEST_CHECK(version >= 12000);
	SIMTEST_EQUAL(cudaRuntimeGetVersion(&version), cudaSuccess);
	SIMTEST_EQUAL(version, CUDART_VERSION);
	SIMTEST_EQUAL(cudaDeviceReset(), cudaSuccess);
	SIMTEST_EQUAL(cudaFree(NULL), cudaSuccess);
}

static void devices_are_those_of_the_driver(void **state)
{
	const char *const settings[] = {"SIMCUDA_GPU=h100-sxm", "SIMCUDA_GPUS=3", NULL};

	(void)state;
	assert_int_equal(simtest_child_run(check_devices, settings), 0);
}

static void check_entry_points(void)
{
	enum cudaDriverEntryPointQueryResult found;
	void *plain = NULL, *versioned = NULL, *per_thread = NULL, *none = (void *)1;
	void *library;

	SIMTEST_EQUAL(cudaGetDriverEntryPointByVersion("cuMemAlloc", &plain, 12000,
						       cudaEnableDefault, &found),
		      cudaSuccess);
	SIMTEST_EQUAL(found, cudaDriverEntryPointSuccess);
	library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	SIMTEST_CHECK(library && plain == dlsym(library, "cuMemAlloc_v2"));
	SIMTEST_EQUAL(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &versioned, 12000,
						       cudaEnableLegacyStream, &found),
		      cudaSuccess);
	SIMTEST_EQUAL(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &per_thread, 12000,
						       cudaEnablePerThreadDefaultStream, &found),
		      cudaSuccess);
	SIMTEST_CHECK(versioned == dlsym(library, "cuLaunchKernel"));
	SIMTEST_CHECK(per_thread == dlsym(library, "cuLaunchKernel_ptsz"));
	SIMTEST_EQUAL(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &none, 12000,
						       cudaEnableDefault, &found),
		      cudaSuccess);
	SIMTEST_EQUAL(found, cudaDriverEntryPointSymbolNotFound);
	SIMTEST_CHECK(none == NULL);
}

static void driver_entry_points_are_the_exported_symbols(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_entry_points, NULL), 0);
}

static void check_oom(void)
{
	void *first = NULL, *second = NULL;

	SIMTEST_EQUAL(cudaMalloc(&first, 3 << 20), cudaSuccess);
	SIMTEST_EQUAL(cudaMalloc(&second, 3 << 20), cudaErrorMemoryAllocation);
	SIMTEST_EQUAL(cudaFree(first), cudaSuccess);
	SIMTEST_EQUAL(cudaMalloc(&second, 3 << 20), cudaSuccess);
}

static void allocation_fails_at_the_limit_and_recovers(void **state)
{
	const char *const settings[] = {"SIMCUDA_OOM_AT=4194304", NULL};
	struct simtest_log *log;

	(void)state;
	assert_int_equal(simtest_child_run(check_oom, settings), 0);
	log = simtest_log_read();
	assert_string_equal(simtest_log_field(simtest_log_find(log, "rt", "cudaMalloc", 1), 4),
			    "2");
	assert_string_equal(
		simtest_log_value(simtest_log_find(log, "rt", "cudaMalloc", 1), "bytes"),
		"3145728");
	simtest_log_free(log);
}

static void check_names(void)
{
	SIMTEST_CHECK(
		!strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation"));
	SIMTEST_CHECK(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
	SIMTEST_CHECK(!strcmp(cudaGetErrorString(cudaSuccess), "no error"));
	SIMTEST_CHECK(!strcmp(cudaGetErrorName((cudaError_t)123456), "unrecognized error code"));
}

static void errors_have_names_and_sentences(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(check_names, NULL), 0);
}

static void check_streams(void)
{
	cudaStream_t stream = NULL;
	cudaEvent_t early = NULL, late = NULL;
	void *device = NULL, *host = NULL;
	float milliseconds = 0;

	SIMTEST_EQUAL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
	SIMTEST_EQUAL(cudaEventCreate(&early), cudaSuccess);
	SIMTEST_EQUAL(cudaEventCreate(&late), cudaSuccess);
	SIMTEST_EQUAL(cudaMalloc(&device, 256 << 20), cudaSuccess);
	SIMTEST_EQUAL(cudaMallocHost(&host, 256 << 20), cudaSuccess);
	SIMTEST_EQUAL(cudaEventRecord(early, stream), cudaSuccess);
	SIMTEST_EQUAL(cudaMemcpyAsync(device, host, 256 << 20, cudaMemcpyHostToDevice, stream),
		      cudaSuccess);
	SIMTEST_EQUAL(cudaEventRecord(late, stream), cudaSuccess);
	SIMTEST_EQUAL(cudaStreamQuery(stream), cudaErrorNotReady);
	SIMTEST_EQUAL(cudaGetLastError(), cudaErrorNotReady); /* as the real one leaves it */
	SIMTEST_EQUAL(cudaEventElapsedTime(&milliseconds, early, late), cudaErrorNotReady);
	SIMTEST_EQUAL(cudaEventSynchronize(late), cudaSuccess);
	SIMTEST_EQUAL(cudaStreamQuery(stream), cudaSuccess);
	SIMTEST_EQUAL(cudaEventElapsedTime(&milliseconds, early, late), cudaSuccess);
	/* 256 MiB at the 25 GB/s or so of a fourth-generation link. */
	SIMTEST_CHECK(milliseconds > 8 && milliseconds < 14);
	SIMTEST_EQUAL(cudaStreamDestroy(stream), cudaSuccess);
	SIMTEST_EQUAL(cudaEventDestroy(early), cudaSuccess);
	SIMTEST_EQUAL(cudaEventDestroy(late), cudaSuccess);
}

static void stream_is_not_ready_before_its_copy_is_over(void **state)
{
	const char *const settings[] = {"SIMCUDA_TIME_SCALE=1", NULL};

	(void)state;
	assert_int_equal(simtest_child_run(check_streams, settings), 0);
}

/* Runs in a process of its own without LD_LIBRARY_PATH: a copy of the library with nothing beside
 * it finds no driver. */
static int check_missing_driver(const char *folder)
{
	char command[512];
	void *library;
	cudaError_t (*count_devices)(int *);
	cudaError_t (*get_version)(int *);
	int value = 5;

	snprintf(command, sizeof(command), "cp -L '%s/libcudart.so.13' '%s'", SIMTEST_LIBRARIES,
		 folder);
	SIMTEST_EQUAL(system(command), 0);
	snprintf(command, sizeof(command), "%s/libcudart.so.13", folder);
	library = dlopen(command, RTLD_NOW | RTLD_LOCAL);
	SIMTEST_CHECK(library != NULL);
	*(void **)&count_devices = dlsym(library, "cudaGetDeviceCount");
	*(void **)&get_version = dlsym(library, "cudaDriverGetVersion");
	SIMTEST_CHECK(count_devices && get_version);
	SIMTEST_EQUAL(count_devices(&value), cudaErrorInsufficientDriver);
	SIMTEST_EQUAL(value, 0);
	SIMTEST_EQUAL(get_version(&value), cudaSuccess);
	SIMTEST_EQUAL(value, 0);
	return 0;
}

static void missing_driver_is_an_insufficient_one(void **state)
{
	char folder[] = "/tmp/simtest-alone-XXXXXX", self[1024] = "", command[2048];

	(void)state;
	if (system("/sbin/ldconfig -p | grep -q 'libcuda[.]so[.]1'") == 0) {
		print_message("This machine has a driver, so that none cannot be shown.\n");
		skip();
	}
	assert_non_null(mkdtemp(folder));
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(command, sizeof(command),
		 "env -u LD_LIBRARY_PATH '%s' --without-driver '%s'; result=$?; rm -r '%s'; "
		 "exit $result",
		 self, folder, folder);
	assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(last_error_is_returned_once_and_kept_by_success),
		cmocka_unit_test(last_error_belongs_to_its_thread),
		cmocka_unit_test(sticky_error_stays_until_the_process_ends),
		cmocka_unit_test(bad_arguments_give_the_real_codes),
		cmocka_unit_test(pointers_tell_their_kind_of_memory),
		cmocka_unit_test(devices_are_those_of_the_driver),
		cmocka_unit_test(driver_entry_points_are_the_exported_symbols),
		cmocka_unit_test(allocation_fails_at_the_limit_and_recovers),
		cmocka_unit_test(errors_have_names_and_sentences),
		cmocka_unit_test(stream_is_not_ready_before_its_copy_is_over),
		cmocka_unit_test(missing_driver_is_an_insufficient_one),
	};

	if (argc > 2 && !strcmp(argv[1], "--without-driver"))
		return check_missing_driver(argv[2]);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
