/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of the functions in sim_api_alloc.def; see sim_api.h. */
#ifndef GPUTRACE_SIM_API_ALLOC_H
#define GPUTRACE_SIM_API_ALLOC_H

#include "sim_vmm.h"

/* sim_vmm.c */
CUresult sim_vmm_reserve(struct sim_call *call, CUdeviceptr *address, size_t bytes,
			 size_t alignment, unsigned long long flags);
CUresult sim_vmm_free_addresses(struct sim_call *call, CUdeviceptr address, size_t bytes);
CUresult sim_vmm_create(struct sim_call *call, CUmemGenericAllocationHandle *handle, size_t bytes,
			const CUmemAllocationProp *properties, unsigned long long flags);
CUresult sim_vmm_release(struct sim_call *call, CUmemGenericAllocationHandle handle);
CUresult sim_vmm_granularity(size_t *granularity, const CUmemAllocationProp *properties);
CUresult sim_vmm_properties(CUmemAllocationProp *properties, CUmemGenericAllocationHandle handle);
CUresult sim_vmm_retain(struct sim_call *call, CUmemGenericAllocationHandle *handle,
			const void *address);
CUresult sim_vmm_map(struct sim_call *call, CUdeviceptr address, size_t bytes, size_t offset,
		     CUmemGenericAllocationHandle handle, unsigned long long flags);
CUresult sim_vmm_unmap(struct sim_call *call, CUdeviceptr address, size_t bytes);
CUresult sim_vmm_set_access(struct sim_call *call, CUdeviceptr address, size_t bytes,
			    const CUmemAccessDesc *access, size_t count);
CUresult sim_vmm_get_access(unsigned long long *flags, const CUmemLocation *location,
			    CUdeviceptr address);
CUresult sim_vmm_multicast_create(struct sim_call *call, CUmemGenericAllocationHandle *handle,
				  const CUmulticastObjectProp *properties);
CUresult sim_vmm_multicast_device(CUmemGenericAllocationHandle handle, CUdevice ordinal);
CUresult sim_vmm_multicast_bind(CUmemGenericAllocationHandle handle, size_t offset,
				const struct sim_physical *memory, size_t bytes);
CUresult sim_vmm_multicast_bind_address(CUmemGenericAllocationHandle handle, size_t offset,
					CUdeviceptr address, size_t bytes);
CUresult sim_vmm_multicast_unbind(CUmemGenericAllocationHandle handle, CUdevice ordinal);

/* sim_ipc.c */
CUresult sim_ipc_export_physical(void *shareable, CUmemGenericAllocationHandle handle,
				 CUmemAllocationHandleType type, unsigned long long flags);
CUresult sim_ipc_import_physical(struct sim_call *call, CUmemGenericAllocationHandle *handle,
				 void *shareable, CUmemAllocationHandleType type);
CUresult sim_ipc_get(struct sim_call *call, CUipcMemHandle *handle, CUdeviceptr address);
CUresult sim_ipc_open(struct sim_call *call, CUdeviceptr *address, CUipcMemHandle handle,
		      unsigned flags);
CUresult sim_ipc_close(struct sim_call *call, CUdeviceptr address);
CUresult sim_ipc_export_pool(void *shareable, CUmemoryPool handle, CUmemAllocationHandleType type,
			     unsigned long long flags);
CUresult sim_ipc_import_pool(CUmemoryPool *handle, void *shareable, CUmemAllocationHandleType type,
			     unsigned long long flags);
CUresult sim_ipc_export_pointer(struct sim_call *call, CUmemPoolPtrExportData *data,
				CUdeviceptr address);
CUresult sim_ipc_import_pointer(struct sim_call *call, CUdeviceptr *address, CUmemoryPool handle,
				const CUmemPoolPtrExportData *data);

/* sim_array.c */
CUresult sim_array_create(struct sim_call *call, CUarray *handle,
			  const CUDA_ARRAY3D_DESCRIPTOR *description);
CUresult sim_array_create_2d(struct sim_call *call, CUarray *handle,
			     const CUDA_ARRAY_DESCRIPTOR *description);
CUresult sim_array_destroy(struct sim_call *call, CUarray handle);
CUresult sim_array_describe(CUDA_ARRAY3D_DESCRIPTOR *description, CUarray handle);
CUresult sim_array_create_mipmapped(struct sim_call *call, CUmipmappedArray *handle,
				    const CUDA_ARRAY3D_DESCRIPTOR *description, unsigned levels);
CUresult sim_array_level(CUarray *level, CUmipmappedArray handle, unsigned number);
CUresult sim_array_destroy_mipmapped(struct sim_call *call, CUmipmappedArray handle);

/* sim_managed.c */
/* Moves managed memory to the device or to CU_DEVICE_CPU from user->begin_ns on, for `user`, a
 * kernel or a prefetch; gives how long that takes, 0: it is there. */
uint64_t sim_managed_migrate(uint64_t address, size_t bytes, int ordinal,
			     const struct simcuda_activity *user);
CUresult sim_managed_prefetch(struct sim_call *call, CUdeviceptr address, size_t bytes, int ordinal,
			      CUstream handle);
CUresult sim_managed_prefetch_to(struct sim_call *call, CUdeviceptr address, size_t bytes,
				 CUmemLocation location, unsigned flags, CUstream handle);
CUresult sim_managed_advise(CUdeviceptr address, size_t bytes, CUmem_advise advice, int ordinal);
CUresult sim_managed_advise_at(CUdeviceptr address, size_t bytes, CUmem_advise advice,
			       CUmemLocation location);
CUresult sim_managed_attribute(void *data, size_t data_bytes, CUmem_range_attribute attribute,
			       CUdeviceptr address, size_t bytes);

#endif
