/* SPDX-License-Identifier: Apache-2.0 */
/* The exported wrappers of libcudart: one per row of cudart.def and per version node. */
#include "wrap_nodes.h"

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

#define NODE_11 "libcudart.so.11.0"
#define NODE_12 "libcudart.so.12"
#define NODE_13 "libcudart.so.13"

#define TWIN_ONE(...)
#define TWIN_PTSZ(name, ...) WRAP_EACH_NODE(cudart, name##_ptsz, __VA_ARGS__)
#define TWIN_PTDS(name, ...) WRAP_EACH_NODE(cudart, name##_ptds, __VA_ARGS__)
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	WRAP_EACH_NODE(cudart, name, API_##name, WRAP_FLAGS_PLAIN, EFFECT_##effect, params, args,  \
		       before, __VA_ARGS__)                                                        \
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
	WRAP_VERSIONED(__cudaRegisterFunction, number, NODE_##number)
REGISTER(11, 0)
REGISTER(12, 1)
REGISTER(13, 2)

static int cudart_not_supported(void)
{
	return ABI_CUDA_NOT_SUPPORTED;
}

#define TWIN_ONE(...)
#define TWIN_PTSZ(name, effect)                                                                    \
	{#name "_ptsz", API_##name, EFFECT_##effect, 1, WRAP_NODE_WRAPPERS(name##_ptsz)},
#define TWIN_PTDS(name, effect)                                                                    \
	{#name "_ptds", API_##name, EFFECT_##effect, 1, WRAP_NODE_WRAPPERS(name##_ptds)},
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	{#name, API_##name, EFFECT_##effect, 0, WRAP_NODE_WRAPPERS(name)}, TWIN_##twin(name, effect)
static const struct wrap_row cudart_rows[SLOT_COUNT] = {
#include "api/rows.h"
#include "api/cudart.def"
#include "api/rows_end.h"
	{"__cudaRegisterFunction", API___cudaRegisterFunction, EFFECT_QUIET, 0,
	 WRAP_NODE_WRAPPERS(__cudaRegisterFunction)},
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
