/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the simulated CUPTI tells of graphs: launches as wholes or all their nodes, executables from
 * before it came, ids, callbacks about graphs. Each case runs in a process of its own.
 */
#include "simtest_cupti.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "simtest_child.h"

enum { WORDS = 256, LAUNCHES = 3 };

static cudaStream_t stream;
static void *memory;

/* A set, and a copy after it. */
static cudaGraph_t capture(void)
{
	static int host[WORDS];
	cudaGraph_t graph = NULL;

	if (!stream) {
		SIMTEST_EQUAL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), 0);
		SIMTEST_EQUAL(cudaMalloc(&memory, sizeof(host)), 0);
	}
	SIMTEST_EQUAL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), 0);
	SIMTEST_EQUAL(cudaMemsetAsync(memory, 1, sizeof(host), stream), 0);
	SIMTEST_EQUAL(cudaMemcpyAsync(host, memory, sizeof(host), cudaMemcpyDeviceToHost, stream),
		      0);
	SIMTEST_EQUAL(cudaStreamEndCapture(stream, &graph), 0);
	return graph;
}

static void launch(cudaGraphExec_t exec)
{
	for (int i = 0; i < LAUNCHES; i++)
		SIMTEST_EQUAL(cudaGraphLaunch(exec, stream), 0);
	SIMTEST_EQUAL(cudaStreamSynchronize(stream), 0);
	SIMTEST_EQUAL(cuptiActivityFlushAll(0), 0);
}

static cudaGraphExec_t instantiate(void)
{
	cudaGraphExec_t exec = NULL;

	SIMTEST_EQUAL(cudaGraphInstantiate(&exec, capture(), 0), 0);
	return exec;
}

static void record_nodes(void)
{
	simtest_cupti_start();
	launch(instantiate());
	SIMTEST_EQUAL(simtest_cupti_count(CUPTI_ACTIVITY_KIND_MEMSET), LAUNCHES);
	SIMTEST_EQUAL(simtest_cupti_count(CUPTI_ACTIVITY_KIND_MEMCPY), LAUNCHES);
	SIMTEST_EQUAL(simtest_cupti_count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 0);
}

static void record_wholes(void)
{
	simtest_cupti_start();
	SIMTEST_EQUAL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 0);
	launch(instantiate());
	SIMTEST_EQUAL(simtest_cupti_count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), LAUNCHES);
	SIMTEST_EQUAL(simtest_cupti_count(CUPTI_ACTIVITY_KIND_MEMSET), 0);
	SIMTEST_EQUAL(simtest_cupti_count(CUPTI_ACTIVITY_KIND_MEMCPY), 0);
}

static void a_launch_is_one_record_or_its_nodes(void **state)
{
	static const char *const none[] = {NULL};

	(void)state;
	assert_int_equal(simtest_child_run(record_nodes, none), 0);
	assert_int_equal(simtest_child_run(record_wholes, none), 0);
}

/* NVIDIA documents that these cannot be traced as wholes and that all nodes show up as kernels. */
static void come_late(void)
{
	cudaGraphExec_t early = instantiate(), late;

	simtest_cupti_start();
	SIMTEST_EQUAL(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 0);
	launch(early);
	SIMTEST_EQUAL(simtest_cupti_count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 0);
	SIMTEST_EQUAL(simtest_cupti_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 2 * LAUNCHES);
	late = instantiate();
	launch(late);
	SIMTEST_EQUAL(simtest_cupti_count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), LAUNCHES);
}

static void an_executable_from_before_is_not_traced_as_a_whole(void **state)
{
	static const char *const none[] = {NULL};

	(void)state;
	assert_int_equal(simtest_child_run(come_late, none), 0);
}

static int told[64];
static cudaGraph_t told_graph;
static uint64_t told_node;

static void resource(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
		     const void *given)
{
	const CUpti_ResourceData *data = given;
	const CUpti_GraphData *graph;

	(void)user;
	if (domain != CUPTI_CB_DOMAIN_RESOURCE || id >= 64)
		return;
	graph = data->resourceDescriptor;
	told[id]++;
	if (id == CUPTI_CBID_RESOURCE_GRAPH_CREATED)
		told_graph = graph->graph;
	if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED)
		SIMTEST_EQUAL(cuptiGetGraphNodeId(graph->node, &told_node), 0);
}

static void tell(void)
{
	CUpti_SubscriberHandle subscriber;
	cudaGraphExec_t exec;
	cudaGraph_t graph, clone;
	uint32_t id = 0, exec_id = 0;

	SIMTEST_EQUAL(cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)resource, NULL), 0);
	SIMTEST_EQUAL(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE), 0);
	graph = capture();
	SIMTEST_CHECK(told_graph == graph);
	SIMTEST_EQUAL(told[CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED], 2);
	SIMTEST_CHECK(told_node != 0);
	SIMTEST_EQUAL(cudaGraphClone(&clone, graph), 0);
	SIMTEST_EQUAL(told[CUPTI_CBID_RESOURCE_GRAPH_CLONED], 1);
	SIMTEST_EQUAL(cudaGraphInstantiate(&exec, graph, 0), 0);
	SIMTEST_EQUAL(told[CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED], 1);
	SIMTEST_EQUAL(cuptiGetGraphId(graph, &id), 0);
	SIMTEST_EQUAL(cuptiGetGraphExecId(exec, &exec_id), 0);
	SIMTEST_CHECK(id != 0 && exec_id != 0 && id != exec_id);
	SIMTEST_EQUAL(cudaGraphExecDestroy(exec), 0);
	SIMTEST_EQUAL(told[CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING], 1);
	SIMTEST_CHECK(cuptiGetGraphExecId(exec, &exec_id) != CUPTI_SUCCESS);
	SIMTEST_EQUAL(cudaGraphDestroy(graph), 0);
	SIMTEST_EQUAL(told[CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING], 1);
}

static void tell_in_an_old_version(void)
{
	cudaGraphExec_t exec = instantiate();
	uint32_t id = 0;

	SIMTEST_EQUAL(cuptiGetGraphExecId(exec, &id), CUPTI_ERROR_API_NOT_IMPLEMENTED);
}

static void graphs_are_told_of_and_have_numbers(void **state)
{
	static const char *const newest[] = {NULL}, *const old[] = {"SIMCUDA_CUPTI_VERSION=18",
								    NULL};

	(void)state;
	assert_int_equal(simtest_child_run(tell, newest), 0);
	assert_int_equal(simtest_child_run(tell_in_an_old_version, old), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_is_one_record_or_its_nodes),
		cmocka_unit_test(an_executable_from_before_is_not_traced_as_a_whole),
		cmocka_unit_test(graphs_are_told_of_and_have_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
