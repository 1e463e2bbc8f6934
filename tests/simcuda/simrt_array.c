/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays, three-dimensional and managed memory of the simulated runtime. A cudaArray_t is the
 * driver's CUarray.
 */
#include "simrt_internal.h"

#include <string.h>

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitched, struct cudaExtent extent)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	size_t row_bytes = 0, rows = extent.height * extent.depth;
	CUdeviceptr found = 0;

	if (status == cudaSuccess &&
	    (!pitched || (extent.depth && extent.height > SIZE_MAX / extent.depth)))
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess && extent.width && rows)
		status = simrt_from_driver(
			simrt_driver.MemAllocPitch(&found, &row_bytes, extent.width, rows, 4));
	if (status == cudaSuccess)
		*pitched = (struct cudaPitchedPtr){(void *)(uintptr_t)found, row_bytes,
						   extent.width, extent.height};
	return simrt_end(&call, status, "address=0x%llx\tbytes=%zu", (unsigned long long)found,
			 row_bytes * rows);
}

/* False for channels that no array can have. */
static bool describe(CUDA_ARRAY3D_DESCRIPTOR *out, const struct cudaChannelFormatDesc *format,
		     struct cudaExtent extent, unsigned flags)
{
	static const CUarray_format integers[2][3] = {
		{CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_SIGNED_INT16, CU_AD_FORMAT_SIGNED_INT32},
		{CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16,
		 CU_AD_FORMAT_UNSIGNED_INT32}};
	const int bits[4] = {format->x, format->y, format->z, format->w};
	int size = format->x == 8 ? 0 : format->x == 16 ? 1 : format->x == 32 ? 2 : -1;
	unsigned channels = 0;

	while (channels < 4 && bits[channels])
		if (bits[channels++] != format->x)
			return false;
	if (size < 0)
		return false;
	memset(out, 0, sizeof(*out));
	switch (format->f) {
	case cudaChannelFormatKindSigned:
		out->Format = integers[0][size];
		break;
	case cudaChannelFormatKindUnsigned:
		out->Format = integers[1][size];
		break;
	case cudaChannelFormatKindFloat:
		if (size == 0)
			return false;
		out->Format = size == 1 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
		break;
	default:
		return false;
	}
	out->Width = extent.width;
	out->Height = extent.height;
	out->Depth = extent.depth;
	out->NumChannels = channels;
	out->Flags = flags; /* the runtime's numbers are the driver's */
	return true;
}

static cudaError_t make_array(const char *function, cudaArray_t *array,
			      const struct cudaChannelFormatDesc *format, struct cudaExtent extent,
			      unsigned flags)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);
	CUDA_ARRAY3D_DESCRIPTOR description;
	CUarray made = NULL;
	size_t bytes = 0;

	if (status == cudaSuccess &&
	    (!array || !format || !describe(&description, format, extent, flags)))
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.Array3DCreate(&made, &description));
	if (status == cudaSuccess)
		*array = (cudaArray_t)made;
	if (status == cudaSuccess)
		bytes = extent.width * (extent.height ? extent.height : 1) *
			(extent.depth ? extent.depth : 1) * description.NumChannels *
			(size_t)format->x / 8;
	return simrt_end(&call, status, "address=0x%llx\tbytes=%zu", simrt_address(made), bytes);
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format,
			    size_t width, size_t height, unsigned flags)
{
	return make_array(__func__, array, format, (struct cudaExtent){width, height, 0}, flags);
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format,
			      struct cudaExtent extent, unsigned flags)
{
	return make_array(__func__, array, format, extent, flags);
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess && array)
		status = simrt_from_driver(simrt_driver.ArrayDestroy((CUarray)array));
	return simrt_end(&call, status, "address=0x%llx", simrt_address(array));
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *array,
				     const struct cudaChannelFormatDesc *format,
				     struct cudaExtent extent, unsigned levels, unsigned flags)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUDA_ARRAY3D_DESCRIPTOR description;
	CUmipmappedArray made = NULL;

	if (status == cudaSuccess &&
	    (!array || !format || !describe(&description, format, extent, flags)))
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = simrt_from_driver(
			simrt_driver.MipmappedArrayCreate(&made, &description, levels));
	if (status == cudaSuccess)
		*array = (cudaMipmappedArray_t)made;
	return simrt_end(&call, status, "address=0x%llx", simrt_address(made));
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *level, cudaMipmappedArray_const_t array,
				       unsigned number)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUarray found = NULL;

	if (status == cudaSuccess && !level)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.MipmappedArrayGetLevel(
			&found, (CUmipmappedArray)(uintptr_t)array, number));
	if (status == cudaSuccess)
		*level = (cudaArray_t)found;
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess && array)
		status = simrt_from_driver(
			simrt_driver.MipmappedArrayDestroy((CUmipmappedArray)array));
	return simrt_end(&call, status, "address=0x%llx", simrt_address(array));
}

/* ---- managed memory ---- */

static CUmemLocation place_of(struct cudaMemLocation location)
{
	CUmemLocation place;

	memset(&place, 0, sizeof(place));
	place.type = (CUmemLocationType)location.type;
	place.id = location.id;
	return place;
}

cudaError_t simrt_cudaMemPrefetchAsync(const struct simrt_flavour *via, const char *function,
				       const void *address, size_t size,
				       struct cudaMemLocation location, unsigned flags,
				       cudaStream_t stream)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(via->MemPrefetchAsync(
			simrt_device_pointer(address), size, place_of(location), flags, stream));
	return simrt_end(&call, status, "address=0x%llx\tbytes=%zu\tstream=0x%llx",
			 simrt_address(address), size, simrt_address(stream));
}

cudaError_t cudaMemAdvise(const void *address, size_t size, enum cudaMemoryAdvise advice,
			  struct cudaMemLocation location)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.MemAdvise(simrt_device_pointer(address),
								  size, (CUmem_advise)advice,
								  place_of(location)));
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaMemRangeGetAttribute(void *data, size_t data_bytes,
				     enum cudaMemRangeAttribute attribute, const void *address,
				     size_t size)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.MemRangeGetAttribute(
			data, data_bytes, (CUmem_range_attribute)attribute,
			simrt_device_pointer(address), size));
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaHostGetFlags(unsigned *flags, void *host)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(simrt_driver.MemHostGetFlags(flags, host));
	return simrt_end(&call, status, NULL);
}
