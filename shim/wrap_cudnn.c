/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported wrappers of libcudnn: one per row of cudnn.def and per version node (cuDNN 8 and 9).
 * The libraries behind it call each other by nodes of their own, which no wrapper has.
 */
#include "wrap_nodes.h"

#include "api/cuda_abi.h"
#include "api/cudnn_abi.h"
#include "call.h"
#include "capture_conv.h"
#include "real.h"

enum cudnn_slot {
#define ROW(name, twin, check, effect, params, args, before, ...) SLOT_##name,
#include "api/rows.h"
#include "api/cudnn.def"
#include "api/rows_end.h"
	SLOT_COUNT
};

static wrap_function _Atomic cudnn_real[WRAP_NODES_MAX][SLOT_COUNT];

#define NODE_8 "libcudnn.so.8"
#define NODE_9 "libcudnn.so.9"

/* A row that is followed also while nothing is recorded, and never recorded itself. */
#define KEEP_NODE(name, number, place, params, args, before, ...)                                  \
	WRAP_EXPORT int name##__##number params;                                                   \
	int name##__##number params                                                                \
	{                                                                                          \
		wrap_function found = atomic_load_explicit(&cudnn_real[place][SLOT_##name],        \
							   memory_order_acquire);                  \
		if (__builtin_expect(!found, 0))                                                   \
			found = real_resolve(&wrap_cudnn, place, SLOT_##name);                     \
		int(*const real) params = (int(*) params)found;                                    \
		if (__builtin_expect(!lifecycle_calls_matter, 0))                                  \
			return real args;                                                          \
		before;                                                                            \
		const int status = real args;                                                      \
		__VA_ARGS__;                                                                       \
		return status;                                                                     \
	}                                                                                          \
	WRAP_VERSIONED(name, number, NODE_##number)

#define CALL_NODE(effect, name, number, place, params, args, before, ...)                          \
	WRAP_NODE(cudnn, name, number, place, API_##name, WRAP_FLAGS_PLAIN, EFFECT_##effect,       \
		  params, args, before, __VA_ARGS__)
#define DEFINE_OPENS(...) CALL_NODE(OPENS, __VA_ARGS__)
#define DEFINE_QUIET(...) CALL_NODE(QUIET, __VA_ARGS__)
#define DEFINE_KEPT(...)  KEEP_NODE(__VA_ARGS__)

#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	DEFINE_##effect(name, 8, 0, params, args, before, __VA_ARGS__)                             \
		DEFINE_##effect(name, 9, 1, params, args, before, __VA_ARGS__)
#include "api/rows.h"
#include "api/cudnn.def"
#include "api/rows_end.h"

static int cudnn_not_supported(void)
{
	return ABI_CUDNN_NOT_SUPPORTED;
}

#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	{#name,                                                                                    \
	 API_##name,                                                                               \
	 EFFECT_##effect,                                                                          \
	 0,                                                                                        \
	 {(wrap_function)name##__8, (wrap_function)name##__9, NULL}},
static const struct wrap_row cudnn_rows[SLOT_COUNT] = {
#include "api/rows.h"
#include "api/cudnn.def"
#include "api/rows_end.h"
};

static const char *const cudnn_nodes[] = {NODE_8, NODE_9};

const struct wrap_library wrap_cudnn = {
	.module_prefix = "libcudnn.so",
	.sonames = cudnn_nodes,
	.nodes = cudnn_nodes,
	.node_count = 2,
	.row_count = SLOT_COUNT,
	.rows = cudnn_rows,
	.real = &cudnn_real[0][0],
	.not_supported = (wrap_function)cudnn_not_supported,
};
