/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A convolution or matrix product of cuDNN as its descriptors tell it, and what a record says of
 * it. Pure arithmetic: makes no call, so that hostile numbers can be tried on it.
 */
#ifndef GPUTRACE_SHIM_CUDNN_PRODUCT_H
#define GPUTRACE_SHIM_CUDNN_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "../collector/format/record.h"

struct gemm_shape;

#define CUDNN_RANK_MAX 5 /* batch, channels, depth, height, width */

struct cudnn_tensor {
	int64_t dims[CUDNN_RANK_MAX];
	int64_t strides[CUDNN_RANK_MAX]; /* elements; all 0: not told, then `layout` says it */
	int64_t unique_id;		 /* by which the graph API finds its address */
	uint8_t rank;			 /* 0: not known */
	uint8_t element;		 /* enum element_type */
	uint8_t layout;			 /* enum conv_layout, where no strides are told */
	bool is_vectorized;		 /* some channels are one element */
};

enum cudnn_product_kind { CUDNN_NO_PRODUCT = 0, CUDNN_CONVOLUTION, CUDNN_MATMUL };

/* x, w, y of a convolution; A, B, C of a matrix product, whose last two dimensions count. */
struct cudnn_product {
	uint8_t kind; /* enum cudnn_product_kind */
	uint8_t op;   /* enum conv_op */
	uint8_t compute;
	uint8_t math_flags; /* of record_conv */
	uint16_t operations;
	bool is_unknown; /* more than one product, or sizes that are told elsewhere */
	int64_t pad[3], stride[3], dilation[3];
	struct cudnn_tensor x, w, y;
};

struct cudnn_addresses {
	const void *x, *w, *y; /* NULL: never in memory, or not told */
};

/* cudnnDataType_t -> enum element_type */
uint8_t cudnn_element(int64_t type);
/* Everything of the record behind `stream`. False: its shape is not known. */
bool cudnn_product_conv(const struct cudnn_product *product, struct record_conv *record);
/* Column-major, as record_gemm means it. */
bool cudnn_product_gemm(const struct cudnn_product *product,
			const struct cudnn_addresses *addresses, struct gemm_shape *shape);

#endif
