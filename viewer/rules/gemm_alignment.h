/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a matrix product meets the 16-byte rule of Tensor Cores (cuBLAS documentation, "Tensor
 * Core usage"): the contiguous extent of each operand, each leading dimension and each pointer must
 * be a multiple of 16 bytes. Matrices are column-major: A is contiguous along m, or along k when it
 * is transposed; B along k, or along n when transposed; C along m. The other extents are never
 * asked.
 */
#ifndef GPUTRACE_RULES_GEMM_ALIGNMENT_H
#define GPUTRACE_RULES_GEMM_ALIGNMENT_H

#include "model.h"

enum gemm_fault {
	GEMM_ALIGNED = 0,
	GEMM_EXTENT,	/* a contiguous extent */
	GEMM_LEADING,	/* only a leading dimension */
	GEMM_POINTER,	/* only a pointer: a view with an offset */
	GEMM_NOT_TENSOR /* these types do not use Tensor Cores */
};

struct gemm_alignment {
	enum gemm_fault fault;
	char operand;	 /* 'A', 'B' or 'C', the worst one */
	char dimension;	 /* 'm', 'n' or 'k'; 0 for a pointer */
	uint32_t extent; /* elements: of the dimension or the leading dimension */
	uint32_t element_bytes;
	uint32_t aligned_bytes; /* largest power of two that divides it, below 16 */
	uint32_t padded_least;	/* next multiple of 16 bytes */
	uint32_t padded_best;	/* next multiple of 128 bytes: a cache line */
};

struct gemm_alignment gemm_alignment_of(const struct gemm_shape *shape);
/* 0 for types without a whole number of bytes or without Tensor Cores. */
uint32_t gemm_element_bytes(uint8_t element_type);
const char *gemm_type_name(uint8_t element_type);
double gemm_flops(const struct gemm_shape *shape);
/* Bytes that must at least cross device memory. */
double gemm_bytes(const struct gemm_shape *shape);
/* The shape with one dimension replaced, leading dimensions with it. */
struct gemm_shape gemm_padded(const struct gemm_shape *shape, char dimension, uint32_t extent);

#endif
