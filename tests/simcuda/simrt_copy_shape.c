/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and sets of the simulated runtime in two and three dimensions, and batches. All take the
 * driver function of the same shape; copies of arrays are in simrt_copy_array.c.
 */
#include "simrt_internal.h"

/* A copy of rows; what has two dimensions only has one slice. */
struct shape {
	char *to;
	const char *from;
	size_t to_pitch, to_height, from_pitch, from_height;
	size_t width, rows, slices;
	enum cudaMemcpyKind kind;
	cudaStream_t stream;
	bool is_async;
};

static CUmemorytype side_type(enum cudaMemcpyKind kind, bool is_destination)
{
	switch ((int)kind) {
	case cudaMemcpyHostToDevice:
		return is_destination ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	case cudaMemcpyDeviceToHost:
		return is_destination ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	case cudaMemcpyDeviceToDevice:
		return CU_MEMORYTYPE_DEVICE;
	default:
		return CU_MEMORYTYPE_UNIFIED;
	}
}

static CUresult copy_2d(const struct simrt_flavour *via, const struct shape *shape)
{
	const CUDA_MEMCPY2D copy = {
		.srcMemoryType = side_type(shape->kind, false),
		.srcHost = shape->from,
		.srcDevice = simrt_device_pointer(shape->from),
		.srcPitch = shape->from_pitch,
		.dstMemoryType = side_type(shape->kind, true),
		.dstHost = shape->to,
		.dstDevice = simrt_device_pointer(shape->to),
		.dstPitch = shape->to_pitch,
		.WidthInBytes = shape->width,
		.Height = shape->rows,
	};

	return shape->is_async ? via->Memcpy2DAsync(&copy, shape->stream)
			       : via->Memcpy2DUnaligned(&copy);
}

static CUresult copy_3d(const struct simrt_flavour *via, const struct shape *shape)
{
	const CUDA_MEMCPY3D copy = {
		.srcMemoryType = side_type(shape->kind, false),
		.srcHost = shape->from,
		.srcDevice = simrt_device_pointer(shape->from),
		.srcPitch = shape->from_pitch,
		.srcHeight = shape->from_height,
		.dstMemoryType = side_type(shape->kind, true),
		.dstHost = shape->to,
		.dstDevice = simrt_device_pointer(shape->to),
		.dstPitch = shape->to_pitch,
		.dstHeight = shape->to_height,
		.WidthInBytes = shape->width,
		.Height = shape->rows,
		.Depth = shape->slices,
	};

	return shape->is_async ? via->Memcpy3DAsync(&copy, shape->stream) : via->Memcpy3D(&copy);
}

/* Opens and closes the call; `status` says what was wrong with the arguments before. */
static cudaError_t run_shape(const struct simrt_flavour *via, const char *function,
			     cudaError_t wrong, struct shape *shape, bool has_depth)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	size_t bytes = shape->width * shape->rows * shape->slices;
	enum cudaMemcpyKind kind = cudaMemcpyHostToHost;

	if (status == cudaSuccess)
		status = wrong;
	if (status == cudaSuccess && (unsigned)shape->kind > cudaMemcpyDefault)
		status = cudaErrorInvalidMemcpyDirection;
	if (status == cudaSuccess && bytes > 0) {
		if (!shape->to || !shape->from)
			status = cudaErrorInvalidValue;
		else if (shape->width > shape->to_pitch || shape->width > shape->from_pitch)
			status = cudaErrorInvalidPitchValue;
	}
	if (status == cudaSuccess && bytes > 0) {
		kind = simrt_copy_kind(shape->kind, shape->to, shape->from);
		status = simrt_from_driver(has_depth ? copy_3d(via, shape) : copy_2d(via, shape));
	}
	return simrt_end(&call, status,
			 "dst=0x%llx\tsrc=0x%llx\tbytes=%zu\tstream=0x%llx\tasync=%d\tdirection=%s",
			 simrt_address(shape->to), simrt_address(shape->from), bytes,
			 simrt_address(shape->stream), shape->is_async,
			 simrt_copy_directions[kind]);
}

cudaError_t simrt_cudaMemcpy2D(const struct simrt_flavour *via, const char *function, void *dst,
			       size_t dpitch, const void *src, size_t spitch, size_t width,
			       size_t height, enum cudaMemcpyKind kind)
{
	struct shape shape = {dst, src, dpitch, 0, spitch, 0, width, height, 1, kind, NULL, false};

	return run_shape(via, function, cudaSuccess, &shape, false);
}

cudaError_t simrt_cudaMemcpy2DAsync(const struct simrt_flavour *via, const char *function,
				    void *dst, size_t dpitch, const void *src, size_t spitch,
				    size_t width, size_t height, enum cudaMemcpyKind kind,
				    cudaStream_t stream)
{
	struct shape shape = {dst, src, dpitch, 0, spitch, 0, width, height, 1, kind, stream, true};

	return run_shape(via, function, cudaSuccess, &shape, false);
}

/* Where a position in pitched memory is; its x counts bytes where no array takes part. */
static char *at_position(const struct cudaPitchedPtr *pointer, const struct cudaPos *position)
{
	if (!pointer->ptr)
		return NULL;
	return (char *)pointer->ptr + position->z * pointer->pitch * pointer->ysize +
	       position->y * pointer->pitch + position->x;
}

static cudaError_t run_parms(const struct simrt_flavour *via, const char *function,
			     const struct cudaMemcpy3DParms *p, cudaStream_t stream, bool is_async)
{
	struct shape shape = {.stream = stream, .is_async = is_async};
	cudaError_t wrong = cudaSuccess;

	if (!p) {
		wrong = cudaErrorInvalidValue;
	} else if (p->srcArray || p->dstArray) {
		return simrt_copy_deep_array(via, function, p, stream, is_async);
	} else {
		shape.to = at_position(&p->dstPtr, &p->dstPos);
		shape.from = at_position(&p->srcPtr, &p->srcPos);
		shape.to_pitch = p->dstPtr.pitch;
		shape.to_height = p->dstPtr.ysize;
		shape.from_pitch = p->srcPtr.pitch;
		shape.from_height = p->srcPtr.ysize;
		shape.width = p->extent.width;
		shape.rows = p->extent.height;
		shape.slices = p->extent.depth;
		shape.kind = p->kind;
	}
	return run_shape(via, function, wrong, &shape, true);
}

cudaError_t simrt_cudaMemcpy3D(const struct simrt_flavour *via, const char *function,
			       const struct cudaMemcpy3DParms *p)
{
	return run_parms(via, function, p, NULL, false);
}

cudaError_t simrt_cudaMemcpy3DAsync(const struct simrt_flavour *via, const char *function,
				    const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
	return run_parms(via, function, p, stream, true);
}

cudaError_t simrt_cudaMemcpyBatchAsync(const struct simrt_flavour *via, const char *function,
				       void *const *dsts, const void *const *srcs,
				       const size_t *sizes, size_t count,
				       struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
				       size_t numAttrs, SIMRT_FAILED_PARAMETER cudaStream_t stream)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	const char *direction = "h2h";
	size_t bytes = 0;

	/* Pointers and attributes have the driver's layout. */
	_Static_assert(sizeof(struct cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes), "");
	if (status == cudaSuccess && (!dsts || !srcs || !sizes))
		status = cudaErrorInvalidValue;
	for (size_t i = 0; status == cudaSuccess && i < count; i++) {
		const char *this_one =
			simrt_copy_directions[simrt_copy_kind(cudaMemcpyDefault, dsts[i], srcs[i])];

		direction = i == 0 || this_one == direction ? this_one : "unknown";
		bytes += sizes[i];
	}
	if (status == cudaSuccess)
		status = simrt_from_driver(via->MemcpyBatchAsync(
			(CUdeviceptr *)(uintptr_t)dsts, (CUdeviceptr *)(uintptr_t)srcs,
			(size_t *)(uintptr_t)sizes, count, (CUmemcpyAttributes *)(void *)attrs,
			attrsIdxs, numAttrs, SIMRT_FAILED stream));
	return simrt_end(&call, status,
			 "dst=0x%llx\tsrc=0x%llx\tbytes=%zu\tstream=0x%llx\tasync=1\tcount=%zu\t"
			 "direction=%s",
			 simrt_address(dsts && count ? dsts[0] : NULL),
			 simrt_address(srcs && count ? srcs[0] : NULL), bytes,
			 simrt_address(stream), count, direction);
}

/* Rows of all slices lie one pitch apart, so that one set of two dimensions does when the slices
 * are dense; else slice by slice. */
static cudaError_t run_set(const struct simrt_flavour *via, const char *function,
			   const struct cudaPitchedPtr *memory, int value,
			   const struct cudaExtent *extent, cudaStream_t stream, bool is_async)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	size_t bytes = extent->width * extent->height * extent->depth;
	bool is_dense = memory->ysize == extent->height;
	size_t rows = is_dense ? extent->height * extent->depth : extent->height;

	if (status == cudaSuccess && bytes > 0 && memory->pitch < extent->width)
		status = cudaErrorInvalidValue;
	for (size_t slice = 0; status == cudaSuccess && bytes > 0; slice++) {
		CUdeviceptr at =
			simrt_device_pointer(memory->ptr) + slice * memory->pitch * memory->ysize;
		unsigned char byte = (unsigned char)value;

		status = simrt_from_driver(
			is_async ? via->MemsetD2D8Async(at, memory->pitch, byte, extent->width,
							rows, stream)
				 : via->MemsetD2D8(at, memory->pitch, byte, extent->width, rows));
		if (is_dense || slice + 1 == extent->depth)
			break;
	}
	return simrt_end(&call, status, "dst=0x%llx\tbytes=%zu\tvalue=%d\tstream=0x%llx\tasync=%d",
			 simrt_address(memory->ptr), bytes, value & 0xff, simrt_address(stream),
			 is_async);
}

cudaError_t simrt_cudaMemset2D(const struct simrt_flavour *via, const char *function, void *address,
			       size_t pitch, int value, size_t width, size_t height)
{
	struct cudaPitchedPtr memory = {address, pitch, width, height};
	struct cudaExtent extent = {width, height, 1};

	return run_set(via, function, &memory, value, &extent, NULL, false);
}

cudaError_t simrt_cudaMemset2DAsync(const struct simrt_flavour *via, const char *function,
				    void *address, size_t pitch, int value, size_t width,
				    size_t height, cudaStream_t stream)
{
	struct cudaPitchedPtr memory = {address, pitch, width, height};
	struct cudaExtent extent = {width, height, 1};

	return run_set(via, function, &memory, value, &extent, stream, true);
}

cudaError_t simrt_cudaMemset3D(const struct simrt_flavour *via, const char *function,
			       struct cudaPitchedPtr memory, int value, struct cudaExtent extent)
{
	return run_set(via, function, &memory, value, &extent, NULL, false);
}

cudaError_t simrt_cudaMemset3DAsync(const struct simrt_flavour *via, const char *function,
				    struct cudaPitchedPtr memory, int value,
				    struct cudaExtent extent, cudaStream_t stream)
{
	return run_set(via, function, &memory, value, &extent, stream, true);
}
