/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executables: a graph flattened into a list in which every item comes after those that it needs.
 * A child graph becomes its items between two empty ones. Updates change what items do, never how
 * they hang together.
 */
#include "sim_graph.h"

#include <stdlib.h>
#include <string.h>

struct sim_graph_exec *sim_graph_find_exec(CUgraphExec handle)
{
	return sim_pool_holds(POOL_GRAPH_EXEC, handle) ? (struct sim_graph_exec *)handle : NULL;
}

static void free_exec(struct sim_graph_exec *exec)
{
	for (size_t i = 0; i < exec->item_count; i++)
		sim_graph_memory_drop(exec->items[i].work.memory);
	free(exec->items);
	free(exec->needs);
	exec->items = NULL;
	exec->needs = NULL;
	sim_pool_free(POOL_GRAPH_EXEC, exec);
}

/* Adds an item without needs; SIZE_MAX when there is no memory. */
static size_t add_item(struct sim_graph_exec *exec, const struct sim_node_work *work,
		       uint64_t origin_id)
{
	struct sim_exec_item *item;

	if (exec->item_count == exec->item_size) {
		size_t size = exec->item_size ? 2 * exec->item_size : 64;
		struct sim_exec_item *larger = realloc(exec->items, size * sizeof(*larger));

		if (!larger)
			return SIZE_MAX;
		exec->items = larger;
		exec->item_size = size;
	}
	item = &exec->items[exec->item_count];
	*item = (struct sim_exec_item){
		.id = origin_id ? sim_graph_next_id() : 0,
		.origin_id = origin_id,
		.is_enabled = true,
		.first_need = exec->need_count,
		.work = *work,
	};
	item->work.child = NULL;
	if (item->work.memory)
		item->work.memory->references++;
	return exec->item_count++;
}

/* The newest item needs the other one. */
static bool add_need(struct sim_graph_exec *exec, size_t needed)
{
	if (exec->need_count == exec->need_size) {
		size_t size = exec->need_size ? 2 * exec->need_size : 64;
		size_t *larger = realloc(exec->needs, size * sizeof(*larger));

		if (!larger)
			return false;
		exec->needs = larger;
		exec->need_size = size;
	}
	exec->needs[exec->need_count++] = needed;
	exec->items[exec->item_count - 1].need_count++;
	return true;
}

/*
 * Adds the items of a graph. What nothing in it is needed for needs `begin`, unless that is
 * SIZE_MAX; *end becomes the item after which the whole graph is over, likewise.
 */
static CUresult flatten(struct sim_graph_exec *exec, struct sim_graph *graph, size_t begin,
			size_t *end)
{
	static const struct sim_node_work empty = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
	struct sim_graph_node **order = sim_graph_order(graph);
	size_t *item_of = calloc(graph->node_count + 1, sizeof(*item_of));
	CUresult result = order && item_of ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

	for (size_t i = 0; i < graph->node_count && result == CUDA_SUCCESS; i++) {
		const struct sim_graph_node *node = order[i];
		bool is_child = node->work.child != NULL, is_complete = true;

		item_of[i] =
			add_item(exec, is_child ? &empty : &node->work, is_child ? 0 : node->id);
		if (item_of[i] == SIZE_MAX) {
			result = CUDA_ERROR_OUT_OF_MEMORY;
			break;
		}
		for (size_t n = 0; n < node->need_count; n++)
			is_complete &= add_need(exec, item_of[node->needs[n]->index]);
		if (!node->need_count && begin != SIZE_MAX)
			is_complete &= add_need(exec, begin);
		if (!is_complete)
			result = CUDA_ERROR_OUT_OF_MEMORY;
		else if (is_child)
			result = flatten(exec, node->work.child, item_of[i], &item_of[i]);
		/* The walk of the child numbered its nodes, not ours: order[] still holds. */
	}
	if (result == CUDA_SUCCESS && begin != SIZE_MAX) {
		*end = add_item(exec, &empty, 0);
		if (*end == SIZE_MAX || !add_need(exec, begin))
			result = CUDA_ERROR_OUT_OF_MEMORY;
		for (size_t i = 0; i < graph->node_count && result == CUDA_SUCCESS; i++) {
			if (!add_need(exec, item_of[i]))
				result = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	free(item_of);
	free(order);
	return result;
}

CUresult sim_graph_instantiate(struct sim_call *call, CUgraphExec *handle, CUgraph graph_handle,
			       uint64_t flags)
{
	struct sim_graph *graph = sim_graph_find(graph_handle);
	struct sim_graph_exec *exec;
	CUresult result;
	size_t end;

	SIM_NOTE(call, "graph=0x%llx", sim_handle(graph_handle));
	if (!handle || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	/* Launches by kernels do not exist here. */
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return CUDA_ERROR_NOT_SUPPORTED;
	exec = sim_pool_new(POOL_GRAPH_EXEC);
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	exec->id = (uint32_t)sim_graph_next_id();
	exec->flags = flags;
	exec->was_seen = atomic_load(&sim_state.tool) != NULL;
	result = flatten(exec, graph, SIZE_MAX, &end);
	if (result) {
		free_exec(exec);
		return result;
	}
	*handle = (CUgraphExec)exec;
	SIM_NOTE(call, "exec=0x%llx\tid=%u\tnodes=%zu", sim_handle(exec), exec->id,
		 graph->node_count);
	sim_graph_tell(SIMCUDA_GRAPH_EXEC_CREATED, graph, exec, NULL, NULL, 0);
	return CUDA_SUCCESS;
}

CUresult sim_graph_instantiate_with(struct sim_call *call, CUgraphExec *handle, CUgraph graph,
				    CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
	CUresult result;

	if (!parameters)
		return CUDA_ERROR_INVALID_VALUE;
	result = sim_graph_instantiate(call, handle, graph, parameters->flags);
	parameters->hErrNode_out = NULL;
	parameters->result_out =
		result ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
	return result;
}

/* The first item whose kind or needs differ, `count` when there is none. */
static size_t first_difference(const struct sim_graph_exec *a, const struct sim_graph_exec *b)
{
	size_t count = a->item_count < b->item_count ? a->item_count : b->item_count;

	for (size_t i = 0; i < count; i++) {
		const struct sim_exec_item *left = &a->items[i], *right = &b->items[i];

		if (left->work.type != right->work.type || left->need_count != right->need_count ||
		    (left->need_count &&
		     memcmp(a->needs + left->first_need, b->needs + right->first_need,
			    left->need_count * sizeof(*a->needs))))
			return i;
	}
	return count;
}

CUresult sim_graph_exec_update(struct sim_call *call, CUgraphExec handle, CUgraph graph_handle,
			       CUgraphExecUpdateResult *update, CUgraphNode *error_node)
{
	struct sim_graph_exec *exec = sim_graph_find_exec(handle), *fresh;
	struct sim_graph *graph = sim_graph_find(graph_handle);
	CUresult result;
	size_t end;

	SIM_NOTE(call, "exec=0x%llx\tgraph=0x%llx", sim_handle(handle), sim_handle(graph_handle));
	*update = CU_GRAPH_EXEC_UPDATE_ERROR;
	*error_node = NULL;
	if (!exec || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	fresh = sim_pool_new(POOL_GRAPH_EXEC);
	if (!fresh)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = flatten(fresh, graph, SIZE_MAX, &end);
	if (result == CUDA_SUCCESS && (fresh->item_count != exec->item_count ||
				       first_difference(exec, fresh) != exec->item_count)) {
		*update = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		result = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	}
	for (size_t i = 0; i < fresh->item_count && result == CUDA_SUCCESS; i++) {
		struct sim_graph_memory *before = exec->items[i].work.memory;

		exec->items[i].work = fresh->items[i].work;
		fresh->items[i].work.memory = before; /* dropped with the rest */
	}
	free_exec(fresh);
	if (result == CUDA_SUCCESS)
		*update = CU_GRAPH_EXEC_UPDATE_SUCCESS;
	return result;
}

static struct sim_exec_item *find_item(CUgraphExec handle, CUgraphNode node_handle)
{
	struct sim_graph_exec *exec = sim_graph_find_exec(handle);
	const struct sim_graph_node *node = sim_graph_find_node(node_handle);

	for (size_t i = 0; exec && node && i < exec->item_count; i++) {
		if (exec->items[i].origin_id == node->id)
			return &exec->items[i];
	}
	return NULL;
}

CUresult sim_graph_exec_set(CUgraphExec exec, CUgraphNode node, CUgraphNodeType type,
			    const void *value)
{
	struct sim_exec_item *item = find_item(exec, node);
	struct sim_node_work work;

	if (!item || !value || item->work.type != type || type == CU_GRAPH_NODE_TYPE_GRAPH)
		return CUDA_ERROR_INVALID_VALUE;
	work = item->work;
	work.kernel.has_cost = false;
	if (!sim_node_read(&work, type, value))
		return CUDA_ERROR_INVALID_VALUE;
	item->work = work;
	return CUDA_SUCCESS;
}

CUresult sim_graph_exec_enable(CUgraphExec exec, CUgraphNode node, bool is_enabled)
{
	struct sim_exec_item *item = find_item(exec, node);

	if (!item || (item->work.type != CU_GRAPH_NODE_TYPE_KERNEL &&
		      item->work.type != CU_GRAPH_NODE_TYPE_MEMCPY &&
		      item->work.type != CU_GRAPH_NODE_TYPE_MEMSET))
		return CUDA_ERROR_INVALID_VALUE;
	item->is_enabled = is_enabled;
	return CUDA_SUCCESS;
}

CUresult sim_graph_exec_is_enabled(CUgraphExec exec, CUgraphNode node, unsigned *is_enabled)
{
	const struct sim_exec_item *item = find_item(exec, node);

	if (!item || !is_enabled)
		return CUDA_ERROR_INVALID_VALUE;
	*is_enabled = item->is_enabled;
	return CUDA_SUCCESS;
}

CUresult sim_graph_exec_flags(CUgraphExec handle, cuuint64_t *flags)
{
	const struct sim_graph_exec *exec = sim_graph_find_exec(handle);

	if (!exec || !flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = exec->flags;
	return CUDA_SUCCESS;
}

CUresult sim_graph_exec_destroy(struct sim_call *call, CUgraphExec handle)
{
	struct sim_graph_exec *exec = sim_graph_find_exec(handle);

	SIM_NOTE(call, "exec=0x%llx", sim_handle(handle));
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	sim_graph_tell(SIMCUDA_GRAPH_EXEC_DESTROY_STARTING, NULL, exec, NULL, NULL, 0);
	if (sim_graph_find_exec(handle) == exec)
		free_exec(exec);
	return CUDA_SUCCESS;
}

/* What CUPTI calls a graph, an executable or a node of one; 0: no such. */
uint64_t simcuda_graph_id(const void *handle)
{
	const struct sim_object *object = handle;
	uint64_t id = 0;

	sim_lock();
	if (sim_pool_holds(POOL_GRAPH, object))
		id = ((const struct sim_graph *)handle)->id;
	else if (sim_pool_holds(POOL_GRAPH_EXEC, object))
		id = ((const struct sim_graph_exec *)handle)->id;
	else if (sim_pool_holds(POOL_GRAPH_NODE, object))
		id = ((const struct sim_graph_node *)handle)->id;
	sim_unlock();
	return id;
}
