/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of cuBLASLt's products. The functions that read descriptors are those of the same library
 * that runs the product, one set per version node.
 */
#include "capture_lt.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "gemm_shape.h"
#include "real.h"
#include "streams.h"

static struct {
	_Atomic(void *) description, layout;
} readers[WRAP_NODES_MAX];

/* NULL: no loaded library has it, or the loader cannot be asked now. */
static lt_get_function *reader(_Atomic(void *) *known, unsigned int node, const char *name)
{
	union {
		void *object;
		lt_get_function *function;
	} found = {atomic_load_explicit(known, memory_order_acquire)};
	if (!found.object) {
		int saved_errno = errno;
		found.object = real_symbol(&wrap_cublaslt, node, name);
		errno = saved_errno;
		if (found.object)
			atomic_store_explicit(known, found.object, memory_order_release);
	}
	return found.function;
}

void capture_lt_matmul(struct call *call, unsigned int node, const struct lt_product *product,
		       const void *stream)
{
	lt_get_function *get_description =
		reader(&readers[node].description, node, "cublasLtMatmulDescGetAttribute");
	lt_get_function *get_layout =
		reader(&readers[node].layout, node, "cublasLtMatrixLayoutGetAttribute");
	struct gemm_shape shape = {0};
	uint32_t epilogue = 0;
	/* Descriptors of a refused product may be anything: they are the program's, and it says
	 * that they are bad. */
	if (call->status || !get_description || !get_layout ||
	    !lt_describe(get_description, get_layout, product, &shape, &epilogue)) {
		memset(&shape, 0, sizeof(shape));
		shape.op_a = shape.op_b = -1;
		shape.type_a = shape.type_b = shape.type_c = GEMM_ELEMENT(UNKNOWN);
		shape.compute = GEMM_COMPUTE_UNKNOWN;
		shape.a = product->a;
		shape.b = product->b;
		shape.c = product->d;
	}
	capture_gemm_write(call, &shape, stream, 0, epilogue);
}
