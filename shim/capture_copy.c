/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of copies and sets. Direction and kind of memory come from what the call says and from
 * what was allocated; what neither tells stays unknown.
 */
#include "capture.h"

#include "device.h"
#include "gpu_events.h"
#include "pointers.h"

struct ends {
	const void *dst, *src;
	uint8_t dst_kind, src_kind;
};

/* A call of the runtime whose arguments tell no bytes has those of the driver's copies inside. */
static inline void note_inner_copy(const struct call *call, uint64_t size_bytes)
{
	struct thread *thread = call->thread;
	if (thread->copied_inside != call->parent) {
		thread->copied_inside = call->parent;
		thread->copied_bytes = 0;
	}
	thread->copied_bytes += size_bytes;
}

/* The bytes of a copy whose extent counts the elements of an array. */
static uint64_t bytes_of_elements(const struct call *call, const void *array, uint64_t elements)
{
	if (call->thread->copied_inside == call->id)
		return call->thread->copied_bytes;
	return elements * capture_array_element_bytes(array);
}

static inline __attribute__((always_inline)) void
put_copy(struct call *call, const struct ends *ends, uint64_t size_bytes, unsigned int direction,
	 uint32_t peer_device, const void *stream, unsigned int flags)
{
	call->flags |= (uint16_t)(flags | captured_flag(call, stream, GRAPH_NODE_COPY));
	if (call->parent)
		note_inner_copy(call, size_bytes);
	struct record_copy *copy = call_record(call, RECORD_KIND_copy, sizeof(*copy));
	if (!copy)
		return;
	copy->destination = (uintptr_t)ends->dst;
	copy->source = (uintptr_t)ends->src;
	copy->size_bytes = size_bytes;
	copy->stream = (uintptr_t)stream;
	copy->direction = (uint8_t)direction;
	copy->source_kind = ends->src_kind;
	copy->destination_kind = ends->dst_kind;
	copy->reserved0 = 0;
	copy->peer_device = peer_device;
	gpu_events_told_copy(call->thread, copy);
	call_commit(call);
}

static void write_copy(struct call *call, const struct ends *ends, uint64_t size_bytes,
		       unsigned int direction, uint32_t peer_device, const void *stream,
		       unsigned int flags)
{
	put_copy(call, ends, size_bytes, direction, peer_device, stream, flags);
}

/* A host address in nothing that was seen is pageable, unless an update of the table was lost. */
static uint8_t host_kind(const void *address)
{
	unsigned int kind = pointers_kind(address);
	if (kind == MEMORY_UNKNOWN && pointers_complete())
		kind = MEMORY_PAGEABLE;
	return (uint8_t)kind;
}

static uint8_t device_kind(const void *address)
{
	unsigned int kind = pointers_kind(address);
	return (uint8_t)(kind == MEMORY_UNKNOWN ? MEMORY_DEVICE : kind);
}

static bool is_host(unsigned int kind)
{
	return kind == MEMORY_PINNED || kind == MEMORY_PAGEABLE;
}

/* cudaMemcpyDefault, cuMemcpy: the driver looks at the addresses, and so do we. */
static unsigned int guess_direction(struct ends *ends)
{
	unsigned int dst = pointers_kind(ends->dst), src = pointers_kind(ends->src);
	/* One side in known memory of the GPU and the other in nothing that was seen: the other is
	 * plain host memory. With both unknown nothing can be said. */
	if (dst == MEMORY_UNKNOWN && src != MEMORY_UNKNOWN)
		dst = host_kind(ends->dst);
	if (src == MEMORY_UNKNOWN && dst != MEMORY_UNKNOWN)
		src = host_kind(ends->src);
	ends->dst_kind = (uint8_t)dst;
	ends->src_kind = (uint8_t)src;
	if (dst == MEMORY_UNKNOWN || src == MEMORY_UNKNOWN)
		return COPY_UNKNOWN;
	if (is_host(src))
		return is_host(dst) ? COPY_H2H : COPY_H2D;
	return is_host(dst) ? COPY_D2H : COPY_D2D;
}

void capture_copy(struct call *call, const void *dst, const void *src, size_t size_bytes,
		  unsigned int kind, const void *stream, unsigned int flags)
{
	struct ends ends = {dst, src, MEMORY_UNKNOWN, MEMORY_UNKNOWN};
	unsigned int direction = COPY_UNKNOWN;
	switch (kind) {
	case 0:
		ends.src_kind = host_kind(src);
		ends.dst_kind = host_kind(dst);
		direction = COPY_H2H;
		break;
	case COPY_KIND_H2D:
		ends.src_kind = host_kind(src);
		ends.dst_kind = device_kind(dst);
		direction = COPY_H2D;
		break;
	case COPY_KIND_D2H:
		ends.src_kind = device_kind(src);
		ends.dst_kind = host_kind(dst);
		direction = COPY_D2H;
		break;
	case COPY_KIND_D2D:
		ends.src_kind = device_kind(src);
		ends.dst_kind = device_kind(dst);
		direction = COPY_D2D;
		break;
	default:
		direction = guess_direction(&ends);
	}
	put_copy(call, &ends, size_bytes, direction, DEVICE_UNKNOWN, stream, flags);
}

/* Of a copy with something unnamed (a symbol, an array) only the other end's address is known.
 * Fills in that end's kind and gives the direction. */
static unsigned int name_other_end(struct ends *ends, unsigned int kind)
{
	const void *other = ends->dst ? ends->dst : ends->src;
	bool other_is_host = kind == COPY_KIND_H2D || kind == COPY_KIND_D2H;
	uint8_t other_kind = other_is_host ? host_kind(other) : device_kind(other);
	if (kind == COPY_KIND_DEFAULT) {
		unsigned int seen = pointers_kind(other);
		other_kind = seen == MEMORY_UNKNOWN ? host_kind(other) : (uint8_t)seen;
		other_is_host = is_host(other_kind);
	}
	if (ends->dst)
		ends->dst_kind = other_kind;
	else
		ends->src_kind = other_kind;
	return !other_is_host ? COPY_D2D : ends->dst ? COPY_D2H : COPY_H2D;
}

/* guess_direction() for ends of which each may be an array, which has no address. */
static unsigned int guess_with_arrays(struct ends *ends)
{
	bool to_array = ends->dst_kind == MEMORY_ARRAY, from_array = ends->src_kind == MEMORY_ARRAY;
	if (!to_array && !from_array)
		return guess_direction(ends);
	return to_array && from_array ? COPY_D2D : name_other_end(ends, COPY_KIND_DEFAULT);
}

static void copy_unnamed(struct call *call, struct ends *ends, size_t size_bytes, unsigned int kind,
			 const void *stream, unsigned int flags)
{
	unsigned int direction = name_other_end(ends, kind);
	write_copy(call, ends, size_bytes, direction, DEVICE_UNKNOWN, stream, flags);
}

void capture_copy_symbol(struct call *call, const void *dst, const void *src, size_t size_bytes,
			 unsigned int kind, const void *stream, unsigned int flags)
{
	struct ends ends = {dst, src, MEMORY_DEVICE, MEMORY_DEVICE};
	copy_unnamed(call, &ends, size_bytes, kind, stream, flags);
}

void capture_copy_array(struct call *call, const void *dst, const void *src, size_t size_bytes,
			unsigned int kind, const void *stream, unsigned int flags)
{
	struct ends ends = {dst, src, MEMORY_ARRAY, MEMORY_ARRAY};
	if (dst || src)
		copy_unnamed(call, &ends, size_bytes, kind, stream, flags);
	else
		write_copy(call, &ends, size_bytes, COPY_D2D, DEVICE_UNKNOWN, stream, flags);
}

void capture_copy_3d(struct call *call, const struct cudaMemcpy3DParms *params, const void *stream,
		     unsigned int flags)
{
	if (!params || call->status) {
		capture_copy(call, NULL, NULL, 0, COPY_KIND_DEFAULT, stream, flags);
		return;
	}
	unsigned int kind = (unsigned int)params->kind;
	size_t size = params->extent.width * params->extent.height * params->extent.depth;
	const void *array = params->dstArray ? params->dstArray : params->srcArray;
	/* With an array on either side, width counts elements. */
	if (array)
		capture_copy_array(call, params->dstPtr.ptr, params->srcPtr.ptr,
				   bytes_of_elements(call, array, size), kind, stream, flags);
	else
		capture_copy(call, params->dstPtr.ptr, params->srcPtr.ptr, size, kind, stream,
			     flags);
}

void capture_copy_peer(struct call *call, const void *dst, int dst_device, const void *src,
		       int src_device, size_t size_bytes, const void *stream, unsigned int flags)
{
	struct ends ends = {dst, src, device_kind(dst), device_kind(src)};
	(void)src_device;
	write_copy(call, &ends, size_bytes, COPY_PEER, (uint32_t)dst_device, stream, flags);
}

void capture_copy_peer_context(struct call *call, CUdeviceptr dst, CUcontext dst_context,
			       CUdeviceptr src, CUcontext src_context, size_t size_bytes,
			       const void *stream, unsigned int flags)
{
	const void *to = (const void *)(uintptr_t)dst, *from = (const void *)(uintptr_t)src;
	struct ends ends = {to, from, device_kind(to), device_kind(from)};
	(void)src_context;
	write_copy(call, &ends, size_bytes, COPY_PEER, device_of_context(dst_context), stream,
		   flags);
}

/* One side of a driver 2D or 3D copy, by its declared type. */
static const void *driver_side(int type, const void *host, CUdeviceptr device, uint8_t *kind)
{
	const void *address = type == CU_MEMORYTYPE_HOST ? host : (const void *)(uintptr_t)device;
	switch (type) {
	case CU_MEMORYTYPE_HOST:
		*kind = host_kind(address);
		break;
	case CU_MEMORYTYPE_DEVICE:
		*kind = device_kind(address);
		break;
	case CU_MEMORYTYPE_ARRAY:
		*kind = MEMORY_ARRAY;
		address = NULL;
		break;
	default:
		*kind = (uint8_t)pointers_kind(address);
	}
	return address;
}

static void capture_driver(struct call *call, struct ends *ends, size_t size_bytes,
			   const void *stream, unsigned int flags)
{
	unsigned int direction = COPY_UNKNOWN;
	if (ends->src_kind == MEMORY_UNKNOWN || ends->dst_kind == MEMORY_UNKNOWN)
		direction = guess_with_arrays(ends);
	else if (is_host(ends->src_kind))
		direction = is_host(ends->dst_kind) ? COPY_H2H : COPY_H2D;
	else
		direction = is_host(ends->dst_kind) ? COPY_D2H : COPY_D2D;
	write_copy(call, ends, size_bytes, direction, DEVICE_UNKNOWN, stream, flags);
}

void capture_copy_driver_2d(struct call *call, const CUDA_MEMCPY2D *copy, const void *stream,
			    unsigned int flags)
{
	struct ends ends = {NULL, NULL, MEMORY_UNKNOWN, MEMORY_UNKNOWN};
	size_t size = 0;
	if (copy && !call->status) {
		ends.src = driver_side(copy->srcMemoryType, copy->srcHost, copy->srcDevice,
				       &ends.src_kind);
		ends.dst = driver_side(copy->dstMemoryType, copy->dstHost, copy->dstDevice,
				       &ends.dst_kind);
		size = copy->WidthInBytes * copy->Height;
	}
	capture_driver(call, &ends, size, stream, flags);
}

void capture_copy_driver_3d(struct call *call, const CUDA_MEMCPY3D *copy, const void *stream,
			    unsigned int flags)
{
	struct ends ends = {NULL, NULL, MEMORY_UNKNOWN, MEMORY_UNKNOWN};
	size_t size = 0;
	if (copy && !call->status) {
		ends.src = driver_side(copy->srcMemoryType, copy->srcHost, copy->srcDevice,
				       &ends.src_kind);
		ends.dst = driver_side(copy->dstMemoryType, copy->dstHost, copy->dstDevice,
				       &ends.dst_kind);
		size = copy->WidthInBytes * copy->Height * copy->Depth;
	}
	capture_driver(call, &ends, size, stream, flags);
}

void capture_copy_3d_peer(struct call *call, const struct cudaMemcpy3DPeerParms *params,
			  const void *stream, unsigned int flags)
{
	if (!params || call->status) {
		capture_copy_peer(call, NULL, -1, NULL, -1, 0, stream, flags);
		return;
	}
	const void *array = params->dstArray ? params->dstArray : params->srcArray;
	struct ends ends = {params->dstPtr.ptr, params->srcPtr.ptr, MEMORY_ARRAY, MEMORY_ARRAY};
	uint64_t size = params->extent.width * params->extent.height * params->extent.depth;
	if (array)
		size = bytes_of_elements(call, array, size);
	if (!params->dstArray)
		ends.dst_kind = device_kind(ends.dst);
	if (!params->srcArray)
		ends.src_kind = device_kind(ends.src);
	write_copy(call, &ends, size, COPY_PEER, (uint32_t)params->dstDevice, stream, flags);
}

void capture_copy_driver_3d_peer(struct call *call, const CUDA_MEMCPY3D_PEER *copy,
				 const void *stream, unsigned int flags)
{
	struct ends ends = {NULL, NULL, MEMORY_UNKNOWN, MEMORY_UNKNOWN};
	uint32_t peer = DEVICE_UNKNOWN;
	size_t size = 0;
	if (copy && !call->status) {
		ends.src = driver_side(copy->srcMemoryType, copy->srcHost, copy->srcDevice,
				       &ends.src_kind);
		ends.dst = driver_side(copy->dstMemoryType, copy->dstHost, copy->dstDevice,
				       &ends.dst_kind);
		size = copy->WidthInBytes * copy->Height * copy->Depth;
		peer = device_of_context(copy->dstContext);
	}
	write_copy(call, &ends, size, COPY_PEER, peer, stream, flags);
}

/* Directions are looked up for so many copies of a batch; the rest is taken to be like them. */
#define BATCH_LOOKED_AT 64u

void capture_copy_batch(struct call *call, const CUdeviceptr *dsts, const CUdeviceptr *srcs,
			const size_t *sizes, size_t count, const void *stream)
{
	struct ends first = {NULL, NULL, MEMORY_UNKNOWN, MEMORY_UNKNOWN};
	unsigned int direction = COPY_UNKNOWN;
	uint64_t size_bytes = 0;
	if (!call->status && dsts && srcs && sizes) {
		for (size_t i = 0; i < count; i++) {
			struct ends ends = {(const void *)(uintptr_t)dsts[i],
					    (const void *)(uintptr_t)srcs[i], MEMORY_UNKNOWN,
					    MEMORY_UNKNOWN};
			size_bytes += sizes[i];
			if (i >= BATCH_LOOKED_AT)
				continue;
			unsigned int one = guess_direction(&ends);
			direction = i == 0 || one == direction ? one : COPY_UNKNOWN;
			if (i == 0)
				first = ends;
		}
	}
	write_copy(call, &first, size_bytes, direction, DEVICE_UNKNOWN, stream, COPY_ASYNC);
}

static const void *batch_end(const struct batch_operand *operand, uint8_t *kind)
{
	if (operand->type == BATCH_OPERAND_POINTER)
		return (const void *)(uintptr_t)operand->as.pointer.address;
	*kind = MEMORY_ARRAY;
	return NULL;
}

/* Many copies of a batch are of one array, whose elements are asked for once. */
struct batch_array {
	const void *array;
	uint64_t element_bytes;
};

/* With an array the extent counts its elements. */
static uint64_t batch_copy_bytes(const struct batch_copy *copy, struct batch_array *known)
{
	uint64_t size = copy->extent[0] * copy->extent[1] * copy->extent[2];
	const void *array = NULL;
	if (copy->destination.type != BATCH_OPERAND_POINTER)
		array = copy->destination.as.array.array;
	else if (copy->source.type != BATCH_OPERAND_POINTER)
		array = copy->source.as.array.array;
	if (!array)
		return size;
	if (known->array != array)
		*known = (struct batch_array){array, capture_array_element_bytes(array)};
	return size * known->element_bytes;
}

void capture_copy_3d_batch(struct call *call, const struct batch_copy *copies, size_t count,
			   const void *stream)
{
	struct ends first = {NULL, NULL, MEMORY_UNKNOWN, MEMORY_UNKNOWN};
	unsigned int direction = COPY_UNKNOWN;
	struct batch_array known = {NULL, 0};
	uint64_t size_bytes = 0;
	if (call->status || !copies)
		count = 0;
	bool is_told = call->thread->copied_inside == call->id;
	for (size_t i = 0; i < count; i++) {
		const struct batch_copy *copy = &copies[i];
		struct ends ends = {NULL, NULL, MEMORY_UNKNOWN, MEMORY_UNKNOWN};
		ends.src = batch_end(&copy->source, &ends.src_kind);
		ends.dst = batch_end(&copy->destination, &ends.dst_kind);
		if (!is_told)
			size_bytes += batch_copy_bytes(copy, &known);
		if (i >= BATCH_LOOKED_AT)
			continue;
		unsigned int one = guess_with_arrays(&ends);
		direction = i == 0 || one == direction ? one : COPY_UNKNOWN;
		if (i == 0)
			first = ends;
	}
	if (is_told && count)
		size_bytes = call->thread->copied_bytes;
	write_copy(call, &first, size_bytes, direction, DEVICE_UNKNOWN, stream, COPY_ASYNC);
}

void capture_set(struct call *call, const void *dst, size_t size_bytes, const void *stream,
		 unsigned int flags)
{
	call->flags |= (uint16_t)(flags | captured_flag(call, stream, GRAPH_NODE_SET));
	struct record_set *set = call_record(call, RECORD_KIND_set, sizeof(*set));
	if (!set)
		return;
	set->destination = (uintptr_t)dst;
	set->size_bytes = size_bytes;
	set->stream = (uintptr_t)stream;
	call_commit(call);
}
