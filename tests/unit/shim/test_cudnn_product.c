/* SPDX-License-Identifier: Apache-2.0 */
/* What the tensors of a convolution or matrix product of cuDNN mean in a record. */
#include "../../../shim/cudnn_product.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../shim/gemm_shape.h"

#define DIMS(...)    ((const int64_t[]){__VA_ARGS__})
#define STRIDES(...) ((const int64_t[]){__VA_ARGS__})

static struct cudnn_product conv_with(const int64_t *x, const int64_t *x_strides, const int64_t *w,
				      const int64_t *y, int rank)
{
	struct cudnn_product product = {.kind = CUDNN_CONVOLUTION, .op = CONV_FORWARD};

	product.x.rank = product.w.rank = product.y.rank = (uint8_t)rank;
	for (int i = 0; i < rank; i++) {
		product.x.dims[i] = x[i];
		product.x.strides[i] = x_strides[i];
		product.w.dims[i] = w[i];
		product.y.dims[i] = y[i];
	}
	for (int i = 0; i < 3; i++)
		product.stride[i] = product.dilation[i] = 1;
	product.w.layout = CONV_CHANNELS_FIRST;
	return product;
}

static void layouts_are_read_from_strides(void **state)
{
	static const struct {
		int64_t dims[4], strides[4];
		int layout;
	} cases[] = {
		{{2, 8, 5, 7}, {280, 35, 7, 1}, CONV_CHANNELS_FIRST},
		{{2, 8, 5, 7}, {280, 1, 56, 8}, CONV_CHANNELS_LAST},
		{{2, 8, 5, 7}, {640, 1, 112, 16}, CONV_CHANNELS_LAST}, /* rows with room */
		{{2, 8, 5, 7}, {560, 70, 14, 2}, CONV_STRIDED},
		{{2, 8, 1, 1}, {8, 1, 1, 1}, CONV_CHANNELS_LAST},
		{{2, 1, 5, 7}, {35, 35, 7, 1}, CONV_CHANNELS_FIRST},
		{{2, 1, 5, 7}, {35, 1, 7, 1}, CONV_CHANNELS_LAST},
		{{2, 8, 5, 7}, {0, 0, 0, 0}, CONV_LAYOUT_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int64_t w[] = {4, cases[i].dims[1], 1, 1};
		const int64_t y[] = {2, 4, cases[i].dims[2], cases[i].dims[3]};
		struct cudnn_product product = conv_with(cases[i].dims, cases[i].strides, w, y, 4);
		struct record_conv record;

		assert_true(cudnn_product_conv(&product, &record));
		assert_int_equal(record.layout_x, cases[i].layout);
		assert_int_equal(record.layout_w, CONV_CHANNELS_FIRST);
	}
}

static void groups_and_dimensions_come_from_the_extents(void **state)
{
	struct cudnn_product grouped = conv_with(DIMS(2, 32, 5, 7), STRIDES(0, 0, 0, 0),
						 DIMS(64, 8, 3, 3), DIMS(2, 64, 5, 7), 4);
	struct cudnn_product deep = conv_with(DIMS(2, 8, 4, 5, 7), STRIDES(0, 0, 0, 0, 0),
					      DIMS(16, 8, 3, 3, 3), DIMS(2, 16, 4, 5, 7), 5);
	struct cudnn_product flat =
		conv_with(DIMS(2, 8, 7), STRIDES(56, 7, 1), DIMS(16, 8, 3), DIMS(2, 16, 7), 3);
	struct record_conv r;

	(void)state;
	assert_true(cudnn_product_conv(&grouped, &r));
	assert_int_equal(r.groups, 4);
	assert_true(cudnn_product_conv(&deep, &r));
	assert_int_equal(r.dimensions, 3);
	assert_memory_equal(r.in, ((uint32_t[]){4, 5, 7}), sizeof(r.in));
	assert_true(cudnn_product_conv(&flat, &r));
	assert_int_equal(r.dimensions, 1);
	assert_memory_equal(r.in, ((uint32_t[]){1, 1, 7}), sizeof(r.in));
}

static void tensors_that_do_not_fit_are_unknown(void **state)
{
	struct cudnn_product product = conv_with(DIMS(2, 8, 5, 7), STRIDES(0, 0, 0, 0),
						 DIMS(16, 3, 3, 3), DIMS(2, 16, 5, 7), 4);
	struct record_conv r;

	(void)state;
	assert_false(cudnn_product_conv(&product, &r)); /* 8 channels, filters of 3 */
	assert_int_equal(r.dimensions, 0);
	product.w.dims[1] = 8;
	product.w.dims[0] = 15;
	assert_false(cudnn_product_conv(&product, &r));
	product.w.dims[0] = 16;
	assert_true(cudnn_product_conv(&product, &r));
	product.x.dims[2] = -1;
	assert_false(cudnn_product_conv(&product, &r));
	product.x.dims[2] = (int64_t)1 << 40;
	assert_false(cudnn_product_conv(&product, &r));
	product.x.dims[2] = 5;
	product.y.rank = 200;
	assert_false(cudnn_product_conv(&product, &r));
}

static struct cudnn_product matmul_of(const int64_t *a, const int64_t *b, const int64_t *c)
{
	struct cudnn_product product = {.kind = CUDNN_MATMUL, .compute = ELEMENT_F32};
	struct cudnn_tensor *const tensors[] = {&product.x, &product.w, &product.y};
	const int64_t *const from[] = {a, b, c};

	for (int t = 0; t < 3; t++) {
		tensors[t]->rank = 3;
		tensors[t]->element = ELEMENT_BF16;
		memcpy(tensors[t]->dims, from[t], 3 * sizeof(int64_t));
		memcpy(tensors[t]->strides, from[t] + 3, 3 * sizeof(int64_t));
	}
	return product;
}

/* dims, then strides */
static void a_row_major_product_is_the_transposed_one_in_columns(void **state)
{
	/* C (100 x 50) = A (100 x 30) B (30 x 50), 4 of them */
	struct cudnn_product product =
		matmul_of(DIMS(4, 100, 30, 3000, 30, 1), DIMS(4, 30, 50, 1500, 50, 1),
			  DIMS(4, 100, 50, 5000, 50, 1));
	const struct cudnn_addresses at = {(void *)16, (void *)32, (void *)48};
	struct gemm_shape s;

	(void)state;
	assert_true(cudnn_product_gemm(&product, &at, &s));
	assert_int_equal(s.m, 50);
	assert_int_equal(s.n, 100);
	assert_int_equal(s.k, 30);
	assert_int_equal(s.lda, 50);
	assert_int_equal(s.ldb, 30);
	assert_int_equal(s.ldc, 50);
	assert_int_equal(s.op_a, 0);
	assert_int_equal(s.op_b, 0);
	assert_int_equal(s.batch, 4);
	assert_int_equal(s.stride_a, 1500);
	assert_int_equal(s.stride_b, 3000);
	assert_int_equal(s.stride_c, 5000);
	assert_ptr_equal(s.a, at.w);
	assert_ptr_equal(s.b, at.x);
	assert_ptr_equal(s.c, at.y);
	assert_int_equal(s.type_a, -ELEMENT_BF16);
	assert_int_equal(s.compute, BLAS_COMPUTE_32F);
}

static void transposed_operands_keep_their_leading_dimension(void **state)
{
	/* B as it lies in a linear layer: 50 rows of 30, padded to 32 */
	struct cudnn_product product =
		matmul_of(DIMS(1, 100, 30, 3000, 30, 1), DIMS(1, 30, 50, 1600, 1, 32),
			  DIMS(1, 100, 50, 5000, 50, 1));
	struct cudnn_product columns =
		matmul_of(DIMS(1, 100, 30, 3000, 1, 100), DIMS(1, 30, 50, 1500, 50, 1),
			  DIMS(1, 100, 50, 5000, 1, 100));
	struct cudnn_product strided = product;
	const struct cudnn_addresses at = {NULL, NULL, NULL};
	struct gemm_shape s;

	(void)state;
	assert_true(cudnn_product_gemm(&product, &at, &s));
	assert_int_equal(s.op_a, 1);
	assert_int_equal(s.lda, 32);
	assert_int_equal(s.op_b, 0);
	assert_true(cudnn_product_gemm(&columns, &at, &s));
	assert_int_equal(s.m, 100);
	assert_int_equal(s.n, 50);
	assert_int_equal(s.op_a, 0);
	assert_int_equal(s.lda, 100);
	assert_int_equal(s.op_b, 1);
	assert_int_equal(s.ldb, 50);
	assert_int_equal(s.ldc, 100);
	strided.w.strides[1] = 2;
	strided.w.strides[2] = 64;
	assert_true(cudnn_product_gemm(&strided, &at, &s));
	assert_int_equal(s.op_a, -1);
	strided.w.dims[1] = 31;
	assert_false(cudnn_product_gemm(&strided, &at, &s));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts_are_read_from_strides),
		cmocka_unit_test(groups_and_dimensions_come_from_the_extents),
		cmocka_unit_test(tensors_that_do_not_fit_are_unknown),
		cmocka_unit_test(a_row_major_product_is_the_transposed_one_in_columns),
		cmocka_unit_test(transposed_operands_keep_their_leading_dimension),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
