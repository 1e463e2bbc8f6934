/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported wrappers of libcublas: one per row of cublas.def, per _64 twin and per version node
 * (CUDA 11, 12, 13).
 */
#include "wrap_nodes.h"

#include "api/cuda_abi.h"
#include "call.h"
#include "capture.h"
#include "real.h"

enum cublas_slot {
#define ROW(name, twin, check, effect, params, args, before, ...) SLOT_##name,
#include "api/blas_rows.h"
	SLOT_COUNT
};

static wrap_function _Atomic cublas_real[WRAP_NODES_MAX][SLOT_COUNT];

#define NODE_11 "libcublas.so.11"
#define NODE_12 "libcublas.so.12"
#define NODE_13 "libcublas.so.13"

#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	WRAP_EACH_NODE(cublas, name, API_##name, WRAP_FLAGS_PLAIN, EFFECT_##effect, params, args,  \
		       before, __VA_ARGS__)
#include "api/blas_rows.h"

static int cublas_not_supported(void)
{
	return ABI_CUBLAS_NOT_SUPPORTED;
}

#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	{#name, API_##name, EFFECT_##effect, 0, WRAP_NODE_WRAPPERS(name)},
static const struct wrap_row cublas_rows[SLOT_COUNT] = {
#include "api/blas_rows.h"
};

static const char *const cublas_nodes[] = {NODE_11, NODE_12, NODE_13};

const struct wrap_library wrap_cublas = {
	.module_prefix = "libcublas.so",
	.sonames = cublas_nodes,
	.nodes = cublas_nodes,
	.node_count = 3,
	.row_count = SLOT_COUNT,
	.rows = cublas_rows,
	.real = &cublas_real[0][0],
	.not_supported = (wrap_function)cublas_not_supported,
};
