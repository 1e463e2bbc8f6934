/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of graphs: one launch latency, then the items in the order of their needs, branches at
 * the same time. Bytes and host functions go to the worker as if the items were calls on the
 * stream.
 */
#include "sim_graph.h"

#include <stdlib.h>
#include <string.h>

/* From one node's end to the begin of the next that needs it, as published for recent GPUs. */
enum { NODE_GAP_NS = 1000 };
enum { H2D = 1, D2H = 2, D2D = 8, H2H = 9, P2P = 10 }; /* CUpti_ActivityMemcpyKind */

/* A launch in progress. */
struct replay {
	struct sim_call *call;
	struct sim_graph_exec *exec;
	struct sim_stream *stream;
	uint64_t begin_ns, first_ns, end_ns;
	uint32_t shown; /* items that made a record */
};

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static struct simcuda_activity describe(const struct replay *replay,
					const struct sim_exec_item *item, int kind)
{
	return (struct simcuda_activity){
		.kind = kind,
		.correlation = replay->call->correlation,
		.device = (uint32_t)replay->stream->context->device->ordinal,
		.context = replay->stream->context->id,
		.stream = replay->stream->id,
		.is_async = 1,
		.graph = replay->exec->id,
		.graph_node = item->id,
		.graph_was_seen = replay->exec->was_seen,
	};
}

static void report(struct replay *replay, struct simcuda_activity *activity, uint64_t begin_ns,
		   uint64_t end_ns)
{
	activity->begin_ns = begin_ns;
	activity->end_ns = end_ns;
	if (!replay->shown++ || begin_ns < replay->first_ns)
		replay->first_ns = begin_ns;
	sim_activity_add(activity);
}

static uint64_t run_kernel(struct replay *replay, const struct sim_exec_item *item, uint64_t ready)
{
	const struct sim_launch *launch = &item->work.kernel.launch;
	const struct sim_function *function = sim_module_function(item->work.kernel.handle);
	struct simcuda_activity activity = describe(replay, item, 1);
	struct sim_device *device = replay->stream->context->device;
	uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
	uint64_t threads = blocks * launch->block[0] * launch->block[1] * launch->block[2];
	bool fills_device = blocks >= (uint64_t)device->gpu->sm_count;
	uint64_t begin = fills_device ? max_of(ready, device->compute_tail_ns) : ready;
	uint64_t end = begin + sim_model_kernel_ns(
				       device, function,
				       item->work.kernel.has_cost ? &item->work.kernel.cost : NULL,
				       threads);

	if (fills_device)
		device->compute_tail_ns = end;
	memcpy(activity.grid, launch->grid, sizeof(activity.grid));
	memcpy(activity.block, launch->block, sizeof(activity.block));
	activity.shared_static = (uint32_t)function->static_shared_bytes;
	activity.shared_dynamic = launch->shared_bytes;
	activity.registers = (uint32_t)function->registers;
	activity.name = function->name;
	report(replay, &activity, begin, end);
	return end;
}

static int kind_of(const struct sim_place *place)
{
	switch (place->kind) {
	case SIM_HOST:
	case SIM_REGISTERED:
		return 2;
	case SIM_MANAGED:
		return 5;
	case SIM_PAGEABLE:
		return 1;
	default:
		return 3;
	}
}

static bool is_on_device(const struct sim_place *place)
{
	return place->kind != SIM_HOST && place->kind != SIM_REGISTERED &&
	       place->kind != SIM_PAGEABLE;
}

static int direction_of(const struct sim_place *to, const struct sim_place *from)
{
	if (is_on_device(to) && is_on_device(from))
		return to->device == from->device ? D2D : P2P;
	if (is_on_device(to))
		return H2D;
	return is_on_device(from) ? D2H : H2H;
}

/* Address of a row of one side of a copy. */
static uint64_t row_address(const CUDA_MEMCPY3D *copy, bool is_source, size_t y, size_t z)
{
	CUmemorytype type = is_source ? copy->srcMemoryType : copy->dstMemoryType;
	uint64_t base = is_source ? copy->srcDevice : copy->dstDevice;
	size_t pitch = is_source ? copy->srcPitch : copy->dstPitch;
	size_t height = is_source ? copy->srcHeight : copy->dstHeight;

	if (type == CU_MEMORYTYPE_HOST)
		base = is_source ? (uintptr_t)copy->srcHost : (uintptr_t)copy->dstHost;
	y += is_source ? copy->srcY : copy->dstY;
	z += is_source ? copy->srcZ : copy->dstZ;
	return base + (is_source ? copy->srcXInBytes : copy->dstXInBytes) +
	       (z * height + y) * pitch;
}

/* Has every row moved in its turn; false when a row leaves known memory. */
static bool move_rows(struct replay *replay, const CUDA_MEMCPY3D *copy, struct sim_place *to,
		      struct sim_place *from)
{
	for (size_t row = copy->Height * copy->Depth; row-- > 0;) {
		size_t y = row % copy->Height, z = row / copy->Height;

		if (!sim_memory_place(row_address(copy, false, y, z), copy->WidthInBytes, to) ||
		    !sim_memory_place(row_address(copy, true, y, z), copy->WidthInBytes, from) ||
		    !sim_worker_add(replay->stream, &(struct sim_job){.type = JOB_MOVE,
								      .to = to->bytes,
								      .from = from->bytes,
								      .bytes = copy->WidthInBytes}))
			return false;
	}
	return true;
}

/* 0: the copy cannot be done. */
static uint64_t run_copy(struct replay *replay, const struct sim_exec_item *item, uint64_t ready)
{
	const CUDA_MEMCPY3D *copy = &item->work.copy;
	struct simcuda_activity activity = describe(replay, item, 2);
	struct sim_device *device = replay->stream->context->device;
	uint64_t *engine = NULL, begin = ready;
	struct sim_copy_cost cost;
	struct sim_place to, from;

	if (!move_rows(replay, copy, &to, &from))
		return 0;
	activity.bytes = copy->WidthInBytes * copy->Height * copy->Depth;
	activity.direction = direction_of(&to, &from);
	activity.source_kind = kind_of(&from);
	activity.destination_kind = kind_of(&to);
	if (activity.direction != D2D)
		engine = &device->engine_tail_ns[activity.direction != H2D];
	cost = sim_model_copy(device, activity.bytes, activity.direction,
			      to.kind == SIM_PAGEABLE || from.kind == SIM_PAGEABLE);
	if (engine)
		begin = max_of(begin, *engine);
	if (engine)
		*engine = begin + cost.busy_ns;
	if (activity.direction == P2P) {
		activity.source_device = (uint32_t)from.device->ordinal;
		activity.destination_device = (uint32_t)to.device->ordinal;
	}
	report(replay, &activity, begin, begin + cost.busy_ns);
	return begin + cost.busy_ns;
}

static uint64_t run_set(struct replay *replay, const struct sim_exec_item *item, uint64_t ready)
{
	const CUDA_MEMSET_NODE_PARAMS *set = &item->work.set;
	struct simcuda_activity activity = describe(replay, item, 3);
	size_t row_bytes = set->width * set->elementSize;
	struct sim_place place;
	uint64_t end;

	for (size_t row = set->height; row-- > 0;) {
		if (!sim_memory_place(set->dst + row * set->pitch, row_bytes, &place) ||
		    !sim_worker_add(
			    replay->stream,
			    &(struct sim_job){.type = JOB_SET,
					      .to = place.bytes,
					      .bytes = row_bytes,
					      .value = set->value,
					      .width = set->elementSize,
					      .is_device_memory = place.kind == SIM_DEVICE}))
			return 0;
	}
	activity.bytes = row_bytes * set->height;
	activity.value = set->value;
	activity.destination_kind = kind_of(&place);
	end = ready + sim_model_set_ns(replay->stream->context->device, activity.bytes);
	report(replay, &activity, ready, end);
	return end;
}

static uint64_t run_host(struct replay *replay, const struct sim_exec_item *item, uint64_t ready)
{
	const struct sim_job job = {.type = JOB_HOST,
				    .function = item->work.host_function,
				    .data = item->work.host_data,
				    .when_ns = ready};

	return sim_worker_add(replay->stream, &job) ? ready : 0;
}

static uint64_t run_event(struct replay *replay, const struct sim_exec_item *item, uint64_t ready)
{
	struct sim_event *event = (struct sim_event *)item->work.event;

	if (!sim_pool_holds(POOL_EVENT, item->work.event))
		return 0;
	if (item->work.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
		return event->is_recorded ? max_of(ready, event->time_ns) : ready;
	event->time_ns = ready;
	event->after = sim_stream_after(replay->stream);
	event->is_recorded = true;
	return ready;
}

static uint64_t run_item(struct replay *replay, const struct sim_exec_item *item, uint64_t ready)
{
	if (!item->is_enabled)
		return ready;
	switch ((int)item->work.type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return run_kernel(replay, item, ready);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return run_copy(replay, item, ready);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return run_set(replay, item, ready);
	case CU_GRAPH_NODE_TYPE_HOST:
		return run_host(replay, item, ready);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return run_event(replay, item, ready);
	default: /* empty, allocation and free: no time of the GPU */
		return ready;
	}
}

static bool kernels_are_loaded(const struct sim_graph_exec *exec)
{
	for (size_t i = 0; i < exec->item_count; i++) {
		const struct sim_node_work *work = &exec->items[i].work;

		if (work->type == CU_GRAPH_NODE_TYPE_KERNEL &&
		    !sim_module_function(work->kernel.handle))
			return false;
	}
	return true;
}

static void report_whole(struct replay *replay)
{
	static const struct sim_exec_item none;
	struct simcuda_activity whole = describe(replay, &none, 5);

	whole.begin_ns = replay->shown ? replay->first_ns : replay->begin_ns;
	whole.end_ns = replay->end_ns;
	whole.graph_nodes = replay->shown;
	sim_activity_add(&whole);
}

CUresult sim_graph_launch(struct sim_call *call, CUgraphExec handle, CUstream stream_handle)
{
	struct replay replay = {.call = call, .exec = sim_graph_find_exec(handle)};
	CUresult result;

	SIM_NOTE(call, "exec=0x%llx\tstream=0x%llx", sim_handle(handle), sim_handle(stream_handle));
	if (!replay.exec)
		return CUDA_ERROR_INVALID_VALUE;
	replay.stream = sim_stream_find(call, stream_handle);
	if (!replay.stream)
		return CUDA_ERROR_INVALID_HANDLE;
	result = sim_capture_check(call, replay.stream, CAPTURE_QUEUES);
	if (result)
		return result;
	if (replay.stream->capture)
		return sim_capture_refuse(replay.stream);
	if (!kernels_are_loaded(replay.exec))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!sim_launch_wait_for_room(call, replay.stream, stream_handle) ||
	    sim_graph_find_exec(handle) != replay.exec)
		return CUDA_ERROR_INVALID_HANDLE;
	SIM_NOTE(call, "graph=%u\tnodes=%zu", replay.exec->id, replay.exec->item_count);
	replay.begin_ns = max_of(sim_clock_now_ns() + sim_model_launch_latency_ns(),
				 sim_stream_ready_ns(replay.stream));
	replay.end_ns = replay.begin_ns;
	for (size_t i = 0; i < replay.exec->item_count; i++) {
		struct sim_exec_item *item = &replay.exec->items[i];
		uint64_t ready = replay.begin_ns;

		for (size_t n = 0; n < item->need_count; n++) {
			size_t needed = replay.exec->needs[item->first_need + n];
			uint64_t end = replay.exec->items[needed].end_ns;

			if (item->id && replay.exec->items[needed].id)
				end += NODE_GAP_NS;
			ready = max_of(ready, end);
		}
		item->end_ns = run_item(&replay, item, ready);
		if (!item->end_ns)
			return CUDA_ERROR_INVALID_VALUE;
		replay.end_ns = max_of(replay.end_ns, item->end_ns);
	}
	sim_stream_advance(replay.stream, replay.end_ns, replay.stream->after);
	sim_launch_remember_end(replay.stream, replay.end_ns);
	report_whole(&replay);
	return CUDA_SUCCESS;
}

CUresult sim_graph_upload(struct sim_call *call, CUgraphExec handle, CUstream stream_handle)
{
	struct sim_stream *stream = sim_stream_find(call, stream_handle);

	SIM_NOTE(call, "exec=0x%llx\tstream=0x%llx", sim_handle(handle), sim_handle(stream_handle));
	if (!sim_graph_find_exec(handle))
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	return sim_capture_check(call, stream, CAPTURE_QUEUES);
}
