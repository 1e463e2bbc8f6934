/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles only if every row of cudart.def has the prototype that the installed header declares. */
#include <cuda_runtime_api.h>

#include <stddef.h>

#define CHECK_PUBLIC(name, params)                                                                 \
	_Static_assert(__builtin_types_compatible_p(__typeof__(name), cudaError_t params), #name);
#define CHECK_HIDDEN(name, params)
#define ROW(name, twin, check, effect, params, args, before, ...) CHECK_##check(name, params)
#include "rows.h"
#include "cudart.def"
#include "rows_end.h"

/* What cuda_abi.h says about layouts. */
_Static_assert(sizeof(cudaLaunchConfig_t) == 56, "size");
_Static_assert(offsetof(cudaLaunchConfig_t, dynamicSmemBytes) == 24, "offset");
_Static_assert(offsetof(cudaLaunchConfig_t, stream) == 32, "offset");
_Static_assert(sizeof(struct cudaMemcpy3DParms) == 160, "size");
_Static_assert(offsetof(struct cudaMemcpy3DParms, srcPtr) == 32, "offset");
_Static_assert(offsetof(struct cudaMemcpy3DParms, dstArray) == 64, "offset");
_Static_assert(offsetof(struct cudaMemcpy3DParms, dstPtr) == 96, "offset");
_Static_assert(offsetof(struct cudaMemcpy3DParms, extent) == 128, "offset");
_Static_assert(offsetof(struct cudaMemcpy3DParms, kind) == 152, "offset");
_Static_assert(sizeof(struct cudaMemcpy3DPeerParms) == 168, "size");
_Static_assert(offsetof(struct cudaMemcpy3DPeerParms, srcDevice) == 64, "offset");
_Static_assert(offsetof(struct cudaMemcpy3DPeerParms, dstPtr) == 104, "offset");
_Static_assert(offsetof(struct cudaMemcpy3DPeerParms, dstDevice) == 136, "offset");
_Static_assert(offsetof(struct cudaMemcpy3DPeerParms, extent) == 144, "offset");
_Static_assert(sizeof(struct cudaPitchedPtr) == 32 && sizeof(struct cudaExtent) == 24, "size");
_Static_assert(cudaMemcpyHostToHost == 0 && cudaMemcpyHostToDevice == 1 &&
		       cudaMemcpyDeviceToHost == 2 && cudaMemcpyDeviceToDevice == 3 &&
		       cudaMemcpyDefault == 4,
	       "cudaMemcpyKind");
_Static_assert(cudaErrorMemoryAllocation == 2 && cudaErrorNotSupported == 801, "cudaError_t");
_Static_assert(sizeof(enum cudaMemcpyKind) == sizeof(int), "enums are int");
