/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported wrappers of libcuda, one per row of driver.def. Its symbols have no versions. The
 * look-up functions of the driver are rows of the same library, written out in wrap_lookup.c.
 */
#include "wrap.h"

#include "api/cuda_abi.h"
#include "call.h"
#include "capture.h"
#include "gpu_events.h"
#include "real.h"
#include "wrap_lookup.h"

enum driver_slot {
#define TWIN_ONE(name)
#define TWIN_PTSZ(name)						  SLOT_##name##_ptsz,
#define TWIN_PTDS(name)						  SLOT_##name##_ptds,
#define ROW(name, twin, check, effect, params, args, before, ...) SLOT_##name, TWIN_##twin(name)
#include "api/rows.h"
#include "api/driver.def"
#include "api/rows_end.h"
#undef TWIN_ONE
#undef TWIN_PTSZ
#undef TWIN_PTDS
	SLOT_cuGetProcAddress,
	SLOT_cuGetProcAddress_v2,
	SLOT_COUNT
};

static wrap_function _Atomic driver_real[1][SLOT_COUNT];

#define TWIN_ONE(...)
#define TWIN_PTSZ(name, ...) EXPORT(name##_ptsz, __VA_ARGS__)
#define TWIN_PTDS(name, ...) EXPORT(name##_ptds, __VA_ARGS__)
#define EXPORT(name, api, flags, effect, params, args, before, ...)                                \
	WRAP_DEFINE(name, driver, 0, SLOT_##name, api, flags, effect, params, args, before,        \
		    __VA_ARGS__)
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	EXPORT(name, API_##name, WRAP_FLAGS_PLAIN, EFFECT_##effect, params, args, before,          \
	       __VA_ARGS__)                                                                        \
	TWIN_##twin(name, API_##name, WRAP_FLAGS_TWIN, EFFECT_##effect, params, args, before,      \
		    __VA_ARGS__)
#include "api/rows.h"
#include "api/driver.def"
#include "api/rows_end.h"
#undef TWIN_ONE
#undef TWIN_PTSZ
#undef TWIN_PTDS

WRAP_EXPORT int cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags);
int cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
	wrap_function found = real_function(&wrap_driver, 0, SLOT_cuGetProcAddress);
	int (*real)(const char *, void **, int, cuuint64_t) =
		(int (*)(const char *, void **, int, cuuint64_t))found;
	int status = real(symbol, pfn, cudaVersion, flags);
	if (status == ABI_SUCCESS && pfn)
		*pfn = lookup_classify_driver(symbol, *pfn);
	return status;
}

WRAP_EXPORT int cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
				    cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus);
int cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
			CUdriverProcAddressQueryResult *symbolStatus)
{
	wrap_function found = real_function(&wrap_driver, 0, SLOT_cuGetProcAddress_v2);
	int (*real)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *) =
		(int (*)(const char *, void **, int, cuuint64_t,
			 CUdriverProcAddressQueryResult *))found;
	int status = real(symbol, pfn, cudaVersion, flags, symbolStatus);
	if (status == ABI_SUCCESS && pfn)
		*pfn = lookup_classify_driver(symbol, *pfn);
	return status;
}

static int driver_not_supported(void)
{
	return ABI_CUDA_NOT_SUPPORTED;
}

#define TWIN_ONE(...)
#define TWIN_PTSZ(name, effect)                                                                    \
	{#name "_ptsz", API_##name, EFFECT_##effect, 1, {(wrap_function)name##_ptsz}},
#define TWIN_PTDS(name, effect)                                                                    \
	{#name "_ptds", API_##name, EFFECT_##effect, 1, {(wrap_function)name##_ptds}},
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	{#name, API_##name, EFFECT_##effect, 0, {(wrap_function)name}}, TWIN_##twin(name, effect)
static const struct wrap_row driver_rows[SLOT_COUNT] = {
#include "api/rows.h"
#include "api/driver.def"
#include "api/rows_end.h"
	{"cuGetProcAddress",
	 API_cuGetProcAddress,
	 EFFECT_QUIET,
	 0,
	 {(wrap_function)cuGetProcAddress}},
	{"cuGetProcAddress_v2",
	 API_cuGetProcAddress_v2,
	 EFFECT_QUIET,
	 0,
	 {(wrap_function)cuGetProcAddress_v2}},
};

static const char *const driver_sonames[] = {"libcuda.so.1"};

const struct wrap_library wrap_driver = {
	.module_prefix = "libcuda.so",
	.sonames = driver_sonames,
	.nodes = NULL,
	.node_count = 1,
	.row_count = SLOT_COUNT,
	.rows = driver_rows,
	.real = &driver_real[0][0],
	.not_supported = (wrap_function)driver_not_supported,
};
