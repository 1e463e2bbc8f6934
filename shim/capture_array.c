/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of arrays, which have a handle and no address. Their size is what their elements need;
 * what the hardware adds for its own layout nobody tells.
 */
#include "capture.h"

#include "device.h"

enum { ARRAY_LAYERED = 1, ARRAY_CUBEMAP = 4 };

struct array_shape {
	uint64_t width, height, depth; /* 0 counts as 1 */
	uint64_t element_bytes;	       /* 0: a format that is not known */
	unsigned int levels, flags;
};

static uint64_t at_level(uint64_t extent, unsigned int level)
{
	extent = level < 64 ? extent >> level : 0;
	return extent ? extent : 1;
}

static uint64_t size_of(const struct array_shape *shape)
{
	bool is_layered = shape->flags & (ARRAY_LAYERED | ARRAY_CUBEMAP);
	uint64_t size_bytes = 0;
	for (unsigned int level = 0; level < shape->levels && level < 64; level++)
		size_bytes += shape->element_bytes * at_level(shape->width, level) *
			      at_level(shape->height, level) *
			      at_level(shape->depth, is_layered ? 0 : level);
	return size_bytes;
}

/* What descriptions point to is an argument, and read only after the library has accepted it. */
static void write_array(struct call *call, const void *out, const struct array_shape *shape)
{
	capture_alloc_array_handle(call, out, call->status ? 0 : size_of(shape));
}

void capture_alloc_array(struct call *call, const void *out,
			 const struct cudaChannelFormatDesc *format,
			 const struct cudaExtent *extent, unsigned int levels, unsigned int flags)
{
	struct array_shape shape = {
		.width = extent->width,
		.height = extent->height,
		.depth = extent->depth,
		.levels = levels,
		.flags = flags,
	};
	if (!call->status && format)
		shape.element_bytes = (uint64_t)(format->x + format->y + format->z + format->w) / 8;
	write_array(call, out, &shape);
}

/* CUarray_format: bytes of one channel. */
static uint64_t channel_bytes(int format)
{
	switch (format) {
	case 0x01: /* unsigned and signed 8 bits */
	case 0x08:
	case 0xc0: /* normalised: X1, X2, X4 */
	case 0xc1:
	case 0xc2:
	case 0xc6:
	case 0xc7:
	case 0xc8:
		return 1;
	case 0x02: /* 16 bits, half */
	case 0x09:
	case 0x10:
	case 0xc3:
	case 0xc4:
	case 0xc5:
	case 0xc9:
	case 0xca:
	case 0xcb:
		return 2;
	case 0x03: /* 32 bits, float */
	case 0x0a:
	case 0x20:
		return 4;
	default:
		return 0;
	}
}

uint64_t capture_array_element_bytes(const void *array)
{
	CUDA_ARRAY3D_DESCRIPTOR found;
	if (!array || !device_describe_array(array, &found))
		return 0;
	return channel_bytes(found.Format) * found.NumChannels;
}

void capture_alloc_driver_array(struct call *call, const void *out,
				const CUDA_ARRAY_DESCRIPTOR *description)
{
	struct array_shape shape = {.levels = 1};
	if (!call->status && description) {
		shape.width = description->Width;
		shape.height = description->Height;
		shape.element_bytes = channel_bytes(description->Format) * description->NumChannels;
	}
	write_array(call, out, &shape);
}

void capture_alloc_driver_array_3d(struct call *call, const void *out,
				   const CUDA_ARRAY3D_DESCRIPTOR *description, unsigned int levels)
{
	struct array_shape shape = {.levels = levels};
	if (!call->status && description) {
		shape.width = description->Width;
		shape.height = description->Height;
		shape.depth = description->Depth;
		shape.flags = description->Flags;
		shape.element_bytes = channel_bytes(description->Format) * description->NumChannels;
	}
	write_array(call, out, &shape);
}
