/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a product of cuBLASLt is: asked of its descriptors with the library's own functions, which
 * read memory of the host only and need no GPU (about 200 ns for all). Asking beats following the
 * calls that make descriptors: those may lie before the recording, on the stack, or be copied.
 */
#ifndef GPUTRACE_SHIM_LT_DESCRIBE_H
#define GPUTRACE_SHIM_LT_DESCRIBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gemm_shape;

/* cublasLtMatmulDescGetAttribute, cublasLtMatrixLayoutGetAttribute. */
typedef int lt_get_function(const void *descriptor, int attribute, void *value, size_t bytes,
			    size_t *written);

struct lt_product {
	const void *description, *layout_a, *layout_b, *layout_d;
	const void *a, *b, *d;
};

/* Column-major, as record_gemm means it: row-major operands are turned round. False: a descriptor
 * does not tell. Orders that are neither leave the operations unknown (-1). */
bool lt_describe(lt_get_function *get_description, lt_get_function *get_layout,
		 const struct lt_product *product, struct gemm_shape *shape, uint32_t *epilogue);

#endif
