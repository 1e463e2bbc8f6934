/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes do, as the API's parameter structures say it. Pointers to kernel arguments are kept as
 * they were passed: nothing here reads them.
 */
#include "sim_graph.h"

#include <stdlib.h>
#include <string.h>

static bool read_kernel(struct sim_node_work *work, const CUDA_KERNEL_NODE_PARAMS *from)
{
	CUfunction handle = from->func ? from->func : (CUfunction)from->kern;
	struct sim_function *function = sim_module_function(handle);

	if (!function || (from->kernelParams && from->extra))
		return false;
	work->kernel.handle = handle;
	work->kernel.launch = (struct sim_launch){
		.grid = {from->gridDimX, from->gridDimY, from->gridDimZ},
		.block = {from->blockDimX, from->blockDimY, from->blockDimZ},
		.shared_bytes = from->sharedMemBytes,
		.parameters = from->kernelParams,
		.extra = from->extra,
	};
	return true;
}

/* One side of a copy: where it begins. Arrays do not exist here. */
static bool side(CUmemorytype type, const void *host, CUdeviceptr device, uint64_t *address)
{
	if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE &&
	    type != CU_MEMORYTYPE_UNIFIED)
		return false;
	*address = type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : device;
	return *address != 0;
}

static bool read_copy(struct sim_node_work *work, const CUDA_MEMCPY3D *from)
{
	uint64_t address;

	if (!from->WidthInBytes || !from->Height || !from->Depth ||
	    !side(from->srcMemoryType, from->srcHost, from->srcDevice, &address) ||
	    !side(from->dstMemoryType, from->dstHost, from->dstDevice, &address))
		return false;
	work->copy = *from;
	return true;
}

static bool read_set(struct sim_node_work *work, const CUDA_MEMSET_NODE_PARAMS *from)
{
	struct sim_place place;

	if ((from->elementSize != 1 && from->elementSize != 2 && from->elementSize != 4) ||
	    !from->width || !from->height || from->dst % from->elementSize ||
	    !sim_memory_place(from->dst, from->width * from->elementSize, &place) ||
	    place.kind == SIM_PAGEABLE)
		return false;
	work->set = *from;
	return true;
}

bool sim_node_read(struct sim_node_work *work, CUgraphNodeType type, const void *value)
{
	const CUDA_HOST_NODE_PARAMS *host = value;
	const struct sim_graph *child;

	work->type = type;
	switch ((int)type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return read_kernel(work, value);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return read_copy(work, value);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return read_set(work, value);
	case CU_GRAPH_NODE_TYPE_HOST:
		work->host_function = host->fn;
		work->host_data = host->userData;
		return host->fn != NULL;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		work->event = *(const CUevent *)value;
		return sim_pool_holds(POOL_EVENT, work->event);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		child = sim_graph_find(*(const CUgraph *)value);
		work->child = child ? sim_graph_copy(child) : NULL;
		if (work->child)
			work->child->is_owned = true;
		return work->child != NULL;
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		work->address = *(const CUdeviceptr *)value;
		return work->address != 0;
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return true;
	default:
		return false;
	}
}

CUresult sim_node_take_memory(struct sim_call *call, size_t bytes, struct sim_node_work *work)
{
	struct sim_range *range = NULL;
	CUresult result =
		bytes ? sim_memory_take(call->context, bytes, &range) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	work->memory = calloc(1, sizeof(*work->memory));
	if (!work->memory) {
		sim_memory_give(range);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*work->memory = (struct sim_graph_memory){1, range->base, range->buffer_id};
	work->type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
	work->address = range->base;
	work->bytes = bytes;
	SIM_NOTE(call, "address=0x%llx\tbytes=%zu", (unsigned long long)range->base, bytes);
	sim_note_live(call);
	return CUDA_SUCCESS;
}

/* Adds the node whose work is complete. */
static CUresult add(struct sim_call *call, CUgraphNode *handle, CUgraph graph_handle,
		    const CUgraphNode *needs, size_t count, const struct sim_node_work *work)
{
	struct sim_graph *graph = sim_graph_find(graph_handle);
	struct sim_graph_node *node = NULL;
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	SIM_NOTE(call, "graph=0x%llx\ttype=%d", sim_handle(graph_handle), (int)work->type);
	if (!graph || !handle || (count && !needs))
		goto refused;
	for (size_t i = 0; i < count; i++) {
		const struct sim_graph_node *needed = sim_graph_find_node(needs[i]);

		if (!needed || needed->graph != graph)
			goto refused;
	}
	result = sim_graph_add(graph, (struct sim_graph_node *const *)needs, count, work, &node);
	if (result)
		return result;
	*handle = (CUgraphNode)node;
	SIM_NOTE(call, "node=%llu", (unsigned long long)node->id);
	sim_graph_tell(SIMCUDA_GRAPH_NODE_CREATED, graph, NULL, node, NULL, (int)work->type);
	return CUDA_SUCCESS;
refused:
	if (work->child)
		sim_graph_free(work->child);
	sim_graph_memory_drop(work->memory);
	return result;
}

static CUresult add_read(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			 const CUgraphNode *needs, size_t count, CUgraphNodeType type,
			 const void *value)
{
	struct sim_node_work work = {0};

	if (!value || !sim_node_read(&work, type, value))
		return CUDA_ERROR_INVALID_VALUE;
	return add(call, node, graph, needs, count, &work);
}

CUresult sim_node_add_kernel(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			     const CUgraphNode *needs, size_t count,
			     const CUDA_KERNEL_NODE_PARAMS *kernel)
{
	return add_read(call, node, graph, needs, count, CU_GRAPH_NODE_TYPE_KERNEL, kernel);
}

/* The old form is the beginning of the new one. */
static CUDA_KERNEL_NODE_PARAMS widen(const CUDA_KERNEL_NODE_PARAMS_v1 *old)
{
	CUDA_KERNEL_NODE_PARAMS kernel = {0};

	memcpy(&kernel, old, sizeof(*old));
	return kernel;
}

CUresult sim_node_add_kernel_v1(struct sim_call *call, CUgraphNode *node, CUgraph graph,
				const CUgraphNode *needs, size_t count,
				const CUDA_KERNEL_NODE_PARAMS_v1 *kernel)
{
	CUDA_KERNEL_NODE_PARAMS wide;

	if (!kernel)
		return CUDA_ERROR_INVALID_VALUE;
	wide = widen(kernel);
	return sim_node_add_kernel(call, node, graph, needs, count, &wide);
}

CUresult sim_node_add_copy(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			   const CUgraphNode *needs, size_t count, const CUDA_MEMCPY3D *copy)
{
	return add_read(call, node, graph, needs, count, CU_GRAPH_NODE_TYPE_MEMCPY, copy);
}

CUresult sim_node_add_set(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			  const CUgraphNode *needs, size_t count,
			  const CUDA_MEMSET_NODE_PARAMS *set)
{
	return add_read(call, node, graph, needs, count, CU_GRAPH_NODE_TYPE_MEMSET, set);
}

CUresult sim_node_add_host(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			   const CUgraphNode *needs, size_t count,
			   const CUDA_HOST_NODE_PARAMS *host)
{
	return add_read(call, node, graph, needs, count, CU_GRAPH_NODE_TYPE_HOST, host);
}

CUresult sim_node_add_child(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			    const CUgraphNode *needs, size_t count, CUgraph child)
{
	return add_read(call, node, graph, needs, count, CU_GRAPH_NODE_TYPE_GRAPH, &child);
}

CUresult sim_node_add_event(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			    const CUgraphNode *needs, size_t count, CUevent event,
			    CUgraphNodeType type)
{
	return add_read(call, node, graph, needs, count, type, &event);
}

CUresult sim_node_add_alloc(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			    const CUgraphNode *needs, size_t count,
			    CUDA_MEM_ALLOC_NODE_PARAMS *alloc)
{
	struct sim_node_work work = {0};
	CUresult result;

	if (!alloc || !sim_graph_find(graph) || !call->context)
		return CUDA_ERROR_INVALID_VALUE;
	result = sim_node_take_memory(call, alloc->bytesize, &work);
	if (result)
		return result;
	result = add(call, node, graph, needs, count, &work);
	if (result == CUDA_SUCCESS)
		alloc->dptr = work.address;
	return result;
}

CUresult sim_node_add_free(struct sim_call *call, CUgraphNode *node, CUgraph graph,
			   const CUgraphNode *needs, size_t count, CUdeviceptr address)
{
	return add_read(call, node, graph, needs, count, CU_GRAPH_NODE_TYPE_MEM_FREE, &address);
}

/* Where the parameters of a type stand in the structure that holds any of them. */
static const void *part_of(const CUgraphNodeParams *parameters)
{
	switch ((int)parameters->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return &parameters->kernel;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return &parameters->memcpy.copyParams;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return &parameters->memset;
	case CU_GRAPH_NODE_TYPE_HOST:
		return &parameters->host;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return &parameters->graph.graph;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return &parameters->eventRecord.event;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return &parameters->eventWait.event;
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return &parameters->free.dptr;
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return parameters;
	default:
		return NULL;
	}
}

_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v3) == sizeof(CUDA_KERNEL_NODE_PARAMS),
	       "the same fields");

CUresult sim_node_add(struct sim_call *call, CUgraphNode *node, CUgraph graph,
		      const CUgraphNode *needs, size_t count, CUgraphNodeParams *parameters)
{
	CUDA_MEM_ALLOC_NODE_PARAMS alloc;
	CUresult result;

	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;
	if (parameters->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return add_read(call, node, graph, needs, count, parameters->type,
				part_of(parameters));
	memcpy(&alloc, &parameters->alloc, sizeof(alloc));
	result = sim_node_add_alloc(call, node, graph, needs, count, &alloc);
	if (result == CUDA_SUCCESS)
		parameters->alloc.dptr = alloc.dptr;
	return result;
}

CUresult sim_node_type(CUgraphNode handle, CUgraphNodeType *type)
{
	const struct sim_graph_node *node = sim_graph_find_node(handle);

	if (!node || !type)
		return CUDA_ERROR_INVALID_VALUE;
	*type = node->work.type;
	return CUDA_SUCCESS;
}

static void write_kernel(const struct sim_node_work *work, CUDA_KERNEL_NODE_PARAMS *to)
{
	const struct sim_launch *launch = &work->kernel.launch;

	*to = (CUDA_KERNEL_NODE_PARAMS){
		.func = work->kernel.handle,
		.gridDimX = launch->grid[0],
		.gridDimY = launch->grid[1],
		.gridDimZ = launch->grid[2],
		.blockDimX = launch->block[0],
		.blockDimY = launch->block[1],
		.blockDimZ = launch->block[2],
		.sharedMemBytes = launch->shared_bytes,
		.kernelParams = launch->parameters,
		.extra = launch->extra,
	};
}

CUresult sim_node_get(CUgraphNode handle, CUgraphNodeType type, void *value)
{
	const struct sim_graph_node *node = sim_graph_find_node(handle);
	CUDA_MEM_ALLOC_NODE_PARAMS *alloc = value;
	CUDA_HOST_NODE_PARAMS *host = value;

	if (!node || !value || node->work.type != type)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		write_kernel(&node->work, value);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		*(CUDA_MEMCPY3D *)value = node->work.copy;
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		*(CUDA_MEMSET_NODE_PARAMS *)value = node->work.set;
		break;
	case CU_GRAPH_NODE_TYPE_HOST:
		host->fn = node->work.host_function;
		host->userData = node->work.host_data;
		break;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		*(CUevent *)value = node->work.event;
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		*(CUgraph *)value = (CUgraph)node->work.child;
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		memset(alloc, 0, sizeof(*alloc));
		alloc->bytesize = node->work.bytes;
		alloc->dptr = node->work.address;
		break;
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		*(CUdeviceptr *)value = node->work.address;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult sim_node_set(CUgraphNode handle, CUgraphNodeType type, const void *value)
{
	struct sim_graph_node *node = sim_graph_find_node(handle);
	struct sim_node_work work;

	if (!node || !value || node->work.type != type || type == CU_GRAPH_NODE_TYPE_GRAPH)
		return CUDA_ERROR_INVALID_VALUE;
	work = node->work;
	work.kernel.has_cost = false;
	if (!sim_node_read(&work, type, value))
		return CUDA_ERROR_INVALID_VALUE;
	node->work = work;
	return CUDA_SUCCESS;
}

CUresult sim_node_get_kernel_v1(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *kernel)
{
	CUDA_KERNEL_NODE_PARAMS wide;
	CUresult result = kernel ? sim_node_get(node, CU_GRAPH_NODE_TYPE_KERNEL, &wide)
				 : CUDA_ERROR_INVALID_VALUE;

	if (result == CUDA_SUCCESS)
		memcpy(kernel, &wide, sizeof(*kernel));
	return result;
}

CUresult sim_node_set_kernel_v1(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *kernel)
{
	CUDA_KERNEL_NODE_PARAMS wide;

	if (!kernel)
		return CUDA_ERROR_INVALID_VALUE;
	wide = widen(kernel);
	return sim_node_set(node, CU_GRAPH_NODE_TYPE_KERNEL, &wide);
}

CUresult sim_node_set_any(CUgraphNode node, const CUgraphNodeParams *parameters)
{
	return parameters ? sim_node_set(node, parameters->type, part_of(parameters))
			  : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_graph_exec_set_kernel_v1(CUgraphExec exec, CUgraphNode node,
				      const CUDA_KERNEL_NODE_PARAMS_v1 *kernel)
{
	CUDA_KERNEL_NODE_PARAMS wide;

	if (!kernel)
		return CUDA_ERROR_INVALID_VALUE;
	wide = widen(kernel);
	return sim_graph_exec_set(exec, node, CU_GRAPH_NODE_TYPE_KERNEL, &wide);
}

CUresult sim_graph_exec_set_any(CUgraphExec exec, CUgraphNode node,
				const CUgraphNodeParams *parameters)
{
	return parameters ? sim_graph_exec_set(exec, node, parameters->type, part_of(parameters))
			  : CUDA_ERROR_INVALID_VALUE;
}
