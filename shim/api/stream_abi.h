/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of cuda_abi.h that is about streams, batches and what other libraries of graphics share
 * with CUDA: mostly names of types that are only passed on. Include cuda_abi.h, never this.
 */
#ifndef GPUTRACE_SHIM_STREAM_ABI_H
#define GPUTRACE_SHIM_STREAM_ABI_H

#include <stddef.h>
#include <stdint.h>

/* One end of a copy in a batch of shapes, the same in runtime and driver. */
enum { BATCH_OPERAND_POINTER = 1, BATCH_OPERAND_ARRAY = 2 };
struct batch_operand {
	int type;
	union {
		struct {
			uint64_t address;
			size_t row_length, layer_height;
			int location_type, location_id;
		} pointer;
		struct {
			void *array;
			size_t offset[3];
		} array;
	} as;
};
struct batch_copy {
	struct batch_operand source, destination;
	size_t extent[3];
	int source_order;
	unsigned int flags;
};

/* ---- runtime ---- */
typedef const struct cudaArray *cudaArray_const_t;
typedef void (*cudaStreamCallback_t)(cudaStream_t, int, void *);
typedef struct CUexternalMemory_st *cudaExternalMemory_t;
typedef struct CUexternalSemaphore_st *cudaExternalSemaphore_t;
typedef struct cudaGraphicsResource *cudaGraphicsResource_t;
typedef struct CUlib_st *cudaLibrary_t;
typedef struct cudaIpcEventHandle_st {
	char reserved[64];
} cudaIpcEventHandle_t;
enum cudaJitOption { cudaJitMaxRegisters = 0 };
enum cudaLibraryOption { cudaLibraryHostUniversalFunctionAndDataTable = 0 };
struct cudaExternalMemoryHandleDesc;
struct cudaExternalMemoryBufferDesc;
struct cudaExternalMemoryMipmappedArrayDesc;
struct cudaExternalSemaphoreHandleDesc;
struct cudaExternalSemaphoreSignalParams;
struct cudaExternalSemaphoreWaitParams;

/* ---- driver ---- */
typedef uint32_t cuuint32_t;
typedef void (*CUstreamCallback)(CUstream, int, void *);
typedef union CUstreamBatchMemOpParams_union CUstreamBatchMemOpParams;
typedef struct CUgreenCtx_st *CUgreenCtx;
typedef struct CUdevResourceDesc_st *CUdevResourceDesc;
typedef struct CUgraphicsResource_st *CUgraphicsResource;
typedef struct CUextMemory_st *CUexternalMemory;
typedef struct CUextSemaphore_st *CUexternalSemaphore;
typedef struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st CUDA_EXTERNAL_MEMORY_HANDLE_DESC;
typedef struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC_st CUDA_EXTERNAL_MEMORY_BUFFER_DESC;
typedef struct CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC_st
	CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC;
typedef struct CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC;
typedef struct CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS;
typedef struct CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS;
typedef struct CUDA_BATCH_MEM_OP_NODE_PARAMS_st CUDA_BATCH_MEM_OP_NODE_PARAMS;
typedef struct CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_st CUDA_EXT_SEM_SIGNAL_NODE_PARAMS;
typedef struct CUDA_EXT_SEM_WAIT_NODE_PARAMS_st CUDA_EXT_SEM_WAIT_NODE_PARAMS;
typedef struct CUDA_LAUNCH_PARAMS_st CUDA_LAUNCH_PARAMS;
typedef struct CUmemDecompressParams_st CUmemDecompressParams;
typedef struct batch_copy CUDA_MEMCPY3D_BATCH_OP;
typedef struct CUipcEventHandle_st {
	char reserved[64];
} CUipcEventHandle;

_Static_assert(sizeof(struct batch_operand) == 40 && sizeof(struct batch_copy) == 112, "batch");
_Static_assert(sizeof(cudaIpcEventHandle_t) == 64 && sizeof(CUipcEventHandle) == 64, "IPC handle");

#endif
