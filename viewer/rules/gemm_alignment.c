/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 16-byte rule, operand by operand.
 */
#include "gemm_alignment.h"

#define NEEDED_BYTES 16
#define BEST_BYTES   128

uint32_t gemm_element_bytes(uint8_t element_type)
{
	switch (element_type) {
	case ELEMENT_F8E4M3:
	case ELEMENT_F8E5M2:
	case ELEMENT_I8:
		return 1;
	case ELEMENT_F16:
	case ELEMENT_BF16:
		return 2;
	case ELEMENT_F32:
	case ELEMENT_TF32:
	case ELEMENT_I32:
		return 4;
	case ELEMENT_F64:
	case ELEMENT_C64:
		return 8;
	case ELEMENT_C128:
		return 16;
	default:
		return 0;
	}
}

const char *gemm_type_name(uint8_t element_type)
{
	static const char *const names[] = {"unknown",	 "fp64",       "fp32",	   "tf32", "fp16",
					    "bf16",	 "fp8-e4m3",   "fp8-e5m2", "int8", "int32",
					    "complex64", "complex128", "fp4"};

	return element_type < sizeof(names) / sizeof(names[0]) ? names[element_type] : names[0];
}

static bool uses_tensor_cores(const struct gemm_shape *shape)
{
	switch (shape->type_a) {
	case ELEMENT_F16:
	case ELEMENT_BF16:
	case ELEMENT_TF32:
	case ELEMENT_F8E4M3:
	case ELEMENT_F8E5M2:
	case ELEMENT_I8:
	case ELEMENT_F64:
		return true;
	case ELEMENT_F32:
		return shape->math_flags & 1 || shape->type_compute == ELEMENT_TF32;
	default:
		return false;
	}
}

static uint32_t lowest_power(uint64_t value)
{
	uint64_t power = value & (~value + 1);

	return power > BEST_BYTES ? BEST_BYTES : (uint32_t)power;
}

static void consider(struct gemm_alignment *worst, enum gemm_fault fault, char operand,
		     char dimension, uint32_t extent, uint32_t element_bytes)
{
	uint32_t aligned = lowest_power((uint64_t)extent * element_bytes);

	if (!extent || aligned >= NEEDED_BYTES)
		return;
	/* Extents come before leading dimensions: they are the cause where both are off. */
	if (worst->fault != GEMM_ALIGNED &&
	    (worst->fault < fault || worst->aligned_bytes <= aligned))
		return;
	worst->fault = fault;
	worst->operand = operand;
	worst->dimension = dimension;
	worst->extent = extent;
	worst->element_bytes = element_bytes;
	worst->aligned_bytes = aligned;
	worst->padded_least =
		(extent * element_bytes / NEEDED_BYTES + 1) * NEEDED_BYTES / element_bytes;
	worst->padded_best = (extent * element_bytes / BEST_BYTES + 1) * BEST_BYTES / element_bytes;
}

struct gemm_alignment gemm_alignment_of(const struct gemm_shape *shape)
{
	struct gemm_alignment worst = {.fault = GEMM_ALIGNED};
	uint32_t a = gemm_element_bytes(shape->type_a), b = gemm_element_bytes(shape->type_b);
	uint32_t c = gemm_element_bytes(shape->type_c);
	bool a_is_plain = shape->op_a == 'N', b_is_plain = shape->op_b == 'N';
	const uint8_t pointers[] = {shape->align_a, shape->align_b, shape->align_c};

	if (!uses_tensor_cores(shape)) {
		worst.fault = GEMM_NOT_TENSOR;
		return worst;
	}
	/* Products with a vector have no tiles to fill. */
	if (shape->m == 1 || shape->n == 1 || shape->k == 1)
		return worst;
	/* An imported product may not say how its operands lie. */
	if (shape->op_a)
		consider(&worst, GEMM_EXTENT, 'A', a_is_plain ? 'm' : 'k',
			 a_is_plain ? shape->m : shape->k, a);
	if (shape->op_b)
		consider(&worst, GEMM_EXTENT, 'B', b_is_plain ? 'k' : 'n',
			 b_is_plain ? shape->k : shape->n, b);
	consider(&worst, GEMM_EXTENT, 'C', 'm', shape->m, c);
	consider(&worst, GEMM_LEADING, 'A', a_is_plain ? 'm' : 'k', shape->lda, a);
	consider(&worst, GEMM_LEADING, 'B', b_is_plain ? 'k' : 'n', shape->ldb, b);
	consider(&worst, GEMM_LEADING, 'C', 'm', shape->ldc, c);
	for (int i = 0; worst.fault == GEMM_ALIGNED && i < 3; i++) {
		if (!pointers[i] || pointers[i] >= NEEDED_BYTES)
			continue;
		worst.fault = GEMM_POINTER;
		worst.operand = (char)('A' + i);
		worst.aligned_bytes = pointers[i];
		worst.element_bytes = i == 0 ? a : i == 1 ? b : c;
	}
	return worst;
}

double gemm_flops(const struct gemm_shape *shape)
{
	return 2.0 * shape->m * shape->n * shape->k * shape->batch;
}

double gemm_bytes(const struct gemm_shape *shape)
{
	return (double)shape->batch *
	       ((double)shape->m * shape->k * gemm_element_bytes(shape->type_a) +
		(double)shape->k * shape->n * gemm_element_bytes(shape->type_b) +
		(double)shape->m * shape->n * gemm_element_bytes(shape->type_c));
}

struct gemm_shape gemm_padded(const struct gemm_shape *shape, char dimension, uint32_t extent)
{
	struct gemm_shape padded = *shape;

	if (dimension == 'm')
		padded.m = extent;
	else if (dimension == 'n')
		padded.n = extent;
	else
		padded.k = extent;
	return padded;
}
