/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture and graphs of the simulated runtime: the driver's, with kernels named by their
 * host stubs and copies by pointers and a kind. Signatures are those of CUDA 13.
 */
#include "simrt_internal.h"

#include <string.h>

/* A function that only forwards; `work` is its driver call. */
#define FORWARD(name, parameters, work)                                                            \
	cudaError_t name parameters                                                                \
	{                                                                                          \
		struct simrt_call here;                                                            \
		cudaError_t status = simrt_begin(&here, #name, SIMRT_CONTEXT);                     \
                                                                                                   \
		if (status == cudaSuccess)                                                         \
			status = simrt_from_driver(work);                                          \
		return simrt_end(&here, status, NULL);                                             \
	}
/* The same with a twin for per-thread default streams. */
#define FORWARD_STREAM(name, parameters, work)                                                     \
	cudaError_t simrt_##name(const struct simrt_flavour *via, const char *function,            \
				 SIMRT_UNPACK parameters)                                          \
	{                                                                                          \
		struct simrt_call here;                                                            \
		cudaError_t status = simrt_begin(&here, function, SIMRT_CONTEXT);                  \
                                                                                                   \
		if (status == cudaSuccess)                                                         \
			status = simrt_from_driver(work);                                          \
		return simrt_end(&here, status, "stream=0x%llx", simrt_address(stream));           \
	}

/* ---- capture ---- */

FORWARD_STREAM(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
	       via->StreamBeginCapture(stream, (CUstreamCaptureMode)mode))
FORWARD_STREAM(cudaStreamBeginCaptureToGraph,
	       (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *needs,
		const cudaGraphEdgeData *data, size_t count, enum cudaStreamCaptureMode mode),
	       via->StreamBeginCaptureToGraph(stream, graph, needs, (const CUgraphEdgeData *)data,
					      count, (CUstreamCaptureMode)mode))
FORWARD_STREAM(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph),
	       via->StreamEndCapture(stream, graph))
FORWARD_STREAM(cudaStreamIsCapturing,
	       (cudaStream_t stream, enum cudaStreamCaptureStatus *status_out),
	       via->StreamIsCapturing(stream, (CUstreamCaptureStatus *)status_out))
FORWARD_STREAM(cudaStreamGetCaptureInfo,
	       (cudaStream_t stream, enum cudaStreamCaptureStatus *status_out,
		unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **needs,
		const cudaGraphEdgeData **data, size_t *count),
	       via->StreamGetCaptureInfo(stream, (CUstreamCaptureStatus *)status_out,
					 (cuuint64_t *)id, graph, needs,
					 (const CUgraphEdgeData **)data, count))
FORWARD_STREAM(cudaStreamUpdateCaptureDependencies,
	       (cudaStream_t stream, cudaGraphNode_t *needs, const cudaGraphEdgeData *data,
		size_t count, unsigned flags),
	       via->StreamUpdateCaptureDependencies(stream, needs, (const CUgraphEdgeData *)data,
						    count, flags))
FORWARD(cudaThreadExchangeStreamCaptureMode, (enum cudaStreamCaptureMode * mode),
	simrt_driver.ThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode))

/* ---- graphs and edges ---- */

FORWARD(cudaGraphCreate, (cudaGraph_t * graph, unsigned flags),
	simrt_driver.GraphCreate(graph, flags))
FORWARD(cudaGraphDestroy, (cudaGraph_t graph), simrt_driver.GraphDestroy(graph))
FORWARD(cudaGraphClone, (cudaGraph_t * clone, cudaGraph_t graph),
	simrt_driver.GraphClone(clone, graph))
FORWARD(cudaGraphNodeFindInClone,
	(cudaGraphNode_t * found, cudaGraphNode_t node, cudaGraph_t clone),
	simrt_driver.GraphNodeFindInClone(found, node, clone))
FORWARD(cudaGraphNodeGetType, (cudaGraphNode_t node, enum cudaGraphNodeType *type),
	simrt_driver.GraphNodeGetType(node, (CUgraphNodeType *)type))
FORWARD(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
	simrt_driver.GraphGetNodes(graph, nodes, count))
FORWARD(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
	simrt_driver.GraphGetRootNodes(graph, nodes, count))
FORWARD(cudaGraphGetEdges,
	(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *data,
	 size_t *count),
	simrt_driver.GraphGetEdges(graph, from, to, (CUgraphEdgeData *)data, count))
FORWARD(cudaGraphAddDependencies,
	(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
	 const cudaGraphEdgeData *data, size_t count),
	simrt_driver.GraphAddDependencies(graph, from, to, (const CUgraphEdgeData *)data, count))
FORWARD(cudaGraphRemoveDependencies,
	(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
	 const cudaGraphEdgeData *data, size_t count),
	simrt_driver.GraphRemoveDependencies(graph, from, to, (const CUgraphEdgeData *)data, count))
FORWARD(cudaGraphDestroyNode, (cudaGraphNode_t node), simrt_driver.GraphDestroyNode(node))

/* ---- nodes ---- */

/* A kernel node names the host stub. */
static cudaError_t read_kernel(const struct cudaKernelNodeParams *from, CUDA_KERNEL_NODE_PARAMS *to)
{
	CUkernel kernel = NULL;
	cudaError_t status;

	if (!from)
		return cudaErrorInvalidValue;
	status = simrt_registry_kernel(from->func, &kernel);
	*to = (CUDA_KERNEL_NODE_PARAMS){
		.kern = kernel,
		.gridDimX = from->gridDim.x,
		.gridDimY = from->gridDim.y,
		.gridDimZ = from->gridDim.z,
		.blockDimX = from->blockDim.x,
		.blockDimY = from->blockDim.y,
		.blockDimZ = from->blockDim.z,
		.sharedMemBytes = from->sharedMemBytes,
		.kernelParams = from->kernelParams,
		.extra = from->extra,
	};
	return status;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
				   const cudaGraphNode_t *needs, size_t count,
				   const struct cudaKernelNodeParams *kernel)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUDA_KERNEL_NODE_PARAMS parameters;

	if (status == cudaSuccess)
		status = read_kernel(kernel, &parameters);
	if (status == cudaSuccess)
		status = simrt_from_driver(
			simrt_driver.GraphAddKernelNode(node, graph, needs, count, &parameters));
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
					 const struct cudaKernelNodeParams *kernel)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUDA_KERNEL_NODE_PARAMS parameters;

	if (status == cudaSuccess)
		status = read_kernel(kernel, &parameters);
	if (status == cudaSuccess)
		status =
			simrt_from_driver(simrt_driver.GraphKernelNodeSetParams(node, &parameters));
	return simrt_end(&call, status, NULL);
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					     const struct cudaKernelNodeParams *kernel)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUDA_KERNEL_NODE_PARAMS parameters;

	if (status == cudaSuccess)
		status = read_kernel(kernel, &parameters);
	if (status == cudaSuccess)
		status = simrt_from_driver(
			simrt_driver.GraphExecKernelNodeSetParams(exec, node, &parameters));
	return simrt_end(&call, status, NULL);
}

/* Bytes in a row; the driver sorts out what a unified address is. */
static CUDA_MEMCPY3D row_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	bool to_host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
	bool from_host = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
	bool is_any = kind == cudaMemcpyDefault;

	return (CUDA_MEMCPY3D){
		.srcMemoryType = is_any	     ? CU_MEMORYTYPE_UNIFIED
				 : from_host ? CU_MEMORYTYPE_HOST
					     : CU_MEMORYTYPE_DEVICE,
		.srcHost = from,
		.srcDevice = simrt_device_pointer(from),
		.dstMemoryType = is_any	   ? CU_MEMORYTYPE_UNIFIED
				 : to_host ? CU_MEMORYTYPE_HOST
					   : CU_MEMORYTYPE_DEVICE,
		.dstHost = to,
		.dstDevice = simrt_device_pointer(to),
		.WidthInBytes = bytes,
		.Height = 1,
		.Depth = 1,
	};
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph,
				     const cudaGraphNode_t *needs, size_t count, void *to,
				     const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	const CUDA_MEMCPY3D copy = row_copy(to, from, bytes, kind);
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);

	if (status == cudaSuccess && (unsigned)kind > cudaMemcpyDefault)
		status = cudaErrorInvalidMemcpyDirection;
	if (status == cudaSuccess)
		status = simrt_from_driver(
			simrt_driver.GraphAddMemcpyNode(node, graph, needs, count, &copy, NULL));
	return simrt_end(&call, status, NULL);
}

FORWARD(cudaGraphExecMemcpyNodeSetParams1D,
	(cudaGraphExec_t exec, cudaGraphNode_t node, void *to, const void *from, size_t bytes,
	 enum cudaMemcpyKind kind),
	simrt_driver.GraphExecMemcpyNodeSetParams(
		exec, node, &(CUDA_MEMCPY3D[]){row_copy(to, from, bytes, kind)}[0], NULL))

static CUDA_MEMSET_NODE_PARAMS read_set(const struct cudaMemsetParams *from)
{
	return (CUDA_MEMSET_NODE_PARAMS){
		.dst = simrt_device_pointer(from->dst),
		.pitch = from->pitch,
		.value = from->value,
		.elementSize = from->elementSize,
		.width = from->width,
		.height = from->height,
	};
}

FORWARD(cudaGraphAddMemsetNode,
	(cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
	 const struct cudaMemsetParams *set),
	set ? simrt_driver.GraphAddMemsetNode(node, graph, needs, count,
					      &(CUDA_MEMSET_NODE_PARAMS[]){read_set(set)}[0], NULL)
	    : CUDA_ERROR_INVALID_VALUE)
FORWARD(cudaGraphAddHostNode,
	(cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
	 const struct cudaHostNodeParams *host),
	host ? simrt_driver.GraphAddHostNode(node, graph, needs, count,
					     &(CUDA_HOST_NODE_PARAMS){host->fn, host->userData})
	     : CUDA_ERROR_INVALID_VALUE)
FORWARD(cudaGraphAddEmptyNode,
	(cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count),
	simrt_driver.GraphAddEmptyNode(node, graph, needs, count))
FORWARD(cudaGraphAddChildGraphNode,
	(cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
	 cudaGraph_t child),
	simrt_driver.GraphAddChildGraphNode(node, graph, needs, count, child))
FORWARD(cudaGraphAddEventRecordNode,
	(cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
	 cudaEvent_t event),
	simrt_driver.GraphAddEventRecordNode(node, graph, needs, count, event))
FORWARD(cudaGraphAddEventWaitNode,
	(cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
	 cudaEvent_t event),
	simrt_driver.GraphAddEventWaitNode(node, graph, needs, count, event))
FORWARD(cudaGraphAddMemFreeNode,
	(cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
	 void *address),
	simrt_driver.GraphAddMemFreeNode(node, graph, needs, count, simrt_device_pointer(address)))

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph,
				     const cudaGraphNode_t *needs, size_t count,
				     struct cudaMemAllocNodeParams *alloc)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, __func__, SIMRT_CONTEXT);
	CUDA_MEM_ALLOC_NODE_PARAMS parameters = {
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}}};

	if (status == cudaSuccess && !alloc)
		status = cudaErrorInvalidValue;
	if (status == cudaSuccess) {
		parameters.bytesize = alloc->bytesize;
		parameters.poolProps.location.id = alloc->poolProps.location.id;
		status = simrt_from_driver(
			simrt_driver.GraphAddMemAllocNode(node, graph, needs, count, &parameters));
	}
	if (status == cudaSuccess)
		alloc->dptr = (void *)(uintptr_t)parameters.dptr;
	return simrt_end(&call, status, NULL);
}

/* ---- executables ---- */

static cudaError_t instantiate(const char *function, cudaGraphExec_t *exec, cudaGraph_t graph,
			       unsigned long long flags)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(
			simrt_driver.GraphInstantiateWithFlags(exec, graph, flags));
	return simrt_end(&call, status, "graph=0x%llx", simrt_address(graph));
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	return instantiate(__func__, exec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
					  unsigned long long flags)
{
	return instantiate(__func__, exec, graph, flags);
}

_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS),
	       "one layout");

cudaError_t simrt_cudaGraphInstantiateWithParams(const struct simrt_flavour *via,
						 const char *function, cudaGraphExec_t *exec,
						 cudaGraph_t graph,
						 cudaGraphInstantiateParams *parameters)
{
	struct simrt_call call;
	cudaError_t status = simrt_begin(&call, function, SIMRT_CONTEXT);

	if (status == cudaSuccess)
		status = simrt_from_driver(via->GraphInstantiateWithParams(
			exec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)(void *)parameters));
	return simrt_end(&call, status, "graph=0x%llx", simrt_address(graph));
}

_Static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo),
	       "one layout");

FORWARD(cudaGraphExecUpdate,
	(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info),
	simrt_driver.GraphExecUpdate(exec, graph, (CUgraphExecUpdateResultInfo *)(void *)info))
FORWARD(cudaGraphNodeSetEnabled, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned is_enabled),
	simrt_driver.GraphNodeSetEnabled(exec, node, is_enabled))
FORWARD(cudaGraphExecDestroy, (cudaGraphExec_t exec), simrt_driver.GraphExecDestroy(exec))
FORWARD_STREAM(cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream),
	       via->GraphUpload(exec, stream))
FORWARD_STREAM(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream),
	       via->GraphLaunch(exec, stream))
