/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the driver for the simulated NCCL, and reads its faults from the environment:
 *   SIMCUDA_NCCL_DELAY_MS=RANK:MS    every kernel of that rank begins MS later than it could
 *   SIMCUDA_NCCL_HANG=RANK:N         that rank never returns from its N-th collective (from 1)
 *   SIMCUDA_NCCL_ASYNC_ERROR=RANK:N  its N-th collective ends the communicator with a remote error
 */
#include "simnccl_internal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static struct simnccl_driver driver;
static bool is_found;
static pthread_once_t find_once = PTHREAD_ONCE_INIT;

static const struct {
	const char *name;
	void **slot;
	int version;
} wanted[] = {
#define SIMNCCL_DRIVER(name, version) {"cu" #name, (void **)&driver.name, version},
#include "simnccl_driver.def"
#undef SIMNCCL_DRIVER
};

static void find(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	PFN_cuGetProcAddress_v12000 lookup = NULL;
	CUdriverProcAddressQueryResult found;

	if (!library)
		return;
	*(void **)&lookup = dlsym(library, "cuGetProcAddress_v2");
	*(void **)&driver.library_kernel = dlsym(library, "simcuda_library_kernel");
	*(void **)&driver.next_launch_meets = dlsym(library, "simcuda_next_launch_meets");
	*(void **)&driver.gpu_clock_ns = dlsym(library, "simcuda_gpu_clock_ns");
	*(void **)&driver.log = dlsym(library, "simcuda_log");
	if (!lookup || !driver.library_kernel || !driver.next_launch_meets ||
	    !driver.gpu_clock_ns || !driver.log)
		return;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (lookup(wanted[i].name, wanted[i].slot, wanted[i].version, 0, &found) ||
		    !*wanted[i].slot)
			return;
	}
	is_found = true;
}

const struct simnccl_driver *simnccl_driver_get(void)
{
	pthread_once(&find_once, find);
	return is_found ? &driver : NULL;
}

long simnccl_fault(const char *variable, int rank)
{
	const char *text = getenv(variable);
	char *end;
	long value;

	if (!text || !*text)
		return -1;
	value = strtol(text, &end, 10);
	if (end == text || *end != ':' || value != rank)
		return -1;
	text = end + 1;
	value = strtol(text, &end, 10);
	return end == text || *end || value < 0 ? -1 : value;
}
