/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of the simulated runtime to, from and between arrays, and batches of three-dimensional
 * ones. With an array on a side, positions in it and all extents of three dimensions count its
 * elements; the driver below counts bytes.
 */
#include "simrt_internal.h"

size_t simrt_element_bytes(cudaArray_const_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR found;
	size_t channel;

	if (simrt_driver.Array3DGetDescriptor(&found, (CUarray)(uintptr_t)array) != CUDA_SUCCESS)
		return 0;
	switch (found.Format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		channel = 1;
		break;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		channel = 2;
		break;
	default:
		channel = 4;
	}
	return channel * found.NumChannels;
}

/* What the other side of an array may be. An array is device memory. */
static bool is_kind_possible(enum cudaMemcpyKind kind, bool to_array, bool from_array)
{
	switch ((int)kind) {
	case cudaMemcpyDefault:
	case cudaMemcpyDeviceToDevice:
		return true;
	case cudaMemcpyHostToDevice:
		return to_array && !from_array;
	case cudaMemcpyDeviceToHost:
		return from_array && !to_array;
	default:
		return false;
	}
}

static CUmemorytype side_type(bool is_array, enum cudaMemcpyKind kind)
{
	if (is_array)
		return CU_MEMORYTYPE_ARRAY;
	if (kind == cudaMemcpyDefault)
		return CU_MEMORYTYPE_UNIFIED;
	return kind == cudaMemcpyDeviceToDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

/* `other` is the side that is no array, NULL if there is none. */
static const char *direction_text(const void *other, bool to_array)
{
	if (!other || simrt_copy_kind(cudaMemcpyDefault, other, other) == cudaMemcpyDeviceToDevice)
		return "d2d";
	return to_array ? "h2d" : "d2h";
}

/* One call of two dimensions; offsets and widths are in bytes. */
struct flat {
	cudaArray_t to_array;
	cudaArray_const_t from_array;
	void *to;
	const void *from;
	size_t to_x, to_y, to_pitch, from_x, from_y, from_pitch;
	size_t width, rows;
	enum cudaMemcpyKind kind;
	cudaStream_t stream;
	bool is_async;
};

static CUresult copy_flat(const struct simrt_flavour *via, const struct flat *flat)
{
	const CUDA_MEMCPY2D copy = {
		.srcXInBytes = flat->from_x,
		.srcY = flat->from_y,
		.srcMemoryType = side_type(flat->from_array != NULL, flat->kind),
		.srcHost = flat->from,
		.srcDevice = simrt_device_pointer(flat->from),
		.srcArray = (CUarray)(uintptr_t)flat->from_array,
		.srcPitch = flat->from_pitch,
		.dstXInBytes = flat->to_x,
		.dstY = flat->to_y,
		.dstMemoryType = side_type(flat->to_array != NULL, flat->kind),
		.dstHost = flat->to,
		.dstDevice = simrt_device_pointer(flat->to),
		.dstArray = (CUarray)flat->to_array,
		.dstPitch = flat->to_pitch,
		.WidthInBytes = flat->width,
		.Height = flat->rows,
	};

	return flat->is_async ? via->Memcpy2DAsync(&copy, flat->stream)
			      : via->Memcpy2DUnaligned(&copy);
}

/* `wanted` is how many of the sides must be arrays. */
static cudaError_t run_flat(const struct simrt_flavour *via, const char *function,
			    const struct flat *flat, int wanted)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	const void *other = flat->to ? flat->to : flat->from;
	size_t bytes = flat->width * flat->rows;
	int arrays = (flat->to_array != NULL) + (flat->from_array != NULL);

	if (status == cudaSuccess && (arrays != wanted || (wanted == 1 && !other && bytes > 0)))
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess &&
	    !is_kind_possible(flat->kind, flat->to_array != NULL, flat->from_array != NULL))
		status = cudaErrorInvalidMemcpyDirection;
	if (status == cudaSuccess && bytes > 0 && other &&
	    flat->width > (flat->to ? flat->to_pitch : flat->from_pitch))
		status = cudaErrorInvalidPitchValue;
	if (status == cudaSuccess && bytes > 0)
		status = simrt_from_driver(copy_flat(via, flat));
	return simrt_end(
		&call, status,
		"dst=0x%llx\tsrc=0x%llx\tbytes=%zu\tstream=0x%llx\tasync=%d\tdirection=%s",
		simrt_address(flat->to_array ? (void *)flat->to_array : flat->to),
		simrt_address(flat->from_array ? (const void *)flat->from_array : flat->from),
		bytes, simrt_address(flat->stream), flat->is_async,
		direction_text(other, flat->to_array != NULL));
}

cudaError_t simrt_cudaMemcpy2DToArray(const struct simrt_flavour *via, const char *function,
				      cudaArray_t dst, size_t wOffset, size_t hOffset,
				      const void *src, size_t spitch, size_t width, size_t height,
				      enum cudaMemcpyKind kind)
{
	const struct flat flat = {.to_array = dst,
				  .to_x = wOffset,
				  .to_y = hOffset,
				  .from = src,
				  .from_pitch = spitch,
				  .width = width,
				  .rows = height,
				  .kind = kind};

	return run_flat(via, function, &flat, 1);
}

cudaError_t simrt_cudaMemcpy2DToArrayAsync(const struct simrt_flavour *via, const char *function,
					   cudaArray_t dst, size_t wOffset, size_t hOffset,
					   const void *src, size_t spitch, size_t width,
					   size_t height, enum cudaMemcpyKind kind,
					   cudaStream_t stream)
{
	const struct flat flat = {.to_array = dst,
				  .to_x = wOffset,
				  .to_y = hOffset,
				  .from = src,
				  .from_pitch = spitch,
				  .width = width,
				  .rows = height,
				  .kind = kind,
				  .stream = stream,
				  .is_async = true};

	return run_flat(via, function, &flat, 1);
}

cudaError_t simrt_cudaMemcpy2DFromArray(const struct simrt_flavour *via, const char *function,
					void *dst, size_t dpitch, cudaArray_const_t src,
					size_t wOffset, size_t hOffset, size_t width, size_t height,
					enum cudaMemcpyKind kind)
{
	const struct flat flat = {.to = dst,
				  .to_pitch = dpitch,
				  .from_array = src,
				  .from_x = wOffset,
				  .from_y = hOffset,
				  .width = width,
				  .rows = height,
				  .kind = kind};

	return run_flat(via, function, &flat, 1);
}

cudaError_t simrt_cudaMemcpy2DFromArrayAsync(const struct simrt_flavour *via, const char *function,
					     void *dst, size_t dpitch, cudaArray_const_t src,
					     size_t wOffset, size_t hOffset, size_t width,
					     size_t height, enum cudaMemcpyKind kind,
					     cudaStream_t stream)
{
	const struct flat flat = {.to = dst,
				  .to_pitch = dpitch,
				  .from_array = src,
				  .from_x = wOffset,
				  .from_y = hOffset,
				  .width = width,
				  .rows = height,
				  .kind = kind,
				  .stream = stream,
				  .is_async = true};

	return run_flat(via, function, &flat, 1);
}

cudaError_t simrt_cudaMemcpy2DArrayToArray(const struct simrt_flavour *via, const char *function,
					   cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
					   cudaArray_const_t src, size_t wOffsetSrc,
					   size_t hOffsetSrc, size_t width, size_t height,
					   enum cudaMemcpyKind kind)
{
	const struct flat flat = {.to_array = dst,
				  .to_x = wOffsetDst,
				  .to_y = hOffsetDst,
				  .from_array = src,
				  .from_x = wOffsetSrc,
				  .from_y = hOffsetSrc,
				  .width = width,
				  .rows = height,
				  .kind = kind};

	return run_flat(via, function, &flat, 2);
}

/* The driver's structure; positions in pitched memory count bytes, in an array its elements. */
static CUDA_MEMCPY3D deep_copy(const struct cudaMemcpy3DParms *p, size_t element)
{
	return (CUDA_MEMCPY3D){
		.srcXInBytes = p->srcPos.x * (p->srcArray ? element : 1),
		.srcY = p->srcPos.y,
		.srcZ = p->srcPos.z,
		.srcMemoryType = side_type(p->srcArray != NULL, p->kind),
		.srcHost = p->srcPtr.ptr,
		.srcDevice = simrt_device_pointer(p->srcPtr.ptr),
		.srcArray = (CUarray)p->srcArray,
		.srcPitch = p->srcPtr.pitch,
		.srcHeight = p->srcPtr.ysize,
		.dstXInBytes = p->dstPos.x * (p->dstArray ? element : 1),
		.dstY = p->dstPos.y,
		.dstZ = p->dstPos.z,
		.dstMemoryType = side_type(p->dstArray != NULL, p->kind),
		.dstHost = p->dstPtr.ptr,
		.dstDevice = simrt_device_pointer(p->dstPtr.ptr),
		.dstArray = (CUarray)p->dstArray,
		.dstPitch = p->dstPtr.pitch,
		.dstHeight = p->dstPtr.ysize,
		.WidthInBytes = p->extent.width * element,
		.Height = p->extent.height,
		.Depth = p->extent.depth,
	};
}

/* Each side is one of pointer and array; two arrays have elements of one size. */
static bool are_sides_good(const struct cudaMemcpy3DParms *p, size_t element)
{
	if (!p->srcArray == !p->srcPtr.ptr || !p->dstArray == !p->dstPtr.ptr || element == 0)
		return false;
	return !p->srcArray || simrt_element_bytes(p->srcArray) == element;
}

cudaError_t simrt_copy_deep_array(const struct simrt_flavour *via, const char *function,
				  const struct cudaMemcpy3DParms *p, cudaStream_t stream,
				  bool is_async)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	const void *other = p->dstArray ? p->srcPtr.ptr : p->dstPtr.ptr;
	size_t bytes = 0, element = 0;

	if (status == cudaSuccess) {
		element = simrt_element_bytes(p->dstArray ? p->dstArray : p->srcArray);
		if (!are_sides_good(p, element))
			status = cudaErrorInvalidValue;
		else if (!is_kind_possible(p->kind, p->dstArray != NULL, p->srcArray != NULL))
			status = cudaErrorInvalidMemcpyDirection;
	}
	if (status == cudaSuccess) {
		const CUDA_MEMCPY3D copy = deep_copy(p, element);

		bytes = copy.WidthInBytes * copy.Height * copy.Depth;
		if (bytes > 0)
			status = simrt_from_driver(is_async ? via->Memcpy3DAsync(&copy, stream)
							    : via->Memcpy3D(&copy));
	}
	return simrt_end(&call, status,
			 "dst=0x%llx\tsrc=0x%llx\tbytes=%zu\tstream=0x%llx\tasync=%d"
			 "\tdirection=%s",
			 simrt_address(p->dstArray ? (void *)p->dstArray : p->dstPtr.ptr),
			 simrt_address(p->srcArray ? (void *)p->srcArray : p->srcPtr.ptr), bytes,
			 simrt_address(stream), is_async,
			 direction_text(other, p->dstArray != NULL));
}

/* What the log says of a batch. */
struct batch_sum {
	size_t bytes;
	const char *direction;
};

static void add_operation(struct batch_sum *sum, const struct cudaMemcpy3DBatchOp *operation)
{
	const struct cudaMemcpy3DOperand *to = &operation->dst, *from = &operation->src;
	bool to_array = to->type == cudaMemcpyOperandTypeArray;
	bool from_array = from->type == cudaMemcpyOperandTypeArray;
	size_t extent =
		operation->extent.width * operation->extent.height * operation->extent.depth;
	const char *direction;

	if (to_array || from_array) {
		const void *other =
			to_array ? (from_array ? NULL : from->op.ptr.ptr) : to->op.ptr.ptr;

		direction = direction_text(other, to_array);
		sum->bytes += extent * simrt_element_bytes(to_array ? to->op.array.array
								    : from->op.array.array);
	} else {
		direction = simrt_copy_directions[simrt_copy_kind(cudaMemcpyDefault, to->op.ptr.ptr,
								  from->op.ptr.ptr)];
		sum->bytes += extent;
	}
	if (!sum->direction)
		sum->direction = direction;
	else if (direction != sum->direction)
		sum->direction = "unknown"; /* directions differ within the batch */
}

cudaError_t simrt_cudaMemcpy3DBatchAsync(const struct simrt_flavour *via, const char *function,
					 size_t numOps, struct cudaMemcpy3DBatchOp *opList,
					 SIMRT_FAILED_PARAMETER unsigned long long flags,
					 cudaStream_t stream)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	struct batch_sum sum = {0};

	/* Operations have the driver's layout. */
	_Static_assert(sizeof(struct cudaMemcpy3DBatchOp) == sizeof(CUDA_MEMCPY3D_BATCH_OP), "");
	if (status == cudaSuccess && !opList)
		status = cudaErrorInvalidValue;
	for (size_t i = 0; status == cudaSuccess && i < numOps; i++)
		add_operation(&sum, &opList[i]);
	if (status == cudaSuccess)
		status = simrt_from_driver(
			via->Memcpy3DBatchAsync(numOps, (CUDA_MEMCPY3D_BATCH_OP *)(void *)opList,
						SIMRT_FAILED flags, stream));
	return simrt_end(&call, status,
			 "bytes=%zu\tstream=0x%llx\tasync=1\tcount=%zu\tdirection=%s", sum.bytes,
			 simrt_address(stream), numOps, sum.direction ? sum.direction : "unknown");
}
