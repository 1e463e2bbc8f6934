/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies that a structure describes: two and three dimensions, between devices, and batches of
 * plain ones. Each side becomes an address, a pitch and a slice; sim_copy.c does the rest.
 */
#include "sim_api.h"

/* One side of a copy, from any of the driver's structures. */
struct side {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	CUarray array;
	size_t x, y, z, pitch, height;
};

struct located {
	uint64_t address;
	size_t pitch, slice;
};

static CUresult locate_array(const struct side *side, const struct sim_box *box,
			     struct located *out)
{
	const struct sim_array *array = sim_array_find(side->array);

	if (!array)
		return CUDA_ERROR_INVALID_HANDLE;
	if (side->x + box->width > array->row_bytes || side->y + box->rows > array->rows ||
	    side->z + box->slices > array->slices)
		return CUDA_ERROR_INVALID_VALUE;
	out->pitch = array->row_bytes;
	out->slice = array->row_bytes * array->rows;
	out->address =
		sim_array_address(array) + side->z * out->slice + side->y * out->pitch + side->x;
	return CUDA_SUCCESS;
}

/* Where the side's first byte is, for a copy of `box`. */
static CUresult locate(const struct side *side, const struct sim_box *box, struct located *out)
{
	uint64_t base;

	switch (side->type) {
	case CU_MEMORYTYPE_HOST:
		base = (uintptr_t)side->host;
		break;
	case CU_MEMORYTYPE_DEVICE:
	case CU_MEMORYTYPE_UNIFIED:
		base = side->device;
		break;
	case CU_MEMORYTYPE_ARRAY:
		return locate_array(side, box, out);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	out->pitch = side->pitch ? side->pitch : side->x + box->width;
	if (out->pitch < side->x + box->width)
		return CUDA_ERROR_INVALID_VALUE;
	/* No height means that the slices lie one after the other. */
	out->slice = out->pitch * (side->height ? side->height : side->y + box->rows);
	if (side->height && side->height < side->y + box->rows)
		return CUDA_ERROR_INVALID_VALUE;
	out->address = base ? base + side->z * out->slice + side->y * out->pitch + side->x : 0;
	return CUDA_SUCCESS;
}

static unsigned known_sides(const struct side *to, const struct side *from)
{
	return (to->type == CU_MEMORYTYPE_DEVICE ? COPY_TO_KNOWN : 0U) |
	       (from->type == CU_MEMORYTYPE_DEVICE ? COPY_FROM_KNOWN : 0U);
}

static CUresult copy_sides(struct sim_call *call, const struct side *to, const struct side *from,
			   struct sim_box box, CUstream stream, unsigned flags)
{
	struct located destination = {0}, source = {0};
	const char *direction = NULL;
	CUresult result;

	if (sim_box_bytes(&box) == 0)
		box = (struct sim_box){.rows = 1, .slices = 1};
	result = locate(to, &box, &destination);
	if (result == CUDA_SUCCESS)
		result = locate(from, &box, &source);
	SIM_NOTE(call, "dst=0x%llx\tsrc=0x%llx\tbytes=%zu\tstream=0x%llx\tasync=%d\trows=%zu",
		 (unsigned long long)destination.address, (unsigned long long)source.address,
		 sim_box_bytes(&box), sim_handle(stream), (flags & COPY_ASYNC) != 0,
		 box.rows * box.slices);
	if (result)
		return result;
	box.to_pitch = destination.pitch;
	box.to_slice = destination.slice;
	box.from_pitch = source.pitch;
	box.from_slice = source.slice;
	result = sim_copy_box(call, destination.address, source.address, &box, stream,
			      flags | known_sides(to, from), &direction);
	if (direction)
		SIM_NOTE(call, "direction=%s", direction);
	return result;
}

CUresult sim_copy_2d(struct sim_call *call, const CUDA_MEMCPY2D *shape, CUstream stream,
		     unsigned flags)
{
	struct side to, from;

	if (!shape)
		return CUDA_ERROR_INVALID_VALUE;
	to = (struct side){.type = shape->dstMemoryType,
			   .host = shape->dstHost,
			   .device = shape->dstDevice,
			   .array = shape->dstArray,
			   .x = shape->dstXInBytes,
			   .y = shape->dstY,
			   .pitch = shape->dstPitch};
	from = (struct side){.type = shape->srcMemoryType,
			     .host = shape->srcHost,
			     .device = shape->srcDevice,
			     .array = shape->srcArray,
			     .x = shape->srcXInBytes,
			     .y = shape->srcY,
			     .pitch = shape->srcPitch};
	return copy_sides(
		call, &to, &from,
		(struct sim_box){.width = shape->WidthInBytes, .rows = shape->Height, .slices = 1},
		stream, flags);
}

/* The two structures of three dimensions name their fields alike. */
#define SIDE_OF(shape, end)                                                                        \
	{                                                                                          \
		.type = (shape)->end##MemoryType, .host = (shape)->end##Host,                      \
		.device = (shape)->end##Device, .array = (shape)->end##Array,                      \
		.x = (shape)->end##XInBytes, .y = (shape)->end##Y, .z = (shape)->end##Z,           \
		.pitch = (shape)->end##Pitch, .height = (shape)->end##Height                       \
	}

CUresult sim_copy_3d(struct sim_call *call, const CUDA_MEMCPY3D *shape, CUstream stream,
		     unsigned flags)
{
	if (!shape || shape->srcLOD || shape->dstLOD)
		return CUDA_ERROR_INVALID_VALUE;
	return copy_sides(call, &(struct side)SIDE_OF(shape, dst),
			  &(struct side)SIDE_OF(shape, src),
			  (struct sim_box){.width = shape->WidthInBytes,
					   .rows = shape->Height,
					   .slices = shape->Depth},
			  stream, flags);
}

CUresult sim_copy_3d_peer(struct sim_call *call, const CUDA_MEMCPY3D_PEER *shape, CUstream stream,
			  unsigned flags)
{
	if (!shape || shape->srcLOD || shape->dstLOD)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_pool_holds(POOL_CONTEXT, shape->srcContext) ||
	    !sim_pool_holds(POOL_CONTEXT, shape->dstContext))
		return CUDA_ERROR_INVALID_CONTEXT;
	return copy_sides(call, &(struct side)SIDE_OF(shape, dst),
			  &(struct side)SIDE_OF(shape, src),
			  (struct sim_box){.width = shape->WidthInBytes,
					   .rows = shape->Height,
					   .slices = shape->Depth},
			  stream, flags | COPY_IS_PEER);
}

/* Attributes hold from their index to the next one's; the first index is 0. */
static bool are_attributes_good(const CUmemcpyAttributes *attributes, const size_t *indices,
				size_t attribute_count, size_t count)
{
	if (!attributes || !indices || attribute_count == 0 || attribute_count > count ||
	    indices[0] != 0)
		return false;
	for (size_t i = 0; i < attribute_count; i++) {
		if (attributes[i].srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
		    attributes[i].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY ||
		    (i > 0 && (indices[i] <= indices[i - 1] || indices[i] >= count)))
			return false;
	}
	return true;
}

CUresult sim_copy_batch(struct sim_call *call, const CUdeviceptr *to, const CUdeviceptr *from,
			const size_t *sizes, size_t count, const CUmemcpyAttributes *attributes,
			const size_t *attribute_indices, size_t attribute_count, size_t *failed,
			CUstream stream)
{
	const char *direction = NULL, *first = NULL;
	size_t bytes = 0;
	CUresult result = CUDA_SUCCESS;

	if (!to || !from || !sizes || count == 0 || !stream || stream == CU_STREAM_LEGACY ||
	    !are_attributes_good(attributes, attribute_indices, attribute_count, count)) {
		/* The whole batch is wrong, not one of its copies. */
		if (failed)
			*failed = SIZE_MAX;
		return CUDA_ERROR_INVALID_VALUE;
	}
	for (size_t i = 0; i < count; i++)
		bytes += sizes[i];
	SIM_NOTE(call, "dst=0x%llx\tsrc=0x%llx\tbytes=%zu\tstream=0x%llx\tasync=1\tcount=%zu",
		 (unsigned long long)to[0], (unsigned long long)from[0], bytes, sim_handle(stream),
		 count);
	for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
		struct sim_box box = sim_box_of_bytes(sizes[i]);

		direction = NULL;
		result = sim_copy_box(call, to[i], from[i], &box, stream, COPY_ASYNC, &direction);
		if (result != CUDA_SUCCESS && failed)
			*failed = i;
		if (!first)
			first = direction;
		else if (direction && direction != first)
			first = "unknown"; /* directions differ within the batch */
	}
	if (first)
		SIM_NOTE(call, "direction=%s", first);
	return result;
}

/* Bytes per element of the arrays of an operation, 1 without; 0: no array, or two that differ. */
static size_t element_of(const CUDA_MEMCPY3D_BATCH_OP *operation)
{
	const CUmemcpy3DOperand *operands[2] = {&operation->dst, &operation->src};
	size_t element = 0;

	for (int i = 0; i < 2; i++) {
		const struct sim_array *array;
		size_t bytes;

		if (operands[i]->type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
			continue;
		array = sim_array_find(operands[i]->op.array.array);
		bytes = array ? array->row_bytes / array->description.Width : 0;
		if (bytes == 0 || (element && element != bytes))
			return 0;
		element = bytes;
	}
	return element ? element : 1;
}

static struct side side_of_operand(const CUmemcpy3DOperand *operand, size_t element)
{
	if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
		return (struct side){.type = CU_MEMORYTYPE_ARRAY,
				     .array = operand->op.array.array,
				     .x = operand->op.array.offset.x * element,
				     .y = operand->op.array.offset.y,
				     .z = operand->op.array.offset.z};
	/* Any other type is none that locate() knows. */
	return (struct side){.type = operand->type == CU_MEMCPY_OPERAND_TYPE_POINTER
					     ? CU_MEMORYTYPE_UNIFIED
					     : (CUmemorytype)0,
			     .device = operand->op.ptr.ptr,
			     .pitch = operand->op.ptr.rowLength * element,
			     .height = operand->op.ptr.layerHeight};
}

struct batch_part {
	struct sim_box box;
	struct located to, from;
};

static CUresult find_part(const CUDA_MEMCPY3D_BATCH_OP *operation, struct batch_part *part)
{
	size_t element = element_of(operation);
	struct side to = side_of_operand(&operation->dst, element);
	struct side from = side_of_operand(&operation->src, element);
	CUresult result;

	part->box = (struct sim_box){.width = operation->extent.width * element,
				     .rows = operation->extent.height,
				     .slices = operation->extent.depth};
	if (element == 0 || sim_box_bytes(&part->box) == 0 ||
	    operation->srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
	    operation->srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
		return CUDA_ERROR_INVALID_VALUE;
	result = locate(&to, &part->box, &part->to);
	if (result == CUDA_SUCCESS)
		result = locate(&from, &part->box, &part->from);
	part->box.to_pitch = part->to.pitch;
	part->box.to_slice = part->to.slice;
	part->box.from_pitch = part->from.pitch;
	part->box.from_slice = part->from.slice;
	return result;
}

/* Finds every part before the first is copied, and notes the sums. */
static CUresult measure_batch(struct sim_call *call, const CUDA_MEMCPY3D_BATCH_OP *operations,
			      size_t count, CUstream stream, size_t *failed)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		struct batch_part part = {0};
		CUresult result = find_part(&operations[i], &part);

		*failed = i;
		if (result)
			return result;
		bytes += sim_box_bytes(&part.box);
	}
	SIM_NOTE(call, "bytes=%zu\tstream=0x%llx\tasync=1\tcount=%zu", bytes, sim_handle(stream),
		 count);
	return CUDA_SUCCESS;
}

CUresult sim_copy_3d_batch(struct sim_call *call, const CUDA_MEMCPY3D_BATCH_OP *operations,
			   size_t count, size_t *failed, unsigned long long flags, CUstream stream)
{
	const char *direction = NULL, *first = NULL;
	size_t bad = SIZE_MAX; /* the whole batch is wrong, not one of its copies */
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (operations && count > 0 && flags == 0 && stream && stream != CU_STREAM_LEGACY)
		result = measure_batch(call, operations, count, stream, &bad);
	for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
		struct batch_part part = {0};

		direction = NULL;
		bad = i;
		result = find_part(&operations[i], &part);
		if (result == CUDA_SUCCESS)
			result = sim_copy_box(call, part.to.address, part.from.address, &part.box,
					      stream, COPY_ASYNC, &direction);
		if (!first)
			first = direction;
		else if (direction && direction != first)
			first = "unknown"; /* directions differ within the batch */
	}
	if (result != CUDA_SUCCESS && failed)
		*failed = bad;
	if (first)
		SIM_NOTE(call, "direction=%s", first);
	return result;
}

CUresult sim_copy_set_2d(struct sim_call *call, CUdeviceptr to, size_t pitch, uint32_t value,
			 unsigned width, size_t columns, size_t rows, CUstream stream,
			 bool is_async)
{
	struct sim_box box = {.width = columns * width,
			      .rows = rows,
			      .slices = 1,
			      .to_pitch = pitch,
			      .to_slice = pitch * rows};

	if (columns * width / width != columns || (rows > 1 && pitch < box.width))
		return CUDA_ERROR_INVALID_VALUE;
	return sim_copy_set_box(call, to, value, width, &box, stream, is_async);
}
