/* SPDX-License-Identifier: Apache-2.0 */
/* Records of launches, and the names behind what is launched. */
#include "capture.h"

#include <string.h>

#include "gpu_activity.h"
#include "gpu_events.h"
#include "kernels.h"

/* Asking the driver would be a call while a capture is open, of which the shim makes none. Where
 * CUPTI tells the name nobody is asked. */
static uint64_t name_of(struct call *call, const void *function, unsigned int flags)
{
	bool is_capturing = !lifecycle_is_injected &&
			    atomic_load_explicit(&streams_open_captures, memory_order_relaxed) != 0;
	bool may_ask = (flags & LAUNCH_BY_HANDLE) && !call->status;
	uint64_t kernel = kernels_number(call->thread, function, may_ask && !is_capturing);
	if (__builtin_expect(is_capturing && may_ask && !kernel, 0))
		kernel = kernels_number_for_now(function);
	return kernel;
}

void capture_launch(struct call *call, const void *function, const dim3 *grid, const dim3 *block,
		    size_t shared_bytes, const void *stream, unsigned int flags)
{
	call->flags |= (uint16_t)(CALL_ASYNC |
				  captured_flag(call, stream,
						flags & LAUNCH_HOST_FUNCTION ? GRAPH_NODE_OTHER
									     : GRAPH_NODE_KERNEL));
	/* Before the record: the name must not come after what refers to it. */
	uint64_t kernel = function ? name_of(call, function, flags) : 0;
	struct record_launch *launch = call_record(call, RECORD_KIND_launch, sizeof(*launch));
	if (!launch)
		return;
	launch->kernel = kernel;
	launch->stream = (uintptr_t)stream;
	launch->grid[0] = grid->x;
	launch->grid[1] = grid->y;
	launch->grid[2] = grid->z;
	launch->block[0] = block->x;
	launch->block[1] = block->y;
	launch->block[2] = block->z;
	launch->shared_bytes = (uint32_t)shared_bytes;
	launch->launch_flags = flags & ~(unsigned int)LAUNCH_BY_HANDLE;
	gpu_events_told_launch(call->thread, launch);
	call_commit(call);
}

void capture_launch_config(struct call *call, const void *function,
			   const cudaLaunchConfig_t *config)
{
	static const dim3 none;
	/* A failed call may have failed because the configuration cannot be read. */
	if (!config || call->status)
		capture_launch(call, function, &none, &none, 0, NULL, 0);
	else
		capture_launch(call, function, &config->gridDim, &config->blockDim,
			       config->dynamicSmemBytes, config->stream, 0);
}

void capture_launch_driver_config(struct call *call, const void *function,
				  const CUlaunchConfig *config)
{
	static const dim3 none;
	if (!config || call->status) {
		capture_launch(call, function, &none, &none, 0, NULL, LAUNCH_BY_HANDLE);
		return;
	}
	dim3 grid = {config->gridDimX, config->gridDimY, config->gridDimZ};
	dim3 block = {config->blockDimX, config->blockDimY, config->blockDimZ};
	capture_launch(call, function, &grid, &block, config->sharedMemBytes, config->hStream,
		       LAUNCH_BY_HANDLE);
}

void capture_launch_old(struct call *call, const void *function, int grid_width, int grid_height,
			const void *stream)
{
	static const dim3 none;
	dim3 grid = {grid_width > 0 ? (unsigned int)grid_width : 1,
		     grid_height > 0 ? (unsigned int)grid_height : 1, 1};
	capture_launch(call, function, &grid, &none, 0, stream, LAUNCH_BY_HANDLE);
}

void capture_launch_plain(struct call *call, const void *stream, unsigned int flags)
{
	static const dim3 none;
	capture_launch(call, NULL, &none, &none, 0, stream, flags);
}

/* The handle that a successful call returned, NULL otherwise. */
static const void *returned(const struct call *call, const void *out)
{
	const void *handle = NULL;
	if (!call->status && out)
		memcpy(&handle, out, sizeof(handle));
	return handle;
}

void capture_kernel_of_entry(struct call *call, const void *out, const void *entry)
{
	const void *handle = returned(call, out);
	if (handle)
		kernels_set_alias(handle, entry);
}

void capture_kernel_name(struct call *call, const void *out, const char *name)
{
	const void *handle = returned(call, out);
	if (handle)
		kernels_set_name(handle, name);
}

void capture_kernel_alias(struct call *call, const void *out, const void *other)
{
	const void *handle = returned(call, out);
	if (handle)
		kernels_set_alias(handle, other);
}

void capture_before_unload(struct call *call)
{
	(void)call;
	/* Names in finished CUPTI buffers point into the module. */
	gpu_activity_drain();
	kernels_unload();
}
