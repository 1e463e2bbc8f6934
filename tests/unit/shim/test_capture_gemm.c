/* SPDX-License-Identifier: Apache-2.0 */
/* What cuBLAS's enums mean in a record of a matrix product. */
#include "../../../shim/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "../../../shim/streams.h"

/* What the capture functions need of the rest of the shim: one record, written nowhere. */
static struct record_gemm record;
static struct ring_header header;
static struct thread thread = {.is_live = 1, .ring = {.header = &header}};
_Atomic uint32_t streams_open_captures;

static struct record_gemm all[8];
static struct call_part parts[8];
static size_t gemm_count, plain_count;

void *call_record(struct call *call, enum record_kind kind, size_t size_bytes)
{
	assert_true(gemm_count < 8);
	if (gemm_count)
		all[gemm_count - 1] = record;
	parts[gemm_count].call_id = call->id;
	parts[gemm_count++].parent_id = call->parent;
	assert_int_equal(kind, RECORD_KIND_gemm);
	assert_int_equal(size_bytes, sizeof(record));
	memset(&record, 0xee, sizeof(record));
	return &record;
}

/* A thread without totals. */
void totals_take_call(struct thread *to, bool is_nested)
{
	(void)to;
	(void)is_nested;
}

void capture_plain(struct call *call, const void *object)
{
	(void)call;
	(void)object;
	plain_count++;
}

bool streams_is_captured_slow(const void *stream)
{
	(void)stream;
	return false;
}

static struct call call = {.thread = &thread};
static char handle;

static const struct record_gemm *gemm(int type, int compute)
{
	struct gemm_shape shape = {.op_a = 1,
				   .op_b = 0,
				   .m = 50257,
				   .n = 128,
				   .k = 768,
				   .lda = 768,
				   .ldb = 768,
				   .ldc = 50257,
				   .batch = 1,
				   .type_a = type,
				   .type_b = type,
				   .type_c = type,
				   .compute = compute};
	gemm_count = 0;
	capture_gemm(&call, &handle, &shape);
	return &record;
}

static void shapes_and_operations_are_kept(void **state)
{
	(void)state;
	const struct record_gemm *r = gemm(2, BLAS_COMPUTE_32F);
	assert_int_equal(r->m, 50257);
	assert_int_equal(r->n, 128);
	assert_int_equal(r->k, 768);
	assert_int_equal(r->lda, 768);
	assert_int_equal(r->ldc, 50257);
	assert_int_equal(r->batch, 1);
	assert_int_equal(r->op_a, 'T');
	assert_int_equal(r->op_b, 'N');
	assert_int_equal(r->reserved0, 0);
}

static void types_are_translated(void **state)
{
	(void)state;
	static const struct {
		int type;
		uint8_t element;
	} types[] = {
		{0, ELEMENT_F32},     {1, ELEMENT_F64},
		{2, ELEMENT_F16},     {14, ELEMENT_BF16},
		{28, ELEMENT_F8E4M3}, {29, ELEMENT_F8E5M2},
		{3, ELEMENT_I8},      {10, ELEMENT_I32},
		{4, ELEMENT_C64},     {5, ELEMENT_C128},
		{33, ELEMENT_F4},     {99, ELEMENT_UNKNOWN},
		{6, ELEMENT_UNKNOWN}, {GEMM_ELEMENT(F16), ELEMENT_F16},
	};
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		assert_int_equal(gemm(types[i].type, BLAS_COMPUTE_32F)->type_a, types[i].element);
}

static void compute_types_and_math_modes_are_translated(void **state)
{
	(void)state;
	assert_int_equal(gemm(0, BLAS_COMPUTE_32F)->type_compute, ELEMENT_F32);
	assert_int_equal(record.math_flags, 0);
	assert_int_equal(gemm(0, 77)->type_compute, ELEMENT_TF32);
	assert_int_equal(record.math_flags, 1);
	assert_int_equal(gemm(0, 69)->type_compute, ELEMENT_F32);
	assert_int_equal(record.math_flags, 2);
	assert_int_equal(gemm(2, 64)->type_compute, ELEMENT_F16);
	assert_int_equal(gemm(3, 72)->type_compute, ELEMENT_I32);
	assert_int_equal(gemm(1, 70)->type_compute, ELEMENT_F64);
	assert_int_equal(gemm(0, 12345)->type_compute, ELEMENT_UNKNOWN);
	assert_int_equal(gemm(GEMM_ELEMENT(C64), BLAS_COMPUTE_SAME)->type_compute, ELEMENT_F32);
	capture_blas_math(&call, &handle, 3);
	assert_int_equal(gemm(0, BLAS_COMPUTE_32F)->math_flags, 1);
	capture_blas_math(&call, &handle, 2);
	assert_int_equal(gemm(0, BLAS_COMPUTE_32F)->math_flags, 2);
	capture_blas_math(&call, &handle, 0);
	assert_int_equal(gemm(0, BLAS_COMPUTE_32F)->math_flags, 0);
}

static void the_handles_stream_is_recorded(void **state)
{
	(void)state;
	static char stream;
	void *fresh = &handle;
	capture_blas_stream(&call, &handle, &stream);
	assert_int_equal(gemm(0, BLAS_COMPUTE_32F)->stream, (uintptr_t)&stream);
	/* A handle created at the same address starts on the default stream. */
	capture_blas_create(&call, &fresh);
	assert_int_equal(gemm(0, BLAS_COMPUTE_32F)->stream, 0);
	/* A call that failed changes nothing. */
	call.status = 1;
	capture_blas_stream(&call, &handle, &stream);
	call.status = 0;
	assert_int_equal(gemm(0, BLAS_COMPUTE_32F)->stream, 0);
}

static void sizes_that_do_not_fit_are_clamped(void **state)
{
	(void)state;
	struct gemm_shape shape = {.m = INT64_MAX, .n = -1, .k = 1, .batch = 1};
	capture_gemm(&call, &handle, &shape);
	assert_int_equal(record.m, UINT32_MAX);
	assert_int_equal(record.n, 0);
}

static const int transposed[3] = {1, 0, 1}, plain[3] = {0, 0, 1};
static const int m[3] = {100, 200, 300}, n[3] = {10, 20, 30}, k[3] = {64, 32, 16};
static const int64_t wide_m[2] = {100, 200}, wide_n[2] = {10, 20}, wide_k[2] = {64, 32};
static const int batch[3] = {2, 0, 5};

static struct gemm_groups three_groups(void)
{
	return (struct gemm_groups){.op_a = transposed,
				    .op_b = plain,
				    .m = m,
				    .n = n,
				    .k = k,
				    .lda = k,
				    .ldb = k,
				    .ldc = m,
				    .batch = batch,
				    .count = 3,
				    .int_bytes = sizeof(int),
				    .type_a = GEMM_ELEMENT(F32),
				    .type_b = GEMM_ELEMENT(F32),
				    .type_c = GEMM_ELEMENT(F32),
				    .compute = BLAS_COMPUTE_SAME};
}

static void groups_are_products_within_their_call(void **state)
{
	struct gemm_groups groups = three_groups();
	struct call outer = {.thread = &thread, .id = 7, .parent = 3};

	(void)state;
	thread.call_count = 7;
	gemm_count = plain_count = 0;
	capture_gemm_groups(&outer, &handle, &groups);
	all[1] = record;
	/* The empty group is no product. */
	assert_int_equal(plain_count, 1);
	assert_int_equal(gemm_count, 2);
	assert_int_equal(all[0].m, 100);
	assert_int_equal(all[0].k, 64);
	assert_int_equal(all[0].batch, 2);
	assert_int_equal(all[0].op_a, 'T');
	assert_int_equal(all[1].m, 300);
	assert_int_equal(all[1].n, 30);
	assert_int_equal(all[1].batch, 5);
	assert_int_equal(all[1].op_b, 'T');
	assert_int_equal(all[1].type_a, ELEMENT_F32);
	assert_int_equal(parts[0].call_id, 8);
	assert_int_equal(parts[1].call_id, 9);
	assert_int_equal(parts[0].parent_id, 7);
	assert_int_equal(parts[1].parent_id, 7);
}

static void one_group_is_a_product_as_any_other(void **state)
{
	struct gemm_groups groups = three_groups();
	struct call outer = {.thread = &thread, .id = 7, .parent = 3};

	(void)state;
	groups.count = 1;
	groups.m = groups.ldc = wide_m;
	groups.n = wide_n;
	groups.k = groups.lda = groups.ldb = wide_k;
	groups.batch = wide_n;
	groups.int_bytes = sizeof(int64_t);
	gemm_count = plain_count = 0;
	capture_gemm_groups(&outer, &handle, &groups);
	assert_int_equal(plain_count, 0);
	assert_int_equal(gemm_count, 1);
	assert_int_equal(record.m, 100);
	assert_int_equal(record.batch, 10);
	assert_int_equal(parts[0].call_id, 7);
}

static void groups_that_cannot_be_read_are_a_call(void **state)
{
	struct gemm_groups groups = three_groups(), many = three_groups();
	struct call failed = {.thread = &thread, .id = 7, .status = 7};
	struct call passed = {.thread = &thread, .id = 8};

	(void)state;
	gemm_count = plain_count = 0;
	groups.m = (const void *)16;
	capture_gemm_groups(&failed, &handle, &groups);
	groups.m = NULL;
	capture_gemm_groups(&passed, &handle, &groups);
	many.count = INT64_MAX;
	capture_gemm_groups(&passed, &handle, &many);
	many.count = -1;
	capture_gemm_groups(&passed, &handle, &many);
	assert_int_equal(plain_count, 4);
	assert_int_equal(gemm_count, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_products_within_their_call),
		cmocka_unit_test(one_group_is_a_product_as_any_other),
		cmocka_unit_test(groups_that_cannot_be_read_are_a_call),
		cmocka_unit_test(shapes_and_operations_are_kept),
		cmocka_unit_test(types_are_translated),
		cmocka_unit_test(compute_types_and_math_modes_are_translated),
		cmocka_unit_test(the_handles_stream_is_recorded),
		cmocka_unit_test(sizes_that_do_not_fit_are_clamped),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
