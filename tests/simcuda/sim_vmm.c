/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual memory management: reserved addresses, physical memory, mappings between the two.
 * Physical memory lies in files, so that it can be mapped at two addresses and in two processes.
 * Addresses are shown to the program without access; the bytes are at a fixed distance, the same
 * for a whole reservation, so that a copy may run over neighbouring mappings.
 */
#include "sim_api_alloc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct reservation {
	struct sim_tree_node by_address;
	uint64_t base;
	size_t bytes, shown_bytes;
	void *shown;
	ptrdiff_t backing;
	struct sim_device *device;
};

static struct sim_tree reservations;
static int arena_fd = -1; /* of all physical memory that cannot be exported */
static long long arena_end;

struct sim_physical *sim_vmm_physical(CUmemGenericAllocationHandle handle)
{
	struct sim_physical *physical = (struct sim_physical *)(uintptr_t)handle;

	return sim_pool_holds(POOL_PHYSICAL, physical) && physical->handle_count > 0 ? physical
										     : NULL;
}

void sim_vmm_drop_if_unused(struct sim_physical *physical)
{
	if (physical->handle_count > 0 || physical->mapping_count > 0)
		return;
	if (physical->is_imported)
		sim_live_sub(physical->device, SIM_LIVE_IMPORTED, physical->bytes);
	else if (!physical->is_multicast)
		sim_live_sub(physical->device, SIM_LIVE_PHYSICAL, physical->bytes);
	if (physical->owns_fd)
		close(physical->fd);
	else if (physical->fd >= 0)
		fallocate(physical->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  physical->offset, (off_t)physical->bytes);
	sim_pool_free(POOL_PHYSICAL, physical);
}

/* ---- addresses ---- */

static struct reservation *find_reservation(uint64_t address, size_t bytes)
{
	struct sim_tree_node *node = sim_tree_floor(&reservations, address);
	struct reservation *found =
		node ? SIM_TREE_ITEM(node, struct reservation, by_address) : NULL;

	return found && address + bytes >= bytes && address + bytes <= found->base + found->bytes
		       ? found
		       : NULL;
}

static bool reserve(struct reservation *made, size_t bytes, size_t alignment)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *real;

	made->shown_bytes = bytes + alignment;
	made->shown = mmap(NULL, made->shown_bytes, PROT_NONE, flags, -1, 0);
	if (made->shown == MAP_FAILED)
		return false;
	real = mmap(NULL, bytes, PROT_NONE, flags, -1, 0);
	if (real == MAP_FAILED) {
		munmap(made->shown, made->shown_bytes);
		return false;
	}
	made->bytes = bytes;
	made->base = ((uintptr_t)made->shown + alignment - 1) / alignment * alignment;
	made->backing = (ptrdiff_t)((uintptr_t)real - made->base);
	return true;
}

CUresult sim_vmm_reserve(struct sim_call *call, CUdeviceptr *address, size_t bytes,
			 size_t alignment, unsigned long long flags)
{
	struct reservation *made;

	SIM_NOTE(call, "bytes=%zu", bytes);
	if (!address || bytes == 0 || bytes % SIM_GRANULARITY || flags ||
	    (alignment & (alignment - 1)))
		return CUDA_ERROR_INVALID_VALUE;
	made = calloc(1, sizeof(*made));
	if (!made ||
	    !reserve(made, bytes, alignment > SIM_GRANULARITY ? alignment : SIM_GRANULARITY)) {
		free(made);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	made->device = call->context->device;
	sim_tree_insert(&reservations, &made->by_address, made->base, 0);
	sim_live_add(made->device, SIM_LIVE_ADDRESSES, bytes);
	*address = made->base;
	SIM_NOTE(call, "address=0x%llx", (unsigned long long)made->base);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_vmm_free_addresses(struct sim_call *call, CUdeviceptr address, size_t bytes)
{
	struct reservation *found = find_reservation(address, bytes);

	SIM_NOTE(call, "address=0x%llx\tbytes=%zu", (unsigned long long)address, bytes);
	if (!found || found->base != address || found->bytes != bytes ||
	    sim_memory_overlaps(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	sim_tree_remove(&reservations, &found->by_address);
	sim_live_sub(found->device, SIM_LIVE_ADDRESSES, bytes);
	munmap((void *)((intptr_t)found->base + found->backing), bytes);
	munmap(found->shown, found->shown_bytes);
	free(found);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

/* ---- physical memory ---- */

static bool is_supported(const CUmemAllocationProp *properties, const struct sim_device **device)
{
	*device = properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE
			  ? sim_device_get(properties->location.id)
			  : NULL;
	return properties->type == CU_MEM_ALLOCATION_TYPE_PINNED && *device &&
	       !(properties->requestedHandleTypes &
		 ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

static bool take_file(struct sim_physical *physical)
{
	if (physical->handle_types) {
		physical->fd = sim_ipc_new_file(physical->bytes, physical->device);
		physical->owns_fd = true;
		return physical->fd >= 0;
	}
	if (arena_fd < 0)
		arena_fd = memfd_create("simcuda-physical", MFD_CLOEXEC);
	physical->fd = arena_fd;
	physical->offset = arena_end;
	if (arena_fd < 0 || ftruncate(arena_fd, arena_end + (off_t)physical->bytes))
		return false;
	arena_end += (long long)physical->bytes;
	return true;
}

CUresult sim_vmm_create(struct sim_call *call, CUmemGenericAllocationHandle *handle, size_t bytes,
			const CUmemAllocationProp *properties, unsigned long long flags)
{
	const struct sim_device *on;
	struct sim_device *device;
	struct sim_physical *physical;

	SIM_NOTE(call, "bytes=%zu", bytes);
	if (!handle || !properties || bytes == 0 || bytes % SIM_GRANULARITY || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_supported(properties, &on))
		return on ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_DEVICE;
	device = &sim_state.devices[on->ordinal];
	if (!sim_live_has_room(device, bytes) &&
	    !(sim_pool_memory_release(device, true) && sim_live_has_room(device, bytes)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	physical = sim_pool_new(POOL_PHYSICAL);
	if (!physical)
		return CUDA_ERROR_OUT_OF_MEMORY;
	physical->device = device;
	physical->bytes = bytes;
	physical->handle_types = (unsigned)properties->requestedHandleTypes;
	if (!take_file(physical)) {
		sim_pool_free(POOL_PHYSICAL, physical);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	physical->handle_count = 1;
	sim_live_add(device, SIM_LIVE_PHYSICAL, bytes);
	*handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
	SIM_NOTE(call, "address=0x%llx", (unsigned long long)*handle);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_vmm_release(struct sim_call *call, CUmemGenericAllocationHandle handle)
{
	struct sim_physical *physical = sim_vmm_physical(handle);

	SIM_NOTE(call, "address=0x%llx", (unsigned long long)handle);
	if (!physical)
		return CUDA_ERROR_INVALID_VALUE;
	physical->handle_count--;
	sim_vmm_drop_if_unused(physical);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_vmm_granularity(size_t *granularity, const CUmemAllocationProp *properties)
{
	const struct sim_device *device;

	if (!granularity || !properties)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_supported(properties, &device))
		return CUDA_ERROR_NOT_SUPPORTED;
	*granularity = SIM_GRANULARITY;
	return CUDA_SUCCESS;
}

CUresult sim_vmm_properties(CUmemAllocationProp *properties, CUmemGenericAllocationHandle handle)
{
	const struct sim_physical *physical = sim_vmm_physical(handle);

	if (!properties || !physical || physical->is_multicast)
		return CUDA_ERROR_INVALID_VALUE;
	*properties = (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = (CUmemAllocationHandleType)physical->handle_types,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = physical->device->ordinal},
	};
	return CUDA_SUCCESS;
}

CUresult sim_vmm_retain(struct sim_call *call, CUmemGenericAllocationHandle *handle,
			const void *address)
{
	const struct sim_range *range = sim_memory_find((uintptr_t)address);

	if (!handle || !range || range->kind != SIM_MAPPED)
		return CUDA_ERROR_INVALID_VALUE;
	range->physical->handle_count++;
	*handle = (CUmemGenericAllocationHandle)(uintptr_t)range->physical;
	SIM_NOTE(call, "address=0x%llx", (unsigned long long)*handle);
	return CUDA_SUCCESS;
}

/* ---- mappings ---- */

CUresult sim_vmm_map(struct sim_call *call, CUdeviceptr address, size_t bytes, size_t offset,
		     CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct sim_physical *physical = sim_vmm_physical(handle);
	struct reservation *reservation = find_reservation(address, bytes);
	struct sim_range *range;
	void *real, *mapped;

	SIM_NOTE(call, "address=0x%llx\tbytes=%zu\thandle=0x%llx", (unsigned long long)address,
		 bytes, (unsigned long long)handle);
	if (!physical || !reservation || bytes == 0 || bytes % SIM_GRANULARITY || offset || flags ||
	    address % SIM_GRANULARITY || bytes > physical->bytes ||
	    sim_memory_overlaps(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	range = calloc(1, sizeof(*range));
	if (!range)
		return CUDA_ERROR_OUT_OF_MEMORY;
	real = (void *)((intptr_t)address + reservation->backing);
	mapped = physical->is_multicast
			 ? mmap(real, bytes, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0)
			 : mmap(real, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				physical->fd, physical->offset);
	if (mapped == MAP_FAILED) {
		free(range);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	range->base = address;
	range->bytes = range->reserved_bytes = bytes;
	range->backing = reservation->backing;
	sim_memory_know_free_standing(range, physical->device, SIM_MAPPED);
	range->physical = physical;
	range->access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	physical->mapping_count++;
	sim_live_add(physical->device, SIM_LIVE_MAPPED, bytes);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

void sim_vmm_forget(struct sim_range *range)
{
	mmap((void *)((intptr_t)range->base + range->backing), range->bytes, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	range->physical->mapping_count--;
	sim_vmm_drop_if_unused(range->physical);
}

/* Whether whole mappings fill the range, one behind the other. */
static bool is_mapped(uint64_t address, size_t bytes)
{
	uint64_t at = address;

	if (bytes == 0 || address + bytes < bytes)
		return false;
	while (at < address + bytes) {
		const struct sim_range *range = sim_memory_find(at);

		if (!range || range->kind != SIM_MAPPED || range->base != at)
			return false;
		at += range->bytes;
	}
	return at == address + bytes;
}

CUresult sim_vmm_unmap(struct sim_call *call, CUdeviceptr address, size_t bytes)
{
	SIM_NOTE(call, "address=0x%llx\tbytes=%zu", (unsigned long long)address, bytes);
	if (!is_mapped(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	sim_call_wait_now(call, call->context->tail_ns, sim_worker_everything());
	if (!is_mapped(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	for (uint64_t at = address; at < address + bytes;) {
		struct sim_range *range = sim_memory_find(at);

		at += range->bytes;
		sim_memory_give(range);
	}
	sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_vmm_set_access(struct sim_call *call, CUdeviceptr address, size_t bytes,
			    const CUmemAccessDesc *access, size_t count)
{
	SIM_NOTE(call, "address=0x%llx\tbytes=%zu", (unsigned long long)address, bytes);
	if (!access || count == 0 || !is_mapped(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
		    !sim_device_get(access[i].location.id))
			return CUDA_ERROR_INVALID_DEVICE;
	}
	for (uint64_t at = address; at < address + bytes;) {
		struct sim_range *range = sim_memory_find(at);

		for (size_t i = 0; i < count; i++) {
			if (access[i].location.id == range->device->ordinal || count == 1)
				range->access = (int)access[i].flags;
		}
		at += range->bytes;
	}
	return CUDA_SUCCESS;
}

CUresult sim_vmm_get_access(unsigned long long *flags, const CUmemLocation *location,
			    CUdeviceptr address)
{
	const struct sim_range *range = sim_memory_find(address);

	if (!flags || !location || !range || range->kind != SIM_MAPPED)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = (unsigned long long)range->access;
	return CUDA_SUCCESS;
}

/* ---- multicast objects: bookkeeping, no bytes are multiplied ---- */

CUresult sim_vmm_multicast_create(struct sim_call *call, CUmemGenericAllocationHandle *handle,
				  const CUmulticastObjectProp *properties)
{
	struct sim_physical *object;

	if (!handle || !properties || properties->size == 0 || properties->size % SIM_GRANULARITY ||
	    properties->numDevices < 1 || properties->numDevices > (unsigned)sim_state.device_count)
		return CUDA_ERROR_INVALID_VALUE;
	object = sim_pool_new(POOL_PHYSICAL);
	if (!object)
		return CUDA_ERROR_OUT_OF_MEMORY;
	object->device = call->context ? call->context->device : &sim_state.devices[0];
	object->bytes = properties->size;
	object->fd = -1;
	object->is_multicast = true;
	object->handle_count = 1;
	*handle = (CUmemGenericAllocationHandle)(uintptr_t)object;
	SIM_NOTE(call, "address=0x%llx\tbytes=%zu", (unsigned long long)*handle, properties->size);
	return CUDA_SUCCESS;
}

CUresult sim_vmm_multicast_device(CUmemGenericAllocationHandle handle, CUdevice ordinal)
{
	struct sim_physical *object = sim_vmm_physical(handle);

	if (!object || !object->is_multicast)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_get(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	object->multicast_devices |= 1U << ordinal;
	return CUDA_SUCCESS;
}

CUresult sim_vmm_multicast_bind(CUmemGenericAllocationHandle handle, size_t offset,
				const struct sim_physical *memory, size_t bytes)
{
	const struct sim_physical *object = sim_vmm_physical(handle);

	if (!object || !object->is_multicast || !memory || memory->is_multicast || bytes == 0 ||
	    offset % SIM_GRANULARITY || bytes % SIM_GRANULARITY || offset > object->bytes ||
	    bytes > object->bytes - offset || bytes > memory->bytes)
		return CUDA_ERROR_INVALID_VALUE;
	return object->multicast_devices >> memory->device->ordinal & 1 ? CUDA_SUCCESS
									: CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_vmm_multicast_bind_address(CUmemGenericAllocationHandle handle, size_t offset,
					CUdeviceptr address, size_t bytes)
{
	const struct sim_range *range = sim_memory_find(address);

	return sim_vmm_multicast_bind(
		handle, offset, range && range->kind == SIM_MAPPED ? range->physical : NULL, bytes);
}

CUresult sim_vmm_multicast_unbind(CUmemGenericAllocationHandle handle, CUdevice ordinal)
{
	const struct sim_physical *object = sim_vmm_physical(handle);

	if (!object || !object->is_multicast)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_device_get(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
