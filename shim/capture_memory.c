/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of allocations and frees, and the table of what is allocated. A free leaves the table
 * before the real call, since another thread may get the address before that call returns.
 */
#include "capture.h"

#include <string.h>

#include "pointers.h"

static void write_memory(struct call *call, unsigned int op, const void *address,
			 uint64_t size_bytes, unsigned int kind, const void *stream)
{
	struct record_memory *memory = call_record(call, RECORD_KIND_memory, sizeof(*memory));
	if (!memory)
		return;
	memory->address = (uintptr_t)address;
	memory->size_bytes = size_bytes;
	memory->stream = (uintptr_t)stream;
	memory->op = (uint8_t)op;
	memory->memory_kind = (uint8_t)kind;
	memory->reserved0 = 0;
	memory->reserved1 = 0;
	thread_commit(call->thread);
}

static const void *returned(const struct call *call, const void *out)
{
	const void *address = NULL;
	if (!call->status && out)
		memcpy(&address, out, sizeof(address));
	return address;
}

void capture_alloc(struct call *call, const void *out, size_t size_bytes, unsigned int kind,
		   const void *stream)
{
	const void *address = returned(call, out);
	if (stream)
		call->flags |= CALL_ASYNC;
	if (address)
		pointers_add(address, size_bytes, kind);
	write_memory(call, MEMORY_ALLOC, address, size_bytes, kind, stream);
}

void capture_alloc_pitch(struct call *call, const void *out, const size_t *pitch, size_t width,
			 size_t height)
{
	size_t row_bytes = !call->status && pitch ? *pitch : width;
	capture_alloc(call, out, row_bytes * height, MEMORY_DEVICE, NULL);
}

void capture_alloc_3d(struct call *call, const struct cudaPitchedPtr *out,
		      const struct cudaExtent *extent)
{
	size_t row_bytes = !call->status && out ? out->pitch : extent->width;
	capture_alloc(call, out ? &out->ptr : NULL, row_bytes * extent->height * extent->depth,
		      MEMORY_DEVICE, NULL);
}

void capture_register(struct call *call, const void *address, size_t size_bytes)
{
	if (!call->status)
		pointers_add(address, size_bytes, MEMORY_PINNED);
	write_memory(call, MEMORY_ALLOC, address, size_bytes, MEMORY_PINNED, NULL);
}

void capture_before_free(struct call *call, const void *address)
{
	/* Kept in the call until the record is written: afterwards nobody knows the kind. */
	call->freed_kind = (uint8_t)pointers_kind(address);
	pointers_remove(address);
}

void capture_free(struct call *call, const void *address, const void *stream)
{
	if (stream)
		call->flags |= CALL_ASYNC;
	write_memory(call, MEMORY_FREE, address, 0, call->freed_kind, stream);
}

void capture_alloc_handle(struct call *call, const void *out, size_t size_bytes, unsigned int kind)
{
	write_memory(call, MEMORY_ALLOC, returned(call, out), size_bytes, kind, NULL);
}

void capture_free_handle(struct call *call, uint64_t handle, unsigned int kind)
{
	write_memory(call, MEMORY_FREE, (const void *)(uintptr_t)handle, 0, kind, NULL);
}

void capture_map(struct call *call, CUdeviceptr address, size_t size_bytes)
{
	/* The physical memory was counted when it was created; this only makes it addressable. */
	if (!call->status)
		pointers_add((const void *)(uintptr_t)address, size_bytes, MEMORY_DEVICE);
	capture_plain(call, (const void *)(uintptr_t)address);
}

void capture_before_unmap(struct call *call, CUdeviceptr address, size_t size_bytes)
{
	(void)call;
	(void)size_bytes;
	pointers_remove((const void *)(uintptr_t)address);
}
