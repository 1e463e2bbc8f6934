/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of matrix products, with the stream and the math mode that were set on the handle. The
 * enums of cuBLAS are translated here; what is not known stays unknown.
 */
#include "capture.h"

#include <stdatomic.h>
#include <string.h>

#include "hash.h"
#include "streams.h"

#define HANDLES 256u

/* Stream and math mode by handle, of cuBLAS and cuDNN; open addressing, never emptied, so that
 * readers need no lock. */
static struct {
	_Atomic uintptr_t handle;
	_Atomic uintptr_t stream;
	_Atomic int32_t math;
} handles[HANDLES];

enum { MATH_PEDANTIC = 2, MATH_TF32 = 3 };
enum { COMPUTE_FAST_TF32 = 77 };
enum { GEMM_TF32_ALLOWED = 1, GEMM_PEDANTIC = 2 };

/* The handle's place, made if `make`; HANDLES when there is none. */
static uint32_t place_of(const void *handle, bool make)
{
	uint32_t at = (uint32_t)hash_mix((uintptr_t)handle) % HANDLES;
	for (uint32_t step = 0; step < HANDLES; step++, at = (at + 1) % HANDLES) {
		uintptr_t found = atomic_load_explicit(&handles[at].handle, memory_order_acquire);
		if (found == (uintptr_t)handle)
			return at;
		if (found)
			continue;
		if (!make)
			return HANDLES;
		if (atomic_compare_exchange_strong(&handles[at].handle, &found,
						   (uintptr_t)handle) ||
		    found == (uintptr_t)handle)
			return at;
	}
	return HANDLES;
}

static void set_handle(const void *handle, const void *stream, int math)
{
	uint32_t at = place_of(handle, true);
	if (at == HANDLES)
		return;
	atomic_store_explicit(&handles[at].stream, (uintptr_t)stream, memory_order_relaxed);
	atomic_store_explicit(&handles[at].math, math, memory_order_relaxed);
}

void capture_blas_create(struct call *call, const void *out)
{
	const void *handle = NULL;
	if (!call->status && out) {
		memcpy(&handle, out, sizeof(handle));
		set_handle(handle, NULL, 0);
	}
	capture_plain(call, handle);
}

void capture_blas_destroy(struct call *call, const void *handle)
{
	capture_plain(call, handle);
}

/* Called before every product by frameworks: no record. */
void capture_blas_stream(struct call *call, const void *handle, const void *stream)
{
	uint32_t at = call->status ? HANDLES : place_of(handle, true);
	if (at < HANDLES)
		atomic_store_explicit(&handles[at].stream, (uintptr_t)stream, memory_order_relaxed);
}

void capture_blas_math(struct call *call, const void *handle, int mode)
{
	uint32_t at = call->status ? HANDLES : place_of(handle, true);
	if (at < HANDLES)
		atomic_store_explicit(&handles[at].math, mode, memory_order_relaxed);
}

/* cudaDataType, or one of ours below 0. */
static uint8_t element_of(int type)
{
	static const uint8_t elements[] = {
		[0] = ELEMENT_F32,     [1] = ELEMENT_F64,   [2] = ELEMENT_F16,
		[3] = ELEMENT_I8,      [4] = ELEMENT_C64,   [5] = ELEMENT_C128,
		[10] = ELEMENT_I32,    [14] = ELEMENT_BF16, [28] = ELEMENT_F8E4M3,
		[29] = ELEMENT_F8E5M2, [33] = ELEMENT_F4,
	};
	if (type < 0)
		return (uint8_t)-type;
	return (size_t)type < sizeof(elements) ? elements[type] : ELEMENT_UNKNOWN;
}

/* cublasComputeType_t: the type that products are accumulated in, TF32 where asked for. */
static uint8_t compute_of(int compute, uint8_t own, uint8_t *math_flags)
{
	switch (compute) {
	case BLAS_COMPUTE_SAME:
		return own == ELEMENT_C64 ? ELEMENT_F32 : own == ELEMENT_C128 ? ELEMENT_F64 : own;
	case 65: /* pedantic twins are one above their type */
		*math_flags |= GEMM_PEDANTIC;
		return ELEMENT_F16;
	case 64:
		return ELEMENT_F16;
	case 69:
		*math_flags |= GEMM_PEDANTIC;
		return ELEMENT_F32;
	case COMPUTE_FAST_TF32:
		*math_flags |= GEMM_TF32_ALLOWED;
		return ELEMENT_TF32;
	case BLAS_COMPUTE_32F:
	case 74:
	case 75: /* fast 16F, fast 16BF: products in 16 bits */
		return ELEMENT_F32;
	case 71:
		*math_flags |= GEMM_PEDANTIC;
		return ELEMENT_F64;
	case 70:
		return ELEMENT_F64;
	case 72:
	case 73:
		return ELEMENT_I32;
	default:
		return ELEMENT_UNKNOWN;
	}
}

static uint32_t clamp(int64_t value)
{
	if (value < 0)
		return 0;
	return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static uint8_t op_letter(int op)
{
	static const char letters[] = "NTC";
	return (uint8_t)(op >= 0 && op < 3 ? letters[op] : op == 3 ? 'C' : op == -1 ? 0 : '?');
}

const void *capture_handle_stream(const void *handle, int *math)
{
	uint32_t at = place_of(handle, false);

	*math = at < HANDLES ? atomic_load_explicit(&handles[at].math, memory_order_relaxed) : 0;
	return at < HANDLES ? (const void *)atomic_load_explicit(&handles[at].stream,
								 memory_order_relaxed)
			    : NULL;
}

void capture_gemm(struct call *call, const void *handle, const struct gemm_shape *shape)
{
	int math;
	const void *stream = capture_handle_stream(handle, &math);

	capture_gemm_write(call, shape, stream, math, 0);
}

#define GROUPS_MAX 256 /* a call with more is a call without products */

static int64_t number_at(const void *numbers, size_t int_bytes, int64_t i)
{
	return int_bytes == sizeof(int64_t) ? ((const int64_t *)numbers)[i]
					    : ((const int *)numbers)[i];
}

static struct gemm_shape shape_at(const struct gemm_groups *groups, int64_t i)
{
	size_t bytes = groups->int_bytes;

	return (struct gemm_shape){
		.op_a = groups->op_a[i],
		.op_b = groups->op_b[i],
		.m = number_at(groups->m, bytes, i),
		.n = number_at(groups->n, bytes, i),
		.k = number_at(groups->k, bytes, i),
		.lda = number_at(groups->lda, bytes, i),
		.ldb = number_at(groups->ldb, bytes, i),
		.ldc = number_at(groups->ldc, bytes, i),
		.batch = number_at(groups->batch, bytes, i),
		.type_a = groups->type_a,
		.type_b = groups->type_b,
		.type_c = groups->type_c,
		.compute = groups->compute,
	};
}

void capture_gemm_groups(struct call *call, const void *handle, const struct gemm_groups *groups)
{
	/* Arrays of a refused call may be anything. */
	bool is_told = !call->status && groups->count > 0 && groups->count <= GROUPS_MAX &&
		       groups->op_a && groups->op_b && groups->m && groups->n && groups->k &&
		       groups->lda && groups->ldb && groups->ldc && groups->batch;

	if (is_told && groups->count == 1) {
		const struct gemm_shape shape = shape_at(groups, 0);

		capture_gemm(call, handle, &shape);
		return;
	}
	int math;
	const void *stream = capture_handle_stream(handle, &math);

	call->flags |=
		(uint16_t)(CALL_ASYNC |
			   (streams_is_captured(stream_key(call, stream)) ? CALL_CAPTURED : 0));
	capture_plain(call, handle);
	for (int64_t i = 0; is_told && i < groups->count; i++) {
		const struct gemm_shape shape = shape_at(groups, i);
		struct call group = *call;

		if (shape.batch < 1)
			continue;
		group.id = ++call->thread->call_count;
		group.parent = call->id;
		group.correlation = 0;
		capture_gemm(&group, handle, &shape);
	}
}

void capture_gemm_write(struct call *call, const struct gemm_shape *shape, const void *stream,
			int math, uint32_t epilogue)
{
	call->flags |=
		(uint16_t)(CALL_ASYNC |
			   (streams_is_captured(stream_key(call, stream)) ? CALL_CAPTURED : 0));
	struct record_gemm *gemm = call_record(call, RECORD_KIND_gemm, sizeof(*gemm));
	if (!gemm)
		return;
	gemm->a = (uintptr_t)shape->a;
	gemm->b = (uintptr_t)shape->b;
	gemm->c = (uintptr_t)shape->c;
	gemm->stream = (uintptr_t)stream;
	gemm->stride_a = shape->stride_a;
	gemm->stride_b = shape->stride_b;
	gemm->stride_c = shape->stride_c;
	gemm->m = clamp(shape->m);
	gemm->n = clamp(shape->n);
	gemm->k = clamp(shape->k);
	gemm->lda = clamp(shape->lda);
	gemm->ldb = clamp(shape->ldb);
	gemm->ldc = clamp(shape->ldc);
	gemm->batch = clamp(shape->batch);
	gemm->op_a = op_letter(shape->op_a);
	gemm->op_b = op_letter(shape->op_b);
	gemm->type_a = element_of(shape->type_a);
	gemm->type_b = element_of(shape->type_b);
	gemm->type_c = element_of(shape->type_c);
	gemm->math_flags = (math & 15) == MATH_TF32	  ? GEMM_TF32_ALLOWED
			   : (math & 15) == MATH_PEDANTIC ? GEMM_PEDANTIC
							  : 0;
	gemm->type_compute = compute_of(shape->compute, gemm->type_a, &gemm->math_flags);
	gemm->reserved0 = 0;
	gemm->epilogue = epilogue;
	call_commit(call);
}
