/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture in the simulated driver: what becomes a node and in what order, what other streams
 * join by events, and what fails meanwhile and spoils the capture.
 */
#include "sim_scenario.h"

#include <pthread.h>

enum { BYTES = 4096 };

static void launch(const char *name, CUstream stream)
{
	CUfunction function = simcuda_library_kernel(name, &(struct simcuda_cost){.fixed_ns = 1e6});

	OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

static CUstream new_stream(void)
{
	CUstream stream;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return stream;
}

static CUevent new_event(void)
{
	CUevent event;

	OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	return event;
}

static size_t count_nodes(CUgraph graph)
{
	size_t count = 0;

	OK(cuGraphGetNodes(graph, NULL, &count));
	return count;
}

static size_t count_edges(CUgraph graph)
{
	size_t count = 0;

	OK(cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
	return count;
}

static CUstreamCaptureStatus status_of(CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	OK(cuStreamIsCapturing(stream, &status));
	return status;
}

static void capture_copies(void)
{
	unsigned char in[BYTES], out[BYTES], before[BYTES];
	CUstream stream;
	CUdeviceptr memory, other;
	CUgraphExec exec;
	CUgraph graph;

	open_device(0);
	memory = device_alloc(BYTES);
	other = device_alloc(BYTES);
	stream = new_stream();
	fill_pattern(in, BYTES, 1);
	memset(out, 7, BYTES);
	memcpy(before, out, BYTES);
	OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
	OK(cuMemcpyHtoDAsync(memory, in, BYTES, stream));
	OK(cuMemsetD8Async(memory, 0x5a, 16, stream));
	launch("captured", stream);
	OK(cuMemcpyDtoDAsync(other, memory, BYTES, stream));
	OK(cuMemcpyDtoHAsync(out, other, BYTES, stream));
	OK(cuStreamEndCapture(stream, &graph));
	CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE);
	CHECK(count_nodes(graph) == 5 && count_edges(graph) == 4);
	OK(cuStreamSynchronize(stream));
	CHECK(!memcmp(out, before, BYTES)); /* nothing was executed */
	OK(cuGraphInstantiate(&exec, graph, 0));
	OK(cuGraphDestroy(graph));
	for (unsigned round = 0; round < 3; round++) {
		fill_pattern(in, BYTES, round);
		memset(out, 0, BYTES);
		OK(cuGraphLaunch(exec, stream));
		OK(cuStreamSynchronize(stream));
		memset(in, 0x5a, 16);
		CHECK(!memcmp(in, out, BYTES));
	}
	OK(cuGraphExecDestroy(exec));
	CHECK_RESULT(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
}

static void captured_calls_run_at_replay_only_and_byte_exactly(void **state)
{
	(void)state;
	run_scenario(capture_copies, NULL);
}

static void fork_and_join(void)
{
	CUstream first, second;
	CUevent forked, joined;
	CUgraph graph = (CUgraph)1;

	open_device(0);
	first = new_stream();
	second = new_stream();
	forked = new_event();
	joined = new_event();
	OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch("root", first);
	OK(cuEventRecord(forked, first));
	OK(cuStreamWaitEvent(second, forked, 0));
	CHECK(status_of(second) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
	launch("branch", second);
	launch("branch", first);
	OK(cuEventRecord(joined, second));
	OK(cuStreamWaitEvent(first, joined, 0));
	launch("leaf", first);
	OK(cuStreamEndCapture(first, &graph));
	CHECK(count_nodes(graph) == 4 && count_edges(graph) == 4);
	CHECK(status_of(second) == CU_STREAM_CAPTURE_STATUS_NONE);
	launch("outside", second);

	/* Without the join the work of the second stream hangs in the air. */
	OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch("root", first);
	OK(cuEventRecord(forked, first));
	OK(cuStreamWaitEvent(second, forked, 0));
	launch("branch", second);
	CHECK_RESULT(cuStreamEndCapture(second, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	CHECK_RESULT(cuStreamEndCapture(first, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CHECK(graph == NULL);
	OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch("root", first);
	OK(cuEventRecord(forked, first));
	OK(cuStreamWaitEvent(second, forked, 0));
	launch("branch", second);
	CHECK_RESULT(cuStreamEndCapture(first, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	CHECK(graph == NULL && status_of(second) == CU_STREAM_CAPTURE_STATUS_NONE);
}

static void streams_join_a_capture_by_events(void **state)
{
	(void)state;
	run_scenario(fork_and_join, "SIMCUDA_TIME_SCALE", "0", NULL);
}

static void spoil(void)
{
	CUstream stream, other, blocking;
	CUdeviceptr memory = 0;
	CUevent outside, inside;
	CUgraph graph;

	open_device(0);
	stream = new_stream();
	other = new_stream();
	OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	outside = new_event();
	inside = new_event();
	OK(cuEventRecord(outside, other));
#define SPOILT(call, error)                                                                        \
	do {                                                                                       \
		OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));                   \
		launch("kernel", stream);                                                          \
		OK(cuEventRecord(inside, stream));                                                 \
		CHECK_RESULT(call, error);                                                         \
		CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);                  \
		CHECK_RESULT(cuMemsetD8Async(0, 0, 1, stream),                                     \
			     CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);                               \
		CHECK_RESULT(cuStreamEndCapture(stream, &graph),                                   \
			     CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);                               \
		CHECK(graph == NULL);                                                              \
	} while (0)
	SPOILT(cuMemAlloc(&memory, 1024), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK(memory == 0);
	SPOILT(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	SPOILT(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	SPOILT(cuEventQuery(outside), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	SPOILT(cuStreamWaitEvent(stream, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
#undef SPOILT
	CHECK_RESULT(cuEventSynchronize(inside), CUDA_ERROR_CAPTURED_EVENT);
	CHECK_RESULT(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
		     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK_RESULT(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);

	/* The default stream would have to wait for a stream that does nothing. */
	OK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK_RESULT(cuMemsetD8Async(memory, 0, 1, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	CHECK_RESULT(cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	/* Two captures do not wait for each other. */
	OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuEventRecord(inside, stream));
	CHECK_RESULT(cuStreamWaitEvent(other, inside, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
	CHECK_RESULT(cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CHECK_RESULT(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

static void what_a_capture_forbids_fails_and_spoils_it(void **state)
{
	(void)state;
	run_scenario(spoil, "SIMCUDA_TIME_SCALE", "0", NULL);
}

static void *allocate(void *context)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUresult *results = context;
	CUdeviceptr memory;
	CUcontext current;

	OK(cuDevicePrimaryCtxRetain(&current, 0));
	OK(cuCtxSetCurrent(current));
	results[0] = cuMemAlloc(&memory, 4096);
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	CHECK(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
	results[1] = cuMemAlloc(&memory, 4096);
	return NULL;
}

static void use_modes(void)
{
	static const struct {
		CUstreamCaptureMode mode;
		CUresult default_thread, relaxed_thread, own;
	} cases[] = {
		{CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 0,
		 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
		{CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 0, 0, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
		{CU_STREAM_CAPTURE_MODE_RELAXED, 0, 0, 0},
	};
	CUresult results[2] = {0};
	CUdeviceptr memory;
	pthread_t thread;
	CUgraph graph;

	open_device(0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CUstream stream = new_stream();

		OK(cuStreamBeginCapture(stream, cases[i].mode));
		pthread_create(&thread, NULL, allocate, results);
		pthread_join(thread, NULL);
		CHECK(results[0] == cases[i].default_thread);
		CHECK(results[1] == cases[i].relaxed_thread);
		CHECK_RESULT(cuMemAlloc(&memory, 4096), cases[i].own);
		CHECK_RESULT(cuStreamEndCapture(stream, &graph),
			     cases[i].own ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
	}
}

static void capture_modes_decide_who_may_allocate(void **state)
{
	(void)state;
	run_scenario(use_modes, "SIMCUDA_TIME_SCALE", "0", NULL);
}

static void *end_elsewhere(void *stream)
{
	CUcontext current;
	CUgraph graph;

	OK(cuDevicePrimaryCtxRetain(&current, 0));
	OK(cuCtxSetCurrent(current));
	CHECK_RESULT(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	return NULL;
}

static void inform(void)
{
	CUstreamCaptureStatus status;
	const CUgraphNode *needs = NULL;
	CUgraphNode roots[4];
	CUgraph graph, same = NULL;
	CUstream stream;
	pthread_t thread;
	cuuint64_t id = 0;
	size_t count = 0;

	open_device(0);
	stream = new_stream();
	OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	launch("one", stream);
	OK(cuStreamGetCaptureInfo(stream, &status, &id, &same, &needs, NULL, &count));
	CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id && same && count == 1);
	roots[0] = needs[0];
	OK(cuStreamUpdateCaptureDependencies(stream, NULL, NULL, 0,
					     CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	launch("another root", stream);
	OK(cuStreamUpdateCaptureDependencies(stream, roots, NULL, 1,
					     CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
	launch("leaf", stream);
	pthread_create(&thread, NULL, end_elsewhere, stream);
	pthread_join(thread, NULL);
	OK(cuStreamEndCapture(stream, &graph));
	CHECK(graph == same && count_nodes(graph) == 3 && count_edges(graph) == 2);
	count = 4;
	OK(cuGraphGetRootNodes(graph, roots, &count));
	CHECK(count == 2 && roots[2] == NULL);

	/* The same graph takes more. */
	OK(cuStreamBeginCaptureToGraph(stream, graph, roots, NULL, 1,
				       CU_STREAM_CAPTURE_MODE_RELAXED));
	launch("more", stream);
	CHECK_RESULT(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
	OK(cuStreamEndCapture(stream, &same));
	CHECK(graph == same && count_nodes(graph) == 4 && count_edges(graph) == 3);
}

static void capture_info_tells_and_changes_what_comes_next(void **state)
{
	(void)state;
	run_scenario(inform, "SIMCUDA_TIME_SCALE", "0", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captured_calls_run_at_replay_only_and_byte_exactly),
		cmocka_unit_test(streams_join_a_capture_by_events),
		cmocka_unit_test(what_a_capture_forbids_fails_and_spoils_it),
		cmocka_unit_test(capture_modes_decide_who_may_allocate),
		cmocka_unit_test(capture_info_tells_and_changes_what_comes_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
