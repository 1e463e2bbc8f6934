/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the driver for the simulated cuBLAS, and the current device's peaks in the table made from
 * viewer/knowledge/gpus.tsv at build time.
 */
#include "simblas_internal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <regex.h>

static struct simblas_driver driver;
static bool is_found;
static pthread_once_t find_once = PTHREAD_ONCE_INIT;

static const struct {
	const char *name;
	void **slot;
	int version;
} wanted[] = {
#define SIMBLAS_DRIVER(name, version) {"cu" #name, (void **)&driver.name, version},
#include "simblas_driver.def"
#undef SIMBLAS_DRIVER
};

static const struct simblas_gpu gpus[] = {
#define SIMBLAS_GPU(name, fp64_peak, tf32_peak, fp16_peak, bf16_peak, int8_peak, fp32_peak)        \
	{.name_pattern = name,                                                                     \
	 .fp64_tensor = fp64_peak,                                                                 \
	 .tf32 = tf32_peak,                                                                        \
	 .fp16 = fp16_peak,                                                                        \
	 .bf16 = bf16_peak,                                                                        \
	 .int8 = int8_peak,                                                                        \
	 .fp32 = fp32_peak},
#include "simblas_gpus.inc"
#undef SIMBLAS_GPU
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
	*(void **)&driver.log = dlsym(library, "simcuda_log");
	if (!lookup || !driver.library_kernel || !driver.log)
		return;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (lookup(wanted[i].name, wanted[i].slot, wanted[i].version, 0, &found) ||
		    !*wanted[i].slot)
			return;
	}
	is_found = true;
}

const struct simblas_driver *simblas_driver_get(void)
{
	pthread_once(&find_once, find);
	return is_found ? &driver : NULL;
}

static bool matches(const char *pattern, const char *name)
{
	regex_t expression;
	bool is_match;

	if (regcomp(&expression, pattern, REG_EXTENDED | REG_NOSUB))
		return false;
	is_match = !regexec(&expression, name, 0, NULL, 0);
	regfree(&expression);
	return is_match;
}

bool simblas_gpu_read(const struct simblas_driver *d, struct simblas_gpu *gpu)
{
	char name[256] = "";
	CUdevice device = 0;

	if (d->CtxGetDevice(&device) || d->DeviceGetName(name, (int)sizeof(name), device))
		return false;
	*gpu = (struct simblas_gpu){0};
	for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
		if (matches(gpus[i].name_pattern, name)) {
			*gpu = gpus[i];
			break;
		}
	}
	return !d->DeviceGetAttribute(&gpu->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
				      device) &&
	       !d->DeviceGetAttribute(&gpu->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
				      device) &&
	       !d->DeviceGetAttribute(&gpu->sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
				      device) &&
	       gpu->sm_count > 0;
}
