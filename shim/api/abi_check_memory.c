/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the layouts of memory_abi.h against the installed headers. */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stddef.h>

_Static_assert(sizeof(cudaIpcMemHandle_t) == 64 && sizeof(CUipcMemHandle) == 64, "size");
_Static_assert(sizeof(struct cudaChannelFormatDesc) == 20, "size");
_Static_assert(offsetof(struct cudaChannelFormatDesc, w) == 12, "offset");
_Static_assert(sizeof(CUmemLocation) == 8 && offsetof(CUmemLocation, id) == 4, "layout");
_Static_assert(sizeof(CUDA_ARRAY_DESCRIPTOR) == 24, "size");
_Static_assert(offsetof(CUDA_ARRAY_DESCRIPTOR, Format) == 16, "offset");
_Static_assert(offsetof(CUDA_ARRAY_DESCRIPTOR, NumChannels) == 20, "offset");
_Static_assert(sizeof(CUDA_ARRAY3D_DESCRIPTOR) == 40, "size");
_Static_assert(offsetof(CUDA_ARRAY3D_DESCRIPTOR, Format) == 24, "offset");
_Static_assert(offsetof(CUDA_ARRAY3D_DESCRIPTOR, Flags) == 32, "offset");
_Static_assert(offsetof(CUmulticastObjectProp, size) == 8, "offset");
_Static_assert(CUDA_ARRAY3D_LAYERED == 1 && CUDA_ARRAY3D_CUBEMAP == 4, "flags");
_Static_assert(cudaArrayLayered == 1 && cudaArrayCubemap == 4, "flags");
_Static_assert(CU_AD_FORMAT_UNSIGNED_INT8 == 1 && CU_AD_FORMAT_UNSIGNED_INT16 == 2 &&
		       CU_AD_FORMAT_UNSIGNED_INT32 == 3 && CU_AD_FORMAT_SIGNED_INT8 == 8 &&
		       CU_AD_FORMAT_SIGNED_INT16 == 9 && CU_AD_FORMAT_SIGNED_INT32 == 10 &&
		       CU_AD_FORMAT_HALF == 16 && CU_AD_FORMAT_FLOAT == 32,
	       "CUarray_format");
_Static_assert(CU_AD_FORMAT_UNORM_INT8X1 == 0xc0 && CU_AD_FORMAT_UNORM_INT8X4 == 0xc2 &&
		       CU_AD_FORMAT_UNORM_INT16X1 == 0xc3 && CU_AD_FORMAT_UNORM_INT16X4 == 0xc5 &&
		       CU_AD_FORMAT_SNORM_INT8X1 == 0xc6 && CU_AD_FORMAT_SNORM_INT8X4 == 0xc8 &&
		       CU_AD_FORMAT_SNORM_INT16X1 == 0xc9 && CU_AD_FORMAT_SNORM_INT16X4 == 0xcb,
	       "normalised formats");
