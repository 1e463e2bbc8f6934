/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation functions of the API: device, pitched, stream-ordered, pinned, registered and managed
 * memory. Freeing device or pinned memory waits for the device, as the real driver does.
 */
#include "sim_api.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, PITCH_ALIGNMENT = 512 };

void sim_note_live(struct sim_call *call)
{
	call->live_is_changed = true;
	sim_live_write(call);
}

CUresult sim_memory_alloc(struct sim_call *call, CUdeviceptr *address, size_t bytes)
{
	struct sim_range *range;
	CUresult result;

	SIM_NOTE(call, "bytes=%zu", bytes);
	if (!address || bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	sim_call_wait_now(call, 0, call->context->device->reuse_after);
	result = sim_memory_take(call->context, bytes, &range);
	if (result)
		return result;
	*address = range->base;
	SIM_NOTE(call, "address=0x%llx", (unsigned long long)range->base);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_memory_alloc_pitch(struct sim_call *call, CUdeviceptr *address, size_t *pitch,
				size_t width, size_t height, unsigned element)
{
	size_t row = (width + PITCH_ALIGNMENT - 1) / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
	CUresult result;

	if (!address || !pitch || width == 0 || height == 0 || row < width ||
	    (element != 4 && element != 8 && element != 16) || row > SIZE_MAX / height)
		return CUDA_ERROR_INVALID_VALUE;
	result = sim_memory_alloc(call, address, row * height);
	if (result)
		return result;
	*pitch = row;
	SIM_NOTE(call, "pitch=%zu", row);
	return CUDA_SUCCESS;
}

struct sim_range *sim_memory_find_start(uint64_t address, enum sim_memory_kind a,
					enum sim_memory_kind b)
{
	struct sim_range *range = sim_memory_find(address);

	return range && range->base == address && (range->kind == a || range->kind == b) &&
			       !range->is_module_global
		       ? range
		       : NULL;
}

/* Frees after the device's work, and only if no other thread freed it meanwhile. */
static CUresult free_after_work(struct sim_call *call, uint64_t address, enum sim_memory_kind a,
				enum sim_memory_kind b)
{
	struct sim_range *range = sim_memory_find_start(address, a, b);

	SIM_NOTE(call, "address=0x%llx", (unsigned long long)address);
	if (!range)
		return CUDA_ERROR_INVALID_VALUE;
	/* Any context may be copying from or to it. */
	sim_meeting_settle_context(range->context);
	sim_call_wait_now(call, range->context->tail_ns, sim_worker_everything());
	range = sim_memory_find_start(address, a, b);
	if (!range)
		return CUDA_ERROR_INVALID_VALUE;
	SIM_NOTE(call, "bytes=%zu", range->bytes);
	sim_memory_give(range);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_memory_free(struct sim_call *call, CUdeviceptr address)
{
	return free_after_work(call, address, SIM_DEVICE, SIM_MANAGED);
}

CUresult sim_memory_free_host(struct sim_call *call, void *address)
{
	return free_after_work(call, (uintptr_t)address, SIM_HOST, SIM_HOST);
}

static CUresult map_host(struct sim_call *call, void **address, size_t bytes, unsigned flags,
			 enum sim_memory_kind kind)
{
	size_t mapped = (bytes + PAGE - 1) / PAGE * PAGE;
	struct sim_range *range;
	void *memory;

	if (!address || bytes == 0 || mapped < bytes)
		return CUDA_ERROR_INVALID_VALUE;
	range = calloc(1, sizeof(*range));
	if (!range)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS |
			      (kind == SIM_MANAGED ? MAP_NORESERVE : MAP_POPULATE),
		      -1, 0); /* pinned pages are there from the beginning, which takes its time */
	if (memory == MAP_FAILED) {
		free(range);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	range->base = (uintptr_t)memory;
	range->bytes = bytes;
	range->reserved_bytes = mapped;
	sim_memory_know(range, call->context, kind);
	range->flags = flags;
	range->location = CU_DEVICE_INVALID;
	sim_live_add(range->device, sim_live_kind_of(range), bytes);
	*address = memory;
	SIM_NOTE(call, "address=0x%llx", (unsigned long long)range->base);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_memory_alloc_host(struct sim_call *call, void **address, size_t bytes, unsigned flags)
{
	const unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
			       CU_MEMHOSTALLOC_WRITECOMBINED;

	SIM_NOTE(call, "bytes=%zu\tflags=%u", bytes, flags);
	if (flags & ~known)
		return CUDA_ERROR_INVALID_VALUE;
	return map_host(call, address, bytes, flags | CU_MEMHOSTALLOC_DEVICEMAP, SIM_HOST);
}

CUresult sim_memory_alloc_managed(struct sim_call *call, CUdeviceptr *address, size_t bytes,
				  unsigned flags)
{
	void *memory;
	CUresult result;

	SIM_NOTE(call, "bytes=%zu\tflags=%u", bytes, flags);
	if (!address || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	result = map_host(call, &memory, bytes, flags, SIM_MANAGED);
	if (result == CUDA_SUCCESS)
		*address = (uintptr_t)memory;
	return result;
}

CUresult sim_memory_register_host(struct sim_call *call, void *address, size_t bytes,
				  unsigned flags)
{
	const unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
			       CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
	struct sim_range *range;

	SIM_NOTE(call, "address=0x%llx\tbytes=%zu\tflags=%u", sim_handle(address), bytes, flags);
	if (!address || bytes == 0 || (flags & ~known) || (uintptr_t)address + bytes < bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim_memory_overlaps((uintptr_t)address, bytes))
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	range = calloc(1, sizeof(*range));
	if (!range)
		return CUDA_ERROR_OUT_OF_MEMORY;
	range->base = (uintptr_t)address;
	range->bytes = range->reserved_bytes = bytes;
	sim_memory_know(range, call->context, SIM_REGISTERED);
	range->flags = flags;
	sim_live_add(range->device, SIM_LIVE_REGISTERED, bytes);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_memory_unregister_host(struct sim_call *call, void *address)
{
	struct sim_range *range =
		sim_memory_find_start((uintptr_t)address, SIM_REGISTERED, SIM_REGISTERED);

	SIM_NOTE(call, "address=0x%llx", sim_handle(address));
	if (!address)
		return CUDA_ERROR_INVALID_VALUE;
	if (!range)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	sim_call_wait_now(call, range->context->tail_ns, sim_worker_everything());
	if (sim_memory_find_start((uintptr_t)address, SIM_REGISTERED, SIM_REGISTERED) != range)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	sim_memory_give(range);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_memory_host_device_pointer(CUdeviceptr *pointer, void *host, unsigned flags)
{
	const struct sim_range *range = sim_memory_find((uintptr_t)host);

	if (!pointer || flags != 0 || !range || range->kind == SIM_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	*pointer = (uintptr_t)host;
	return CUDA_SUCCESS;
}

CUresult sim_memory_host_flags(unsigned *flags, void *host)
{
	const struct sim_range *range = sim_memory_find((uintptr_t)host);

	if (!flags || !range || (range->kind != SIM_HOST && range->kind != SIM_REGISTERED))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = range->flags;
	return CUDA_SUCCESS;
}

/* The real one takes NULL for either, and so does this. */
CUresult sim_memory_info(struct sim_call *call, size_t *free_bytes, size_t *total_bytes)
{
	const struct sim_device *device = call->context->device;

	if (free_bytes)
		*free_bytes = sim_live_free(device);
	if (total_bytes)
		*total_bytes = device->memory_bytes;
	return CUDA_SUCCESS;
}

CUresult sim_memory_address_range(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
	const struct sim_range *range = sim_memory_find(address);

	if (!range)
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = range->base;
	if (bytes)
		*bytes = range->bytes;
	return CUDA_SUCCESS;
}
