/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that two processes share: IPC handles of plain memory, exported physical memory, exported
 * pools and their pointers. A handle names a descriptor of the exporting process; the importer
 * opens it through /proc. The device's heap becomes a file where something was exported, 2 MiB at a
 * time, as real IPC handles also show the whole block around an allocation.
 */
#include "sim_api_alloc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK = 2 << 20, PAGE = 4096 };
static const char magic[8] = "simcuda";

static struct heap_file {
	int fd;
	unsigned char *is_shared; /* per block */
} heap_files[SIM_DEVICES_MAX];

/* ---- files of physical memory ---- */

int sim_ipc_new_file(size_t bytes, const struct sim_device *device)
{
	int fd = memfd_create("simcuda-shared", MFD_CLOEXEC);
	struct sim_share share = {.bytes = bytes, .device = device->physical};

	memcpy(share.magic, magic, sizeof(magic));
	/* What an importer must know stands behind the bytes. */
	if (fd >= 0 && (ftruncate(fd, (off_t)bytes) ||
			pwrite(fd, &share, sizeof(share), (off_t)bytes) != sizeof(share))) {
		close(fd);
		return -1;
	}
	return fd;
}

CUresult sim_ipc_export_physical(void *shareable, CUmemGenericAllocationHandle handle,
				 CUmemAllocationHandleType type, unsigned long long flags)
{
	const struct sim_physical *physical = sim_vmm_physical(handle);
	int fd;

	if (!shareable || !physical || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    !(physical->handle_types & (unsigned)type))
		return CUDA_ERROR_NOT_SUPPORTED;
	fd = fcntl(physical->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	memcpy(shareable, &fd, sizeof(fd));
	return CUDA_SUCCESS;
}

static struct sim_device *device_of(const struct sim_share *share)
{
	for (int i = 0; i < sim_state.device_count; i++) {
		if (sim_state.devices[i].physical == share->device)
			return &sim_state.devices[i];
	}
	return NULL;
}

CUresult sim_ipc_import_physical(struct sim_call *call, CUmemGenericAllocationHandle *handle,
				 void *shareable, CUmemAllocationHandleType type)
{
	int fd = (int)(intptr_t)shareable;
	struct sim_share share;
	struct sim_physical *physical;
	off_t end;

	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	end = lseek(fd, 0, SEEK_END);
	if (end < (off_t)sizeof(share) ||
	    pread(fd, &share, sizeof(share), end - (off_t)sizeof(share)) != sizeof(share) ||
	    memcmp(share.magic, magic, sizeof(magic)) != 0 || !device_of(&share))
		return CUDA_ERROR_INVALID_VALUE;
	physical = sim_pool_new(POOL_PHYSICAL);
	if (!physical)
		return CUDA_ERROR_OUT_OF_MEMORY;
	physical->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	physical->owns_fd = true;
	physical->device = device_of(&share);
	physical->bytes = share.bytes;
	physical->handle_types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	physical->is_imported = true;
	physical->handle_count = 1;
	sim_live_add(physical->device, SIM_LIVE_IMPORTED, physical->bytes);
	*handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
	SIM_NOTE(call, "address=0x%llx\tbytes=%zu", (unsigned long long)*handle, physical->bytes);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

/* ---- the heap ---- */

/* Puts the blocks around a range into the heap's file, with the bytes they have. */
static bool share_heap(const struct sim_range *range)
{
	struct sim_device *device = range->device;
	struct heap_file *file = &heap_files[device->ordinal];
	uint64_t first = (range->base - device->heap.base) / BLOCK;
	uint64_t last = (range->base + range->bytes - 1 - device->heap.base) / BLOCK;

	if (!file->is_shared) {
		file->is_shared = calloc(device->heap.bytes / BLOCK + 1, 1);
		file->fd = memfd_create("simcuda-heap", MFD_CLOEXEC);
		if (!file->is_shared || file->fd < 0 ||
		    ftruncate(file->fd, (off_t)(device->heap.bytes + BLOCK)))
			return false;
	}
	for (uint64_t block = first; block <= last; block++) {
		off_t offset = (off_t)(block * BLOCK);
		void *real = (void *)((intptr_t)(device->heap.base + block * BLOCK) +
				      device->heap.backing);

		if (file->is_shared[block])
			continue;
		if (pwrite(file->fd, real, BLOCK, offset) != BLOCK ||
		    mmap(real, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file->fd,
			 offset) == MAP_FAILED)
			return false;
		file->is_shared[block] = 1;
	}
	return true;
}

static CUresult describe(struct sim_call *call, CUdeviceptr address, bool of_pool, void *out)
{
	const struct sim_range *range = sim_memory_find(address);
	struct sim_share share = {.pid = (int)getpid()};

	if (!out || !range || range->kind != SIM_DEVICE || range->is_module_global ||
	    (range->pool != NULL) != of_pool)
		return CUDA_ERROR_INVALID_VALUE;
	sim_call_wait_now(call, 0, sim_worker_everything());
	range = sim_memory_find(address);
	if (!range || !share_heap(range))
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(share.magic, magic, sizeof(magic));
	share.fd = heap_files[range->device->ordinal].fd;
	share.offset = range->base - range->device->heap.base;
	share.bytes = range->bytes;
	share.device = range->device->physical;
	memset(out, 0, 64);
	memcpy(out, &share, sizeof(share));
	return CUDA_SUCCESS;
}

static CUresult open_share(struct sim_call *call, const void *handle, struct sim_range **opened)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	struct sim_share share;
	struct sim_range *range;
	uint64_t skip;
	void *shown, *real;
	char path[64];
	int fd;

	memcpy(&share, handle, sizeof(share));
	if (memcmp(share.magic, magic, sizeof(magic)) != 0 || !device_of(&share) || !share.bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (share.pid == (int)getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", share.pid, share.fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	range = calloc(1, sizeof(*range));
	if (fd < 0 || !range) {
		if (fd >= 0)
			close(fd);
		free(range);
		return CUDA_ERROR_INVALID_VALUE;
	}
	skip = share.offset % PAGE;
	range->reserved_bytes = (share.bytes + skip + PAGE - 1) / PAGE * PAGE;
	shown = mmap(NULL, range->reserved_bytes, PROT_NONE, flags, -1, 0);
	real = mmap(NULL, range->reserved_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)(share.offset - skip));
	close(fd);
	if (shown == MAP_FAILED || real == MAP_FAILED) {
		free(range);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	range->base = (uintptr_t)shown + skip;
	range->bytes = share.bytes;
	range->backing = (ptrdiff_t)((uintptr_t)real - (uintptr_t)shown);
	sim_memory_know_free_standing(range, device_of(&share), SIM_IMPORTED);
	range->context = call->context;
	sim_live_add(range->device, SIM_LIVE_IMPORTED, range->bytes);
	*opened = range;
	return CUDA_SUCCESS;
}

void sim_ipc_forget(struct sim_range *range)
{
	uintptr_t shown = range->base / PAGE * PAGE;

	munmap((void *)((intptr_t)shown + range->backing), range->reserved_bytes);
	munmap((void *)shown, range->reserved_bytes);
}

CUresult sim_ipc_get(struct sim_call *call, CUipcMemHandle *handle, CUdeviceptr address)
{
	return describe(call, address, false, handle);
}

CUresult sim_ipc_open(struct sim_call *call, CUdeviceptr *address, CUipcMemHandle handle,
		      unsigned flags)
{
	struct sim_range *range;
	CUresult result;

	if (!address || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return CUDA_ERROR_INVALID_VALUE;
	result = open_share(call, &handle, &range);
	if (result)
		return result;
	*address = range->base;
	SIM_NOTE(call, "address=0x%llx\tbytes=%zu", (unsigned long long)range->base, range->bytes);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

CUresult sim_ipc_close(struct sim_call *call, CUdeviceptr address)
{
	struct sim_range *range = sim_memory_find_start(address, SIM_IMPORTED, SIM_IMPORTED);

	SIM_NOTE(call, "address=0x%llx", (unsigned long long)address);
	if (!range || range->pool)
		return CUDA_ERROR_INVALID_VALUE;
	sim_call_wait_now(call, call->context->tail_ns, sim_worker_everything());
	if (sim_memory_find_start(address, SIM_IMPORTED, SIM_IMPORTED) != range)
		return CUDA_ERROR_INVALID_VALUE;
	sim_memory_give(range);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

/* ---- pools ---- */

static struct sim_memory_pool *find_pool(CUmemoryPool handle)
{
	return sim_pool_holds(POOL_MEMORY, handle) ? (struct sim_memory_pool *)handle : NULL;
}

CUresult sim_ipc_export_pool(void *shareable, CUmemoryPool handle, CUmemAllocationHandleType type,
			     unsigned long long flags)
{
	const struct sim_memory_pool *pool = find_pool(handle);
	int fd;

	if (!shareable || !pool || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!(pool->handle_types & (unsigned)type))
		return CUDA_ERROR_NOT_SUPPORTED;
	fd = sim_ipc_new_file(0, pool->device);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	memcpy(shareable, &fd, sizeof(fd));
	return CUDA_SUCCESS;
}

CUresult sim_ipc_import_pool(CUmemoryPool *handle, void *shareable, CUmemAllocationHandleType type,
			     unsigned long long flags)
{
	struct sim_memory_pool *pool;
	struct sim_share share;

	if (!handle || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (pread((int)(intptr_t)shareable, &share, sizeof(share), 0) != sizeof(share) ||
	    memcmp(share.magic, magic, sizeof(magic)) != 0 || !device_of(&share))
		return CUDA_ERROR_INVALID_VALUE;
	pool = sim_memory_pool_new(device_of(&share));
	if (!pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pool->is_imported = true;
	*handle = (CUmemoryPool)pool;
	return CUDA_SUCCESS;
}

CUresult sim_ipc_export_pointer(struct sim_call *call, CUmemPoolPtrExportData *data,
				CUdeviceptr address)
{
	const struct sim_range *range = sim_memory_find(address);

	if (!range || !range->pool || !range->pool->handle_types)
		return CUDA_ERROR_INVALID_VALUE;
	return describe(call, address, true, data);
}

CUresult sim_ipc_import_pointer(struct sim_call *call, CUdeviceptr *address, CUmemoryPool handle,
				const CUmemPoolPtrExportData *data)
{
	struct sim_memory_pool *pool = find_pool(handle);
	struct sim_range *range;
	CUresult result;

	SIM_NOTE(call, "pool=0x%llx", sim_handle(handle));
	if (!address || !data || !pool || !pool->is_imported)
		return CUDA_ERROR_INVALID_VALUE;
	result = open_share(call, data, &range);
	if (result)
		return result;
	range->pool = pool;
	*address = range->base;
	SIM_NOTE(call, "address=0x%llx\tbytes=%zu", (unsigned long long)range->base, range->bytes);
	sim_note_live(call);
	return CUDA_SUCCESS;
}
