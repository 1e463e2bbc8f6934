/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles only if every row of driver.def has the prototype that the installed header declares,
 * older names (cuCtxCreate_v2) included.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <stddef.h>

#define CHECK_PUBLIC(name, params)                                                                 \
	_Static_assert(__builtin_types_compatible_p(__typeof__(name), CUresult params), #name);
#define CHECK_HIDDEN(name, params)
#define TWIN_ONE(name, params)
#define TWIN_PTSZ(name, params) CHECK_PUBLIC(name##_ptsz, params)
#define TWIN_PTDS(name, params) CHECK_PUBLIC(name##_ptds, params)
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	CHECK_##check(name, params) TWIN_##twin(name, params)
#include "rows.h"
#include "driver.def"
#include "rows_end.h"

/* How CUPTI passes a function's parameters to callbacks. The types are compared above, so that
 * sizes are enough here. Functions without parameters have no structure. */
#if defined(__has_include)
#if __has_include(<generated_cuda_meta.h>)
#include <generated_cuda_meta.h>

#include "../arguments.h"
#define CHECK_ARGUMENTS_0(name, params, args)                                                      \
	struct name##_arguments {                                                                  \
		ARGUMENTS_FIELDS(params, args)                                                     \
	};                                                                                         \
	_Static_assert(sizeof(struct name##_arguments) == sizeof(name##_params), #name);
#define CHECK_ARGUMENTS_1(name, params, args)
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	ARGUMENTS_CAT(CHECK_ARGUMENTS_, ARGUMENTS_NONE(args))(name, params, args)
#include "rows.h"
#include "driver.def"
#include "rows_end.h"
#endif
#endif

/* What cuda_abi.h says about layouts. */
_Static_assert(sizeof(CUlaunchConfig) == 56 && offsetof(CUlaunchConfig, hStream) == 32, "layout");
_Static_assert(offsetof(CUlaunchConfig, sharedMemBytes) == 24, "offset");
_Static_assert(sizeof(CUDA_MEMCPY2D) == 128, "size");
_Static_assert(offsetof(CUDA_MEMCPY2D, srcMemoryType) == 16, "offset");
_Static_assert(offsetof(CUDA_MEMCPY2D, srcHost) == 24, "offset");
_Static_assert(offsetof(CUDA_MEMCPY2D, srcDevice) == 32, "offset");
_Static_assert(offsetof(CUDA_MEMCPY2D, dstMemoryType) == 72, "offset");
_Static_assert(offsetof(CUDA_MEMCPY2D, dstHost) == 80, "offset");
_Static_assert(offsetof(CUDA_MEMCPY2D, dstDevice) == 88, "offset");
_Static_assert(offsetof(CUDA_MEMCPY2D, WidthInBytes) == 112, "offset");
_Static_assert(sizeof(CUDA_MEMCPY3D) == 200, "size");
_Static_assert(offsetof(CUDA_MEMCPY3D, srcMemoryType) == 32, "offset");
_Static_assert(offsetof(CUDA_MEMCPY3D, srcDevice) == 48, "offset");
_Static_assert(offsetof(CUDA_MEMCPY3D, dstMemoryType) == 120, "offset");
_Static_assert(offsetof(CUDA_MEMCPY3D, dstDevice) == 136, "offset");
_Static_assert(offsetof(CUDA_MEMCPY3D, WidthInBytes) == 176, "offset");
_Static_assert(sizeof(CUDA_MEMCPY3D_PEER) == 200, "size");
_Static_assert(offsetof(CUDA_MEMCPY3D_PEER, srcDevice) == 48, "offset");
_Static_assert(offsetof(CUDA_MEMCPY3D_PEER, srcContext) == 64, "offset");
_Static_assert(offsetof(CUDA_MEMCPY3D_PEER, dstDevice) == 136, "offset");
_Static_assert(offsetof(CUDA_MEMCPY3D_PEER, dstContext) == 152, "offset");
_Static_assert(offsetof(CUDA_MEMCPY3D_PEER, WidthInBytes) == 176, "offset");
_Static_assert(CU_MEMORYTYPE_HOST == 1 && CU_MEMORYTYPE_DEVICE == 2 && CU_MEMORYTYPE_ARRAY == 3 &&
		       CU_MEMORYTYPE_UNIFIED == 4,
	       "CUmemorytype");
_Static_assert(CUDA_ERROR_OUT_OF_MEMORY == 2 && CUDA_ERROR_NOT_SUPPORTED == 801, "CUresult");
_Static_assert(sizeof(CUdeviceptr) == 8 && sizeof(CUdevice) == 4, "handles");
/* Numbers that device.c asks with. */
_Static_assert(CU_DEVICE_ATTRIBUTE_CLOCK_RATE == 13, "attribute");
_Static_assert(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == 16, "attribute");
_Static_assert(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID == 33, "attribute");
_Static_assert(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID == 34, "attribute");
_Static_assert(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID == 50, "attribute");
_Static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR == 75, "attribute");
_Static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR == 76, "attribute");
