/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked about kernels: names, attributes, where they come from, occupancy. Registers per
 * thread are a model constant, shared memory comes from the cubin.
 */
#include "sim_api.h"

#include <string.h>

enum { REGISTERS_PER_SM = 65536, REGISTER_UNIT = 256, SHARED_UNIT = 128, SHARED_RESERVED = 1024 };

CUresult sim_function_name(const char **name, CUfunction handle)
{
	const struct sim_function *function = sim_module_function(handle);

	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	*name = function->name;
	return CUDA_SUCCESS;
}

CUresult sim_function_module(CUmodule *module, CUfunction handle)
{
	const struct sim_function *function = sim_module_function(handle);

	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	if (!function || !function->module)
		return CUDA_ERROR_INVALID_HANDLE;
	*module = (CUmodule)function->module;
	return CUDA_SUCCESS;
}

CUresult sim_function_of_kernel(CUfunction *function, CUkernel kernel)
{
	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_module_function((CUfunction)kernel))
		return CUDA_ERROR_INVALID_HANDLE;
	*function = (CUfunction)kernel;
	return CUDA_SUCCESS;
}

CUresult sim_function_is_loaded(CUfunctionLoadingState *state, CUfunction handle)
{
	if (!sim_module_function(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	if (state)
		*state = CU_FUNCTION_LOADING_STATE_LOADED;
	return CUDA_SUCCESS;
}

CUresult sim_function_attribute(int *value, CUfunction_attribute attribute, CUfunction handle,
				const struct sim_device *device)
{
	const struct sim_function *function = sim_module_function(handle);
	int capability;

	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	capability = 10 * device->gpu->major + device->gpu->minor;
	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*value = 1024;
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*value = function->static_shared_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*value = function->registers;
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*value = capability;
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*value = function->dynamic_shared_bytes_max;
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*value = function->carveout;
		break;
	default:
		if ((unsigned)attribute >= CU_FUNC_ATTRIBUTE_MAX)
			return CUDA_ERROR_INVALID_VALUE;
		*value = 0;
		break;
	}
	return CUDA_SUCCESS;
}

CUresult sim_function_set_attribute(CUfunction handle, CUfunction_attribute attribute, int value,
				    const struct sim_device *device)
{
	struct sim_function *function = sim_module_function(handle);

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
		if (value < 0 || value + function->static_shared_bytes >
					 sim_attribute_shared_optin_bytes(device))
			return CUDA_ERROR_INVALID_VALUE;
		function->dynamic_shared_bytes_max = value;
		return CUDA_SUCCESS;
	}
	if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
		if (value < -1 || value > 100)
			return CUDA_ERROR_INVALID_VALUE;
		function->carveout = value;
		return CUDA_SUCCESS;
	}
	/* Cluster attributes are settable and change nothing here; the rest is read-only. */
	return attribute > CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT &&
			       attribute < CU_FUNC_ATTRIBUTE_MAX
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_function_cache_config(CUfunction handle, CUfunc_cache config)
{
	if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_module_function(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static int round_up(int value, int unit)
{
	return (value + unit - 1) / unit * unit;
}

int sim_function_blocks_per_sm(const struct sim_device *device, const struct sim_function *function,
			       int threads, size_t dynamic_shared_bytes)
{
	int warps = (threads + SIM_WARP - 1) / SIM_WARP;
	int by_registers = REGISTERS_PER_SM /
			   (round_up(function->registers * SIM_WARP, REGISTER_UNIT) * warps);
	int by_threads = sim_attribute_threads_per_sm(device) / (warps * SIM_WARP);
	size_t shared = (size_t)function->static_shared_bytes + dynamic_shared_bytes;
	int blocks = sim_attribute_blocks_per_sm(device);

	if (by_registers < blocks)
		blocks = by_registers;
	if (by_threads < blocks)
		blocks = by_threads;
	if (shared > 0) {
		size_t each =
			(shared + SHARED_RESERVED + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT;
		size_t by_shared = (size_t)sim_attribute_shared_per_sm_bytes(device) / each;

		if (by_shared < (size_t)blocks)
			blocks = (int)by_shared;
	}
	return blocks;
}

CUresult sim_function_active_blocks(struct sim_call *call, int *blocks, CUfunction handle,
				    int block_size, size_t dynamic_shared_bytes)
{
	const struct sim_function *function = sim_module_function(handle);

	if (!blocks || block_size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	*blocks = block_size > 1024 ? 0
				    : sim_function_blocks_per_sm(call->context->device, function,
								 block_size, dynamic_shared_bytes);
	return CUDA_SUCCESS;
}

/* The largest block with the most resident threads, and the grid that fills the device with it. */
CUresult sim_function_potential_block(struct sim_call *call, int *grid, int *block,
				      CUfunction handle, CUoccupancyB2DSize shared_of_block,
				      size_t dynamic_shared_bytes, int limit)
{
	const struct sim_function *function = sim_module_function(handle);
	const struct sim_device *device = call->context->device;
	int best_threads = 0;

	if (!grid || !block)
		return CUDA_ERROR_INVALID_VALUE;
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (limit <= 0 || limit > 1024)
		limit = 1024;
	for (int size = limit; size > 0; size = (size - 1) / SIM_WARP * SIM_WARP) {
		size_t shared = shared_of_block ? shared_of_block(size) : dynamic_shared_bytes;
		int blocks = sim_function_blocks_per_sm(device, function, size, shared);

		if (blocks * size > best_threads) {
			best_threads = blocks * size;
			*block = size;
			*grid = blocks * device->gpu->sm_count;
		}
	}
	return best_threads > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_function_available_shared(struct sim_call *call, size_t *bytes, CUfunction handle,
				       int blocks, int block_size)
{
	const struct sim_function *function = sim_module_function(handle);
	int each;

	if (!bytes || blocks <= 0 || block_size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (blocks > sim_function_blocks_per_sm(call->context->device, function, block_size, 0))
		return CUDA_ERROR_INVALID_VALUE;
	each = sim_attribute_shared_per_sm_bytes(call->context->device) / blocks / SHARED_UNIT *
		       SHARED_UNIT -
	       SHARED_RESERVED - function->static_shared_bytes;
	if (each > function->dynamic_shared_bytes_max)
		each = function->dynamic_shared_bytes_max;
	*bytes = each > 0 ? (size_t)each : 0;
	return CUDA_SUCCESS;
}
