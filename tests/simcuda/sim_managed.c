/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Managed memory: advice, prefetching, migrations and what can be asked about a range. It lies in
 * host memory and is valid on both sides at all times; where it "is" is only remembered, for a
 * whole range at a time.
 */
#include "sim_api_alloc.h"

#include <time.h>

#define MIGRATION_BYTES (2u << 20) /* of one record, at most */
enum { CAUSE_USER = 1, CAUSE_COHERENCE = 2 };

/* The managed range that holds all of it, or NULL. */
static struct sim_range *find_managed(uint64_t address, size_t bytes)
{
	struct sim_range *range = sim_memory_find(address);

	return range && range->kind == SIM_MANAGED && bytes > 0 &&
			       bytes <= range->bytes - (address - range->base)
		       ? range
		       : NULL;
}

uint64_t sim_managed_migrate(uint64_t address, size_t bytes, int ordinal,
			     const struct simcuda_activity *user)
{
	struct sim_range *range = find_managed(address, bytes);
	const struct sim_device *device;
	struct simcuda_activity piece = *user;
	uint64_t begin_ns = user->begin_ns;

	if (!range || range->location == ordinal ||
	    (ordinal == CU_DEVICE_CPU && range->is_read_mostly))
		return 0;
	piece.kind = 6;
	piece.direction = ordinal == CU_DEVICE_CPU ? 2 : 1;
	/* Of memory that was on another device the pieces begin at the host: one record each. */
	device = sim_device_get(ordinal == CU_DEVICE_CPU ? range->location : ordinal);
	if (!device)
		return 0;
	piece.device = (uint32_t)device->ordinal;
	piece.value = user->kind ? CAUSE_COHERENCE : CAUSE_USER;
	for (size_t done = 0; done < range->bytes; done += MIGRATION_BYTES) {
		size_t left = range->bytes - done;

		piece.bytes = left < MIGRATION_BYTES ? left : MIGRATION_BYTES;
		piece.begin_ns = begin_ns;
		begin_ns += sim_model_copy(device, piece.bytes, piece.direction, false).busy_ns;
		piece.end_ns = begin_ns;
		sim_activity_add(&piece);
	}
	range->location = ordinal;
	return begin_ns - user->begin_ns;
}

void simcuda_next_launch_touches(const void *address, size_t bytes)
{
	struct sim_thread *thread = sim_call_thread();

	thread->touched = (uintptr_t)address;
	thread->touched_bytes = bytes;
}

void simcuda_host_touches(const void *address, size_t bytes)
{
	struct simcuda_activity user = {.kind = 1};
	uint64_t took_ns;

	sim_lock();
	user.begin_ns = sim_clock_now_ns();
	took_ns = sim_managed_migrate((uintptr_t)address, bytes, CU_DEVICE_CPU, &user);
	sim_unlock();
	while (took_ns && !sim_clock_is_over(user.begin_ns + took_ns)) {
		struct timespec pause = {0, 20000};

		nanosleep(&pause, NULL);
	}
}

static bool is_place(int ordinal)
{
	return ordinal == CU_DEVICE_CPU || sim_device_get(ordinal);
}

static bool ordinal_of(const CUmemLocation *location, int *ordinal)
{
	switch ((int)location->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		*ordinal = location->id;
		return sim_device_get(location->id) != NULL;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		*ordinal = CU_DEVICE_CPU;
		return true;
	default:
		return false;
	}
}

CUresult sim_managed_prefetch(struct sim_call *call, CUdeviceptr address, size_t bytes, int ordinal,
			      CUstream handle)
{
	struct sim_range *range = find_managed(address, bytes);
	struct sim_stream *stream = sim_stream_find(call, handle);
	struct simcuda_activity user = {.kind = 0};
	uint64_t took_ns;

	SIM_NOTE(call, "address=0x%llx\tbytes=%zu\tdevice=%d\tstream=0x%llx",
		 (unsigned long long)address, bytes, ordinal, sim_handle(handle));
	if (!range)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_place(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (range->location == ordinal)
		return CUDA_SUCCESS;
	user.begin_ns = sim_stream_ready_ns(stream);
	if (user.begin_ns < sim_clock_now_ns())
		user.begin_ns = sim_clock_now_ns();
	user.correlation = call->correlation;
	user.context = stream->context->id;
	user.stream = stream->id;
	took_ns = sim_managed_migrate(address, bytes, ordinal, &user);
	sim_stream_advance(stream, user.begin_ns + took_ns, sim_stream_after(stream));
	return CUDA_SUCCESS;
}

CUresult sim_managed_prefetch_to(struct sim_call *call, CUdeviceptr address, size_t bytes,
				 CUmemLocation location, unsigned flags, CUstream handle)
{
	int ordinal;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ordinal_of(&location, &ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	return sim_managed_prefetch(call, address, bytes, ordinal, handle);
}

CUresult sim_managed_advise(CUdeviceptr address, size_t bytes, CUmem_advise advice, int ordinal)
{
	struct sim_range *range = find_managed(address, bytes);

	if (!range)
		return CUDA_ERROR_INVALID_VALUE;
	switch (advice) {
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
		range->is_read_mostly = true;
		return CUDA_SUCCESS;
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
		range->is_read_mostly = false;
		return CUDA_SUCCESS;
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
	case CU_MEM_ADVISE_SET_ACCESSED_BY:
	case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
		return is_place(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
	case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult sim_managed_advise_at(CUdeviceptr address, size_t bytes, CUmem_advise advice,
			       CUmemLocation location)
{
	int ordinal;

	return ordinal_of(&location, &ordinal) ? sim_managed_advise(address, bytes, advice, ordinal)
					       : CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_managed_attribute(void *data, size_t data_bytes, CUmem_range_attribute attribute,
			       CUdeviceptr address, size_t bytes)
{
	const struct sim_range *range = find_managed(address, bytes);

	if (!data || data_bytes < sizeof(int) || !range)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		*(int *)data = range->is_read_mostly;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		*(int *)data = range->location;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
		*(int *)data = CU_DEVICE_INVALID;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}
