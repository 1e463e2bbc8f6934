/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies of the exported driver functions, by file; sim_api_core.def and sim_api_memory.def say
 * which function calls which. Each runs with sim_lock held and returns what the function returns.
 */
#ifndef GPUTRACE_SIM_API_H
#define GPUTRACE_SIM_API_H

#include "sim_internal.h"

/* CUpti_ActivitySynchronizationType */
enum { SIM_SYNC_EVENT = 1, SIM_SYNC_STREAM_WAIT_EVENT, SIM_SYNC_STREAM, SIM_SYNC_CONTEXT };

enum { SIM_PRIORITY_GREATEST = -5, SIM_PRIORITY_LEAST = 0 };

/* A handle or pointer as the log prints it. */
static inline unsigned long long sim_handle(const void *handle)
{
	return (unsigned long long)(uintptr_t)handle;
}

/* sim_device_list.c */
CUresult sim_device_init(unsigned flags);

/* sim_device.c, sim_attribute.c */
CUresult sim_device_ordinal(CUdevice *device, int ordinal);
CUresult sim_device_count(int *count);
CUresult sim_device_name(char *name, int size, CUdevice ordinal);
CUresult sim_device_uuid(CUuuid *uuid, CUdevice ordinal);
CUresult sim_device_total_memory(size_t *bytes, CUdevice ordinal);
CUresult sim_device_pci_bus_id(char *text, int size, CUdevice ordinal);
CUresult sim_device_by_pci_bus_id(CUdevice *ordinal, const char *text);
CUresult sim_device_can_access_peer(int *can, CUdevice first, CUdevice second);
CUresult sim_device_peer_attribute(int *value, CUdevice_P2PAttribute attribute, CUdevice first,
				   CUdevice second);
CUresult sim_device_peer_access(struct sim_call *call, CUcontext peer, bool enable);
CUresult sim_device_version(int *version);
CUresult sim_attribute_get(int *value, CUdevice_attribute attribute, CUdevice ordinal);
CUresult sim_attribute_capability(int *major, int *minor, CUdevice ordinal);
int sim_attribute_threads_per_sm(const struct sim_device *device);
int sim_attribute_blocks_per_sm(const struct sim_device *device);
int sim_attribute_shared_optin_bytes(const struct sim_device *device);
int sim_attribute_shared_per_sm_bytes(const struct sim_device *device);

/* sim_context.c */
enum sim_context_property {
	CONTEXT_DEVICE,
	CONTEXT_FLAGS,
	CONTEXT_API_VERSION,
	CONTEXT_ID,
	CONTEXT_CACHE_CONFIG
};
CUresult sim_context_create(struct sim_call *call, CUcontext *context, unsigned flags,
			    CUdevice ordinal);
CUresult sim_context_destroy(struct sim_call *call, CUcontext handle);
CUresult sim_context_retain_primary(CUcontext *context, CUdevice ordinal);
CUresult sim_context_release_primary(struct sim_call *call, CUdevice ordinal, bool reset);
CUresult sim_context_primary_state(CUdevice ordinal, unsigned *flags, int *active);
CUresult sim_context_primary_set_flags(CUdevice ordinal, unsigned flags);
CUresult sim_context_push(struct sim_call *call, CUcontext handle);
CUresult sim_context_pop(struct sim_call *call, CUcontext *context);
CUresult sim_context_set_current(struct sim_call *call, CUcontext handle);
CUresult sim_context_get_current(struct sim_call *call, CUcontext *context);
CUresult sim_context_synchronize(struct sim_call *call, CUcontext handle);
CUresult sim_context_get(struct sim_call *call, CUcontext handle,
			 enum sim_context_property property, void *value);
CUresult sim_context_set_cache_config(struct sim_call *call, CUfunc_cache config);
CUresult sim_context_limit(struct sim_call *call, CUlimit limit, size_t *value, size_t wanted);
CUresult sim_context_priorities(int *least, int *greatest);

/* sim_stream.c, sim_event.c */
enum sim_stream_property {
	STREAM_CONTEXT,
	STREAM_DEVICE,
	STREAM_FLAGS,
	STREAM_PRIORITY,
	STREAM_ID
};
CUresult sim_stream_create(struct sim_call *call, CUstream *stream, unsigned flags, int priority);
CUresult sim_stream_destroy(struct sim_call *call, CUstream handle);
CUresult sim_stream_synchronize(struct sim_call *call, CUstream handle);
CUresult sim_stream_query(struct sim_call *call, CUstream handle);
CUresult sim_stream_wait_event(struct sim_call *call, CUstream handle, CUevent event_handle,
			       unsigned flags);
CUresult sim_stream_host_function(struct sim_call *call, CUstream handle, CUhostFn function,
				  CUstreamCallback callback, void *data);
CUresult sim_stream_get(struct sim_call *call, CUstream handle, enum sim_stream_property property,
			void *value);
CUresult sim_stream_exchange_capture_mode(struct sim_call *call, CUstreamCaptureMode *mode);
CUresult sim_event_create(struct sim_call *call, CUevent *event, unsigned flags);
CUresult sim_event_destroy(struct sim_call *call, CUevent handle);
CUresult sim_event_record(struct sim_call *call, CUevent handle, CUstream stream_handle,
			  unsigned flags);
CUresult sim_event_query(struct sim_call *call, CUevent handle);
CUresult sim_event_synchronize(struct sim_call *call, CUevent handle);
CUresult sim_event_elapsed(struct sim_call *call, float *milliseconds, CUevent start_handle,
			   CUevent end_handle);
void sim_event_free(struct sim_event *event);

/* sim_memory_api.c, sim_memory_pool.c, sim_pointer.c */
void sim_note_live(struct sim_call *call);
CUresult sim_memory_alloc(struct sim_call *call, CUdeviceptr *address, size_t bytes);
CUresult sim_memory_alloc_pitch(struct sim_call *call, CUdeviceptr *address, size_t *pitch,
				size_t width, size_t height, unsigned element);
CUresult sim_memory_free(struct sim_call *call, CUdeviceptr address);
CUresult sim_memory_alloc_host(struct sim_call *call, void **address, size_t bytes, unsigned flags);
CUresult sim_memory_free_host(struct sim_call *call, void *address);
CUresult sim_memory_alloc_managed(struct sim_call *call, CUdeviceptr *address, size_t bytes,
				  unsigned flags);
CUresult sim_memory_register_host(struct sim_call *call, void *address, size_t bytes,
				  unsigned flags);
CUresult sim_memory_unregister_host(struct sim_call *call, void *address);
CUresult sim_memory_host_device_pointer(CUdeviceptr *pointer, void *host, unsigned flags);
CUresult sim_memory_host_flags(unsigned *flags, void *host);
CUresult sim_memory_info(struct sim_call *call, size_t *free_bytes, size_t *total_bytes);
CUresult sim_memory_address_range(CUdeviceptr *base, size_t *bytes, CUdeviceptr address);
CUresult sim_memory_alloc_async(struct sim_call *call, CUdeviceptr *address, size_t bytes,
				CUmemoryPool pool_handle, CUstream stream);
CUresult sim_memory_free_async(struct sim_call *call, CUdeviceptr address, CUstream stream);
CUresult sim_memory_pool_of_device(CUmemoryPool *pool, CUdevice ordinal, bool is_default);
CUresult sim_memory_pool_set(CUdevice ordinal, CUmemoryPool handle);
CUresult sim_memory_pool_create(CUmemoryPool *pool, const CUmemPoolProps *properties);
CUresult sim_memory_pool_of_location(CUmemoryPool *pool, const CUmemLocation *location,
				     CUmemAllocationType type, bool is_default);
CUresult sim_memory_pool_destroy(struct sim_call *call, CUmemoryPool handle);
CUresult sim_memory_pool_trim(struct sim_call *call, CUmemoryPool handle, size_t keep_bytes);
CUresult sim_memory_pool_access(CUmemoryPool handle, const CUmemAccessDesc *access, size_t count);
struct sim_memory_pool *sim_memory_pool_new(struct sim_device *device);
/* The range that begins at the address and is of one of the kinds, or NULL. */
struct sim_range *sim_memory_find_start(uint64_t address, enum sim_memory_kind a,
					enum sim_memory_kind b);
CUresult sim_memory_pool_attribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value,
				   bool is_set);
CUresult sim_pointer_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer);
CUresult sim_pointer_attributes(unsigned count, CUpointer_attribute *attributes, void **data,
				CUdeviceptr pointer);
CUresult sim_pointer_set_attribute(const void *value, CUpointer_attribute attribute,
				   CUdeviceptr pointer);

/* sim_copy.c: a side that must be memory the driver knows is marked in the flags. */
enum { COPY_ASYNC = 1, COPY_TO_KNOWN = 2, COPY_FROM_KNOWN = 4, COPY_IS_PEER = 8 };
CUresult sim_copy(struct sim_call *call, uint64_t to, uint64_t from, size_t bytes, CUstream stream,
		  unsigned flags);
/* The same in rows; notes nothing, and says in which direction it went. */
CUresult sim_copy_box(struct sim_call *call, uint64_t to, uint64_t from, const struct sim_box *box,
		      CUstream stream, unsigned flags, const char **direction);
CUresult sim_copy_set_box(struct sim_call *call, uint64_t to, uint32_t value, unsigned width,
			  const struct sim_box *box, CUstream stream, bool is_async);
CUresult sim_copy_set(struct sim_call *call, uint64_t to, uint32_t value, unsigned width,
		      size_t count, CUstream stream_handle, bool is_async);

/* sim_copy_shape.c: the structures that describe copies in two and three dimensions. */
CUresult sim_copy_2d(struct sim_call *call, const CUDA_MEMCPY2D *shape, CUstream stream,
		     unsigned flags);
CUresult sim_copy_3d(struct sim_call *call, const CUDA_MEMCPY3D *shape, CUstream stream,
		     unsigned flags);
CUresult sim_copy_3d_peer(struct sim_call *call, const CUDA_MEMCPY3D_PEER *shape, CUstream stream,
			  unsigned flags);
CUresult sim_copy_batch(struct sim_call *call, const CUdeviceptr *to, const CUdeviceptr *from,
			const size_t *sizes, size_t count, const CUmemcpyAttributes *attributes,
			const size_t *attribute_indices, size_t attribute_count, size_t *failed,
			CUstream stream);
CUresult sim_copy_3d_batch(struct sim_call *call, const CUDA_MEMCPY3D_BATCH_OP *operations,
			   size_t count, size_t *failed, unsigned long long flags, CUstream stream);
CUresult sim_copy_set_2d(struct sim_call *call, CUdeviceptr to, size_t pitch, uint32_t value,
			 unsigned width, size_t columns, size_t rows, CUstream stream,
			 bool is_async);

/* sim_module.c: `handle` is a CUmodule or a CUlibrary. */
CUresult sim_module_load_data(struct sim_call *call, CUmodule *module, const void *image);
CUresult sim_module_load_file(struct sim_call *call, CUmodule *module, const char *path);
CUresult sim_module_load_library(struct sim_call *call, CUlibrary *library, const void *code);
CUresult sim_module_load_library_file(struct sim_call *call, CUlibrary *library, const char *path);
CUresult sim_module_unload(struct sim_call *call, CUmodule handle);
CUresult sim_module_unload_library(struct sim_call *call, CUlibrary handle);
CUresult sim_module_get_function(struct sim_call *call, CUfunction *found, const void *handle,
				 const char *name, bool is_library);
CUresult sim_module_get_global(struct sim_call *call, CUdeviceptr *address, size_t *bytes,
			       const void *handle, const char *name, bool is_library,
			       bool is_managed);
CUresult sim_module_of_library(CUmodule *module, CUlibrary library);
CUresult sim_module_count(unsigned *count, const void *handle, bool is_library);
CUresult sim_module_enumerate(struct sim_call *call, CUfunction *functions, unsigned count,
			      const void *handle, bool is_library);

/* sim_function.c */
CUresult sim_function_name(const char **name, CUfunction handle);
CUresult sim_function_module(CUmodule *module, CUfunction handle);
CUresult sim_function_of_kernel(CUfunction *function, CUkernel kernel);
CUresult sim_function_is_loaded(CUfunctionLoadingState *state, CUfunction handle);
CUresult sim_function_attribute(int *value, CUfunction_attribute attribute, CUfunction handle,
				const struct sim_device *device);
CUresult sim_function_set_attribute(CUfunction handle, CUfunction_attribute attribute, int value,
				    const struct sim_device *device);
CUresult sim_function_cache_config(CUfunction handle, CUfunc_cache config);
CUresult sim_function_active_blocks(struct sim_call *call, int *blocks, CUfunction handle,
				    int block_size, size_t dynamic_shared_bytes);
CUresult sim_function_potential_block(struct sim_call *call, int *grid, int *block,
				      CUfunction handle, CUoccupancyB2DSize shared_of_block,
				      size_t dynamic_shared_bytes, int limit);
CUresult sim_function_available_shared(struct sim_call *call, size_t *bytes, CUfunction handle,
				       int blocks, int block_size);
int sim_function_blocks_per_sm(const struct sim_device *device, const struct sim_function *function,
			       int threads, size_t dynamic_shared_bytes);

/* sim_launch.c */
struct sim_launch {
	unsigned grid[3], block[3], shared_bytes;
	CUstream stream;
	void **parameters, **extra;
	bool is_cooperative;
};
CUresult sim_launch_kernel(struct sim_call *call, CUfunction handle,
			   const struct sim_launch *launch);
/* Waits until the launch about a thousand before this one is over; false when the stream went. */
bool sim_launch_wait_for_room(struct sim_call *call, struct sim_stream *stream, CUstream handle);
void sim_launch_remember_end(struct sim_stream *stream, uint64_t end_ns);
CUresult sim_launch_config(struct sim_call *call, const CUlaunchConfig *config, CUfunction handle,
			   void **parameters, void **extra);

/* sim_error.c */
CUresult sim_error_name(CUresult error, const char **name);
CUresult sim_error_text(CUresult error, const char **text);

#endif
