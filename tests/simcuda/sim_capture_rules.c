/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an open capture does to other calls. What may not happen meanwhile fails, and spoils the
 * capture, by the rules of cuThreadExchangeStreamCaptureMode.
 */
#include "sim_graph.h"

#include <string.h>

/* "Potentially unsafe" while a capture is open: they may wait for, or work on, other streams. */
static const char *const unsafe_functions[] = {
	"cuMemAlloc_v2",  "cuMemAllocPitch_v2",	 "cuMemAllocManaged",	 "cuMemAllocHost_v2",
	"cuMemHostAlloc", "cuMemHostRegister",	 "cuMemHostRegister_v2", "cuMemFree_v2",
	"cuMemFreeHost",  "cuMemHostUnregister", "cuEventQuery",	 "cuEventSynchronize",
	"cuStreamQuery",  "cuStreamQuery_ptsz",	 "cuStreamSynchronize",	 "cuStreamSynchronize_ptsz",
};
/* Necessarily in conflict with every capture of the context, whatever its mode. */
static const char *const conflicting_functions[] = {"cuCtxSynchronize", "cuCtxSynchronize_v2"};

static bool is_in(const char *function, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(function, list[i]))
			return true;
	}
	return false;
}

#define IS_IN(function, list) is_in(function, list, sizeof(list) / sizeof((list)[0]))

CUresult sim_capture_forbids(const struct sim_thread *thread, const char *function)
{
	bool conflicts = IS_IN(function, conflicting_functions), is_forbidden = false;

	if (!conflicts && (!IS_IN(function, unsafe_functions) ||
			   thread->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED))
		return CUDA_SUCCESS;
	for (struct sim_capture *open = sim_state.captures; open; open = open->next) {
		bool is_own =
			open->thread == thread && open->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
		bool is_global = thread->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
				 open->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;

		if (conflicts || is_own || is_global) {
			open->is_invalidated = true;
			is_forbidden = true;
		}
	}
	return is_forbidden ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult sim_capture_refuse(struct sim_stream *stream)
{
	stream->capture->is_invalidated = true;
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* Whether work on the default stream would have to come after what a capture holds. */
bool sim_capture_spoil_implicit(const struct sim_stream *legacy)
{
	bool is_spoilt = false;

	for (const struct sim_stream *stream = legacy->context->streams; stream;
	     stream = stream->next) {
		if (stream->capture && stream->is_blocking) {
			stream->capture->is_invalidated = true;
			is_spoilt = true;
		}
	}
	return is_spoilt;
}

CUresult sim_capture_check(struct sim_call *call, struct sim_stream *stream,
			   enum sim_capture_use use)
{
	(void)call;
	if (!sim_state.captures)
		return CUDA_SUCCESS;
	if (stream->is_legacy)
		return sim_capture_spoil_implicit(stream) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
							  : CUDA_SUCCESS;
	if (!stream->capture)
		return CUDA_SUCCESS;
	if (stream->capture->is_invalidated)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	return use == CAPTURE_WAITS ? sim_capture_refuse(stream) : CUDA_SUCCESS;
}
