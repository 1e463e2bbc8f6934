/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported wrappers of libcublasLt: one per row of cublaslt.def and per version node (CUDA 11,
 * 12, 13).
 */
#include "wrap_nodes.h"

#include "api/cuda_abi.h"
#include "api/cublaslt_abi.h"
#include "call.h"
#include "capture_lt.h"
#include "real.h"

enum cublaslt_slot {
#define ROW(name, twin, check, effect, params, args, before, ...) SLOT_##name,
#include "api/rows.h"
#include "api/cublaslt.def"
#include "api/rows_end.h"
	SLOT_COUNT
};

static wrap_function _Atomic cublaslt_real[WRAP_NODES_MAX][SLOT_COUNT];

#define NODE_11 "libcublasLt.so.11"
#define NODE_12 "libcublasLt.so.12"
#define NODE_13 "libcublasLt.so.13"

#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	WRAP_EACH_NODE(cublaslt, name, API_##name, WRAP_FLAGS_PLAIN, EFFECT_##effect, params,      \
		       args, before, __VA_ARGS__)
#include "api/rows.h"
#include "api/cublaslt.def"
#include "api/rows_end.h"

static int cublaslt_not_supported(void)
{
	return ABI_CUBLAS_NOT_SUPPORTED;
}

#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	{#name, API_##name, EFFECT_##effect, 0, WRAP_NODE_WRAPPERS(name)},
static const struct wrap_row cublaslt_rows[SLOT_COUNT] = {
#include "api/rows.h"
#include "api/cublaslt.def"
#include "api/rows_end.h"
};

static const char *const cublaslt_nodes[] = {NODE_11, NODE_12, NODE_13};

const struct wrap_library wrap_cublaslt = {
	.module_prefix = "libcublasLt.so",
	.sonames = cublaslt_nodes,
	.nodes = cublaslt_nodes,
	.node_count = 3,
	.row_count = SLOT_COUNT,
	.rows = cublaslt_rows,
	.real = &cublaslt_real[0][0],
	.not_supported = (wrap_function)cublaslt_not_supported,
};
