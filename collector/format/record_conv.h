/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of a convolution. Part of record.h, which includes it: include that one.
 */
#ifndef GPUTRACE_FORMAT_RECORD_CONV_H
#define GPUTRACE_FORMAT_RECORD_CONV_H

#include <assert.h>
#include <stdint.h>

#include "record.h"

enum conv_op {
	CONV_FORWARD = 1,
	CONV_BACKWARD_DATA = 2,	 /* the gradient of x, of w and that of y */
	CONV_BACKWARD_FILTER = 3 /* the gradient of w, of x and that of y */
};

/* Where the channels of a tensor lie. */
enum conv_layout {
	CONV_LAYOUT_UNKNOWN = 0,
	CONV_CHANNELS_FIRST = 1, /* NCHW, KCRS: one plane per channel */
	CONV_CHANNELS_LAST = 2,	 /* NHWC, KRSC: the channels of a pixel lie together */
	CONV_STRIDED = 3,	 /* neither */
	CONV_VECTORIZED = 4	 /* NCHW with 4 or 32 channels together */
};

/* y (batch x channels_out x out) = x (batch x channels_in x in) with channels_out filters of
 * channels_in / groups x filter. Sizes are of the tensors as the program has them, all 0 where
 * they are not known; what backward passes compute has the name of what it is the gradient of.
 * Extents are depth, height, width; a dimension that there is not is 1. */
struct record_conv {
	struct call_part call;
	uint64_t x, w, y; /* addresses, 0 unknown, or never in memory: fused */
	uint64_t stream;
	uint32_t batch;
	uint32_t channels_in, channels_out;
	uint32_t groups; /* channels_in: depthwise */
	uint32_t in[3], filter[3], out[3];
	uint16_t stride[3], dilation[3], pad[3]; /* pad: before the first element */
	uint16_t operations; /* of the graph that it is a part of: what is fused with it; 1 alone */
	uint8_t dimensions;  /* of space, 1 to 3; 0: the shape is not known */
	uint8_t op;	     /* enum conv_op */
	uint8_t layout_x, layout_w, layout_y;	      /* enum conv_layout */
	uint8_t type_x, type_w, type_y, type_compute; /* enum element_type */
	uint8_t math_flags; /* 1: TF32 allowed on f32, 2: pedantic, no Tensor Cores asked for */
	uint16_t reserved0;
};

static_assert(sizeof(struct record_conv) == 176, "record_conv");

#endif
