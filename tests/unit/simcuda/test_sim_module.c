/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules, libraries, kernels and launches of the simulated driver.
 */
#include "sim_scenario.h"

#include "sim_cubin.h"

static struct cubin cubin;

static CUmodule load_cubin(void)
{
	CUmodule module;

	open_device(0);
	cubin_make(&cubin);
	OK(cuModuleLoadData(&module, &cubin));
	return module;
}

static CUfunction get_kernel(CUmodule module, const char *name)
{
	CUfunction function;

	OK(cuModuleGetFunction(&function, module, name));
	return function;
}

static void find_kernels(void)
{
	CUfunction function = NULL, again, all[2];
	CUmodule module = load_cubin();
	const char *name;
	unsigned count;
	int value;

	memset(&cubin, 0, sizeof(cubin)); /* the image may go once it is loaded */
	function = get_kernel(module, "first");
	OK(cuModuleGetFunction(&again, module, "first"));
	CHECK(again == function);
	CHECK_RESULT(cuModuleGetFunction(&again, module, "third"), CUDA_ERROR_NOT_FOUND);
	CHECK_RESULT(cuModuleGetFunction(&again, module, "helper"), CUDA_ERROR_NOT_FOUND);
	CHECK(again == function);
	OK(cuFuncGetName(&name, function));
	CHECK(strcmp(name, "first") == 0);
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
	CHECK(value == CUBIN_SHARED_BYTES);
	OK(cuModuleGetFunctionCount(&count, module));
	CHECK(count == 2);
	OK(cuModuleEnumerateFunctions(all, 2, module));
	CHECK(all[0] == function && all[1] != function);
	OK(cuModuleUnload(module));
	CHECK_RESULT(cuFuncGetName(&name, function), CUDA_ERROR_INVALID_HANDLE);
	CHECK_RESULT(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

static void kernels_are_found_by_the_names_in_the_cubin(void **state)
{
	(void)state;
	run_scenario(find_kernels, NULL);
}

static void find_variables(void)
{
	CUmodule module = load_cubin();
	CUdeviceptr address;
	size_t bytes, available, total;
	int value = 0;

	OK(cuModuleGetGlobal(&address, &bytes, module, "counter"));
	CHECK(bytes == sizeof(int));
	OK(cuMemcpyDtoH(&value, address, sizeof(value)));
	CHECK(value == 42);
	OK(cuMemGetInfo(&available, &total));
	CHECK(available == total);
	CHECK_RESULT(cuModuleGetGlobal(&address, &bytes, module, "nothing"), CUDA_ERROR_NOT_FOUND);
	CHECK_RESULT(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
	OK(cuModuleUnload(module));
	CHECK_RESULT(cuMemcpyDtoH(&value, address, sizeof(value)), CUDA_ERROR_INVALID_VALUE);
}

static void variables_have_their_initial_values(void **state)
{
	(void)state;
	run_scenario(find_variables, NULL);
}

static void use_library(void)
{
	CUcontext context;
	CUlibrary library, owner;
	CUfunction function;
	CUkernel kernel;
	CUmodule module;
	const char *name;
	CUdeviceptr address;
	size_t bytes;

	OK(cuInit(0));
	cubin_make(&cubin);
	OK(cuLibraryLoadData(&library, &cubin, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&kernel, library, "second"));
	CHECK_RESULT(cuLibraryGetKernel(&kernel, library, "third"), CUDA_ERROR_NOT_FOUND);
	OK(cuKernelGetName(&name, kernel));
	CHECK(strcmp(name, "second") == 0);
	OK(cuKernelGetLibrary(&owner, kernel));
	CHECK(owner == library);
	context = open_device(0);
	OK(cuKernelGetFunction(&function, kernel));
	OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	OK(cuLibraryGetModule(&module, library));
	OK(cuLibraryGetGlobal(&address, &bytes, library, "counter"));
	OK(cuDevicePrimaryCtxReset(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	OK(cuLibraryGetGlobal(&address, &bytes, library, "counter"));
	OK(cuLibraryUnload(library));
	CHECK_RESULT(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL),
		     CUDA_ERROR_INVALID_HANDLE);
}

static void library_kernels_work_in_every_context(void **state)
{
	(void)state;
	run_scenario(use_library, NULL);
}

static void load_odd_images(void)
{
	static const char ptx[] =
		".version 8.0\n.target sm_80\n.visible .entry saxpy(\n)\n{ ret; }\n";
	struct {
		uint32_t magic;
		uint16_t version, header_bytes;
		uint64_t bytes;
		char data[4096];
	} fatbin = {.magic = 0xba55ed50, .version = 1, .header_bytes = 16, .bytes = 4096};
	struct {
		int magic, version;
		const void *data;
		void *unused;
	} wrapper = {0x466243b1, 1, &fatbin, NULL};
	CUmodule module;

	open_device(0);
	CHECK_RESULT(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuModuleLoadData(&module, "no image at all"), CUDA_ERROR_INVALID_IMAGE);
	CHECK_RESULT(cuModuleLoad(&module, "/nonexistent/file"), CUDA_ERROR_FILE_NOT_FOUND);
	OK(cuModuleLoadData(&module, ptx));
	get_kernel(module, "saxpy");
	CHECK_RESULT(cuModuleGetFunction(&(CUfunction){NULL}, module, "sax"), CUDA_ERROR_NOT_FOUND);
	/* Compressed contents cannot be read, so any name is taken. */
	memset(fatbin.data, 0x5a, sizeof(fatbin.data));
	OK(cuModuleLoadFatBinary(&module, &wrapper));
	get_kernel(module, "anything");
	cubin_make(&cubin);
	memcpy(fatbin.data + 64, &cubin, sizeof(cubin));
	OK(cuModuleLoadData(&module, &wrapper));
	get_kernel(module, "second");
	CHECK_RESULT(cuModuleGetFunction(&(CUfunction){NULL}, module, "anything"),
		     CUDA_ERROR_NOT_FOUND);
	/* A cubin that lies about its tables is refused or empty, never followed. */
	cubin.header.e_shoff = 1ULL << 62;
	memcpy(fatbin.data + 64, &cubin, sizeof(cubin));
	OK(cuModuleLoadData(&module, &fatbin));
}

static void ptx_and_fat_binaries_are_read_where_possible(void **state)
{
	(void)state;
	run_scenario(load_odd_images, NULL);
}

static void refuse_launches(void)
{
	CUmodule module = load_cubin();
	CUfunction f = get_kernel(module, "first");
	CUlaunchConfig config = {.gridDimX = 2,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 64,
				 .blockDimY = 1,
				 .blockDimZ = 1};
	void *some[1] = {&config};

	OK(cuLaunchKernel(f, 7, 5, 3, 8, 8, 16, 1024, NULL, some, NULL));
	CHECK_RESULT(cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
		     CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuLaunchKernel(f, 1, 65536, 1, 1, 1, 1, 0, NULL, NULL, NULL),
		     CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuLaunchKernel(f, 1, 1, 1, 32, 33, 1, 0, NULL, NULL, NULL),
		     CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 65, 0, NULL, NULL, NULL),
		     CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, some, some),
		     CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuLaunchKernel(NULL, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL),
		     CUDA_ERROR_INVALID_HANDLE);
	CHECK_RESULT(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, (CUstream)&module, NULL, NULL),
		     CUDA_ERROR_INVALID_HANDLE);
	CHECK_RESULT(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 64 << 10, NULL, NULL, NULL),
		     CUDA_ERROR_INVALID_VALUE);
	OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 << 10));
	OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 64 << 10, NULL, NULL, NULL));
	OK(cuLaunchKernelEx(&config, f, NULL, NULL));
	CHECK_RESULT(cuLaunchKernelEx(NULL, f, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	OK(cuLaunchCooperativeKernel(f, 216, 1, 1, 1024, 1, 1, 0, NULL, NULL));
	CHECK_RESULT(cuLaunchCooperativeKernel(f, 217, 1, 1, 1024, 1, 1, 0, NULL, NULL),
		     CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

static void launches_outside_the_limits_are_refused(void **state)
{
	(void)state;
	run_scenario(refuse_launches, NULL);
}

static void ask_occupancy(void)
{
	CUfunction f = get_kernel(load_cubin(), "second");
	int blocks, grid, block;
	size_t shared;

	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 256, 0));
	CHECK(blocks == 8); /* 2048 threads, 32 registers each */
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 256, 47 << 10));
	CHECK(blocks == 3); /* 164 KiB of shared memory, one of them reserved per block */
	OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 0));
	CHECK(block == 1024 && grid == 2 * 108);
	OK(cuOccupancyAvailableDynamicSMemPerBlock(&shared, f, 4, 256));
	CHECK(shared == 40 << 10);
	CHECK_RESULT(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 0, 0),
		     CUDA_ERROR_INVALID_VALUE);
}

static void occupancy_follows_the_device(void **state)
{
	(void)state;
	run_scenario(ask_occupancy, NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_are_found_by_the_names_in_the_cubin),
		cmocka_unit_test(variables_have_their_initial_values),
		cmocka_unit_test(library_kernels_work_in_every_context),
		cmocka_unit_test(ptx_and_fat_binaries_are_read_where_possible),
		cmocka_unit_test(launches_outside_the_limits_are_refused),
		cmocka_unit_test(occupancy_follows_the_device),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
