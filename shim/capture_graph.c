/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of graphs and captures. The runtime's call and the driver's inside it both get one, as
 * copies and launches do; what both learn about a graph is the same, so the order does not matter.
 */
#include "capture.h"

#include <string.h>

#include "graph_table.h"
#include "kernels.h"
#include "streams.h"

static const void *returned(const struct call *call, const void *out)
{
	const void *handle = NULL;
	if (!call->status && out)
		memcpy(&handle, out, sizeof(handle));
	return handle;
}

/* `known`: the handle whose origin the record tells. */
static void write_graph(struct call *call, enum graph_op op, const void *graph,
			const void *executable, const void *stream, const void *known)
{
	struct graph_origin origin;
	graph_table_find(known, &origin);
	struct record_graph *record = call_record(call, RECORD_KIND_graph, sizeof(*record));
	if (!record)
		return;
	record->graph = (uintptr_t)graph;
	record->executable = (uintptr_t)executable;
	record->stream = (uintptr_t)stream;
	record->capture_site = origin.site;
	record->node_count = origin.nodes;
	record->kernel_nodes = origin.kernels;
	record->copy_nodes = origin.copies;
	record->set_nodes = origin.sets;
	record->graph_id = 0;
	record->op = (uint8_t)op;
	record->reserved0 = 0;
	record->reserved1 = 0;
	call_commit(call);
}

void capture_begin_capture(struct call *call, const void *stream, const void *graph)
{
	struct graph_origin before;
	if (!call->status) {
		/* A capture into a graph that exists adds to what it has. */
		graph_table_find(graph, &before);
		streams_begin_capture(stream_key(call, stream),
				      before.site ? before.site : call->site);
	}
	write_graph(call, GRAPH_CAPTURE_BEGIN, graph, NULL, stream, NULL);
}

void capture_end_capture(struct call *call, const void *stream, const void *out)
{
	struct graph_origin captured, before;
	const void *graph = returned(call, out);
	/* Also when it failed: an invalidated capture is over. */
	if (streams_end_capture(stream_key(call, stream), &captured) && graph) {
		if (graph_table_find(graph, &before)) {
			captured.nodes += before.nodes;
			captured.kernels += before.kernels;
			captured.copies += before.copies;
			captured.sets += before.sets;
		}
		graph_table_put(graph, &captured);
	}
	write_graph(call, GRAPH_CAPTURE_END, graph, NULL, stream, graph);
	if (!call->parent && !atomic_load(&streams_open_captures))
		kernels_name_pending(call->thread);
}

void capture_graph_create(struct call *call, const void *out, const void *original)
{
	const struct graph_origin origin = {.site = call->site};
	const void *graph = returned(call, out);
	if (graph && original)
		graph_table_copy(original, graph);
	else if (graph)
		graph_table_put(graph, &origin);
	write_graph(call, GRAPH_CREATE, graph, NULL, NULL, graph);
}

void capture_graph_node(struct call *call, const void *graph, enum graph_node_kind kind)
{
	if (!call->status)
		graph_table_count(graph, kind);
}

void capture_graph_any_node(struct call *call, const void *graph, const CUgraphNodeParams *params)
{
	static const uint8_t kinds[] = {GRAPH_NODE_KERNEL, GRAPH_NODE_COPY, GRAPH_NODE_SET};
	int type;
	if (call->status || !params)
		return;
	memcpy(&type, params, sizeof(type));
	graph_table_count(graph, type >= 0 && (size_t)type < sizeof(kinds)
					 ? (enum graph_node_kind)kinds[type]
					 : GRAPH_NODE_OTHER);
}

void capture_graph_instantiate(struct call *call, const void *out, const void *graph)
{
	const void *executable = returned(call, out);
	if (executable)
		graph_table_copy(graph, executable);
	write_graph(call, GRAPH_INSTANTIATE, graph, executable, NULL, executable);
}

void capture_graph_update(struct call *call, const void *executable, const void *graph)
{
	if (!call->status)
		graph_table_copy(graph, executable);
	write_graph(call, GRAPH_UPDATE, graph, executable, NULL, executable);
}

void capture_graph_upload(struct call *call, const void *executable, const void *stream)
{
	call->flags |= CALL_ASYNC;
	write_graph(call, GRAPH_UPLOAD, NULL, executable, stream, executable);
}

void capture_graph_launch(struct call *call, const void *executable, const void *stream)
{
	call->flags |=
		CALL_ASYNC | (streams_is_captured(stream_key(call, stream)) ? CALL_CAPTURED : 0);
	write_graph(call, GRAPH_LAUNCH, NULL, executable, stream, executable);
}

void capture_before_graph_destroy(const void *handle)
{
	graph_table_remove(handle);
}

void capture_graph_destroy(struct call *call, const void *graph)
{
	write_graph(call, GRAPH_DESTROY, graph, NULL, NULL, NULL);
}

void capture_graph_exec_destroy(struct call *call, const void *executable)
{
	write_graph(call, GRAPH_EXEC_DESTROY, NULL, executable, NULL, NULL);
}

uint16_t capture_captured(struct call *call, const void *stream, enum graph_node_kind kind)
{
	struct thread *thread = call->thread;
	const void *key = stream_key(call, stream);
	if (!streams_is_captured(key))
		return 0;
	/* The runtime's call and the driver's inside it are one node; the inner one came first. */
	if (!call->status && thread->captured_inside != call->id)
		streams_count(key, kind);
	thread->captured_inside = call->parent;
	return CALL_CAPTURED;
}
