/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches, attributes of kernels and occupancy. A kernel goes to the driver as the CUkernel that
 * the library gave, cast to CUfunction: cuLaunchKernel accepts both since CUDA 12.
 */
#include "simrt_internal.h"

#include <string.h>

/* What the driver calls an invalid value is, for a launch's sizes, an error of its own. */
static cudaError_t check_sizes(dim3 grid, dim3 block)
{
	if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z)
		return cudaErrorInvalidConfiguration;
	if (block.x > 1024 || block.y > 1024 || block.z > 64 || grid.y > 65535 || grid.z > 65535 ||
	    grid.x > 0x7fffffff || (size_t)block.x * block.y * block.z > 1024)
		return cudaErrorInvalidConfiguration;
	return cudaSuccess;
}

static cudaError_t launch(const struct simrt_flavour *via, const struct simrt_call *call,
			  cudaError_t status, CUkernel kernel, const struct simrt_config *config,
			  void **arguments, bool is_cooperative)
{
	dim3 grid = config->grid, block = config->block;

	if (status == cudaSuccess)
		status = check_sizes(grid, block);
	if (status == cudaSuccess && config->shared_bytes > UINT32_MAX)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess && is_cooperative)
		status = simrt_from_driver(via->LaunchCooperativeKernel(
			(CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
			(unsigned)config->shared_bytes, config->stream, arguments));
	else if (status == cudaSuccess)
		status = simrt_from_driver(via->LaunchKernel(
			(CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
			(unsigned)config->shared_bytes, config->stream, arguments, NULL));
	return simrt_end(call, status,
			 "name=%s\tgrid=%u,%u,%u\tblock=%u,%u,%u\tshared=%zu\tstream=0x%llx",
			 simrt_registry_kernel_name(kernel), grid.x, grid.y, grid.z, block.x,
			 block.y, block.z, config->shared_bytes, simrt_address(config->stream));
}

cudaError_t simrt_cudaLaunchKernel(const struct simrt_flavour *via, const char *function,
				   const void *host_function, dim3 grid, dim3 block,
				   void **arguments, size_t shared_bytes, cudaStream_t stream)
{
	const struct simrt_config config = {grid, block, shared_bytes, stream};
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	CUkernel kernel = NULL;

	if (status == cudaSuccess)
		status = simrt_registry_kernel(host_function, &kernel);
	return launch(via, &call, status, kernel, &config, arguments, false);
}

cudaError_t simrt_cudaLaunchCooperativeKernel(const struct simrt_flavour *via, const char *function,
					      const void *host_function, dim3 grid, dim3 block,
					      void **arguments, size_t shared_bytes,
					      cudaStream_t stream)
{
	const struct simrt_config config = {grid, block, shared_bytes, stream};
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	CUkernel kernel = NULL;

	if (status == cudaSuccess)
		status = simrt_registry_kernel(host_function, &kernel);
	return launch(via, &call, status, kernel, &config, arguments, true);
}

/* The stub of a CUDA 13 program passes the handle that __cudaGetKernel gave; NULL when that failed.
 */
cudaError_t simrt___cudaLaunchKernel(const struct simrt_flavour *via, const char *function,
				     cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
				     size_t shared_bytes, cudaStream_t stream)
{
	const struct simrt_config config = {grid, block, shared_bytes, stream};
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);

	if (status == cudaSuccess && !kernel)
		status = cudaErrorInvalidDeviceFunction;
	return launch(via, &call, status, (CUkernel)kernel, &config, arguments, false);
}

/* cudaLaunchAttribute and CUlaunchAttribute have one layout and the same ids, so the attributes
 * pass as they are. */
_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "one layout");
_Static_assert(offsetof(cudaLaunchAttribute, val) == offsetof(CUlaunchAttribute, value),
	       "one layout");

cudaError_t simrt_cudaLaunchKernelExC(const struct simrt_flavour *via, const char *function,
				      const cudaLaunchConfig_t *config, const void *host_function,
				      void **arguments)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	CUlaunchConfig driver_config = {0};
	CUkernel kernel = NULL;

	if (status == cudaSuccess && (!config || config->dynamicSmemBytes > UINT32_MAX))
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = check_sizes(config->gridDim, config->blockDim);
	if (status == cudaSuccess)
		status = simrt_registry_kernel(host_function, &kernel);
	if (status != cudaSuccess)
		return simrt_end(&call, status, "name=?");
	driver_config = (CUlaunchConfig){
		.gridDimX = config->gridDim.x,
		.gridDimY = config->gridDim.y,
		.gridDimZ = config->gridDim.z,
		.blockDimX = config->blockDim.x,
		.blockDimY = config->blockDim.y,
		.blockDimZ = config->blockDim.z,
		.sharedMemBytes = (unsigned)config->dynamicSmemBytes,
		.hStream = config->stream,
		.attrs = (CUlaunchAttribute *)(void *)config->attrs,
		.numAttrs = config->numAttrs,
	};
	status = simrt_from_driver(
		via->LaunchKernelEx(&driver_config, (CUfunction)kernel, arguments, NULL));
	return simrt_end(
		&call, status, "name=%s\tgrid=%u,%u,%u\tblock=%u,%u,%u\tshared=%zu\tstream=0x%llx",
		simrt_registry_kernel_name(kernel), config->gridDim.x, config->gridDim.y,
		config->gridDim.z, config->blockDim.x, config->blockDim.y, config->blockDim.z,
		config->dynamicSmemBytes, simrt_address(config->stream));
}

/* The CUfunction of a registered kernel in the current context. */
static cudaError_t find_function(const void *host_function, CUfunction *function)
{
	CUkernel kernel = NULL;
	cudaError_t status = simrt_registry_kernel(host_function, &kernel);

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.KernelGetFunction(function, kernel));
	return status;
}

/* Every field that the driver tells; one that it does not know stays 0. */
static void read_attributes(struct cudaFuncAttributes *attributes, CUfunction function)
{
	const struct {
		int attribute;
		int *number;
		size_t *size;
	} fields[] = {
		{CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, NULL, &attributes->sharedSizeBytes},
		{CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, NULL, &attributes->constSizeBytes},
		{CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, NULL, &attributes->localSizeBytes},
		{CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &attributes->maxThreadsPerBlock, NULL},
		{CU_FUNC_ATTRIBUTE_NUM_REGS, &attributes->numRegs, NULL},
		{CU_FUNC_ATTRIBUTE_PTX_VERSION, &attributes->ptxVersion, NULL},
		{CU_FUNC_ATTRIBUTE_BINARY_VERSION, &attributes->binaryVersion, NULL},
		{CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &attributes->cacheModeCA, NULL},
		{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
		 &attributes->maxDynamicSharedSizeBytes, NULL},
		{CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
		 &attributes->preferredShmemCarveout, NULL},
	};

	memset(attributes, 0, sizeof(*attributes));
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		int value = 0;

		if (simrt_driver.FuncGetAttribute(&value, (CUfunction_attribute)fields[i].attribute,
						  function) != CUDA_SUCCESS)
			continue;
		if (fields[i].number)
			*fields[i].number = value;
		else
			*fields[i].size = value > 0 ? (size_t)value : 0;
	}
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *host_function)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUfunction function = NULL;

	if (status == cudaSuccess && !attributes)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = find_function(host_function, &function);
	if (status == cudaSuccess)
		read_attributes(attributes, function);
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaFuncSetAttribute(const void *host_function, enum cudaFuncAttribute attribute,
				 int value)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUfunction function = NULL;

	if (status == cudaSuccess)
		status = find_function(host_function, &function);
	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.FuncSetAttribute(
			function, (CUfunction_attribute)attribute, value));
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks,
								   const void *host_function,
								   int block_size,
								   size_t dynamic_shared_bytes,
								   unsigned flags)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUfunction function = NULL;

	if (status == cudaSuccess && !blocks)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = find_function(host_function, &function);
	if (status == cudaSuccess)
		status = simrt_from_driver(
			simrt_driver.OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
				blocks, function, block_size, dynamic_shared_bytes, flags));
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host_function,
							  int block_size,
							  size_t dynamic_shared_bytes)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
		blocks, host_function, block_size, dynamic_shared_bytes, cudaOccupancyDefault);
}

cudaError_t cudaGetKernel(cudaKernel_t *handle, const void *host_function)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUkernel kernel = NULL;

	if (status == cudaSuccess && !handle)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = simrt_registry_kernel(host_function, &kernel);
	if (status == cudaSuccess)
		*handle = (cudaKernel_t)kernel;
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *host_function)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUfunction found = NULL;

	if (status == cudaSuccess && !function)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = find_function(host_function, &found);
	if (status == cudaSuccess)
		*function = found;
	return simrt_end(&call, status, NULL);
}
