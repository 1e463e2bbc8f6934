/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the samples ask of a GPU. The same sample is compiled twice: by nvcc as CUDA C++ on the
 * runtime API (gpu_runtime.h) and by the C compiler on the driver API (gpu_driver.h), where no CUDA
 * toolkit is needed. The calls are macros and not functions on purpose: file and line of every CUDA
 * call are then those of the sample, as in a program that has no such layer.
 *
 *   gpu_open() gpu_close()                      device 0, kernels, cuBLAS
 *   gpu_alloc(&p, bytes) gpu_free(p)            device memory
 *   gpu_alloc_async(&p, bytes, stream) gpu_free_async(p, stream) gpu_pool_keep()
 *                                               stream-ordered memory; keep it in the pool
 *   gpu_memory(&free, &total)                   of the device, in bytes
 *   gpu_forget_error()                          after a failure that was expected
 *   gpu_host_alloc(&p, bytes) gpu_host_free(p)  pinned host memory
 *   gpu_upload_async(dev, host, bytes, stream)  gpu_download_async(host, dev, bytes, stream)
 *   gpu_download(host, dev, bytes)              blocks
 *   gpu_set_async(dev, byte, bytes, stream)
 *   gpu_stream_open(&s) gpu_stream_close(s) gpu_stream_wait_event(s, e) gpu_stream_sync(s)
 *   gpu_event_open(&e) gpu_event_close(e) gpu_event_record(e, s) gpu_event_sync(e)
 *   gpu_device_sync() gpu_pci_address(text, size)
 *   gpu_use(device) gpu_enable_peer(device)     the device of the calls that follow
 *   gpu_peer_copy_async(to, to_device, from, from_device, bytes, stream)
 *   gpu_capture_begin(s) gpu_capture_end(s, &g)  what s is given meanwhile becomes a graph
 *   gpu_graph_instantiate(&exec, g) gpu_graph_update(exec, g) gpu_graph_launch(exec, s)
 *   gpu_graph_close(g) gpu_graph_exec_close(exec)
 *   gpu_launch(kernel, words, stream, out, in)  a kernel of kernels.def over `words` 32-bit words
 *   gpu_gemm(...) gpu_gemm_batched(...) gpu_gemm_stream(s)  cuBLAS, see gpu_blas.h
 *
 * Every one gives a result code; GPU_TRY() around it ends the sample with a sentence on failure.
 */
#ifndef GPUTRACE_SAMPLES_GPU_H
#define GPUTRACE_SAMPLES_GPU_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define GPU_BLOCK_THREADS 256u

static inline unsigned gpu_blocks(size_t words)
{
	return (unsigned)((words + GPU_BLOCK_THREADS - 1) / GPU_BLOCK_THREADS);
}

static inline void gpu_try(int result, const char *call, const char *file, int line)
{
	if (result == 0)
		return;
	fprintf(stderr, "%s:%d: error %d from %s\n", file, line, result, call);
	exit(1);
}

#define GPU_TRY(call) gpu_try((int)(call), #call, __FILE__, __LINE__)

#ifdef __CUDACC__
#include "gpu_runtime.h"
#else
#include "gpu_driver.h"
#endif

#endif
