/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.h on the driver API, in plain C and without a CUDA toolkit. Include gpu.h, never this.
 * gpu_driver.c finds the functions of driver_calls.def at run time: by dlsym, or, where it is
 * compiled with GPU_DRIVER_BY_GET_PROC_ADDRESS, through cuGetProcAddress alone.
 */
#ifndef GPUTRACE_SAMPLES_GPU_DRIVER_H
#define GPUTRACE_SAMPLES_GPU_DRIVER_H

#include <stdint.h>

#include "gpu_blas.h"

typedef unsigned long long gpu_address; /* CUdeviceptr */
typedef void *gpu_stream;
typedef void *gpu_event;
typedef void *gpu_graph;
typedef void *gpu_graph_exec;

enum gpu_kernel {
#define KERNEL(name, body) GPU_KERNEL_##name,
#include "kernels.def"
#undef KERNEL
	GPU_KERNEL_COUNT
};

struct gpu_driver {
#define DRIVER(field, symbol, name, version, parameters) int(*field) parameters;
#include "driver_calls.def"
#undef DRIVER
	void *kernels[GPU_KERNEL_COUNT];
};

struct gpu_cublas {
	gpu_blas_handle handle;
	gpu_blas_create_function *create;
	gpu_blas_destroy_function *destroy;
	gpu_blas_set_stream_function *set_stream;
	gpu_blas_gemm_function *gemm;
	gpu_blas_gemm_batched_function *gemm_batched;
};

extern struct gpu_driver gpu_driver;
extern struct gpu_cublas gpu_cublas;

/* Both end the sample with a sentence when there is no usable driver, device or cuBLAS. */
void gpu_open(void);
void gpu_close(void);
/* The primary context of a device, retained at its first use until gpu_close(). */
void *gpu_context(int ordinal);

/* The device's pool keeps what was freed. */
static inline int gpu_driver_pool_keep(void)
{
	unsigned long long keep = ~0ull;
	void *pool = NULL;
	int result = gpu_driver.pool_of_device(&pool, 0);

	return result ? result : gpu_driver.pool_set(pool, 4 /* RELEASE_THRESHOLD */, &keep);
}

#define GPU_NON_BLOCKING   1u /* CU_STREAM_NON_BLOCKING */
#define GPU_DISABLE_TIMING 2u /* CU_EVENT_DISABLE_TIMING */

#define gpu_alloc(pointer, bytes) gpu_driver.memory_alloc((gpu_address *)(void *)(pointer), bytes)
#define gpu_free(pointer)	  gpu_driver.memory_free((uintptr_t)(pointer))
#define gpu_alloc_async(pointer, bytes, stream)                                                    \
	gpu_driver.memory_alloc_async((gpu_address *)(void *)(pointer), bytes, stream)
#define gpu_free_async(pointer, stream)	    gpu_driver.memory_free_async((uintptr_t)(pointer), stream)
#define gpu_pool_keep()			    gpu_driver_pool_keep()
#define gpu_memory(free_bytes, total_bytes) gpu_driver.memory_info(free_bytes, total_bytes)
#define gpu_forget_error()		    ((void)0) /* the driver remembers none */
#define gpu_host_alloc(pointer, bytes)	    gpu_driver.host_alloc((void **)(pointer), bytes, 0)
#define gpu_host_free(pointer)		    gpu_driver.host_free(pointer)

#define gpu_upload_async(device, host, bytes, stream)                                              \
	gpu_driver.upload_async((uintptr_t)(device), host, bytes, stream)
#define gpu_download_async(host, device, bytes, stream)                                            \
	gpu_driver.download_async(host, (uintptr_t)(device), bytes, stream)
#define gpu_download(host, device, bytes) gpu_driver.download(host, (uintptr_t)(device), bytes)
#define gpu_set_async(device, byte, bytes, stream)                                                 \
	gpu_driver.set_async((uintptr_t)(device), byte, bytes, stream)

#define gpu_stream_open(stream)		     gpu_driver.stream_create(stream, GPU_NON_BLOCKING)
#define gpu_stream_close(stream)	     gpu_driver.stream_destroy(stream)
#define gpu_stream_wait_event(stream, event) gpu_driver.stream_wait_event(stream, event, 0)
#define gpu_stream_sync(stream)		     gpu_driver.stream_sync(stream)
#define gpu_event_open(event)		     gpu_driver.event_create(event, GPU_DISABLE_TIMING)
#define gpu_event_close(event)		     gpu_driver.event_destroy(event)
#define gpu_event_record(event, stream)	     gpu_driver.event_record(event, stream)
#define gpu_event_sync(event)		     gpu_driver.event_sync(event)
#define gpu_device_sync()		     gpu_driver.context_sync()
#define gpu_use(device)			     gpu_driver.context_set(gpu_context(device))
#define gpu_enable_peer(device)		     gpu_driver.enable_peer(gpu_context(device), 0)
#define gpu_peer_copy_async(to, to_device, from, from_device, bytes, stream)                       \
	gpu_driver.peer_copy_async((uintptr_t)(to), gpu_context(to_device), (uintptr_t)(from),     \
				   gpu_context(from_device), bytes, stream)
#define gpu_pci_address(text, size) gpu_driver.pci_address(text, size, 0)

#define gpu_capture_begin(stream)	   gpu_driver.capture_begin(stream, 0)
#define gpu_capture_end(stream, graph)	   gpu_driver.capture_end(stream, graph)
#define gpu_graph_instantiate(exec, graph) gpu_driver.graph_instantiate(exec, graph, 0)
#define gpu_graph_launch(exec, stream)	   gpu_driver.graph_launch(exec, stream)
#define gpu_graph_update(exec, graph)                                                              \
	gpu_driver.graph_update(exec, graph, (void *[4]){NULL, NULL, NULL, NULL})
#define gpu_graph_close(graph)	   gpu_driver.graph_destroy(graph)
#define gpu_graph_exec_close(exec) gpu_driver.graph_exec_destroy(exec)

#define gpu_launch(kernel, words, stream, out, in)                                                 \
	gpu_driver.launch(gpu_driver.kernels[GPU_KERNEL_##kernel], gpu_blocks(words), 1, 1,        \
			  GPU_BLOCK_THREADS, 1, 1, 0, stream,                                      \
			  (void *[]){&(void *){out}, &(const void *){in}, &(size_t){words}}, NULL)

#define gpu_gemm_stream(stream) gpu_cublas.set_stream(gpu_cublas.handle, stream)
#define gpu_gemm(...)		gpu_cublas.gemm(gpu_cublas.handle, __VA_ARGS__)
#define gpu_gemm_batched(...)	gpu_cublas.gemm_batched(gpu_cublas.handle, __VA_ARGS__)

#endif
