/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuDeviceGetAttribute: the table's numbers and what follows from the compute capability.
 */
#include "sim_api.h"

/* What a compute capability fixes; the newest row that is not newer than the device applies. */
static const struct capability {
	int capability; /* 10 * major + minor */
	int threads_per_sm, blocks_per_sm, shared_per_sm_kib, shared_optin_kib;
} capabilities[] = {
	{30, 2048, 16, 48, 48},	  {50, 2048, 32, 64, 48},   {52, 2048, 32, 96, 48},
	{53, 2048, 32, 64, 48},	  {60, 2048, 32, 64, 48},   {61, 2048, 32, 96, 48},
	{70, 2048, 32, 96, 96},	  {75, 1024, 16, 64, 64},   {80, 2048, 32, 164, 163},
	{86, 1536, 16, 100, 99},  {87, 1536, 16, 164, 163}, {89, 1536, 24, 100, 99},
	{90, 2048, 32, 228, 227}, {120, 1536, 24, 100, 99},
};

static const struct capability *find_capability(const struct sim_gpu *gpu)
{
	const struct capability *found = &capabilities[0];
	int wanted = 10 * gpu->major + gpu->minor;

	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
		if (capabilities[i].capability <= wanted)
			found = &capabilities[i];
	}
	return found;
}

int sim_attribute_threads_per_sm(const struct sim_device *device)
{
	return find_capability(device->gpu)->threads_per_sm;
}

int sim_attribute_blocks_per_sm(const struct sim_device *device)
{
	return find_capability(device->gpu)->blocks_per_sm;
}

int sim_attribute_shared_optin_bytes(const struct sim_device *device)
{
	return find_capability(device->gpu)->shared_optin_kib << 10;
}

int sim_attribute_shared_per_sm_bytes(const struct sim_device *device)
{
	return find_capability(device->gpu)->shared_per_sm_kib << 10;
}

/* Numbers that are the same on every device. */
static const struct constant {
	CUdevice_attribute attribute;
	int value;
} constants[] = {
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, INT32_MAX},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
	{CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 << 10},
	{CU_DEVICE_ATTRIBUTE_WARP_SIZE, SIM_WARP},
	{CU_DEVICE_ATTRIBUTE_MAX_PITCH, INT32_MAX},
	{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
	{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
	{CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
	{CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
	{CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
	{CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
	{CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
	{CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
	{CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
	{CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120},
	{CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
	{CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
	{CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
	{CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
	{CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
	{CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
	{CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
	{CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 1},
	{CU_DEVICE_ATTRIBUTE_NUMA_ID, -1},
};

/* Numbers of the device; false when the attribute is none of them. */
static bool of_device(const struct sim_device *device, CUdevice_attribute attribute, int *value)
{
	const struct sim_gpu *gpu = device->gpu;

	switch (attribute) {
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
		*value = gpu->boost_mhz * 1000;
		return true;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*value = gpu->sm_count;
		return true;
	case CU_DEVICE_ATTRIBUTE_INTEGRATED:
		*value = gpu->pcie_width == 0;
		return true;
	case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
		*value = gpu->memory_gib >= 40;
		return true;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*value = (int)device->address.bus;
		return true;
	case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
		*value = (int)device->address.device;
		return true;
	case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
		*value = (int)device->address.domain;
		return true;
	case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID:
		*value = sim_state.machine ? sim_state.machine->gpus[device->physical].node : -1;
		return true;
	case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
		/* So that 2 * clock * bus width / 8 is the table's bandwidth. */
		*value = (int)(gpu->bandwidth_gbs * 1e6 / (2.0 * 5120 / 8));
		return true;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
		*value = (int)(gpu->l2_mib * 1048576.0);
		return true;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
		*value = sim_attribute_threads_per_sm(device);
		return true;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
		*value = sim_attribute_blocks_per_sm(device);
		return true;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*value = gpu->major;
		return true;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		*value = gpu->minor;
		return true;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
		*value = sim_attribute_shared_per_sm_bytes(device);
		return true;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
		*value = sim_attribute_shared_optin_bytes(device);
		return true;
	case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO:
		*value = gpu->minor == 0 && gpu->major < 10 ? 2 : 64;
		return true;
	case CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE:
		*value = gpu->major >= 8 ? (int)(gpu->l2_mib * 786432.0) : 0;
		return true;
	case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
		*value = gpu->major >= 9;
		return true;
	default:
		return false;
	}
}

CUresult sim_attribute_get(int *value, CUdevice_attribute attribute, CUdevice ordinal)
{
	const struct sim_device *device = sim_device_get(ordinal);
	int found = 0;

	if (!value || (unsigned)attribute - 1 >= CU_DEVICE_ATTRIBUTE_MAX - 1)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!of_device(device, attribute, &found)) {
		/* What neither table has is a feature that this device lacks. */
		for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
			if (constants[i].attribute == attribute)
				found = constants[i].value;
		}
	}
	*value = found;
	return CUDA_SUCCESS;
}

CUresult sim_attribute_capability(int *major, int *minor, CUdevice ordinal)
{
	const struct sim_device *device = sim_device_get(ordinal);

	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*major = device->gpu->major;
	*minor = device->gpu->minor;
	return CUDA_SUCCESS;
}
