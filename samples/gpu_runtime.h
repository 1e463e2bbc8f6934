/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.h on the CUDA runtime API, for nvcc. Include gpu.h, never this. Kernels are compiled from the
 * rows of kernels.def; cuBLAS is linked.
 */
#ifndef GPUTRACE_SAMPLES_GPU_RUNTIME_H
#define GPUTRACE_SAMPLES_GPU_RUNTIME_H

#include <cuda_runtime.h>

#include "gpu_blas.h"

typedef cudaStream_t gpu_stream;
typedef cudaEvent_t gpu_event;
typedef cudaGraph_t gpu_graph;
typedef cudaGraphExec_t gpu_graph_exec;

/* One word in, one word out. */
static __device__ inline void gpu_body_STREAM(float *out, const float *in, size_t words)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < words)
		out[i] = 0.5f * in[i] + 0.25f;
}

/* AdamW on parameters, first and second moments, which stand one after the other in `out`. */
static __device__ inline void gpu_body_OPTIMIZER(float *out, const float *gradient, size_t words)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= words)
		return;
	float g = gradient[i];
	float m = 0.9f * out[words + i] + 0.1f * g;
	float v = 0.95f * out[2 * words + i] + 0.05f * g * g;
	out[words + i] = m;
	out[2 * words + i] = v;
	out[i] = 0.99997f * out[i] - 3e-4f * m * rsqrtf(v + 1e-12f);
}

#define KERNEL(name, body)                                                                         \
	extern "C" __global__ void name(float *out, const float *in, size_t words)                 \
	{                                                                                          \
		gpu_body_##body(out, in, words);                                                   \
	}
#include "kernels.def"
#undef KERNEL

extern "C" {
gpu_blas_create_function cublasCreate_v2;
gpu_blas_destroy_function cublasDestroy_v2;
gpu_blas_set_stream_function cublasSetStream_v2;
gpu_blas_gemm_function cublasGemmEx;
gpu_blas_gemm_batched_function cublasGemmStridedBatchedEx;
}

static gpu_blas_handle gpu_blas;

static inline void gpu_open(void)
{
	GPU_TRY(cudaSetDevice(0));
	GPU_TRY(cublasCreate_v2(&gpu_blas));
}

static inline void gpu_close(void)
{
	GPU_TRY(cublasDestroy_v2(gpu_blas));
}

/* The device's pool keeps what was freed. */
static inline cudaError_t gpu_runtime_pool_keep(void)
{
	unsigned long long keep = ~0ull;
	cudaMemPool_t pool;
	cudaError_t result = cudaDeviceGetDefaultMemPool(&pool, 0);

	return result ? result
		      : cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);
}

#define gpu_alloc(pointer, bytes)		cudaMalloc((void **)(pointer), bytes)
#define gpu_free(pointer)			cudaFree(pointer)
#define gpu_alloc_async(pointer, bytes, stream) cudaMallocAsync((void **)(pointer), bytes, stream)
#define gpu_free_async(pointer, stream)		cudaFreeAsync(pointer, stream)
#define gpu_pool_keep()				gpu_runtime_pool_keep()
#define gpu_memory(free_bytes, total_bytes)	cudaMemGetInfo(free_bytes, total_bytes)
#define gpu_forget_error()			((void)cudaGetLastError())
#define gpu_host_alloc(pointer, bytes)		cudaMallocHost((void **)(pointer), bytes)
#define gpu_host_free(pointer)			cudaFreeHost(pointer)

#define gpu_upload_async(device, host, bytes, stream)                                              \
	cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream)
#define gpu_download_async(host, device, bytes, stream)                                            \
	cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream)
#define gpu_download(host, device, bytes)	   cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost)
#define gpu_set_async(device, byte, bytes, stream) cudaMemsetAsync(device, byte, bytes, stream)

#define gpu_stream_open(stream)		     cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking)
#define gpu_stream_close(stream)	     cudaStreamDestroy(stream)
#define gpu_stream_wait_event(stream, event) cudaStreamWaitEvent(stream, event, 0)
#define gpu_stream_sync(stream)		     cudaStreamSynchronize(stream)
#define gpu_event_open(event)		     cudaEventCreateWithFlags(event, cudaEventDisableTiming)
#define gpu_event_close(event)		     cudaEventDestroy(event)
#define gpu_event_record(event, stream)	     cudaEventRecord(event, stream)
#define gpu_event_sync(event)		     cudaEventSynchronize(event)
#define gpu_device_sync()		     cudaDeviceSynchronize()
#define gpu_use(device)			     cudaSetDevice(device)
#define gpu_enable_peer(device)		     cudaDeviceEnablePeerAccess(device, 0)
#define gpu_peer_copy_async(to, to_device, from, from_device, bytes, stream)                       \
	cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream)
#define gpu_pci_address(text, size) cudaDeviceGetPCIBusId(text, size, 0)

#define gpu_capture_begin(stream)	   cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal)
#define gpu_capture_end(stream, graph)	   cudaStreamEndCapture(stream, graph)
#define gpu_graph_instantiate(exec, graph) cudaGraphInstantiateWithFlags(exec, graph, 0)
#define gpu_graph_launch(exec, stream)	   cudaGraphLaunch(exec, stream)
#define gpu_graph_close(graph)		   cudaGraphDestroy(graph)
#define gpu_graph_exec_close(exec)	   cudaGraphExecDestroy(exec)

static inline cudaError_t gpu_graph_update(cudaGraphExec_t exec, cudaGraph_t graph)
{
#if CUDART_VERSION >= 12000
	cudaGraphExecUpdateResultInfo info;

	return cudaGraphExecUpdate(exec, graph, &info);
#else
	cudaGraphExecUpdateResult result;
	cudaGraphNode_t node;

	return cudaGraphExecUpdate(exec, graph, &node, &result);
#endif
}

#define gpu_launch(kernel, words, stream, out, in)                                                 \
	(kernel<<<gpu_blocks(words), GPU_BLOCK_THREADS, 0, stream>>>((float *)(out),               \
								     (const float *)(in), words),  \
	 cudaGetLastError())

#define gpu_gemm_stream(stream) cublasSetStream_v2(gpu_blas, stream)
#define gpu_gemm(...)		cublasGemmEx(gpu_blas, __VA_ARGS__)
#define gpu_gemm_batched(...)	cublasGemmStridedBatchedEx(gpu_blas, __VA_ARGS__)

#endif
