/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs. A launch of an executable counts as the launch of a kernel that stands for it. Where the
 * file has times of nodes, each is led back to the call that was captured: executable -> graph ->
 * capture -> the thread's captured calls, in their order, which is that of the nodes' numbers. Only
 * when kinds and names agree for all of them is any of them linked.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "big_array.h"
#include "event_time.h"
#include "model_internal.h"
#include "xmalloc.h"

struct graph_event {
	int64_t begin_ns, end_ns;
	uint64_t graph, executable, stream;
	uint16_t thread;
	uint8_t op; /* enum graph_op */
};

/* Which node of which executable an operation is. */
struct graph_node {
	uint64_t node;
	uint32_t graph;
};

void graph_links_fini(struct graph_links *graphs)
{
	free(graphs->events);
	big_array_free(graphs->nodes);
}

/* What stands for an executable, or for one that only CUPTI's number is known of. */
static uint32_t stand_in(struct model_builder *builder, uint64_t key, uint64_t executable)
{
	uint32_t index =
		collect_named_kernel(builder, map_mix(key, 0x67726170686578ull) | 1, "CUDA graph");
	struct model_kernel *kernel = &builder->model->kernels[index];

	kernel->executable = executable;
	kernel->traits.kernel_class = KERNEL_GRAPH;
	return index;
}

void collect_graph_call(struct model_builder *builder, const struct record_graph *record,
			struct host_call *call)
{
	struct graph_links *graphs = &builder->graphs;
	struct model_kernel *kernel;

	call->kind = RECORD_KIND_call;
	if (record->op == GRAPH_LAUNCH) {
		uint32_t site = collect_site(builder, record->capture_site);

		call->kind = RECORD_KIND_launch;
		call->detail = stand_in(builder,
					map_mix(record->executable, record->capture_site) +
						record->node_count,
					record->executable ? record->executable : 1);
		kernel = &builder->model->kernels[call->detail];
		kernel->capture_site = site;
		kernel->nodes = record->node_count;
		kernel->kernel_nodes = record->kernel_nodes;
		return;
	}
	if (call->status || call->parent)
		return;
	if (graphs->event_count == graphs->event_capacity)
		graphs->events = array_grow(graphs->events, &graphs->event_capacity,
					    sizeof(*graphs->events));
	graphs->events[graphs->event_count++] = (struct graph_event){
		.begin_ns = call->begin_ns,
		.end_ns = call->end_ns,
		.graph = record->graph,
		.executable = record->executable,
		.stream = record->stream,
		.thread = call->thread,
		.op = record->op,
	};
}

void collect_graph_node(struct model_builder *builder, const struct gpu_part *part,
			struct gpu_op *op)
{
	struct graph_links *graphs = &builder->graphs;

	op->origin = 0;
	if (!part->graph_node || graphs->node_count >= MODEL_NONE - 1)
		return;
	if (graphs->node_count == graphs->node_capacity)
		graphs->nodes = big_array_grow(graphs->nodes, &graphs->node_capacity,
					       sizeof(*graphs->nodes));
	graphs->nodes[graphs->node_count++] = (struct graph_node){part->graph_node, part->graph};
	op->origin = (uint32_t)graphs->node_count;
}

void collect_graph_op(struct model_builder *builder, const struct gpu_part *part, struct gpu_op *op)
{
	op->type = GPU_OP_GRAPH;
	op->kernel_class = KERNEL_GRAPH;
	op->detail = stand_in(builder, part->graph, 1);
}

/* ---- nodes to captured calls ---- */

static int compare_events(const void *left, const void *right)
{
	const struct graph_event *a = left, *b = right;

	return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* The newest event before the time that `fits`; NULL none. */
static const struct graph_event *find_before(const struct graph_links *graphs, int64_t time_ns,
					     uint8_t op, uint64_t graph, uint64_t executable)
{
	for (size_t i = graphs->event_count; i-- > 0;) {
		const struct graph_event *event = &graphs->events[i];

		if (event->begin_ns > time_ns || event->op != op)
			continue;
		if ((graph && event->graph != graph) ||
		    (executable && event->executable != executable))
			continue;
		return event;
	}
	return NULL;
}

/* Where the capture began that this event ends. */
static const struct graph_event *find_begin(const struct graph_links *graphs,
					    const struct graph_event *end)
{
	for (const struct graph_event *event = end; event-- > graphs->events;) {
		if (event->op == GRAPH_CAPTURE_BEGIN && event->thread == end->thread &&
		    event->stream == end->stream)
			return event;
	}
	return NULL;
}

static bool is_inside_its_like(const struct model *model, const struct host_call *call)
{
	for (uint32_t up = call->parent; up != MODEL_NONE; up = model->calls[up].parent) {
		if (model->calls[up].kind == call->kind)
			return true;
	}
	return false;
}

static bool makes_a_node(const struct model *model, const struct host_call *call)
{
	return (call->flags & CALL_CAPTURED) && !call->status &&
	       (call->kind == RECORD_KIND_launch || call->kind == RECORD_KIND_copy ||
		call->kind == RECORD_KIND_set) &&
	       !is_inside_its_like(model, call);
}

/* The captured calls between two events of a thread, by index; the array is the caller's. */
static uint32_t *captured_calls(const struct model *model, const struct graph_event *begin,
				const struct graph_event *end, size_t *count)
{
	const struct model_thread *thread = &model->threads[begin->thread];
	uint32_t *calls = NULL;
	size_t capacity = 0;

	*count = 0;
	for (size_t i = 0; i < thread->call_count; i++) {
		size_t at = thread->first_call + i;
		const struct host_call *call = &model->calls[at];

		if (call->begin_ns < begin->begin_ns)
			continue;
		if (call->begin_ns > end->end_ns)
			break;
		if (!makes_a_node(model, call))
			continue;
		if (*count == capacity)
			calls = array_grow(calls, &capacity, sizeof(*calls));
		calls[(*count)++] = (uint32_t)at;
	}
	return calls;
}

/* One node of one executable: the first operation seen of it. */
struct seen_node {
	uint64_t node;
	uint32_t graph, op, call; /* call: captured, MODEL_NONE unknown */
};

static int compare_seen(const void *left, const void *right)
{
	const struct seen_node *a = left, *b = right;

	if (a->graph != b->graph)
		return a->graph < b->graph ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

static bool agrees(const struct model *model, const struct gpu_op *op, const struct host_call *call)
{
	const struct model_kernel *launched, *ran;

	if (op->type == GPU_OP_COPY)
		return call->kind == RECORD_KIND_copy;
	if (op->type == GPU_OP_SET)
		return call->kind == RECORD_KIND_set;
	if (call->kind != RECORD_KIND_launch)
		return false;
	launched = &model->kernels[call->detail];
	ran = &model->kernels[op->detail];
	return !launched->id || !ran->id || launched == ran ||
	       !strcmp(launched->short_name, ran->short_name);
}

/* The nodes of one executable, sorted by number. */
static void link_executable(const struct model_builder *builder, struct seen_node *nodes,
			    size_t count)
{
	const struct model *model = builder->model;
	const struct gpu_op *first = &model->ops[nodes[0].op];
	const struct graph_event *made, *end, *begin;
	const struct host_call *launch;
	uint32_t *calls = NULL;
	size_t call_count = 0;
	bool agree;

	if (first->call == MODEL_NONE)
		return;
	launch = &model->calls[first->call];
	if (launch->kind != RECORD_KIND_launch || !model->kernels[launch->detail].executable)
		return;
	made = find_before(&builder->graphs, launch->begin_ns, GRAPH_INSTANTIATE, 0,
			   model->kernels[launch->detail].executable);
	end = made ? find_before(&builder->graphs, made->begin_ns, GRAPH_CAPTURE_END, made->graph,
				 0)
		   : NULL;
	begin = end ? find_begin(&builder->graphs, end) : NULL;
	if (begin)
		calls = captured_calls(model, begin, end, &call_count);
	agree = call_count == count;
	for (size_t i = 0; i < count && agree; i++)
		agree = agrees(model, &model->ops[nodes[i].op], &model->calls[calls[i]]);
	for (size_t i = 0; i < count && agree; i++)
		nodes[i].call = calls[i];
	free(calls);
}

/* Every node once, with the first operation of it. */
static struct seen_node *collect_seen(const struct model_builder *builder, struct map *known,
				      size_t *count)
{
	const struct model *model = builder->model;
	struct seen_node *seen = NULL;
	size_t capacity = 0;

	*count = 0;
	for (uint32_t i = 0; i < model->op_count; i++) {
		const struct graph_node *node;
		bool is_new;

		if (!model->ops[i].origin)
			continue;
		node = &builder->graphs.nodes[model->ops[i].origin - 1];
		map_slot(known, map_mix(node->node, node->graph), &is_new);
		if (!is_new)
			continue;
		if (*count == capacity)
			seen = array_grow(seen, &capacity, sizeof(*seen));
		seen[(*count)++] = (struct seen_node){node->node, node->graph, i, MODEL_NONE};
	}
	return seen;
}

void model_link_graphs(struct model_builder *builder)
{
	struct model *model = builder->model;
	struct seen_node *seen;
	size_t count, from = 0;
	struct map known;

	map_init(&known);
	if (builder->graphs.event_count)
		qsort(builder->graphs.events, builder->graphs.event_count,
		      sizeof(*builder->graphs.events), compare_events);
	seen = collect_seen(builder, &known, &count);
	if (count)
		qsort(seen, count, sizeof(*seen), compare_seen);
	for (size_t i = 1; i <= count; i++) {
		if (i < count && seen[i].graph == seen[from].graph)
			continue;
		link_executable(builder, seen + from, i - from);
		from = i;
	}
	for (size_t i = 0; i < count; i++)
		*map_slot(&known, map_mix(seen[i].node, seen[i].graph), NULL) = seen[i].call;
	for (size_t i = 0; i < model->op_count; i++) {
		struct gpu_op *op = &model->ops[i];
		const struct graph_node *node;

		if (!op->origin) {
			op->origin = MODEL_NONE;
			continue;
		}
		node = &builder->graphs.nodes[op->origin - 1];
		op->origin = (uint32_t)*map_find(&known, map_mix(node->node, node->graph));
	}
	map_fini(&known);
	free(seen);
}
