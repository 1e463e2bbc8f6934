/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel launches. Nothing is computed: a launch takes its time in its stream. A grid with at least
 * one block per multiprocessor has the GPU for itself, smaller ones overlap across streams. As on a
 * real GPU a stream takes about a thousand launches ahead; the next one holds the caller.
 */
#include "sim_api_alloc.h"
#include "sim_graph.h"

#include <stdlib.h>
#include <string.h>

enum { QUEUE_DEPTH = 1024 };

static CUresult check_shape(const struct sim_call *call, const struct sim_function *function,
			    const struct sim_launch *launch)
{
	const unsigned *grid = launch->grid, *block = launch->block;
	const struct sim_device *device = call->context->device;
	uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
	unsigned shared_max = (unsigned)function->dynamic_shared_bytes_max;

	if (!grid[0] || !grid[1] || !grid[2] || !block[0] || !block[1] || !block[2] ||
	    block[0] > 1024 || block[1] > 1024 || block[2] > 64 || threads > 1024 ||
	    grid[0] > INT32_MAX || grid[1] > 65535 || grid[2] > 65535)
		return CUDA_ERROR_INVALID_VALUE;
	/* The simulated libraries do not raise the limit of their kernels first, as real ones do.
	 */
	if (!function->module)
		shared_max = (unsigned)sim_attribute_shared_optin_bytes(device);
	if (launch->shared_bytes > shared_max)
		return CUDA_ERROR_INVALID_VALUE;
	if (launch->is_cooperative) {
		int per_sm = sim_function_blocks_per_sm(device, function, (int)threads,
							launch->shared_bytes);
		uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];

		if (blocks > (uint64_t)per_sm * (uint64_t)device->gpu->sm_count)
			return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	}
	return CUDA_SUCCESS;
}

/* Waits until the launch QUEUE_DEPTH before this one is over; false when the stream went meanwhile.
 */
bool sim_launch_wait_for_room(struct sim_call *call, struct sim_stream *stream, CUstream handle)
{
	uint64_t oldest;

	if (!stream->queue_ends)
		return true;
	oldest = stream->queue_ends[stream->queue_next];
	if (oldest == 0 || sim_clock_is_over(oldest))
		return true;
	sim_call_wait_now(call, oldest, (struct sim_after){0});
	return sim_stream_find(call, handle) == stream;
}

void sim_launch_remember_end(struct sim_stream *stream, uint64_t end_ns)
{
	if (!stream->queue_ends)
		stream->queue_ends = calloc(QUEUE_DEPTH, sizeof(*stream->queue_ends));
	if (!stream->queue_ends)
		return;
	stream->queue_ends[stream->queue_next] = end_ns;
	stream->queue_next = (stream->queue_next + 1) % QUEUE_DEPTH;
}

/* When the kernel begins and ends; its device's compute time is taken. */
static void schedule(struct sim_call *call, struct sim_stream *stream,
		     const struct sim_function *function, const struct sim_launch *launch,
		     uint64_t *begin_ns, uint64_t *end_ns)
{
	struct sim_device *device = stream->context->device;
	struct sim_thread *thread = call->thread;
	uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
	uint64_t threads = blocks * launch->block[0] * launch->block[1] * launch->block[2];
	uint64_t begin = sim_clock_now_ns() + sim_model_launch_latency_ns();
	bool fills_device = blocks >= (uint64_t)device->gpu->sm_count;
	const struct simcuda_cost *cost = NULL;

	if (thread->cost_function == function) {
		cost = &thread->cost;
		thread->cost_function = NULL;
	}
	if (sim_stream_ready_ns(stream) > begin)
		begin = sim_stream_ready_ns(stream);
	if (fills_device && device->compute_tail_ns > begin)
		begin = device->compute_tail_ns;
	*begin_ns = begin;
	*end_ns = begin + sim_model_kernel_ns(device, function, cost, threads);
	if (fills_device)
		device->compute_tail_ns = *end_ns;
}

static void describe(const struct sim_call *call, const struct sim_stream *stream,
		     const struct sim_function *function, const struct sim_launch *launch,
		     struct simcuda_activity *activity)
{
	activity->correlation = call->correlation;
	activity->device = (uint32_t)stream->context->device->ordinal;
	activity->context = stream->context->id;
	activity->stream = stream->id;
	activity->is_async = 1;
	memcpy(activity->grid, launch->grid, sizeof(activity->grid));
	memcpy(activity->block, launch->block, sizeof(activity->block));
	activity->shared_static = (uint32_t)function->static_shared_bytes;
	activity->shared_dynamic = launch->shared_bytes;
	activity->registers = (uint32_t)function->registers;
	activity->name = function->name;
}

/* A kernel runs into pages that are not there, and on once they are. */
static void migrate(struct sim_call *call, struct sim_stream *stream,
		    struct simcuda_activity *kernel)
{
	struct sim_thread *thread = call->thread;
	uint64_t took_ns = 0;

	if (thread->touched_bytes)
		took_ns = sim_managed_migrate(thread->touched, thread->touched_bytes,
					      stream->context->device->ordinal, kernel);
	thread->touched_bytes = 0;
	kernel->end_ns += took_ns;
	if (took_ns && stream->context->device->compute_tail_ns < kernel->end_ns)
		stream->context->device->compute_tail_ns = kernel->end_ns;
}

static CUresult capture(struct sim_call *call, struct sim_stream *stream,
			const struct sim_function *function, CUfunction handle,
			const struct sim_launch *launch)
{
	struct sim_node_work work = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
	struct sim_thread *thread = call->thread;

	work.kernel.handle = handle;
	work.kernel.launch = *launch;
	work.kernel.has_cost = thread->cost_function == function;
	if (work.kernel.has_cost) {
		work.kernel.cost = thread->cost;
		thread->cost_function = NULL;
	}
	return sim_capture_add(stream, &work);
}

CUresult sim_launch_kernel(struct sim_call *call, CUfunction handle,
			   const struct sim_launch *launch)
{
	struct sim_function *function = sim_module_function(handle);
	struct sim_stream *stream;
	struct simcuda_activity activity = {.kind = 1};
	CUresult result;

	SIM_NOTE(call, "name=%s\tgrid=%u,%u,%u\tblock=%u,%u,%u\tshared=%u\tstream=0x%llx",
		 function ? function->name : "", launch->grid[0], launch->grid[1], launch->grid[2],
		 launch->block[0], launch->block[1], launch->block[2], launch->shared_bytes,
		 sim_handle(launch->stream));
	if (!function || (function->module && function->module->context &&
			  function->module->context != call->context))
		return CUDA_ERROR_INVALID_HANDLE;
	stream = sim_stream_find(call, launch->stream);
	if (!stream || stream->context != call->context)
		return CUDA_ERROR_INVALID_HANDLE;
	if (launch->parameters && launch->extra)
		return CUDA_ERROR_INVALID_VALUE;
	result = check_shape(call, function, launch);
	if (result)
		return result;
	result = sim_capture_check(call, stream, CAPTURE_QUEUES);
	if (result)
		return result;
	if (stream->capture)
		return capture(call, stream, function, handle, launch);
	if (!sim_launch_wait_for_room(call, stream, launch->stream) || !sim_module_function(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	schedule(call, stream, function, launch, &activity.begin_ns, &activity.end_ns);
	describe(call, stream, function, launch, &activity);
	migrate(call, stream, &activity);
	if (sim_meeting_is_next(handle))
		return sim_meeting_open(stream, &activity);
	sim_stream_advance(stream, activity.end_ns, stream->after);
	sim_launch_remember_end(stream, activity.end_ns);
	if (sim_activity_is_wanted())
		sim_activity_add(&activity);
	return CUDA_SUCCESS;
}

CUresult sim_launch_config(struct sim_call *call, const CUlaunchConfig *config, CUfunction handle,
			   void **parameters, void **extra)
{
	struct sim_launch launch = {.parameters = parameters, .extra = extra};

	if (!config || (config->numAttrs > 0 && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	launch.grid[0] = config->gridDimX;
	launch.grid[1] = config->gridDimY;
	launch.grid[2] = config->gridDimZ;
	launch.block[0] = config->blockDimX;
	launch.block[1] = config->blockDimY;
	launch.block[2] = config->blockDimZ;
	launch.shared_bytes = config->sharedMemBytes;
	launch.stream = config->hStream;
	for (unsigned i = 0; i < config->numAttrs; i++) {
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
			launch.is_cooperative = config->attrs[i].value.cooperative != 0;
	}
	return sim_launch_kernel(call, handle, &launch);
}
