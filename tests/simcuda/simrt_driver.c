/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the driver exactly as the real runtime does: dlopen("libcuda.so.1"), one
 * dlsym("cuGetProcAddress_v2"), cuGetProcAddress again through it, and everything else through that
 * second result, so that an interposer meets the same look-ups in the same order.
 */
#include "simrt_internal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

struct simrt_driver simrt_driver;
struct simrt_flavour simrt_legacy, simrt_per_thread = {.is_per_thread = true};

struct wanted {
	const char *name;
	void **slot;
	int version;
	cuuint64_t flags;
};

/* Pointers to functions and to void have one representation here (POSIX, dlsym). */
static const struct wanted wanted[] = {
#define SIMRT_PLAIN(name, version) {"cu" #name, (void **)&simrt_driver.name, version, 0},
#define SIMRT_STREAM(name, version, ptsz_version)                                                  \
	{"cu" #name, (void **)&simrt_legacy.name, version, 0},                                     \
		{"cu" #name, (void **)&simrt_per_thread.name, ptsz_version,                        \
		 CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM},
#include "simrt_driver.def"
#undef SIMRT_PLAIN
#undef SIMRT_STREAM
};

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static cudaError_t load_status;

static cudaError_t find(PFN_cuGetProcAddress_v12000 lookup, const struct wanted *w)
{
	CUdriverProcAddressQueryResult found;

	*w->slot = NULL;
	if (lookup(w->name, w->slot, w->version, w->flags, &found) != CUDA_SUCCESS || !*w->slot)
		return cudaErrorInsufficientDriver;
	return cudaSuccess;
}

static void find_extras(void *library)
{
	*(void **)&simrt_driver.log = dlsym(library, "simcuda_log");
	*(void **)&simrt_driver.runtime_enter = dlsym(library, "simcuda_runtime_enter");
	*(void **)&simrt_driver.runtime_exit = dlsym(library, "simcuda_runtime_exit");
	if (!simrt_driver.runtime_enter || !simrt_driver.runtime_exit)
		simrt_driver.runtime_enter = NULL;
}

static void load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	PFN_cuGetProcAddress_v12000 first = NULL;
	void *old_form = NULL;
	/* The real one asks for both forms and uses the newer. */
	const struct wanted old = {"cuGetProcAddress", &old_form, 11030, 0};
	const struct wanted again = {"cuGetProcAddress", (void **)&simrt_driver.GetProcAddress,
				     12000, 0};

	load_status = cudaErrorInsufficientDriver;
	if (!library)
		return;
	*(void **)&first = dlsym(library, "cuGetProcAddress_v2");
	if (!first || find(first, &old) || find(first, &again))
		return;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (find(simrt_driver.GetProcAddress, &wanted[i]))
			return;
	}
	find_extras(library);
	load_status = cudaSuccess;
}

cudaError_t simrt_driver_load(void)
{
	pthread_once(&load_once, load);
	return load_status;
}
