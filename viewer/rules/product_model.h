/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a matrix product can reach on the GPU at hand: peak, roofline, tiles. Everything is scaled
 * by the share of the GPU that a MIG instance has. 0 means that the GPU is unknown or a vGPU, or
 * that the kernel's name does not tell.
 */
#ifndef GPUTRACE_RULES_PRODUCT_MODEL_H
#define GPUTRACE_RULES_PRODUCT_MODEL_H

#include "gemm_alignment.h"
#include "rule.h"

/* Measured best products reach 73 to 87 % of the dense peak (gpu.md, ml-engineering): a cured one
 * is not taken to do better than this. */
#define PRODUCT_REACHABLE_SHARE 0.85

/* Dense peak for the operands' type with the units that the kernel uses, TFLOP/s. */
double product_peak_tflops(const struct rule_context *context, const struct gemm_shape *shape,
			   const struct kernel_traits *traits);
/* Major number of the compute capability, as the device reported it, else of the table; 0 unknown.
 */
uint16_t product_capability(const struct rule_context *context, uint16_t *minor);
double product_memory_gbs(const struct rule_context *context);
/* SMs of the device as it reported them, else of the table. */
double product_sms(const struct rule_context *context);
/* Best time to expect of a shape on Tensor Cores, ns: roofline with whole waves of tiles. */
double product_ideal_ns(const struct rule_context *context, const struct gemm_shape *shape);
/* Output tiles by the tile in the kernel's name, in the two ways in which it can lie: row-major
 * callers exchange A and B, and with them what the name's first number means. */
struct product_tiles {
	double least, most; /* 0: no tile in the name */
};
struct product_tiles product_tiles_of(const struct gemm_shape *shape,
				      const struct kernel_traits *traits);
/* Moves its operands at 60 % of the memory bandwidth or more: more blocks would not help. */
bool product_is_at_memory_roof(const struct rule_context *context, uint32_t shape);
/* Why shapes cannot be compared with this GPU: NULL when they can. */
const char *product_why_unknown(const struct rule_context *context);

/* The roofline says that memory, not arithmetic, bounds the shape. */
bool product_is_memory_bound(const struct rule_context *context, const struct gemm_shape *shape,
			     const struct kernel_traits *traits);

/* "m=4096 n=16 k=4096 fp16 op TN", as evidence. */
void product_describe(struct finding *finding, const struct gemm_shape *shape);

#endif
