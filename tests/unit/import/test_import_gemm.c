/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of matrix products from operator arguments; classes of functions and copies by name. */
#include "import_gemm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "import_api.h"

static struct json_slice slice_of(const char *text)
{
	return (struct json_slice){text, strlen(text), false, false};
}

static bool shape(const char *name, const char *dims, const char *types, const char *strides,
		  struct record_gemm *out)
{
	struct json_slice n = slice_of(name), d = slice_of(dims), t = slice_of(types),
			  s = slice_of(strides);
	memset(out, 0, sizeof(*out));
	return import_gemm_shape(&n, &d, &t, &s, out);
}

static void row_major_products_swap_their_operands(void **state)
{
	struct record_gemm g;
	(void)state;
	assert_true(shape("aten::mm", "[[8192, 4096], [4096, 1536]]",
			  "[\"c10::Half\", \"c10::Half\"]", "", &g));
	assert_int_equal(g.m, 1536);
	assert_int_equal(g.n, 8192);
	assert_int_equal(g.k, 4096);
	assert_int_equal(g.batch, 1);
	assert_int_equal(g.type_a, ELEMENT_F16);
	assert_int_equal(g.op_a, 0); /* no strides: unknown, never guessed */
	assert_int_equal(g.lda, 0);
}

static void bias_comes_before_the_operands(void **state)
{
	struct record_gemm g;
	(void)state;
	assert_true(shape("aten::addmm", "[[256], [2048, 6948], [6948, 256], [], []]",
			  "[\"float\", \"float\", \"float\", \"Scalar\", \"Scalar\"]", "", &g));
	assert_int_equal(g.m, 256);
	assert_int_equal(g.n, 2048);
	assert_int_equal(g.k, 6948);
	assert_int_equal(g.type_c, ELEMENT_F32);
}

static void batches_are_counted(void **state)
{
	struct record_gemm g;
	(void)state;
	assert_true(shape("aten::baddbmm",
			  "[[32, 2048, 2048], [32, 2048, 64], [32, 64, 2048], [], []]",
			  "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\"]", "", &g));
	assert_int_equal(g.batch, 32);
	assert_int_equal(g.m, 2048);
	assert_int_equal(g.k, 64);
	assert_int_equal(g.type_b, ELEMENT_BF16);
}

static void strides_say_how_operands_lie(void **state)
{
	struct record_gemm g;
	(void)state;
	/* The weight of a linear layer is the transposed view of an N x K matrix. */
	assert_true(shape("aten::mm", "[[64, 128], [128, 50257]]", "[\"float\", \"float\"]",
			  "[[128, 1], [1, 128]]", &g));
	assert_int_equal(g.op_a, 'T');
	assert_int_equal(g.lda, 128);
	assert_int_equal(g.op_b, 'N');
	assert_int_equal(g.ldb, 128);
	assert_true(shape("aten::mm", "[[64, 128], [128, 500]]", "[]", "[[256, 2], [512, 1]]", &g));
	assert_int_equal(g.op_a, 'N');
	assert_int_equal(g.lda, 512);
	assert_int_equal(g.op_b, 0); /* neither stride is 1 */
}

static void shapes_that_do_not_fit_are_no_products(void **state)
{
	static const struct {
		const char *name, *dims;
	} rows[] = {
		{"aten::mm", "[[8, 4], [5, 6]]"},
		{"aten::mm", "[[8, 4]]"},
		{"aten::mm", "[[8, 4, 2, 1], [8, 4, 1, 2]]"},
		{"aten::mm", "[[8, -4], [-4, 6]]"},
		{"aten::mm", "[[0, 4], [4, 6]]"},
		{"aten::mm", "[[8, 4], [4, 99999999999]]"},
		{"aten::mm", "[[8, \"x\"], [4, 6]]"},
		{"aten::mm", "[[[8, 4], [4, 6]], []]"},
		{"aten::mm", "[[8, 4], [4"},
		{"aten::mm", "17"},
		{"aten::mm", ""},
		{"aten::linear", "[[8, 4], [6, 4]]"}, /* wraps an addmm that is recorded */
		{"aten::mul", "[[8, 4], [4, 6]]"},
	};
	struct record_gemm g;
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (shape(rows[i].name, rows[i].dims, "", "", &g))
			fail_msg("%s %s was taken for a product", rows[i].name, rows[i].dims);
	}
}

static void functions_are_told_by_their_names(void **state)
{
	static const struct {
		const char *name;
		uint8_t family, scope_or_kind;
		bool is_async;
	} rows[] = {
		{"cudaLaunchKernel", API_LAUNCH, 0, true},
		{"cudaLaunchKernelExC_v11060", API_LAUNCH, 0, true},
		{"cuLaunchKernelEx", API_LAUNCH, 0, true},
		{"hipExtModuleLaunchKernel", API_LAUNCH, 0, true},
		{"cudaGraphLaunch_v10000", API_GRAPH_LAUNCH, 0, true},
		{"cudaLaunchHostFunc", API_HOST_FUNCTION, 0, true},
		{"cudaStreamSynchronize", API_SYNC, SYNC_STREAM, false},
		{"cuCtxSynchronize", API_SYNC, SYNC_DEVICE, false},
		{"hipDeviceSynchronize", API_SYNC, SYNC_DEVICE, false},
		{"cudaEventSynchronize", API_SYNC, SYNC_EVENT, false},
		{"cudaMemcpyAsync", API_COPY, 0, true},
		{"cudaMemcpy", API_COPY, 0, false},
		{"cudaMemsetAsync_v3020", API_SET, 0, true},
		{"cudaMalloc", API_ALLOC, MEMORY_DEVICE, false},
		{"cudaMallocHost", API_ALLOC, MEMORY_PINNED, false},
		{"cuMemAlloc_v2", API_ALLOC, MEMORY_DEVICE, false},
		{"cudaFreeAsync", API_FREE, MEMORY_POOL, true},
		{"cudaFree", API_FREE, MEMORY_DEVICE, false},
		{"cudaEventQuery", API_OTHER, 0, false},
		{"cudaMemGetInfo", API_OTHER, 0, false},
		{"INVALID", API_OTHER, 0, false},
		{"", API_OTHER, 0, false},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct api_class c = import_api_classify(rows[i].name, strlen(rows[i].name));
		uint8_t detail = c.family == API_SYNC ? c.scope : c.memory_kind;
		if (c.family != rows[i].family || detail != rows[i].scope_or_kind ||
		    c.is_async != rows[i].is_async)
			fail_msg("%s: family %d, detail %d, async %d", rows[i].name, c.family,
				 detail, c.is_async);
	}
	assert_int_equal(import_api_base_length("cudaMalloc_v3020", 16), 10);
	assert_int_equal(import_api_base_length("cuMemAlloc_v2", 13), 13);
}

static void copies_are_told_by_their_names(void **state)
{
	static const struct {
		const char *name;
		uint8_t direction, source, destination;
	} rows[] = {
		{"Memcpy HtoD (Pageable -> Device)", COPY_H2D, MEMORY_PAGEABLE, MEMORY_DEVICE},
		{"Memcpy DtoH (Device -> Pinned)", COPY_D2H, MEMORY_DEVICE, MEMORY_PINNED},
		{"Memcpy DtoD (Device -> Device)", COPY_D2D, MEMORY_DEVICE, MEMORY_DEVICE},
		{"Memcpy PtoP (Device -> Device)", COPY_PEER, MEMORY_DEVICE, MEMORY_DEVICE},
		{"Memcpy HtoD (Host -> Device)", COPY_H2D, MEMORY_UNKNOWN, MEMORY_DEVICE},
		{"Memcpy", COPY_UNKNOWN, MEMORY_UNKNOWN, MEMORY_UNKNOWN},
		{"-> (", COPY_UNKNOWN, MEMORY_UNKNOWN, MEMORY_UNKNOWN},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct copy_kinds k = import_copy_kinds(rows[i].name, strlen(rows[i].name));
		assert_int_equal(k.direction, rows[i].direction);
		assert_int_equal(k.source, rows[i].source);
		assert_int_equal(k.destination, rows[i].destination);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(row_major_products_swap_their_operands),
		cmocka_unit_test(bias_comes_before_the_operands),
		cmocka_unit_test(batches_are_counted),
		cmocka_unit_test(strides_say_how_operands_lie),
		cmocka_unit_test(shapes_that_do_not_fit_are_no_products),
		cmocka_unit_test(functions_are_told_by_their_names),
		cmocka_unit_test(copies_are_told_by_their_names),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
