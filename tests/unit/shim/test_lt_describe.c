/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors are made by a real libcublasLt, which needs no GPU for that, and by the simulated
 * one; what is read from them is the product in cuBLAS's column-major terms.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cublasLt.h>

#include "gemm_shape.h"
#include "lt_describe.h"

static struct {
	void *library;
	__typeof__(&cublasLtMatmulDescCreate) describe;
	__typeof__(&cublasLtMatmulDescSetAttribute) set;
	__typeof__(&cublasLtMatmulDescDestroy) undescribe;
	__typeof__(&cublasLtMatrixLayoutCreate) layout;
	__typeof__(&cublasLtMatrixLayoutSetAttribute) set_layout;
	__typeof__(&cublasLtMatrixLayoutDestroy) unlayout;
	lt_get_function *get, *get_layout;
} lt;

static int open_library(const char *path)
{
	memset(&lt, 0, sizeof(lt));
	if (!*path || access(path, R_OK))
		return 0;
	lt.library = dlopen(path, RTLD_NOW);
	if (!lt.library)
		return 0;
	*(void **)&lt.describe = dlsym(lt.library, "cublasLtMatmulDescCreate");
	*(void **)&lt.set = dlsym(lt.library, "cublasLtMatmulDescSetAttribute");
	*(void **)&lt.undescribe = dlsym(lt.library, "cublasLtMatmulDescDestroy");
	*(void **)&lt.layout = dlsym(lt.library, "cublasLtMatrixLayoutCreate");
	*(void **)&lt.set_layout = dlsym(lt.library, "cublasLtMatrixLayoutSetAttribute");
	*(void **)&lt.unlayout = dlsym(lt.library, "cublasLtMatrixLayoutDestroy");
	*(void **)&lt.get = dlsym(lt.library, "cublasLtMatmulDescGetAttribute");
	*(void **)&lt.get_layout = dlsym(lt.library, "cublasLtMatrixLayoutGetAttribute");
	return lt.get_layout != NULL;
}

struct made {
	cublasLtMatmulDesc_t description;
	cublasLtMatrixLayout_t a, b, d;
};

static cublasLtMatrixLayout_t layout(cudaDataType_t type, uint64_t rows, uint64_t columns,
				     int64_t ld, int32_t order)
{
	cublasLtMatrixLayout_t made;

	assert_int_equal(lt.layout(&made, type, rows, columns, ld), 0);
	assert_int_equal(lt.set_layout(made, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order)),
			 0);
	return made;
}

static void set_operations(struct made *made, int32_t op_a, int32_t op_b)
{
	assert_int_equal(lt.describe(&made->description, CUBLAS_COMPUTE_32F, CUDA_R_32F), 0);
	assert_int_equal(
		lt.set(made->description, CUBLASLT_MATMUL_DESC_TRANSA, &op_a, sizeof(op_a)), 0);
	assert_int_equal(
		lt.set(made->description, CUBLASLT_MATMUL_DESC_TRANSB, &op_b, sizeof(op_b)), 0);
}

static struct gemm_shape read_shape(const struct made *made, uint32_t *epilogue)
{
	struct lt_product product = {made->description, made->a,    made->b,   made->d,
				     (void *)16,	(void *)32, (void *)48};
	struct gemm_shape shape;

	assert_true(lt_describe(lt.get, lt.get_layout, &product, &shape, epilogue));
	return shape;
}

static void drop(struct made *made)
{
	lt.undescribe(made->description);
	lt.unlayout(made->a);
	lt.unlayout(made->b);
	lt.unlayout(made->d);
}

static void column_major(void)
{
	const cublasLtEpilogue_t bias = CUBLASLT_EPILOGUE_BIAS;
	int32_t batch = 6;
	int64_t stride = 1000000;
	uint32_t epilogue = 0;
	struct gemm_shape shape;
	struct made made;

	set_operations(&made, CUBLAS_OP_T, CUBLAS_OP_N);
	assert_int_equal(
		lt.set(made.description, CUBLASLT_MATMUL_DESC_EPILOGUE, &bias, sizeof(bias)), 0);
	made.a = layout(CUDA_R_16BF, 768, 50257, 770, CUBLASLT_ORDER_COL);
	made.b = layout(CUDA_R_16BF, 768, 128, 768, CUBLASLT_ORDER_COL);
	made.d = layout(CUDA_R_32F, 50257, 128, 50257, CUBLASLT_ORDER_COL);
	assert_int_equal(
		lt.set_layout(made.d, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch)),
		0);
	assert_int_equal(lt.set_layout(made.a, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
				       sizeof(stride)),
			 0);
	shape = read_shape(&made, &epilogue);
	assert_int_equal(shape.m, 50257);
	assert_int_equal(shape.n, 128);
	assert_int_equal(shape.k, 768);
	assert_int_equal(shape.op_a, CUBLAS_OP_T);
	assert_int_equal(shape.op_b, CUBLAS_OP_N);
	assert_int_equal(shape.lda, 770);
	assert_int_equal(shape.ldb, 768);
	assert_int_equal(shape.ldc, 50257);
	assert_int_equal(shape.type_a, CUDA_R_16BF);
	assert_int_equal(shape.type_c, CUDA_R_32F);
	assert_int_equal(shape.batch, 6);
	assert_int_equal(shape.stride_a, 1000000);
	assert_int_equal(shape.compute, CUBLAS_COMPUTE_32F);
	assert_int_equal(epilogue, CUBLASLT_EPILOGUE_BIAS);
	assert_ptr_equal(shape.a, (void *)16);
	drop(&made);
}

/* C (m x n) = A (m x k) B (k x n), all row by row: what a torch program means. */
static void row_major(void)
{
	uint32_t epilogue = 0;
	struct gemm_shape shape;
	struct made made;

	set_operations(&made, CUBLAS_OP_N, CUBLAS_OP_T);
	made.a = layout(CUDA_R_16F, 64, 32, 40, CUBLASLT_ORDER_ROW);
	made.b = layout(CUDA_R_8F_E4M3, 100, 32, 32, CUBLASLT_ORDER_ROW);
	made.d = layout(CUDA_R_16F, 64, 100, 104, CUBLASLT_ORDER_ROW);
	shape = read_shape(&made, &epilogue);
	assert_int_equal(shape.m, 100);
	assert_int_equal(shape.n, 64);
	assert_int_equal(shape.k, 32);
	assert_int_equal(shape.op_a, CUBLAS_OP_T);
	assert_int_equal(shape.op_b, CUBLAS_OP_N);
	assert_int_equal(shape.lda, 32);
	assert_int_equal(shape.ldb, 40);
	assert_int_equal(shape.ldc, 104);
	assert_int_equal(shape.type_a, CUDA_R_8F_E4M3);
	assert_ptr_equal(shape.a, (void *)32);
	assert_ptr_equal(shape.b, (void *)16);
	assert_int_equal(epilogue, CUBLASLT_EPILOGUE_DEFAULT);
	drop(&made);
}

static void mixed_orders(void)
{
	uint32_t epilogue = 0;
	struct gemm_shape shape;
	struct made made;

	set_operations(&made, CUBLAS_OP_N, CUBLAS_OP_N);
	made.a = layout(CUDA_R_32F, 64, 32, 32, CUBLASLT_ORDER_ROW);
	made.b = layout(CUDA_R_32F, 32, 100, 32, CUBLASLT_ORDER_COL);
	made.d = layout(CUDA_R_32F, 64, 100, 64, CUBLASLT_ORDER_COL);
	shape = read_shape(&made, &epilogue);
	assert_int_equal(shape.op_a, CUBLAS_OP_T);
	assert_int_equal(shape.op_b, CUBLAS_OP_N);
	assert_int_equal(shape.m, 64);
	assert_int_equal(shape.k, 32);
	drop(&made);
	set_operations(&made, CUBLAS_OP_T, CUBLAS_OP_N);
	made.a = layout(CUDA_R_8I, 64, 64, 64 * 32, CUBLASLT_ORDER_COL32);
	made.b = layout(CUDA_R_8I, 64, 64, 64, CUBLASLT_ORDER_COL);
	made.d = layout(CUDA_R_32I, 64, 64, 64, CUBLASLT_ORDER_COL);
	assert_int_equal(read_shape(&made, &epilogue).op_a, -1);
	drop(&made);
}

static void all_of(const char *path)
{
	if (!open_library(path)) {
		printf("%s is not here\n", *path ? path : "a real libcublasLt");
		skip();
	}
	column_major();
	row_major();
	mixed_orders();
}

static void products_are_read_from_real_descriptors(void **state)
{
	(void)state;
	all_of(LT_REAL);
}

static void products_are_read_from_simulated_descriptors(void **state)
{
	(void)state;
	all_of(LT_SIMULATED);
}

static int refuse(const void *descriptor, int attribute, void *value, size_t bytes, size_t *written)
{
	(void)descriptor;
	(void)attribute;
	(void)value;
	(void)bytes;
	(void)written;
	return 7;
}

static void descriptors_that_do_not_tell_give_nothing(void **state)
{
	struct lt_product product = {(void *)1, (void *)2, (void *)3, (void *)4, NULL, NULL, NULL};
	struct gemm_shape shape;
	uint32_t epilogue;

	(void)state;
	assert_false(lt_describe(refuse, refuse, &product, &shape, &epilogue));
	product.description = NULL;
	assert_false(lt_describe(refuse, refuse, &product, &shape, &epilogue));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_are_read_from_real_descriptors),
		cmocka_unit_test(products_are_read_from_simulated_descriptors),
		cmocka_unit_test(descriptors_that_do_not_tell_give_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
