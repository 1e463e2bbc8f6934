/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported wrappers of libcublas: one per row of cublas.def, per _64 twin and per version node
 * (CUDA 11, 12, 13).
 */
#include "wrap.h"

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

#define VERSIONED(name, number)                                                                    \
	__asm__(".symver " #name "__" #number "," #name "@libcublas.so." #number ",remove");
#define EXPORT(name, number, node, effect, params, args, before, ...)                              \
	WRAP_DEFINE(name##__##number, cublas, node, SLOT_##name, API_##name, WRAP_FLAGS_PLAIN,     \
		    EFFECT_##effect, params, args, before, __VA_ARGS__)                            \
	VERSIONED(name, number)
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	EXPORT(name, 11, 0, effect, params, args, before, __VA_ARGS__)                             \
	EXPORT(name, 12, 1, effect, params, args, before, __VA_ARGS__)                             \
	EXPORT(name, 13, 2, effect, params, args, before, __VA_ARGS__)
#include "api/blas_rows.h"

static int cublas_not_supported(void)
{
	return ABI_CUBLAS_NOT_SUPPORTED;
}

#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	{#name,                                                                                    \
	 API_##name,                                                                               \
	 EFFECT_##effect,                                                                          \
	 0,                                                                                        \
	 {(wrap_function)name##__11, (wrap_function)name##__12, (wrap_function)name##__13}},
static const struct wrap_row cublas_rows[SLOT_COUNT] = {
#include "api/blas_rows.h"
};

static const char *const cublas_nodes[] = {"libcublas.so.11", "libcublas.so.12", "libcublas.so.13"};

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
