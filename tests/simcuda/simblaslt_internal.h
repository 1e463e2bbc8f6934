/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the simulated cuBLASLt (libcublasLt.so.13). Its descriptors lie in the public opaque
 * structures, so that programs may keep them on their stacks.
 */
#ifndef GPUTRACE_SIMBLASLT_INTERNAL_H
#define GPUTRACE_SIMBLASLT_INTERNAL_H

#include "simblas_internal.h"

#pragma GCC visibility push(default)
#include <cublasLt.h>
#pragma GCC visibility pop

struct simblaslt_layout {
	uint32_t magic, type;
	int32_t order, batch;
	uint64_t rows, columns;
	int64_t ld, stride;
};
struct simblaslt_product {
	uint32_t magic, epilogue;
	int32_t compute, scale, pointer_mode, opa, opb;
	uint64_t bias;
};
_Static_assert(sizeof(struct simblaslt_layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "size");
_Static_assert(sizeof(struct simblaslt_product) <= sizeof(cublasLtMatmulDescOpaque_t), "size");

/* NULL: none of ours. */
const struct simblaslt_layout *simblaslt_layout_of(const void *descriptor);
const struct simblaslt_product *simblaslt_product_of(const void *descriptor);

#endif
