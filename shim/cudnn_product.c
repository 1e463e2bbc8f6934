/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns descriptors of cuDNN into the fields of records. What does not fit together is "unknown".
 */
#include "cudnn_product.h"

#include <stddef.h>
#include <string.h>

#include "api/cudnn_abi.h"
#include "gemm_shape.h"

uint8_t cudnn_element(int64_t type)
{
	static const uint8_t elements[] = {
		[ABI_CUDNN_FLOAT] = ELEMENT_F32,
		[ABI_CUDNN_DOUBLE] = ELEMENT_F64,
		[ABI_CUDNN_HALF] = ELEMENT_F16,
		[ABI_CUDNN_INT8] = ELEMENT_I8,
		[ABI_CUDNN_INT32] = ELEMENT_I32,
		[ABI_CUDNN_INT8X4] = ELEMENT_I8,
		[ABI_CUDNN_INT8X32] = ELEMENT_I8,
		[ABI_CUDNN_BFLOAT16] = ELEMENT_BF16,
		[ABI_CUDNN_FP8_E4M3] = ELEMENT_F8E4M3,
		[ABI_CUDNN_FP8_E5M2] = ELEMENT_F8E5M2,
		[ABI_CUDNN_FAST_FLOAT_FOR_FP8] = ELEMENT_F32,
		[ABI_CUDNN_FP4_E2M1] = ELEMENT_F4,
	};
	return type >= 0 && type < (int64_t)sizeof(elements) ? elements[type] : ELEMENT_UNKNOWN;
}

static bool is_extent(int64_t value)
{
	return value >= 1 && value <= UINT32_MAX;
}

static bool is_sane(const struct cudnn_tensor *tensor)
{
	for (int i = 0; i < tensor->rank; i++) {
		if (!is_extent(tensor->dims[i]))
			return false;
	}
	return tensor->rank > 0 && tensor->rank <= CUDNN_RANK_MAX;
}

static uint8_t layout_of(const struct cudnn_tensor *tensor)
{
	const int64_t *dims = tensor->dims, *strides = tensor->strides;
	int last = tensor->rank - 1, pixels = 1;
	bool is_told = false;

	if (tensor->is_vectorized)
		return CONV_VECTORIZED;
	for (int i = 0; i <= last; i++)
		is_told |= strides[i] != 0;
	if (!is_told)
		return tensor->layout;
	for (int i = 2; i <= last && pixels == 1; i++)
		pixels = dims[i] > 1 ? 2 : 1;
	/* Where a pixel is one channel or an image one pixel, both orders are the same bytes; the
	 * strides then say which of them the program means. */
	if (strides[1] == 1 && (strides[last] >= dims[1] || pixels == 1))
		return CONV_CHANNELS_LAST;
	return strides[last] == 1 ? CONV_CHANNELS_FIRST : CONV_STRIDED;
}

static uint16_t small(int64_t value)
{
	return value < 0 ? 0 : value > UINT16_MAX ? UINT16_MAX : (uint16_t)value;
}

bool cudnn_product_conv(const struct cudnn_product *product, struct record_conv *record)
{
	const struct cudnn_tensor *x = &product->x, *w = &product->w, *y = &product->y;
	int space = x->rank - 2;

	memset(&record->batch, 0, sizeof(*record) - offsetof(struct record_conv, batch));
	record->op = product->op;
	record->operations = product->operations;
	if (product->kind != CUDNN_CONVOLUTION || product->is_unknown)
		return false;
	record->type_compute = product->compute;
	record->math_flags = product->math_flags;
	record->type_x = x->element;
	record->type_w = w->element;
	record->type_y = y->element;
	if (!is_sane(x) || !is_sane(w) || !is_sane(y) || space < 1 || w->rank != x->rank ||
	    y->rank != x->rank || x->dims[1] % w->dims[1] || w->dims[0] != y->dims[1])
		return false;
	record->batch = (uint32_t)x->dims[0];
	record->channels_in = (uint32_t)x->dims[1];
	record->channels_out = (uint32_t)y->dims[1];
	record->groups = (uint32_t)(x->dims[1] / w->dims[1]);
	record->dimensions = (uint8_t)space;
	for (int i = 0; i < 3; i++) {
		int from = i - (3 - space); /* width is the last one in every rank */
		bool is_there = from >= 0;

		record->in[i] = is_there ? (uint32_t)x->dims[2 + from] : 1;
		record->filter[i] = is_there ? (uint32_t)w->dims[2 + from] : 1;
		record->out[i] = is_there ? (uint32_t)y->dims[2 + from] : 1;
		record->stride[i] = is_there ? small(product->stride[from]) : 1;
		record->dilation[i] = is_there ? small(product->dilation[from]) : 1;
		record->pad[i] = is_there ? small(product->pad[from]) : 0;
	}
	record->layout_x = layout_of(x);
	record->layout_w = layout_of(w);
	record->layout_y = layout_of(y);
	return true;
}

/* A matrix of rows x columns as a column-major product reads it. */
struct operand {
	int op; /* 0 N, 1 T, -1 neither dimension is contiguous */
	int64_t ld, stride;
};

/* is_turned: the product is computed as its transpose, so the matrix is wanted transposed. */
static struct operand operand_of(const struct cudnn_tensor *tensor, bool is_turned)
{
	int row = tensor->rank - 2, column = tensor->rank - 1;
	const int64_t *strides = tensor->strides;
	bool is_column_major = strides[row] == 1 && (strides[column] != 1 || !is_turned);
	struct operand operand = {-1, 0, 0};

	if (strides[row] != 1 && strides[column] != 1)
		return operand;
	operand.op = is_column_major != is_turned ? 0 : 1;
	operand.ld = is_column_major ? strides[column] : strides[row];
	for (int i = row - 1; i >= 0 && !operand.stride; i--)
		operand.stride = tensor->dims[i] > 1 ? strides[i] : 0;
	return operand;
}

static int compute_of(uint8_t element)
{
	switch (element) {
	case ELEMENT_F16:
		return BLAS_COMPUTE_16F;
	case ELEMENT_F32:
		return BLAS_COMPUTE_32F;
	case ELEMENT_F64:
		return BLAS_COMPUTE_64F;
	case ELEMENT_I32:
		return BLAS_COMPUTE_32I;
	default:
		return GEMM_COMPUTE_UNKNOWN;
	}
}

bool cudnn_product_gemm(const struct cudnn_product *product,
			const struct cudnn_addresses *addresses, struct gemm_shape *shape)
{
	const struct cudnn_tensor *a = &product->x, *b = &product->w, *c = &product->y;
	int row = c->rank - 2, column = c->rank - 1;

	if (product->kind != CUDNN_MATMUL || product->is_unknown || !is_sane(a) || !is_sane(b) ||
	    !is_sane(c) || row < 0 || a->rank != c->rank || b->rank != c->rank ||
	    a->dims[row] != c->dims[row] || b->dims[column] != c->dims[column] ||
	    a->dims[column] != b->dims[row])
		return false;
	/* Row-major results are the transposed product, B' A'. */
	bool is_turned = c->strides[column] == 1 && c->dims[column] > 1;
	const struct cudnn_tensor *first = is_turned ? b : a, *second = is_turned ? a : b;
	struct operand one = operand_of(first, is_turned), two = operand_of(second, is_turned);
	struct operand result = operand_of(c, is_turned);

	memset(shape, 0, sizeof(*shape));
	shape->op_a = one.op;
	shape->op_b = two.op;
	shape->m = c->dims[is_turned ? column : row];
	shape->n = c->dims[is_turned ? row : column];
	shape->k = a->dims[column];
	shape->lda = one.ld;
	shape->ldb = two.ld;
	shape->ldc = result.ld;
	shape->stride_a = one.stride;
	shape->stride_b = two.stride;
	shape->stride_c = result.stride;
	shape->batch = 1;
	for (int i = 0; i < row; i++) {
		if (shape->batch > INT32_MAX)
			return false;
		shape->batch *= c->dims[i];
	}
	shape->type_a = -(int)first->element;
	shape->type_b = -(int)second->element;
	shape->type_c = -(int)c->element;
	shape->compute = compute_of(product->compute);
	shape->a = is_turned ? addresses->w : addresses->x;
	shape->b = is_turned ? addresses->x : addresses->w;
	shape->c = addresses->y;
	return true;
}
