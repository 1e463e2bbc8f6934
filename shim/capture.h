/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last column of the tables: each function turns an intercepted call into records. They run
 * after the real call with its arguments; what an out-parameter points to is read only when the
 * call succeeded and the pointer is not NULL.
 */
#ifndef GPUTRACE_SHIM_CAPTURE_H
#define GPUTRACE_SHIM_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include "../collector/format/record.h"
#include "api/cuda_abi.h"
#include "call.h"
#include "graph_table.h"
#include "streams.h"

static inline const void *as_pointer(CUdeviceptr address)
{
	return (const void *)(uintptr_t)address;
}

/* ---- copies and sets (capture_copy.c) ---- */
/* The numbers of cudaMemcpyKind. */
enum { COPY_KIND_H2D = 1, COPY_KIND_D2H = 2, COPY_KIND_D2D = 3, COPY_KIND_DEFAULT = 4 };
enum { COPY_BLOCKING = 0, COPY_ASYNC = CALL_ASYNC };

void capture_copy(struct call *call, const void *dst, const void *src, size_t size_bytes,
		  unsigned int kind, const void *stream, unsigned int flags);
void capture_copy_3d(struct call *call, const struct cudaMemcpy3DParms *params, const void *stream,
		     unsigned int flags);
void capture_copy_peer(struct call *call, const void *dst, int dst_device, const void *src,
		       int src_device, size_t size_bytes, const void *stream, unsigned int flags);
void capture_copy_peer_context(struct call *call, CUdeviceptr dst, CUcontext dst_context,
			       CUdeviceptr src, CUcontext src_context, size_t size_bytes,
			       const void *stream, unsigned int flags);
/* A NULL end is a symbol: device memory whose address is not known here. */
void capture_copy_symbol(struct call *call, const void *dst, const void *src, size_t size_bytes,
			 unsigned int kind, const void *stream, unsigned int flags);
/* A NULL end is an array. */
void capture_copy_array(struct call *call, const void *dst, const void *src, size_t size_bytes,
			unsigned int kind, const void *stream, unsigned int flags);
void capture_copy_driver_2d(struct call *call, const CUDA_MEMCPY2D *copy, const void *stream,
			    unsigned int flags);
void capture_copy_driver_3d(struct call *call, const CUDA_MEMCPY3D *copy, const void *stream,
			    unsigned int flags);
void capture_copy_3d_peer(struct call *call, const struct cudaMemcpy3DPeerParms *params,
			  const void *stream, unsigned int flags);
void capture_copy_driver_3d_peer(struct call *call, const CUDA_MEMCPY3D_PEER *copy,
				 const void *stream, unsigned int flags);
/* Of one element of an array; 0 where the driver may not be asked. */
uint64_t capture_array_element_bytes(const void *array);
/* One record for all copies of the batch. */
void capture_copy_batch(struct call *call, const CUdeviceptr *dsts, const CUdeviceptr *srcs,
			const size_t *sizes, size_t count, const void *stream);
void capture_copy_3d_batch(struct call *call, const struct batch_copy *copies, size_t count,
			   const void *stream);
void capture_set(struct call *call, const void *dst, size_t size_bytes, const void *stream,
		 unsigned int flags);

/* ---- graphs and stream capture (capture_graph.c) ---- */
/* out: where the handle of the new graph or executable was returned. */
void capture_begin_capture(struct call *call, const void *stream, const void *graph);
void capture_end_capture(struct call *call, const void *stream, const void *out);
void capture_graph_create(struct call *call, const void *out, const void *original);
void capture_graph_node(struct call *call, const void *graph, enum graph_node_kind kind);
void capture_graph_any_node(struct call *call, const void *graph, const CUgraphNodeParams *params);
void capture_graph_instantiate(struct call *call, const void *out, const void *graph);
void capture_graph_update(struct call *call, const void *executable, const void *graph);
void capture_graph_upload(struct call *call, const void *executable, const void *stream);
void capture_graph_launch(struct call *call, const void *executable, const void *stream);
void capture_before_graph_destroy(const void *handle);
void capture_graph_destroy(struct call *call, const void *graph);
void capture_graph_exec_destroy(struct call *call, const void *executable);
/* While any capture is open: CALL_CAPTURED if this call is in one, where it counts as a node. */
uint16_t capture_captured(struct call *call, const void *stream, enum graph_node_kind kind);

/* A stream as the table of captures knows it: per-thread default streams are one per thread. */
static inline const void *stream_key(const struct call *call, const void *stream)
{
	if ((!stream && (call->flags & CALL_PER_THREAD_STREAM)) || stream == ABI_STREAM_PER_THREAD)
		return call->thread;
	return stream;
}

static inline unsigned int captured_flag(struct call *call, const void *stream,
					 enum graph_node_kind kind)
{
	return __builtin_expect(atomic_load_explicit(&streams_open_captures, memory_order_relaxed),
				0)
		       ? capture_captured(call, stream, kind)
		       : 0;
}

/* ---- launches (capture_launch.c) ---- */
enum {
	LAUNCH_COOPERATIVE = 1,
	LAUNCH_HOST_FUNCTION = 4,
	LAUNCH_BY_HANDLE = 0x100, /* not recorded: the function is a driver handle */
};
void capture_launch(struct call *call, const void *function, const dim3 *grid, const dim3 *block,
		    size_t shared_bytes, const void *stream, unsigned int flags);
void capture_launch_config(struct call *call, const void *function,
			   const cudaLaunchConfig_t *config);
void capture_launch_driver_config(struct call *call, const void *function,
				  const CUlaunchConfig *config);
/* The launches of CUDA 3, whose blocks were set before; a width of 0 is one block. */
void capture_launch_old(struct call *call, const void *function, int grid_width, int grid_height,
			const void *stream);
/* Host functions: no kernel, no shape. */
void capture_launch_plain(struct call *call, const void *stream, unsigned int flags);
/* out: where a handle was returned. */
void capture_kernel_of_entry(struct call *call, const void *out, const void *entry);
void capture_kernel_name(struct call *call, const void *out, const char *name);
void capture_kernel_alias(struct call *call, const void *out, const void *other);
void capture_before_unload(struct call *call);

/* ---- memory (capture_memory.c) ---- */
/* out: where the address was returned. */
void capture_alloc(struct call *call, const void *out, size_t size_bytes, unsigned int kind,
		   const void *stream);
/* pool: NULL is the device's current one. */
void capture_alloc_pool(struct call *call, const void *out, size_t size_bytes, const void *pool,
			const void *stream);
void capture_alloc_pitch(struct call *call, const void *out, const size_t *pitch, size_t width,
			 size_t height);
void capture_alloc_3d(struct call *call, const struct cudaPitchedPtr *out,
		      const struct cudaExtent *extent);
void capture_register(struct call *call, const void *address, size_t size_bytes);
void capture_before_free(struct call *call, const void *address);
void capture_free(struct call *call, const void *address, const void *stream);
/* Physical memory and reserved ranges: named by a handle or range, no memory at an address. */
void capture_alloc_handle(struct call *call, const void *out, size_t size_bytes, unsigned int kind);
/* What a pool's attribute is, where that is how much memory it holds. */
void capture_pool_told(struct call *call, const void *pool, int attribute, const void *value);
void capture_alloc_array_handle(struct call *call, const void *out, size_t size_bytes);
void capture_free_handle(struct call *call, uint64_t handle, unsigned int kind);
void capture_reserve(struct call *call, const void *out, size_t size_bytes);
void capture_map(struct call *call, CUdeviceptr address, size_t size_bytes, uint64_t handle);
void capture_before_unmap(struct call *call, CUdeviceptr address, size_t size_bytes);
void capture_unmap(struct call *call, CUdeviceptr address, size_t size_bytes);
/* Memory of another process, which says nothing of its size. pool: NULL but for pool memory. */
void capture_import(struct call *call, const void *out, const void *pool);
void capture_alloc_array(struct call *call, const void *out,
			 const struct cudaChannelFormatDesc *format,
			 const struct cudaExtent *extent, unsigned int levels, unsigned int flags);
void capture_alloc_driver_array(struct call *call, const void *out,
				const CUDA_ARRAY_DESCRIPTOR *description);
void capture_alloc_driver_array_3d(struct call *call, const void *out,
				   const CUDA_ARRAY3D_DESCRIPTOR *description, unsigned int levels);

/* ---- waits, streams, events, contexts (capture_sync.c) ---- */
void capture_sync(struct call *call, const void *object, unsigned int scope);
void capture_plain(struct call *call, const void *object);
/* Not when the answer is "not ready": a loop that asks would drown all other records. */
void capture_query(struct call *call, const void *object);
/* Something that its stream does later, without times of its own. */
void capture_queued(struct call *call, const void *stream);
/* out: where the new object's handle was returned. */
void capture_create(struct call *call, const void *out);
void capture_wait_event(struct call *call, const void *stream, const void *event);
void capture_record_event(struct call *call, const void *event, const void *stream);
void capture_set_device(struct call *call, int device);
void capture_device_reset(struct call *call);

/* ---- matrix products (capture_gemm.c) ---- */
#include "gemm_shape.h"
/* For the table: the parameters of its rows always have the same names. */
#define GEMM_SIZES                                                                                 \
	.op_a = transa, .op_b = transb, .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc
#define GEMM_ONE_TYPE(type)                                                                        \
	.type_a = GEMM_ELEMENT(type), .type_b = GEMM_ELEMENT(type), .type_c = GEMM_ELEMENT(type),  \
	.compute = BLAS_COMPUTE_SAME
#define GEMM_TYPES(how) .type_a = Atype, .type_b = Btype, .type_c = Ctype, .compute = (how)
#define GEMM_STRIDES                                                                               \
	.a = A, .b = B, .c = C, .batch = batchCount, .stride_a = strideA, .stride_b = strideB,     \
	.stride_c = strideC
#define GEMM_PLAIN(type)                                                                           \
	(struct gemm_shape)                                                                        \
	{                                                                                          \
		GEMM_SIZES, GEMM_ONE_TYPE(type), .batch = 1, .a = A, .b = B, .c = C                \
	}
#define GEMM_TYPED(how)                                                                            \
	(struct gemm_shape)                                                                        \
	{                                                                                          \
		GEMM_SIZES, GEMM_TYPES(how), .batch = 1, .a = A, .b = B, .c = C                    \
	}
#define GEMM_BATCHED(type)                                                                         \
	(struct gemm_shape)                                                                        \
	{                                                                                          \
		GEMM_SIZES, GEMM_ONE_TYPE(type), .batch = batchCount                               \
	}
#define GEMM_BATCHED_TYPED                                                                         \
	(struct gemm_shape)                                                                        \
	{                                                                                          \
		GEMM_SIZES, GEMM_TYPES(computeType), .batch = batchCount                           \
	}
#define GEMM_STRIDED(type)                                                                         \
	(struct gemm_shape)                                                                        \
	{                                                                                          \
		GEMM_SIZES, GEMM_ONE_TYPE(type), GEMM_STRIDES                                      \
	}
#define GEMM_STRIDED_TYPED                                                                         \
	(struct gemm_shape)                                                                        \
	{                                                                                          \
		GEMM_SIZES, GEMM_TYPES(computeType), GEMM_STRIDES                                  \
	}

#define GEMM_GROUPS(a, b, c, how)                                                                  \
	(struct gemm_groups)                                                                       \
	{                                                                                          \
		.op_a = transa_array, .op_b = transb_array, .m = m_array, .n = n_array,            \
		.k = k_array, .lda = lda_array, .ldb = ldb_array, .ldc = ldc_array,                \
		.batch = group_size, .count = group_count, .int_bytes = sizeof(group_count),       \
		.type_a = (a), .type_b = (b), .type_c = (c), .compute = (how)                      \
	}

void capture_gemm(struct call *call, const void *handle, const struct gemm_shape *shape);
/* One group: a product. Several: a call, within it a product per group that has no times of its
 * own, since the kernels are those of the call. */
void capture_gemm_groups(struct call *call, const void *handle, const struct gemm_groups *groups);
/* math: cublasMath_t of the handle; epilogue: cublasLtEpilogue_t, 0 none or not known. */
void capture_gemm_write(struct call *call, const struct gemm_shape *shape, const void *stream,
			int math, uint32_t epilogue);
/* Of a handle of cuBLAS or cuDNN; NULL, the default stream, when none was set. */
const void *capture_handle_stream(const void *handle, int *math);
void capture_blas_create(struct call *call, const void *out);
void capture_blas_destroy(struct call *call, const void *handle);
void capture_blas_stream(struct call *call, const void *handle, const void *stream);
void capture_blas_math(struct call *call, const void *handle, int mode);

/* ---- contexts: a file of their own, of the same kind ---- */
#include "capture_context.h"

#endif
