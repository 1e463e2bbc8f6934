/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays and mipmapped arrays. An array lies row by row in device memory that has no address for
 * the program; its size is what its elements need, without the padding of real hardware.
 */
#include "sim_api_alloc.h"

#include <string.h>

static struct sim_array *arrays;

static size_t element_bytes(const CUDA_ARRAY3D_DESCRIPTOR *description)
{
	size_t bytes;

	switch (description->Format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		bytes = 1;
		break;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		bytes = 2;
		break;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		bytes = 4;
		break;
	default:
		return 0;
	}
	switch (description->NumChannels) {
	case 1:
	case 2:
	case 4:
		return bytes * description->NumChannels;
	default:
		return 0;
	}
}

/* False for what is no array. The faces of a cube and layers stand in the depth already. */
static bool measure(struct sim_array *array, const CUDA_ARRAY3D_DESCRIPTOR *description)
{
	size_t element = element_bytes(description);

	array->description = *description;
	array->rows = description->Height ? description->Height : 1;
	array->slices = description->Depth ? description->Depth : 1;
	if (!element || description->Width == 0 || description->Width > SIZE_MAX / 64 / element ||
	    array->rows > SIZE_MAX / 64 / (description->Width * element))
		return false;
	array->row_bytes = description->Width * element;
	if (array->slices > SIZE_MAX / 64 / (array->row_bytes * array->rows))
		return false;
	array->bytes = array->row_bytes * array->rows * array->slices;
	return true;
}

struct sim_array *sim_array_find(CUarray handle)
{
	struct sim_array *array = (struct sim_array *)handle;

	return sim_pool_holds(POOL_ARRAY, handle) && !array->levels ? array : NULL;
}

static struct sim_array *find_mipmapped(CUmipmappedArray handle)
{
	struct sim_array *array = (struct sim_array *)handle;

	return sim_pool_holds(POOL_ARRAY, handle) && array->levels ? array : NULL;
}

uint64_t sim_array_address(const struct sim_array *array)
{
	const struct sim_array *owner = array->parent ? array->parent : array;

	return owner->range->base + array->offset;
}

static CUresult take(struct sim_call *call, struct sim_array *array)
{
	struct sim_device *device = call->context->device;

	if (!sim_live_has_room(device, array->bytes) &&
	    !(sim_pool_memory_release(device, true) && sim_live_has_room(device, array->bytes)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* Known like a module's variable: copies find it, frees of its address do not. */
	array->range = sim_memory_take_global(call->context, array->bytes);
	if (!array->range)
		return CUDA_ERROR_OUT_OF_MEMORY;
	array->range->context = NULL;
	array->context = call->context;
	array->device = device;
	array->next = arrays;
	arrays = array;
	sim_live_add(device, SIM_LIVE_ARRAY, array->bytes);
	SIM_NOTE(call, "address=0x%llx", sim_handle(array));
	sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_array_create(struct sim_call *call, CUarray *handle,
			  const CUDA_ARRAY3D_DESCRIPTOR *description)
{
	struct sim_array *array;
	CUresult result;

	if (!handle || !description)
		return CUDA_ERROR_INVALID_VALUE;
	array = sim_pool_new(POOL_ARRAY);
	if (!array)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = measure(array, description) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS) {
		SIM_NOTE(call, "bytes=%zu", array->bytes);
		result = take(call, array);
	}
	if (result) {
		sim_pool_free(POOL_ARRAY, array);
		return result;
	}
	*handle = (CUarray)array;
	return CUDA_SUCCESS;
}

CUresult sim_array_create_2d(struct sim_call *call, CUarray *handle,
			     const CUDA_ARRAY_DESCRIPTOR *description)
{
	CUDA_ARRAY3D_DESCRIPTOR wide;

	if (!description)
		return CUDA_ERROR_INVALID_VALUE;
	memset(&wide, 0, sizeof(wide));
	wide.Width = description->Width;
	wide.Height = description->Height;
	wide.Format = description->Format;
	wide.NumChannels = description->NumChannels;
	return sim_array_create(call, handle, &wide);
}

static void give(struct sim_array *array)
{
	struct sim_array **link = &arrays;

	while (*link != array)
		link = &(*link)->next;
	*link = array->next;
	for (unsigned i = 0; i < array->levels; i++)
		sim_pool_free(POOL_ARRAY, array->level_arrays[i]);
	sim_live_sub(array->device, SIM_LIVE_ARRAY, array->bytes);
	sim_memory_give(array->range);
	sim_pool_free(POOL_ARRAY, array);
}

static CUresult destroy(struct sim_call *call, struct sim_array *array)
{
	SIM_NOTE(call, "address=0x%llx", sim_handle(array));
	if (!array || array->parent)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_call_wait_now(call, array->context->tail_ns, sim_worker_everything());
	if (!sim_pool_holds(POOL_ARRAY, array))
		return CUDA_ERROR_INVALID_HANDLE;
	give(array);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_array_destroy(struct sim_call *call, CUarray handle)
{
	return destroy(call, sim_array_find(handle));
}

CUresult sim_array_describe(CUDA_ARRAY3D_DESCRIPTOR *description, CUarray handle)
{
	const struct sim_array *array = sim_array_find(handle);

	if (!description || !array)
		return description ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
	*description = array->description;
	return CUDA_SUCCESS;
}

static size_t half(size_t extent, unsigned level)
{
	extent >>= level;
	return extent ? extent : 1;
}

/* Every level is an array of its own; all lie in one piece of memory, one behind the other. */
static bool make_levels(struct sim_array *array, unsigned count)
{
	size_t offset = 0;

	for (unsigned i = 0; i < count; i++) {
		struct sim_array *level = sim_pool_new(POOL_ARRAY);
		CUDA_ARRAY3D_DESCRIPTOR part = array->description;
		bool is_layered = part.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);

		part.Width = half(part.Width, i);
		part.Height = part.Height ? half(part.Height, i) : 0;
		part.Depth = part.Depth && !is_layered ? half(part.Depth, i) : part.Depth;
		if (!level)
			return false;
		array->level_arrays[array->levels++] = level;
		if (!measure(level, &part))
			return false;
		level->parent = array;
		level->offset = offset;
		offset += level->bytes;
	}
	array->bytes = offset;
	return true;
}

CUresult sim_array_create_mipmapped(struct sim_call *call, CUmipmappedArray *handle,
				    const CUDA_ARRAY3D_DESCRIPTOR *description, unsigned levels)
{
	struct sim_array *array;
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (!handle || !description || levels < 1 ||
	    levels > sizeof(array->level_arrays) / sizeof(array->level_arrays[0]))
		return CUDA_ERROR_INVALID_VALUE;
	array = sim_pool_new(POOL_ARRAY);
	if (!array)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (measure(array, description) && make_levels(array, levels)) {
		SIM_NOTE(call, "bytes=%zu", array->bytes);
		result = take(call, array);
	}
	if (result) {
		for (unsigned i = 0; i < array->levels; i++)
			sim_pool_free(POOL_ARRAY, array->level_arrays[i]);
		sim_pool_free(POOL_ARRAY, array);
		return result;
	}
	for (unsigned i = 0; i < array->levels; i++) {
		array->level_arrays[i]->context = array->context;
		array->level_arrays[i]->device = array->device;
	}
	*handle = (CUmipmappedArray)array;
	return CUDA_SUCCESS;
}

CUresult sim_array_level(CUarray *level, CUmipmappedArray handle, unsigned number)
{
	const struct sim_array *array = find_mipmapped(handle);

	if (!array)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!level || number >= array->levels)
		return CUDA_ERROR_INVALID_VALUE;
	*level = (CUarray)array->level_arrays[number];
	return CUDA_SUCCESS;
}

CUresult sim_array_destroy_mipmapped(struct sim_call *call, CUmipmappedArray handle)
{
	return destroy(call, find_mipmapped(handle));
}

void sim_array_drop_context(const struct sim_context *context)
{
	struct sim_array *array = arrays;

	while (array) {
		struct sim_array *next = array->next;

		if (array->context == context)
			give(array);
		array = next;
	}
}
