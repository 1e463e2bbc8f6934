/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a product of cuBLASLt from its descriptors. Runs on the job's threads behind
 * cublasLtMatmul; allocates nothing, makes no CUDA call.
 */
#include "lt_describe.h"

#include <string.h>

#include "gemm_shape.h"

enum {
	LAYOUT_TYPE,
	LAYOUT_ORDER,
	LAYOUT_ROWS,
	LAYOUT_COLUMNS,
	LAYOUT_LD,
	LAYOUT_BATCH,
	LAYOUT_STRIDE
};
enum { PRODUCT_COMPUTE = 0, PRODUCT_OP_A = 3, PRODUCT_OP_B = 4, PRODUCT_EPILOGUE = 7 };
enum { ORDER_COLUMN = 0, ORDER_ROW = 1 };
enum { OPERATION_UNKNOWN = -1, OPERATION_N = 0, OPERATION_T = 1 };

struct layout {
	uint32_t type;
	int32_t order, batch;
	uint64_t rows, columns;
	int64_t ld, stride;
};

static bool read_layout(lt_get_function *get, const void *descriptor, struct layout *layout)
{
	memset(layout, 0, sizeof(*layout));
	layout->batch = 1;
	if (!descriptor ||
	    get(descriptor, LAYOUT_TYPE, &layout->type, sizeof(layout->type), NULL) ||
	    get(descriptor, LAYOUT_ROWS, &layout->rows, sizeof(layout->rows), NULL) ||
	    get(descriptor, LAYOUT_COLUMNS, &layout->columns, sizeof(layout->columns), NULL) ||
	    get(descriptor, LAYOUT_LD, &layout->ld, sizeof(layout->ld), NULL))
		return false;
	/* What is not there has the value that the library starts with. */
	get(descriptor, LAYOUT_ORDER, &layout->order, sizeof(layout->order), NULL);
	get(descriptor, LAYOUT_BATCH, &layout->batch, sizeof(layout->batch), NULL);
	get(descriptor, LAYOUT_STRIDE, &layout->stride, sizeof(layout->stride), NULL);
	return true;
}

/* The operation on the same bytes read in the other order. */
static int flipped(int operation)
{
	return operation == OPERATION_N	  ? OPERATION_T
	       : operation == OPERATION_T ? OPERATION_N
					  : OPERATION_UNKNOWN;
}

static int operation_in(int operation, int32_t order, int32_t order_of_result)
{
	if ((order != ORDER_COLUMN && order != ORDER_ROW) ||
	    (order_of_result != ORDER_COLUMN && order_of_result != ORDER_ROW))
		return OPERATION_UNKNOWN;
	return order == order_of_result ? operation : flipped(operation);
}

bool lt_describe(lt_get_function *get_description, lt_get_function *get_layout,
		 const struct lt_product *product, struct gemm_shape *shape, uint32_t *epilogue)
{
	struct layout a, b, d;
	int32_t compute = 0, op_a = OPERATION_N, op_b = OPERATION_N;
	if (!product->description ||
	    get_description(product->description, PRODUCT_COMPUTE, &compute, sizeof(compute),
			    NULL) ||
	    !read_layout(get_layout, product->layout_a, &a) ||
	    !read_layout(get_layout, product->layout_b, &b) ||
	    !read_layout(get_layout, product->layout_d, &d))
		return false;
	*epilogue = 0;
	get_description(product->description, PRODUCT_OP_A, &op_a, sizeof(op_a), NULL);
	get_description(product->description, PRODUCT_OP_B, &op_b, sizeof(op_b), NULL);
	get_description(product->description, PRODUCT_EPILOGUE, epilogue, sizeof(*epilogue), NULL);
	*shape = (struct gemm_shape){
		.op_a = operation_in(op_a, a.order, d.order),
		.op_b = operation_in(op_b, b.order, d.order),
		.m = (int64_t)d.rows,
		.n = (int64_t)d.columns,
		.k = (int64_t)(op_a == OPERATION_N ? a.columns : a.rows),
		.lda = a.ld,
		.ldb = b.ld,
		.ldc = d.ld,
		.batch = d.batch,
		.stride_a = a.stride,
		.stride_b = b.stride,
		.stride_c = d.stride,
		.a = product->a,
		.b = product->b,
		.c = product->d,
		.type_a = (int)a.type,
		.type_b = (int)b.type,
		.type_c = (int)d.type,
		.compute = compute,
	};
	if (d.order == ORDER_ROW) {
		/* The same bytes, column by column, are the transposed product: B' A'. */
		const struct gemm_shape s = *shape;
		shape->op_a = s.op_b;
		shape->op_b = s.op_a;
		shape->m = s.n;
		shape->n = s.m;
		shape->lda = s.ldb;
		shape->ldb = s.lda;
		shape->stride_a = s.stride_b;
		shape->stride_b = s.stride_a;
		shape->a = s.b;
		shape->b = s.a;
		shape->type_a = s.type_b;
		shape->type_b = s.type_a;
	}
	return true;
}
