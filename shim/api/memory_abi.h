/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of cuda_abi.h that is about memory: what allocation functions take besides addresses and
 * sizes. Include cuda_abi.h, never this.
 */
#ifndef GPUTRACE_SHIM_MEMORY_ABI_H
#define GPUTRACE_SHIM_MEMORY_ABI_H

#include <stddef.h>

/* ---- runtime ---- */
typedef struct cudaMipmappedArray *cudaMipmappedArray_t;
typedef struct cudaIpcMemHandle_st {
	char reserved[64];
} cudaIpcMemHandle_t;
struct cudaMemPoolProps;
struct cudaMemAccessDesc;
struct cudaMemPoolPtrExportData;
struct cudaMemLocation;
enum cudaMemPoolAttr { cudaMemPoolReuseFollowEventDependencies = 1 };
enum cudaMemAllocationHandleType { cudaMemHandleTypeNone = 0 };
enum cudaMemAllocationType { cudaMemAllocationTypePinned = 1 };
struct cudaChannelFormatDesc {
	int x, y, z, w; /* bits of each channel */
	int f;
};

/* ---- driver ---- */
typedef struct CUmipmappedArray_st *CUmipmappedArray;
typedef struct CUmemPoolProps_st CUmemPoolProps;
typedef struct CUmemPoolPtrExportData_st CUmemPoolPtrExportData;
typedef struct CUarrayMapInfo_st CUarrayMapInfo;
typedef int CUmemPool_attribute;
typedef int CUmemAllocationHandleType;
typedef int CUmemAllocationType;
typedef int CUmem_advise;
typedef struct CUmemLocation_st {
	int type, id;
} CUmemLocation;
typedef struct CUmemAccessDesc_st CUmemAccessDesc;
typedef struct CUipcMemHandle_st {
	char reserved[64];
} CUipcMemHandle;
typedef struct CUmulticastObjectProp_st {
	unsigned int numDevices;
	size_t size;
	unsigned long long handleTypes, flags;
} CUmulticastObjectProp;
typedef struct CUDA_ARRAY_DESCRIPTOR_st {
	size_t Width, Height;
	int Format;
	unsigned int NumChannels;
} CUDA_ARRAY_DESCRIPTOR;
typedef struct CUDA_ARRAY3D_DESCRIPTOR_st {
	size_t Width, Height, Depth;
	int Format;
	unsigned int NumChannels, Flags;
} CUDA_ARRAY3D_DESCRIPTOR;

_Static_assert(sizeof(cudaIpcMemHandle_t) == 64 && sizeof(CUipcMemHandle) == 64, "IPC handle");
_Static_assert(sizeof(struct cudaChannelFormatDesc) == 20, "cudaChannelFormatDesc");
_Static_assert(sizeof(CUmulticastObjectProp) == 32, "CUmulticastObjectProp");
_Static_assert(sizeof(CUDA_ARRAY_DESCRIPTOR) == 24, "CUDA_ARRAY_DESCRIPTOR");
_Static_assert(sizeof(CUDA_ARRAY3D_DESCRIPTOR) == 40, "CUDA_ARRAY3D_DESCRIPTOR");
_Static_assert(sizeof(CUmemLocation) == 8, "CUmemLocation");

#endif
