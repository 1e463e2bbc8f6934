/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: nodes and edges, copies, and the questions that the API answers about them.
 */
#include "sim_graph.h"

#include <stdlib.h>
#include <string.h>

uint64_t sim_graph_next_id(void)
{
	static uint64_t last_id;

	return ++last_id;
}

struct sim_graph *sim_graph_find(CUgraph handle)
{
	return sim_pool_holds(POOL_GRAPH, handle) ? (struct sim_graph *)handle : NULL;
}

struct sim_graph_node *sim_graph_find_node(CUgraphNode handle)
{
	return sim_pool_holds(POOL_GRAPH_NODE, handle) ? (struct sim_graph_node *)handle : NULL;
}

void sim_graph_tell(int event, const void *graph, const void *other, const void *node,
		    const void *other_node, int node_type)
{
	const struct simcuda_tool *tool =
		atomic_load_explicit(&sim_state.tool, memory_order_acquire);
	const struct simcuda_graph_event told = {
		.event = event,
		.graph = graph,
		.other_graph = other,
		.node = node,
		.other_node = other_node,
		.node_type = node_type,
	};

	if (!tool || !tool->graph)
		return;
	/* The tool asks for ids, which takes the lock. */
	sim_unlock();
	tool->graph(&told);
	sim_lock();
}

struct sim_graph *sim_graph_new(void)
{
	struct sim_graph *graph = sim_pool_new(POOL_GRAPH);

	if (!graph)
		return NULL;
	graph->id = (uint32_t)sim_graph_next_id();
	graph->last_link = &graph->nodes;
	return graph;
}

void sim_graph_memory_drop(struct sim_graph_memory *memory)
{
	struct sim_range *range;

	if (!memory || --memory->references > 0)
		return;
	/* The application may have freed it, and somebody else may be there now. */
	range = sim_memory_find(memory->base);
	if (range && range->base == memory->base && range->buffer_id == memory->buffer_id)
		sim_memory_give(range);
	free(memory);
}

static void free_node(struct sim_graph_node *node)
{
	if (node->work.child)
		sim_graph_free(node->work.child);
	sim_graph_memory_drop(node->work.memory);
	free(node->needs);
	sim_pool_free(POOL_GRAPH_NODE, node);
}

void sim_graph_free(struct sim_graph *graph)
{
	for (struct sim_graph_node *node = graph->nodes; node;) {
		struct sim_graph_node *next = node->next;

		free_node(node);
		node = next;
	}
	sim_pool_free(POOL_GRAPH, graph);
}

bool sim_graph_need(struct sim_graph_node *node, struct sim_graph_node *needed)
{
	struct sim_graph_node **more;

	for (size_t i = 0; i < node->need_count; i++) {
		if (node->needs[i] == needed)
			return true;
	}
	more = realloc(node->needs, (node->need_count + 1) * sizeof(struct sim_graph_node *));
	if (!more)
		return false;
	node->needs = more;
	node->needs[node->need_count++] = needed;
	return true;
}

static void drop_work(const struct sim_node_work *work)
{
	if (work->child)
		sim_graph_free(work->child);
	sim_graph_memory_drop(work->memory);
}

CUresult sim_graph_add(struct sim_graph *graph, struct sim_graph_node *const *needs, size_t count,
		       const struct sim_node_work *work, struct sim_graph_node **added)
{
	struct sim_graph_node *node = sim_pool_new(POOL_GRAPH_NODE);
	bool is_complete = true;

	if (!node) {
		drop_work(work);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	node->graph = graph;
	node->id = sim_graph_next_id();
	node->work = *work;
	for (size_t i = 0; i < count; i++)
		is_complete &= sim_graph_need(node, needs[i]);
	if (!is_complete) {
		free_node(node);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*graph->last_link = node;
	graph->last_link = &node->next;
	graph->node_count++;
	*added = node;
	return CUDA_SUCCESS;
}

struct sim_graph *sim_graph_copy(const struct sim_graph *graph)
{
	struct sim_graph *copy = sim_graph_new();
	struct sim_graph_node **copies = calloc(graph->node_count + 1, sizeof(*copies));
	size_t index = 0;
	bool is_complete = copy && copies;

	for (struct sim_graph_node *node = graph->nodes; node && is_complete; node = node->next) {
		struct sim_node_work work = node->work;

		node->index = index;
		if (work.child)
			work.child = sim_graph_copy(work.child);
		if (work.memory)
			work.memory->references++;
		is_complete = (!node->work.child || work.child) &&
			      sim_graph_add(copy, NULL, 0, &work, &copies[index]) == CUDA_SUCCESS;
		if (!is_complete)
			break;
		if (work.child)
			work.child->is_owned = true;
		copies[index++]->origin_id = node->id;
	}
	/* Edges last: a node may need one that was created after it. */
	for (struct sim_graph_node *node = graph->nodes; node && is_complete; node = node->next) {
		for (size_t i = 0; i < node->need_count; i++)
			is_complete &=
				sim_graph_need(copies[node->index], copies[node->needs[i]->index]);
	}
	free(copies);
	if (!is_complete && copy) {
		sim_graph_free(copy);
		copy = NULL;
	}
	return copy;
}

struct sim_graph_node **sim_graph_order(struct sim_graph *graph)
{
	struct sim_graph_node **order = calloc(graph->node_count + 1, sizeof(*order));
	size_t placed = 0, before;

	for (struct sim_graph_node *node = graph->nodes; node; node = node->next)
		node->index = SIZE_MAX;
	/* Creation order is nearly always right, so that one pass or two are enough. */
	do {
		before = placed;
		for (struct sim_graph_node *node = graph->nodes; node && order; node = node->next) {
			bool is_ready = node->index == SIZE_MAX;

			for (size_t i = 0; i < node->need_count && is_ready; i++)
				is_ready = node->needs[i]->index != SIZE_MAX;
			if (!is_ready)
				continue;
			node->index = placed;
			order[placed++] = node;
		}
	} while (placed > before && placed < graph->node_count);
	if (placed < graph->node_count) {
		free(order);
		order = NULL;
	}
	return order;
}

CUresult sim_graph_create(struct sim_call *call, CUgraph *graph, unsigned flags)
{
	struct sim_graph *created;

	if (!graph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	created = sim_graph_new();
	if (!created)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*graph = (CUgraph)created;
	SIM_NOTE(call, "graph=0x%llx\tid=%u", sim_handle(created), created->id);
	sim_graph_tell(SIMCUDA_GRAPH_CREATED, created, NULL, NULL, NULL, 0);
	return CUDA_SUCCESS;
}

CUresult sim_graph_clone(struct sim_call *call, CUgraph *clone, CUgraph handle)
{
	struct sim_graph *graph = sim_graph_find(handle), *copy;

	SIM_NOTE(call, "from=0x%llx", sim_handle(handle));
	if (!clone || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	copy = sim_graph_copy(graph);
	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*clone = (CUgraph)copy;
	SIM_NOTE(call, "graph=0x%llx\tid=%u\tnodes=%zu", sim_handle(copy), copy->id,
		 copy->node_count);
	sim_graph_tell(SIMCUDA_GRAPH_CLONED, copy, graph, NULL, NULL, 0);
	return CUDA_SUCCESS;
}

static bool is_being_captured(const struct sim_graph *graph)
{
	for (const struct sim_capture *open = sim_state.captures; open; open = open->next) {
		if (open->graph == graph)
			return true;
	}
	return false;
}

CUresult sim_graph_destroy(struct sim_call *call, CUgraph handle)
{
	struct sim_graph *graph = sim_graph_find(handle);

	SIM_NOTE(call, "graph=0x%llx", sim_handle(handle));
	if (!graph || graph->is_owned || is_being_captured(graph))
		return CUDA_ERROR_INVALID_VALUE;
	sim_graph_tell(SIMCUDA_GRAPH_DESTROY_STARTING, graph, NULL, NULL, NULL, 0);
	if (sim_graph_find(handle) == graph)
		sim_graph_free(graph);
	return CUDA_SUCCESS;
}

static bool remove_need(struct sim_graph_node *node, const struct sim_graph_node *needed)
{
	for (size_t i = 0; i < node->need_count; i++) {
		if (node->needs[i] != needed)
			continue;
		node->needs[i] = node->needs[--node->need_count];
		return true;
	}
	return false;
}

CUresult sim_graph_destroy_node(CUgraphNode handle)
{
	struct sim_graph_node *node = sim_graph_find_node(handle);
	struct sim_graph_node **link;
	struct sim_graph *graph;

	if (!node || node->graph->is_owned || is_being_captured(node->graph))
		return CUDA_ERROR_INVALID_VALUE;
	graph = node->graph;
	for (link = &graph->nodes; *link != node; link = &(*link)->next)
		;
	*link = node->next;
	if (graph->last_link == &node->next)
		graph->last_link = link;
	graph->node_count--;
	for (struct sim_graph_node *other = graph->nodes; other; other = other->next)
		remove_need(other, node);
	free_node(node);
	return CUDA_SUCCESS;
}

CUresult sim_graph_find_in_clone(CUgraphNode *found, CUgraphNode handle, CUgraph clone_handle)
{
	const struct sim_graph_node *node = sim_graph_find_node(handle);
	const struct sim_graph *clone = sim_graph_find(clone_handle);

	if (!found || !node || !clone)
		return CUDA_ERROR_INVALID_VALUE;
	for (struct sim_graph_node *copy = clone->nodes; copy; copy = copy->next) {
		if (copy->origin_id == node->id) {
			*found = (CUgraphNode)copy;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* Answers of a list into an array of *room: without an array only their number is told. */
struct answers {
	CUgraphNode *nodes, *others;
	CUgraphEdgeData *data;
	size_t room, count;
};

static void answer(struct answers *to, const struct sim_graph_node *node,
		   const struct sim_graph_node *other)
{
	if (to->count < to->room) {
		if (to->nodes)
			to->nodes[to->count] = (CUgraphNode)(uintptr_t)node;
		if (to->others)
			to->others[to->count] = (CUgraphNode)(uintptr_t)other;
		if (to->data)
			memset(&to->data[to->count], 0, sizeof(*to->data));
	}
	to->count++;
}

static CUresult finish_answers(struct answers *answers, size_t *count)
{
	/* As documented, what is left of a larger array is set to NULL. */
	if (answers->nodes) {
		for (size_t i = answers->count; i < answers->room; i++) {
			answers->nodes[i] = NULL;
			if (answers->others)
				answers->others[i] = NULL;
		}
	}
	*count = answers->nodes && answers->count > answers->room ? answers->room : answers->count;
	return CUDA_SUCCESS;
}

CUresult sim_graph_nodes(CUgraph handle, CUgraphNode *nodes, size_t *count, bool roots_only)
{
	const struct sim_graph *graph = sim_graph_find(handle);
	struct answers answers = {.nodes = nodes};

	if (!graph || !count)
		return CUDA_ERROR_INVALID_VALUE;
	answers.room = nodes ? *count : 0;
	for (const struct sim_graph_node *node = graph->nodes; node; node = node->next) {
		if (!roots_only || !node->need_count)
			answer(&answers, node, NULL);
	}
	return finish_answers(&answers, count);
}

CUresult sim_graph_edges(CUgraph handle, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
			 size_t *count)
{
	const struct sim_graph *graph = sim_graph_find(handle);
	struct answers answers = {.nodes = from, .others = to, .data = data};

	if (!graph || !count || !from != !to)
		return CUDA_ERROR_INVALID_VALUE;
	answers.room = from ? *count : 0;
	for (const struct sim_graph_node *node = graph->nodes; node; node = node->next) {
		for (size_t i = 0; i < node->need_count; i++)
			answer(&answers, node->needs[i], node);
	}
	return finish_answers(&answers, count);
}

CUresult sim_graph_node_needs(CUgraphNode handle, CUgraphNode *needs, CUgraphEdgeData *data,
			      size_t *count)
{
	const struct sim_graph_node *node = sim_graph_find_node(handle);
	struct answers answers = {.nodes = needs, .data = data};

	if (!node || !count)
		return CUDA_ERROR_INVALID_VALUE;
	answers.room = needs ? *count : 0;
	for (size_t i = 0; i < node->need_count; i++)
		answer(&answers, node->needs[i], NULL);
	return finish_answers(&answers, count);
}

CUresult sim_graph_node_dependents(CUgraphNode handle, CUgraphNode *nodes, CUgraphEdgeData *data,
				   size_t *count)
{
	const struct sim_graph_node *node = sim_graph_find_node(handle);
	struct answers answers = {.nodes = nodes, .data = data};

	if (!node || !count)
		return CUDA_ERROR_INVALID_VALUE;
	answers.room = nodes ? *count : 0;
	for (const struct sim_graph_node *other = node->graph->nodes; other; other = other->next) {
		for (size_t i = 0; i < other->need_count; i++) {
			if (other->needs[i] == node)
				answer(&answers, other, NULL);
		}
	}
	return finish_answers(&answers, count);
}

CUresult sim_graph_change_edges(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
				size_t count, bool is_added)
{
	const struct sim_graph *graph = sim_graph_find(handle);

	if (!graph || (count && (!from || !to)))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		struct sim_graph_node *first = sim_graph_find_node(from[i]),
				      *second = sim_graph_find_node(to[i]);

		if (!first || !second || first->graph != graph || second->graph != graph ||
		    first == second)
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (size_t i = 0; i < count; i++) {
		struct sim_graph_node *first = sim_graph_find_node(from[i]),
				      *second = sim_graph_find_node(to[i]);

		if (is_added && !sim_graph_need(second, first))
			return CUDA_ERROR_OUT_OF_MEMORY;
		if (!is_added && !remove_need(second, first))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}
