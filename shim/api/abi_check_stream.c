/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the layouts of stream_abi.h against the installed headers. */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stddef.h>

_Static_assert(sizeof(cudaIpcEventHandle_t) == 64 && sizeof(CUipcEventHandle) == 64, "size");
#if CUDA_VERSION >= 12080
_Static_assert(sizeof(CUDA_MEMCPY3D_BATCH_OP) == 112, "size");
_Static_assert(offsetof(CUDA_MEMCPY3D_BATCH_OP, dst) == 40, "offset");
_Static_assert(offsetof(CUDA_MEMCPY3D_BATCH_OP, extent) == 80, "offset");
_Static_assert(offsetof(CUmemcpy3DOperand, op.ptr.ptr) == 8, "offset");
_Static_assert(CU_MEMCPY_OPERAND_TYPE_POINTER == 1 && CU_MEMCPY_OPERAND_TYPE_ARRAY == 2, "type");
_Static_assert(sizeof(struct cudaMemcpy3DBatchOp) == 112, "size");
_Static_assert(offsetof(struct cudaMemcpy3DBatchOp, dst) == 40, "offset");
_Static_assert(offsetof(struct cudaMemcpy3DBatchOp, extent) == 80, "offset");
_Static_assert(cudaMemcpyOperandTypePointer == 1 && cudaMemcpyOperandTypeArray == 2, "type");
#endif
/* A location fits one word, as the rows of cudart_stream.def take it. */
_Static_assert(sizeof(struct cudaMemLocation) == 8, "size");
