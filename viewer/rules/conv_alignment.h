/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a convolution's channels meet the rule of Tensor Cores: input and output channels are
 * multiples of 16 bytes (8 of fp16 and bf16, 4 of tf32, 16 of int8), since channels lie together
 * where Tensor Cores read them. cuDNN pads and reorders by itself, which costs time of its own.
 */
#ifndef GPUTRACE_RULES_CONV_ALIGNMENT_H
#define GPUTRACE_RULES_CONV_ALIGNMENT_H

#include "rule.h"

enum conv_fault {
	CONV_ALIGNED = 0,
	CONV_CHANNELS_IN,
	CONV_CHANNELS_OUT,
	CONV_NOT_TENSOR, /* the types do not use Tensor Cores, or the kernel does not */
	CONV_NOT_JUDGED	 /* no shape, groups, a first layer */
};

struct conv_alignment {
	enum conv_fault fault;
	uint32_t extent; /* channels */
	uint32_t element_bytes;
	uint32_t aligned_bytes; /* largest power of two that divides them, below 16 */
	uint32_t padded_least;	/* next multiple of 16 bytes */
	uint32_t padded_best;	/* next multiple of 128 bytes where that adds little, else the same
				 */
};

/* kernel: what the longest kernel's name tells. */
struct conv_alignment conv_alignment_of(const struct conv_shape *shape,
					const struct kernel_traits *kernel);
bool conv_has_fault(const struct conv_shape *shape, const struct kernel_traits *kernel);
double conv_flops(const struct conv_shape *shape);
/* Bytes that must at least cross device memory. */
double conv_bytes(const struct conv_shape *shape);
/* Raises a finding per misaligned number of channels from `share_percent` of the step on; how many.
 */
size_t conv_alignment_raise(struct rule_context *context, double share_percent);
/* "n=64 c=34 k=64 56x56 filter 3x3 fp16, channels last, forward" */
void conv_describe(const struct conv_shape *shape, char *text, size_t size);

#endif
