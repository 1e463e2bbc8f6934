/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices, versions, driver entry points and profiler marks of the simulated runtime.
 */
#include "simrt_internal.h"

#include <string.h>

static cudaError_t check_device(int device)
{
	int count = 0;
	cudaError_t status = simrt_device_count(&count);

	if (status == cudaSuccess && (device < 0 || device >= count))
		status = cudaErrorInvalidDevice;
	return status;
}

cudaError_t cudaGetDeviceCount(int *count)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_INIT);

	if (count)
		*count = 0;
	else
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = simrt_device_count(count);
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaGetDevice(int *device)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_INIT);

	if (status == cudaSuccess && !device)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		*device = simrt_thread.device;
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaSetDevice(int device)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_INIT);

	if (status == cudaSuccess)
		status = simrt_context_select(device);
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaDeviceSynchronize(void)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.CtxSynchronize());
	return simrt_end(&call, status, "device=%d", simrt_thread.device);
}

cudaError_t cudaDeviceReset(void)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_INIT);

	if (status == cudaSuccess)
		status = simrt_context_reset();
	return simrt_end(&call, status, "device=%d", simrt_thread.device);
}

/* cudaDeviceAttr has the numbers of CUdevice_attribute. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_INIT);
	CUdevice handle = 0;

	if (status == cudaSuccess && !value)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = check_device(device);
	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.DeviceGet(&handle, device));
	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.DeviceGetAttribute(
			value, (CUdevice_attribute)attribute, handle));
	return simrt_end(&call, status, NULL);
}

/* One row per field that the driver can tell; what it does not know stays 0. */
#define PROPERTIES(INT, SIZE)                                                                      \
	SIZE(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK)                                       \
	INT(regsPerBlock, MAX_REGISTERS_PER_BLOCK)                                                 \
	INT(warpSize, WARP_SIZE)                                                                   \
	SIZE(memPitch, MAX_PITCH)                                                                  \
	INT(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK)                                             \
	INT(maxThreadsDim[0], MAX_BLOCK_DIM_X)                                                     \
	INT(maxThreadsDim[1], MAX_BLOCK_DIM_Y)                                                     \
	INT(maxThreadsDim[2], MAX_BLOCK_DIM_Z)                                                     \
	INT(maxGridSize[0], MAX_GRID_DIM_X)                                                        \
	INT(maxGridSize[1], MAX_GRID_DIM_Y)                                                        \
	INT(maxGridSize[2], MAX_GRID_DIM_Z)                                                        \
	SIZE(totalConstMem, TOTAL_CONSTANT_MEMORY)                                                 \
	INT(major, COMPUTE_CAPABILITY_MAJOR)                                                       \
	INT(minor, COMPUTE_CAPABILITY_MINOR)                                                       \
	INT(multiProcessorCount, MULTIPROCESSOR_COUNT)                                             \
	INT(integrated, INTEGRATED)                                                                \
	INT(canMapHostMemory, CAN_MAP_HOST_MEMORY)                                                 \
	INT(concurrentKernels, CONCURRENT_KERNELS)                                                 \
	INT(ECCEnabled, ECC_ENABLED)                                                               \
	INT(pciBusID, PCI_BUS_ID)                                                                  \
	INT(pciDeviceID, PCI_DEVICE_ID)                                                            \
	INT(pciDomainID, PCI_DOMAIN_ID)                                                            \
	INT(asyncEngineCount, ASYNC_ENGINE_COUNT)                                                  \
	INT(unifiedAddressing, UNIFIED_ADDRESSING)                                                 \
	INT(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH)                                               \
	INT(l2CacheSize, L2_CACHE_SIZE)                                                            \
	INT(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR)                           \
	INT(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED)                                \
	SIZE(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)                     \
	INT(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR)                               \
	INT(managedMemory, MANAGED_MEMORY)                                                         \
	INT(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS)                                          \
	INT(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS)                                    \
	INT(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED)                              \
	INT(cooperativeLaunch, COOPERATIVE_LAUNCH)                                                 \
	SIZE(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)                            \
	INT(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR)                             \
	INT(hostRegisterSupported, HOST_REGISTER_SUPPORTED)                                        \
	INT(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED)                                          \
	INT(clusterLaunch, CLUSTER_LAUNCH)                                                         \
	INT(hostNumaId, HOST_NUMA_ID)

static int attribute(CUdevice device, CUdevice_attribute which)
{
	int value = 0;

	return simrt_driver.DeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

static cudaError_t read_properties(struct cudaDeviceProp *p, CUdevice device)
{
	CUresult result;

	memset(p, 0, sizeof(*p));
	result = simrt_driver.DeviceGetName(p->name, (int)sizeof(p->name), device);
	if (result == CUDA_SUCCESS)
		result = simrt_driver.DeviceTotalMem(&p->totalGlobalMem, device);
	if (result == CUDA_SUCCESS)
		result = simrt_driver.DeviceGetUuid(&p->uuid, device);
#define INT(field, name)  p->field = attribute(device, CU_DEVICE_ATTRIBUTE_##name);
#define SIZE(field, name) p->field = (size_t)attribute(device, CU_DEVICE_ATTRIBUTE_##name);
	PROPERTIES(INT, SIZE)
#undef INT
#undef SIZE
	return simrt_from_driver(result);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_INIT);
	CUdevice handle = 0;

	if (status == cudaSuccess && !properties)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = check_device(device);
	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.DeviceGet(&handle, device));
	if (status == cudaSuccess)
		status = read_properties(properties, handle);
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.CtxGetStreamPriorityRange(least, greatest));
	return simrt_end(&call, status, NULL);
}

/* Without a driver the version is 0 and that is no error. */
cudaError_t cudaDriverGetVersion(int *version)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_DRIVER);

	if (!version)
		return simrt_end(&call, cudaErrorInvalidValue, NULL);
	if (status != cudaSuccess) {
		*version = 0;
		return cudaSuccess;
	}
	status = simrt_from_driver(simrt_driver.DriverGetVersion(version));
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return cudaErrorInvalidValue;
	*version = SIMRT_VERSION;
	return cudaSuccess;
}

cudaError_t
simrt_cudaGetDriverEntryPointByVersion(const struct simrt_flavour *via, const char *function,
				       const char *symbol, void **pointer, unsigned version,
				       unsigned long long flags,
				       enum cudaDriverEntryPointQueryResult *driver_status)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_DRIVER);
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;

	if (status == cudaSuccess && (!symbol || !pointer || version > INT32_MAX))
		status = cudaErrorInvalidValue;
	/* cudaEnableDefault means: the flavour that this translation unit was compiled for. */
	if (flags == cudaEnableDefault && via->is_per_thread)
		flags = cudaEnablePerThreadDefaultStream;
	if (status == cudaSuccess)
		status = simrt_from_driver(
			simrt_driver.GetProcAddress(symbol, pointer, (int)version, flags, &found));
	if (status == cudaSuccess && driver_status)
		*driver_status = (enum cudaDriverEntryPointQueryResult)found;
	return simrt_end(&call, status, NULL);
}

cudaError_t simrt_cudaGetDriverEntryPoint(const struct simrt_flavour *via, const char *function,
					  const char *symbol, void **pointer,
					  unsigned long long flags,
					  enum cudaDriverEntryPointQueryResult *driver_status)
{
	return simrt_cudaGetDriverEntryPointByVersion(via, function, symbol, pointer, SIMRT_VERSION,
						      flags, driver_status);
}

cudaError_t cudaProfilerStart(void)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.ProfilerStart());
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaProfilerStop(void)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.ProfilerStop());
	return simrt_end(&call, status, NULL);
}
