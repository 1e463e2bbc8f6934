/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of allocations and frees, and the table of what is allocated. A free leaves the table
 * before the real call, since another thread may get the address before that call returns.
 */
#include "capture.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "capture_context.h"
#include "pointers.h"
#include "real.h"
#include "streams.h"

#define GRANULARITY (2u << 20) /* of mappings, on every GPU so far */

struct part {
	unsigned int op, kind;
	const void *address, *stream;
	uint64_t size_bytes, backing;
};

static void write_part(struct call *call, const struct part *part)
{
	struct record_memory *memory = call_record(call, RECORD_KIND_memory, sizeof(*memory));
	if (!memory)
		return;
	memory->address = (uintptr_t)part->address;
	memory->size_bytes = part->size_bytes;
	memory->stream = (uintptr_t)part->stream;
	memory->op = (uint8_t)part->op;
	memory->memory_kind = (uint8_t)part->kind;
	memory->reserved0 = 0;
	memory->reserved1 = 0;
	memory->backing = part->backing;
	call_commit(call);
}

static void write_memory(struct call *call, unsigned int op, const void *address,
			 uint64_t size_bytes, unsigned int kind, const void *stream)
{
	write_part(call, &(struct part){.op = op,
					.kind = kind,
					.address = address,
					.stream = stream,
					.size_bytes = size_bytes,
					.backing = op == MEMORY_ALLOC && address
							   ? capture_context_own(call)
							   : 0});
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

void capture_alloc_pool(struct call *call, const void *out, size_t size_bytes, const void *pool,
			const void *stream)
{
	const void *address = returned(call, out);
	call->flags |= CALL_ASYNC;
	/* In a graph under capture the address is promised; memory comes with each launch. */
	call->flags |= (uint16_t)captured_flag(call, stream, GRAPH_NODE_OTHER);
	if (address)
		pointers_add(address, size_bytes, MEMORY_POOL);
	write_part(call, &(struct part){.op = MEMORY_ALLOC,
					.kind = MEMORY_POOL,
					.address = address,
					.stream = stream,
					.size_bytes = size_bytes,
					.backing = (uintptr_t)pool});
}

/* The program has asked what no call tells otherwise: we never ask ourselves. */
void capture_pool_told(struct call *call, const void *pool, int attribute, const void *value)
{
	uint64_t size_bytes;
	if (call->status || !pool || !value ||
	    (attribute != POOL_RESERVED_NOW && attribute != POOL_RESERVED_MOST)) {
		capture_plain(call, pool);
		return;
	}
	memcpy(&size_bytes, value, sizeof(size_bytes));
	write_part(call, &(struct part){.op = MEMORY_POOL_TOLD,
					.kind = MEMORY_POOL,
					.address = pool,
					.size_bytes = size_bytes,
					.backing = (uint64_t)attribute});
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
	/* Without a stream it is cudaFree() or the legacy default stream: never in a capture. */
	if (stream_key(call, stream))
		call->flags |= CALL_ASYNC | (uint16_t)captured_flag(call, stream, GRAPH_NODE_OTHER);
	write_memory(call, MEMORY_FREE, address, 0, call->freed_kind, stream);
}

/* ---- memory without an address: handles, reserved ranges, mappings ---- */

void capture_alloc_handle(struct call *call, const void *out, size_t size_bytes, unsigned int kind)
{
	const void *handle = returned(call, out);
	write_part(call, &(struct part){.op = MEMORY_ALLOC,
					.kind = kind,
					.address = handle,
					.size_bytes = size_bytes,
					.backing = (uintptr_t)handle});
}

void capture_alloc_array_handle(struct call *call, const void *out, size_t size_bytes)
{
	const void *handle = returned(call, out);
	uint64_t context = handle ? capture_context_own(call) : 0;
	write_part(call, &(struct part){.op = MEMORY_ALLOC,
					.kind = MEMORY_ARRAY,
					.address = handle,
					.size_bytes = size_bytes,
					.backing = context ? context : (uintptr_t)handle});
}

void capture_reserve(struct call *call, const void *out, size_t size_bytes)
{
	/* Addresses belong to the process, not to a context. */
	write_part(call, &(struct part){.op = MEMORY_ALLOC,
					.kind = MEMORY_RESERVED,
					.address = returned(call, out),
					.size_bytes = size_bytes});
}

void capture_free_handle(struct call *call, uint64_t handle, unsigned int kind)
{
	write_memory(call, MEMORY_FREE, (const void *)(uintptr_t)handle, 0, kind, NULL);
}

void capture_map(struct call *call, CUdeviceptr address, size_t size_bytes, uint64_t handle)
{
	/* The physical memory was counted when it was created; this only makes it addressable. */
	if (!call->status)
		pointers_add((const void *)(uintptr_t)address, size_bytes, MEMORY_DEVICE);
	write_part(call, &(struct part){.op = MEMORY_MAP,
					.kind = MEMORY_PHYSICAL,
					.address = (const void *)(uintptr_t)address,
					.size_bytes = size_bytes,
					.backing = handle});
}

/* The range may be that of several mappings, which begin at multiples of the granularity. */
void capture_before_unmap(struct call *call, CUdeviceptr address, size_t size_bytes)
{
	(void)call;
	for (uint64_t at = 0; at < size_bytes && address + at >= address; at += GRANULARITY)
		pointers_remove((const void *)(uintptr_t)(address + at));
}

void capture_unmap(struct call *call, CUdeviceptr address, size_t size_bytes)
{
	/* Refused, as for a range that is no whole mapping: it is all still there. */
	if (call->status)
		pointers_add((const void *)(uintptr_t)address, size_bytes, MEMORY_DEVICE);
	write_memory(call, MEMORY_UNMAP, (const void *)(uintptr_t)address, size_bytes,
		     MEMORY_PHYSICAL, NULL);
}

/* ---- memory of other processes ---- */

/* What the driver knows of a range, 0 where it cannot be asked now. */
static uint64_t size_of_range(const void *address)
{
	union {
		void *object;
		int (*function)(CUdeviceptr *base, size_t *size, CUdeviceptr address);
	} range;
	CUdeviceptr base = 0;
	size_t size_bytes = 0;
	if (lifecycle_exiting() || lifecycle_is_injected ||
	    atomic_load_explicit(&streams_open_captures, memory_order_relaxed))
		return 0;
	int saved_errno = errno;
	range.object = real_driver_symbol("cuMemGetAddressRange_v2");
	if (range.object && range.function(&base, &size_bytes, (uintptr_t)address))
		size_bytes = 0;
	errno = saved_errno;
	return size_bytes;
}

void capture_import(struct call *call, const void *out, const void *pool)
{
	const void *address = returned(call, out);
	uint64_t size_bytes = address ? size_of_range(address) : 0;
	if (size_bytes)
		pointers_add(address, size_bytes, MEMORY_IMPORTED);
	write_part(call, &(struct part){.op = MEMORY_ALLOC,
					.kind = MEMORY_IMPORTED,
					.address = address,
					.size_bytes = size_bytes,
					.backing = (uintptr_t)pool});
}
