/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices and primary contexts of the simulated runtime. The runtime never creates a context of its
 * own: it retains the device's primary one, and uses what a driver-API program made current before.
 */
#include "simrt_internal.h"

#include <pthread.h>
#include <stdatomic.h>

struct device_state {
	CUcontext context;	  /* retained primary context; NULL: none */
	_Atomic(unsigned) epoch;  /* counts resets from 1, so that bound threads notice */
	_Atomic(unsigned) sticky; /* a cudaError_t that only the end of the process clears */
};
static struct device_state devices[SIMRT_DEVICES_MAX];
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;

cudaError_t simrt_device_count(int *count)
{
	int found = 0;
	CUresult result = simrt_driver.DeviceGetCount(&found);

	if (result != CUDA_SUCCESS)
		return simrt_from_driver(result);
	*count = found < SIMRT_DEVICES_MAX ? found : SIMRT_DEVICES_MAX;
	return found > 0 ? cudaSuccess : cudaErrorNoDevice;
}

static CUresult retain_primary(int ordinal)
{
	struct device_state *state = &devices[ordinal];
	CUdevice device = 0;
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&devices_lock);
	if (!state->context) {
		result = simrt_driver.DeviceGet(&device, ordinal);
		if (result == CUDA_SUCCESS)
			result = simrt_driver.DevicePrimaryCtxRetain(&state->context, device);
		if (result == CUDA_SUCCESS)
			atomic_fetch_add(&state->epoch, 1);
	}
	pthread_mutex_unlock(&devices_lock);
	return result;
}

cudaError_t simrt_context_of(int device, CUcontext *context)
{
	int count = 0;
	cudaError_t status = simrt_device_count(&count);

	if (status == cudaSuccess && (device < 0 || device >= count))
		status = cudaErrorInvalidDevice;
	if (status == cudaSuccess)
		status = simrt_from_driver(retain_primary(device));
	if (status == cudaSuccess)
		*context = devices[device].context;
	return status;
}

/* Retains the primary context of the thread's device and makes it current. */
static cudaError_t bind_primary(void)
{
	struct device_state *state = &devices[simrt_thread.device];
	CUresult result = retain_primary(simrt_thread.device);

	if (result == CUDA_SUCCESS)
		result = simrt_driver.CtxSetCurrent(state->context);
	if (result == CUDA_SUCCESS)
		simrt_thread.bound_epoch = atomic_load(&state->epoch);
	return simrt_from_driver(result);
}

cudaError_t simrt_context_bind(void)
{
	struct device_state *state = &devices[simrt_thread.device];
	CUcontext current = NULL;
	CUdevice device = 0;

	if (simrt_thread.bound_epoch && simrt_thread.bound_epoch == atomic_load(&state->epoch))
		return cudaSuccess;
	/* The first call of a thread takes over what the driver API made current. */
	if (!simrt_thread.bound_epoch && simrt_driver.CtxGetCurrent(&current) == CUDA_SUCCESS &&
	    current && simrt_driver.CtxGetDevice(&device) == CUDA_SUCCESS && device >= 0 &&
	    device < SIMRT_DEVICES_MAX) {
		unsigned none = 0;

		simrt_thread.device = device;
		state = &devices[device];
		atomic_compare_exchange_strong(&state->epoch, &none, 1);
		simrt_thread.bound_epoch = atomic_load(&state->epoch);
		return cudaSuccess;
	}
	return bind_primary();
}

cudaError_t simrt_context_select(int device)
{
	int count = 0, before = simrt_thread.device;
	cudaError_t status = simrt_device_count(&count);

	if (status != cudaSuccess)
		return status;
	if (device < 0 || device >= count)
		return cudaErrorInvalidDevice;
	simrt_thread.device = device;
	/* Since CUDA 12 cudaSetDevice creates the primary context at once. */
	status = bind_primary();
	if (status != cudaSuccess)
		simrt_thread.device = before;
	return status;
}

cudaError_t simrt_context_reset(void)
{
	struct device_state *state = &devices[simrt_thread.device];
	CUdevice device = 0;
	CUresult result = simrt_driver.DeviceGet(&device, simrt_thread.device);

	if (result != CUDA_SUCCESS)
		return simrt_from_driver(result);
	pthread_mutex_lock(&devices_lock);
	result = simrt_driver.DevicePrimaryCtxReset(device);
	if (state->context)
		atomic_fetch_add(&state->epoch, 1);
	state->context = NULL;
	pthread_mutex_unlock(&devices_lock);
	return simrt_from_driver(result);
}

/* Errors after which CUDA says that the process must be ended; NVIDIA's documentation of each. */
static bool is_sticky(cudaError_t status)
{
	switch ((int)status) {
	case cudaErrorECCUncorrectable:
	case cudaErrorNvlinkUncorrectable:
	case cudaErrorIllegalAddress:
	case cudaErrorLaunchTimeout:
	case cudaErrorAssert:
	case cudaErrorHardwareStackError:
	case cudaErrorIllegalInstruction:
	case cudaErrorMisalignedAddress:
	case cudaErrorInvalidAddressSpace:
	case cudaErrorInvalidPc:
	case cudaErrorLaunchFailure:
	case cudaErrorTensorMemoryLeak:
	case cudaErrorExternalDevice:
	case cudaErrorContained:
		return true;
	default:
		return false;
	}
}

void simrt_context_note(cudaError_t status)
{
	unsigned none = cudaSuccess;

	if (is_sticky(status))
		atomic_compare_exchange_strong(&devices[simrt_thread.device].sticky, &none,
					       (unsigned)status);
}

cudaError_t simrt_context_sticky(void)
{
	return (cudaError_t)atomic_load_explicit(&devices[simrt_thread.device].sticky,
						 memory_order_relaxed);
}
