/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture: what is issued on a capturing stream becomes a node. A stream in a capture knows
 * the nodes that its next one needs; an event recorded there carries them to other streams. What
 * this does to other calls is in sim_capture_rules.c.
 */
#include "sim_graph.h"

#include <stdlib.h>
#include <string.h>

/* ---- the nodes that come next ---- */

static void forget_needs(struct sim_capture_place *place)
{
	free(place->needs);
	*place = (struct sim_capture_place){0};
}

static bool set_needs(struct sim_capture_place *place, struct sim_graph_node *const *needs,
		      size_t count)
{
	struct sim_graph_node **copy = calloc(count + 1, sizeof(struct sim_graph_node *));

	if (!copy)
		return false;
	if (count)
		memcpy(copy, needs, count * sizeof(*copy));
	free(place->needs);
	place->needs = copy;
	place->count = count;
	return true;
}

static bool add_needs(struct sim_capture_place *place, struct sim_graph_node *const *needs,
		      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct sim_graph_node **more;
		size_t at = 0;

		while (at < place->count && place->needs[at] != needs[i])
			at++;
		if (at < place->count)
			continue;
		more = realloc(place->needs, (place->count + 1) * sizeof(struct sim_graph_node *));
		if (!more)
			return false;
		place->needs = more;
		place->needs[place->count++] = needs[i];
	}
	return true;
}

CUresult sim_capture_add(struct sim_stream *stream, const struct sim_node_work *work)
{
	struct sim_graph *graph = stream->capture->graph;
	struct sim_graph_node *node;
	CUresult result = sim_graph_add(graph, stream->capture_place.needs,
					stream->capture_place.count, work, &node);

	if (result == CUDA_SUCCESS && !set_needs(&stream->capture_place, &node, 1))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (result == CUDA_SUCCESS)
		sim_graph_tell(SIMCUDA_GRAPH_NODE_CREATED, graph, NULL, node, NULL,
			       (int)work->type);
	return result;
}

/* ---- begin and end ---- */

static void release_streams(const struct sim_capture *capture)
{
	struct sim_stream *stream = capture->origin->context->streams;

	for (; stream; stream = stream->next) {
		if (stream->capture != capture)
			continue;
		stream->capture = NULL;
		forget_needs(&stream->capture_place);
	}
}

static void close_capture(struct sim_capture *capture)
{
	struct sim_capture **link = &sim_state.captures;

	while (*link != capture)
		link = &(*link)->next;
	*link = capture->next;
	release_streams(capture);
	free(capture);
}

static CUresult begin(struct sim_call *call, CUstream handle, struct sim_graph *graph,
		      CUstreamCaptureMode mode, struct sim_capture **begun)
{
	static uint64_t last_id;
	struct sim_stream *stream = sim_stream_find(call, handle);
	struct sim_capture *capture;

	SIM_NOTE(call, "stream=0x%llx\tmode=%d", sim_handle(handle), (int)mode);
	if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->is_legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	capture = calloc(1, sizeof(*capture));
	if (capture) {
		capture->is_to_graph = graph != NULL;
		capture->graph = graph ? graph : sim_graph_new();
	}
	if (!capture || !capture->graph) {
		free(capture);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	capture->id = ++last_id;
	capture->origin = stream;
	capture->thread = call->thread;
	capture->mode = mode;
	capture->next = sim_state.captures;
	sim_state.captures = capture;
	stream->capture = capture;
	*begun = capture;
	return CUDA_SUCCESS;
}

CUresult sim_capture_begin(struct sim_call *call, CUstream stream, CUstreamCaptureMode mode)
{
	struct sim_capture *capture;
	CUresult result = begin(call, stream, NULL, mode, &capture);

	if (result == CUDA_SUCCESS)
		sim_graph_tell(SIMCUDA_GRAPH_CREATED, capture->graph, NULL, NULL, NULL, 0);
	return result;
}

CUresult sim_capture_begin_to_graph(struct sim_call *call, CUstream stream, CUgraph handle,
				    const CUgraphNode *needs, size_t count,
				    CUstreamCaptureMode mode)
{
	struct sim_graph *graph = sim_graph_find(handle);
	struct sim_capture *capture;
	CUresult result;

	if (!graph || (count && !needs))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		const struct sim_graph_node *node = sim_graph_find_node(needs[i]);

		if (!node || node->graph != graph)
			return CUDA_ERROR_INVALID_VALUE;
	}
	result = begin(call, stream, graph, mode, &capture);
	if (result)
		return result;
	if (!set_needs(&capture->origin->capture_place, (struct sim_graph_node *const *)needs,
		       count)) {
		close_capture(capture);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

/* Marks what the nodes come after, themselves included, with index 1. */
static void mark_before(struct sim_graph *graph, const struct sim_capture_place *place)
{
	bool is_growing = true;

	for (struct sim_graph_node *node = graph->nodes; node; node = node->next)
		node->index = 0;
	for (size_t i = 0; i < place->count; i++)
		place->needs[i]->index = 1;
	while (is_growing) {
		is_growing = false;
		for (struct sim_graph_node *node = graph->nodes; node; node = node->next) {
			for (size_t i = 0; i < node->need_count && node->index; i++) {
				is_growing |= !node->needs[i]->index;
				node->needs[i]->index = 1;
			}
		}
	}
}

/* Whether another stream has work that the origin does not come after. */
static bool has_unjoined_work(struct sim_capture *capture)
{
	mark_before(capture->graph, &capture->origin->capture_place);
	for (const struct sim_stream *stream = capture->origin->context->streams; stream;
	     stream = stream->next) {
		if (stream->capture != capture)
			continue;
		for (size_t i = 0; i < stream->capture_place.count; i++) {
			if (!stream->capture_place.needs[i]->index)
				return true;
		}
	}
	return false;
}

CUresult sim_capture_end(struct sim_call *call, CUstream handle, CUgraph *graph)
{
	struct sim_stream *stream = sim_stream_find(call, handle);
	struct sim_capture *capture = stream ? stream->capture : NULL;
	struct sim_graph *captured;
	CUresult result = CUDA_SUCCESS;

	SIM_NOTE(call, "stream=0x%llx", sim_handle(handle));
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != call->thread)
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (capture->origin != stream) {
		capture->is_invalidated = true;
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	}
	captured = capture->graph;
	if (capture->is_invalidated)
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (has_unjoined_work(capture))
		result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	if (result && !capture->is_to_graph)
		sim_graph_free(captured);
	close_capture(capture);
	*graph = result ? NULL : (CUgraph)captured;
	if (result == CUDA_SUCCESS)
		SIM_NOTE(call, "graph=0x%llx\tid=%u\tnodes=%zu", sim_handle(captured), captured->id,
			 captured->node_count);
	return result;
}

CUresult sim_capture_info(struct sim_call *call, CUstream handle, CUstreamCaptureStatus *status,
			  cuuint64_t *id, CUgraph *graph, const CUgraphNode **needs,
			  const CUgraphEdgeData **data, size_t *count)
{
	struct sim_stream *stream = sim_stream_find(call, handle);
	const struct sim_capture *capture;

	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->is_legacy && sim_capture_spoil_implicit(stream))
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	capture = stream->capture;
	*status = !capture		    ? CU_STREAM_CAPTURE_STATUS_NONE
		  : capture->is_invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
					    : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return CUDA_SUCCESS;
	if (id)
		*id = capture->id;
	if (graph)
		*graph = (CUgraph)capture->graph;
	if (needs)
		*needs = (const CUgraphNode *)stream->capture_place.needs;
	if (data)
		*data = NULL;
	if (count)
		*count = stream->capture_place.count;
	return CUDA_SUCCESS;
}

CUresult sim_capture_update_needs(struct sim_call *call, CUstream handle, CUgraphNode *needs,
				  size_t count, unsigned flags)
{
	struct sim_stream *stream = sim_stream_find(call, handle);
	struct sim_graph_node *const *nodes = (struct sim_graph_node *const *)needs;

	if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (count && !needs))
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!stream->capture || stream->capture->is_invalidated)
		return CUDA_ERROR_ILLEGAL_STATE;
	for (size_t i = 0; i < count; i++) {
		if (!sim_graph_find_node(needs[i]) || nodes[i]->graph != stream->capture->graph)
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (!(flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES
		      ? set_needs(&stream->capture_place, nodes, count)
		      : add_needs(&stream->capture_place, nodes, count)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

/* ---- events and streams ---- */

CUresult sim_capture_record(struct sim_stream *stream, struct sim_event *event, bool is_external)
{
	struct sim_node_work work = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
				     .event = (CUevent)event};

	if (is_external)
		return sim_capture_add(stream, &work);
	if (!set_needs(&event->capture_place, stream->capture_place.needs,
		       stream->capture_place.count))
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->capture_id = stream->capture->id;
	return CUDA_SUCCESS;
}

static struct sim_capture *capture_of(const struct sim_event *event)
{
	struct sim_capture *open = sim_state.captures;

	while (open && (!event->capture_id || open->id != event->capture_id))
		open = open->next;
	return open;
}

CUresult sim_capture_wait(struct sim_stream *stream, struct sim_event *event, bool is_external)
{
	struct sim_node_work work = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
				     .event = (CUevent)event};
	struct sim_capture *of_event = capture_of(event);

	if (is_external && stream->capture)
		return sim_capture_add(stream, &work);
	if (event->capture_id && !of_event)
		return CUDA_ERROR_CAPTURED_EVENT;
	if (!of_event) {
		/* Work outside of the capture cannot be waited for in it. */
		stream->capture->is_invalidated = true;
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	if (of_event->is_invalidated)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (stream->is_legacy || (stream->capture && stream->capture != of_event)) {
		if (stream->capture)
			stream->capture->is_invalidated = true;
		of_event->is_invalidated = true;
		return stream->is_legacy ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
					 : CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	stream->capture = of_event;
	return add_needs(&stream->capture_place, event->capture_place.needs,
			 event->capture_place.count)
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_capture_check_event(const struct sim_event *event)
{
	struct sim_capture *capture = capture_of(event);

	if (!event->capture_id)
		return CUDA_SUCCESS;
	if (capture)
		capture->is_invalidated = true;
	return CUDA_ERROR_CAPTURED_EVENT;
}

void sim_capture_forget_event(struct sim_event *event)
{
	event->capture_id = 0;
	forget_needs(&event->capture_place);
}

/* A stream that is destroyed ends the capture that it began, and spoils one that it joined. */
void sim_capture_forget_stream(struct sim_stream *stream)
{
	struct sim_capture *capture = stream->capture;

	if (!capture)
		return;
	capture->is_invalidated = true;
	if (capture->origin == stream) {
		if (!capture->is_to_graph)
			sim_graph_free(capture->graph);
		close_capture(capture);
	}
	stream->capture = NULL;
	forget_needs(&stream->capture_place);
}

CUresult sim_capture_host_function(struct sim_stream *stream, CUhostFn function, void *data)
{
	const struct sim_node_work work = {
		.type = CU_GRAPH_NODE_TYPE_HOST, .host_function = function, .host_data = data};

	return sim_capture_add(stream, &work);
}

/* The capturing stream of a call; *result is what the call returns when it is not CUDA_SUCCESS. */
static struct sim_stream *capturing_stream(struct sim_call *call, CUstream handle, CUresult *result)
{
	struct sim_stream *stream = sim_state.captures ? sim_stream_find(call, handle) : NULL;

	*result = stream ? sim_capture_check(call, stream, CAPTURE_QUEUES) : CUDA_SUCCESS;
	return stream && stream->capture ? stream : NULL;
}

CUresult sim_capture_alloc_async(struct sim_call *call, CUdeviceptr *address, size_t bytes,
				 CUmemoryPool pool, CUstream handle)
{
	struct sim_node_work work = {0};
	CUresult result;
	struct sim_stream *stream = capturing_stream(call, handle, &result);

	if (result)
		return result;
	if (!stream)
		return sim_memory_alloc_async(call, address, bytes, pool, handle);
	SIM_NOTE(call, "stream=0x%llx", sim_handle(handle));
	if (!address)
		return CUDA_ERROR_INVALID_VALUE;
	result = sim_node_take_memory(call, bytes, &work);
	if (result)
		return result;
	*address = work.address;
	return sim_capture_add(stream, &work);
}

CUresult sim_capture_free_async(struct sim_call *call, CUdeviceptr address, CUstream handle)
{
	const struct sim_node_work work = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .address = address};
	CUresult result;
	struct sim_stream *stream = capturing_stream(call, handle, &result);

	if (result)
		return result;
	if (!stream)
		return sim_memory_free_async(call, address, handle);
	SIM_NOTE(call, "address=0x%llx\tstream=0x%llx", (unsigned long long)address,
		 sim_handle(handle));
	return sim_capture_add(stream, &work);
}
