/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported wrappers of libcudart: one per row of cudart.def and per version node, since a
 * process may hold the runtimes of CUDA 11, 12 and 13 at once and each must be forwarded to its
 * own.
 */
#include "wrap.h"

#include "api/cuda_abi.h"
#include "call.h"
#include "capture.h"
#include "capture_block.h"
#include "kernels.h"
#include "real.h"

enum cudart_slot {
#define TWIN_ONE(name)
#define TWIN_PTSZ(name)						  SLOT_##name##_ptsz,
#define TWIN_PTDS(name)						  SLOT_##name##_ptds,
#define ROW(name, twin, check, effect, params, args, before, ...) SLOT_##name, TWIN_##twin(name)
#include "api/rows.h"
#include "api/cudart.def"
#include "api/rows_end.h"
#undef TWIN_ONE
#undef TWIN_PTSZ
#undef TWIN_PTDS
	SLOT___cudaRegisterFunction,
	SLOT_COUNT
};

static wrap_function _Atomic cudart_real[WRAP_NODES_MAX][SLOT_COUNT];

/* The versioned name only: an unversioned twin could win a versioned look-up. */
#define VERSIONED(name, number, node)                                                              \
	__asm__(".symver " #name "__" #number "," #name "@" node ",remove");
#define NODE_11 "libcudart.so.11.0"
#define NODE_12 "libcudart.so.12"
#define NODE_13 "libcudart.so.13"

#define EXPORT(name, number, place, api, flags, effect, params, args, before, ...)                 \
	WRAP_DEFINE(name##__##number, cudart, place, SLOT_##name, api, flags, effect, params,      \
		    args, const unsigned int node = (place);                                       \
		    (void)node; before, __VA_ARGS__)                                               \
	VERSIONED(name, number, NODE_##number)
#define EXPORT_NODES(name, api, flags, effect, params, args, before, ...)                          \
	EXPORT(name, 11, 0, api, flags, effect, params, args, before, __VA_ARGS__)                 \
	EXPORT(name, 12, 1, api, flags, effect, params, args, before, __VA_ARGS__)                 \
	EXPORT(name, 13, 2, api, flags, effect, params, args, before, __VA_ARGS__)

#define TWIN_ONE(...)
#define TWIN_PTSZ(name, ...) EXPORT_NODES(name##_ptsz, __VA_ARGS__)
#define TWIN_PTDS(name, ...) EXPORT_NODES(name##_ptds, __VA_ARGS__)
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	EXPORT_NODES(name, API_##name, WRAP_FLAGS_PLAIN, EFFECT_##effect, params, args, before,    \
		     __VA_ARGS__)                                                                  \
	TWIN_##twin(name, API_##name, WRAP_FLAGS_TWIN, EFFECT_##effect, params, args, before,      \
		    __VA_ARGS__)
#include "api/rows.h"
#include "api/cudart.def"
#include "api/rows_end.h"
#undef TWIN_ONE
#undef TWIN_PTSZ
#undef TWIN_PTDS

/*
 * Called by the constructors of every CUDA object file, thousands of times in large frameworks:
 * the name is remembered, no session opens, no clock is read.
 */
#define REGISTER_PARAMS                                                                            \
	(void **fatCubinHandle, const char *hostFun, char *deviceFun, const char *deviceName,      \
	 int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim, dim3 *gDim, int *wSize)
#define REGISTER(number, node)                                                                     \
	WRAP_EXPORT void __cudaRegisterFunction__##number REGISTER_PARAMS;                         \
	void __cudaRegisterFunction__##number REGISTER_PARAMS                                      \
	{                                                                                          \
		wrap_function found = atomic_load_explicit(                                        \
			&cudart_real[node][SLOT___cudaRegisterFunction], memory_order_acquire);    \
		if (!found)                                                                        \
			found = real_resolve(&wrap_cudart, node, SLOT___cudaRegisterFunction);     \
		((void(*) REGISTER_PARAMS)found)(fatCubinHandle, hostFun, deviceFun, deviceName,   \
						 thread_limit, tid, bid, bDim, gDim, wSize);       \
		kernels_register(hostFun, deviceName);                                             \
		wrap_c10_library_came(fatCubinHandle);                                             \
	}                                                                                          \
	VERSIONED(__cudaRegisterFunction, number, NODE_##number)
REGISTER(11, 0)
REGISTER(12, 1)
REGISTER(13, 2)

static int cudart_not_supported(void)
{
	return ABI_CUDA_NOT_SUPPORTED;
}

#define WRAPPERS(name)                                                                             \
	{                                                                                          \
		(wrap_function) name##__11, (wrap_function)name##__12, (wrap_function)name##__13   \
	}
#define TWIN_ONE(...)
#define TWIN_PTSZ(name, effect)                                                                    \
	{#name "_ptsz", API_##name, EFFECT_##effect, 1, WRAPPERS(name##_ptsz)},
#define TWIN_PTDS(name, effect)                                                                    \
	{#name "_ptds", API_##name, EFFECT_##effect, 1, WRAPPERS(name##_ptds)},
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	{#name, API_##name, EFFECT_##effect, 0, WRAPPERS(name)}, TWIN_##twin(name, effect)
static const struct wrap_row cudart_rows[SLOT_COUNT] = {
#include "api/rows.h"
#include "api/cudart.def"
#include "api/rows_end.h"
	{"__cudaRegisterFunction", API___cudaRegisterFunction, EFFECT_QUIET, 0,
	 WRAPPERS(__cudaRegisterFunction)},
};

static const char *const cudart_nodes[] = {NODE_11, NODE_12, NODE_13};

const struct wrap_library wrap_cudart = {
	.module_prefix = "libcudart",
	.sonames = cudart_nodes, /* the same words */
	.nodes = cudart_nodes,
	.node_count = 3,
	.row_count = SLOT_COUNT,
	.rows = cudart_rows,
	.real = &cudart_real[0][0],
	.not_supported = (wrap_function)cudart_not_supported,
};
