/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of the simulated driver that are built by hand: nodes and edges, parameters, clones,
 * executables and their updates, modelled times and the exact log of a launch.
 */
#include "sim_scenario.h"

enum { MS = 1000000, BYTES = 256 };

static CUgraphNode add_kernel(CUgraph graph, const CUgraphNode *needs, size_t count)
{
	CUDA_KERNEL_NODE_PARAMS kernel = {
		.func = simcuda_library_kernel("node", NULL),
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1,
	};
	CUgraphNode node;

	OK(cuGraphAddKernelNode(&node, graph, needs, count, &kernel));
	return node;
}

static CUgraphNode add_copy(CUgraph graph, const CUgraphNode *needs, size_t count, void *to,
			    const void *from, CUdeviceptr device, int is_upload)
{
	CUDA_MEMCPY3D copy = {
		.srcMemoryType = is_upload ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.srcHost = from,
		.srcDevice = device,
		.dstMemoryType = is_upload ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
		.dstHost = to,
		.dstDevice = device,
		.WidthInBytes = BYTES,
		.Height = 1,
		.Depth = 1,
	};
	CUgraphNode node;

	OK(cuGraphAddMemcpyNode(&node, graph, needs, count, &copy, NULL));
	return node;
}

static void set_flag(void *flag)
{
	*(int *)flag += 1;
}

static void build(void)
{
	unsigned char in[BYTES], out[BYTES], expected[BYTES];
	CUgraphNode nodes[4], child_node, host, found;
	CUDA_MEMSET_NODE_PARAMS set = {
		.value = 0x11223344, .elementSize = 4, .width = 8, .height = 1};
	CUDA_HOST_NODE_PARAMS host_node = {.fn = set_flag};
	CUgraphNodeParams generic = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
	CUgraph graph, child, clone;
	CUgraphNodeType type;
	CUdeviceptr memory;
	CUgraphExec exec;
	int flag = 0;

	open_device(0);
	memory = device_alloc(BYTES);
	set.dst = memory + 32;
	host_node.userData = &flag;
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphCreate(&child, 0));
	nodes[0] = add_copy(graph, NULL, 0, NULL, in, memory, 1);
	OK(cuGraphAddMemsetNode(&nodes[1], child, NULL, 0, &set, NULL));
	OK(cuGraphAddChildGraphNode(&child_node, graph, nodes, 1, child));
	OK(cuGraphDestroy(child)); /* the node has its own */
	OK(cuGraphAddNode(&nodes[2], graph, &child_node, NULL, 1, &generic));
	nodes[3] = add_copy(graph, &nodes[2], 1, out, NULL, memory, 0);
	OK(cuGraphAddHostNode(&host, graph, &nodes[3], 1, &host_node));
	OK(cuGraphNodeGetType(child_node, &type));
	CHECK(type == CU_GRAPH_NODE_TYPE_GRAPH);
	OK(cuGraphClone(&clone, graph));
	OK(cuGraphNodeFindInClone(&found, host, clone));
	CHECK(found != host);
	CHECK_RESULT(cuGraphNodeFindInClone(&found, found, graph), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphDestroy(graph));
	CHECK_RESULT(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphInstantiate(&exec, clone, 0));
	for (int round = 1; round <= 2; round++) {
		fill_pattern(in, BYTES, (unsigned)round);
		memcpy(expected, in, BYTES);
		for (size_t i = 0; i < 8; i++)
			memcpy(expected + 32 + 4 * i, &set.value, 4);
		OK(cuGraphLaunch(exec, NULL));
		OK(cuCtxSynchronize());
		CHECK(!memcmp(out, expected, BYTES) && flag == round);
	}
}

static void a_graph_built_by_hand_does_what_its_nodes_say(void **state)
{
	(void)state;
	run_scenario(build, NULL);
}

static void refuse(void)
{
	CUgraphNode first, second, third;
	CUgraph graph, other;
	CUgraphExec exec;
	size_t count;

	open_device(0);
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphCreate(&other, 0));
	first = add_kernel(graph, NULL, 0);
	second = add_kernel(graph, &first, 1);
	CHECK_RESULT(cuGraphAddEmptyNode(&third, other, &first, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuGraphAddKernelNode(&third, graph, NULL, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuGraphAddChildGraphNode(&third, graph, NULL, 0, (CUgraph)&count),
		     CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuGraphInstantiate(&exec, (CUgraph)first, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphAddDependencies(graph, &second, &first, NULL, 1)); /* a cycle */
	CHECK_RESULT(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphRemoveDependencies(graph, &second, &first, NULL, 1));
	CHECK_RESULT(cuGraphRemoveDependencies(graph, &second, &first, NULL, 1),
		     CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphInstantiate(&exec, graph, 0));
	OK(cuGraphDestroyNode(first));
	OK(cuGraphNodeGetDependencies(second, NULL, NULL, &count));
	CHECK(count == 0);
	OK(cuGraphLaunch(exec, NULL)); /* keeps what it was made of */
	OK(cuCtxSynchronize());
}

static void wrong_nodes_edges_and_cycles_are_refused(void **state)
{
	(void)state;
	run_scenario(refuse, "SIMCUDA_TIME_SCALE", "0", NULL);
}

static void update(void)
{
	unsigned char first_in[BYTES], second_in[BYTES], out[BYTES];
	CUgraphExecUpdateResultInfo info;
	CUgraphNode nodes[2], node;
	CUgraph graph, same, different;
	CUDA_MEMCPY3D copy;
	CUdeviceptr memory;
	CUgraphExec exec;
	unsigned enabled;

	open_device(0);
	memory = device_alloc(BYTES);
	fill_pattern(first_in, BYTES, 1);
	fill_pattern(second_in, BYTES, 2);
	OK(cuGraphCreate(&graph, 0));
	nodes[0] = add_copy(graph, NULL, 0, NULL, first_in, memory, 1);
	nodes[1] = add_copy(graph, nodes, 1, out, NULL, memory, 0);
	OK(cuGraphInstantiate(&exec, graph, 0));
	OK(cuGraphCreate(&same, 0));
	node = add_copy(same, NULL, 0, NULL, second_in, memory, 1);
	add_copy(same, &node, 1, out, NULL, memory, 0);
	OK(cuGraphExecUpdate(exec, same, &info));
	CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
	OK(cuGraphLaunch(exec, NULL));
	OK(cuCtxSynchronize());
	CHECK(!memcmp(out, second_in, BYTES));
	OK(cuGraphMemcpyNodeGetParams(nodes[0], &copy));
	CHECK(copy.srcHost == first_in);
	OK(cuGraphExecMemcpyNodeSetParams(exec, nodes[0], &copy, NULL));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuCtxSynchronize());
	CHECK(!memcmp(out, first_in, BYTES));
	/* A node that is switched off leaves its bytes alone. */
	OK(cuGraphNodeSetEnabled(exec, nodes[0], 0));
	OK(cuGraphNodeGetEnabled(exec, nodes[0], &enabled));
	CHECK(!enabled);
	fill_pattern(first_in, BYTES, 3);
	OK(cuGraphLaunch(exec, NULL));
	OK(cuCtxSynchronize());
	CHECK(memcmp(out, first_in, BYTES));
	OK(cuGraphCreate(&different, 0));
	add_kernel(different, NULL, 0);
	CHECK_RESULT(cuGraphExecUpdate(exec, different, &info),
		     CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
}

static void an_executable_is_updated_unless_its_shape_changed(void **state)
{
	(void)state;
	run_scenario(update, NULL);
}

static void own_memory(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS alloc = {
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
		.bytesize = 1 << 20,
	};
	size_t before, during, after, total;
	CUgraphNode node, freed;
	CUgraphExec exec;
	CUgraph graph;

	open_device(0);
	OK(cuMemGetInfo(&before, &total));
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
	CHECK(alloc.dptr);
	OK(cuGraphAddMemFreeNode(&freed, graph, &node, 1, alloc.dptr));
	OK(cuGraphInstantiate(&exec, graph, 0));
	OK(cuMemGetInfo(&during, &total));
	CHECK(during < before);
	OK(cuGraphDestroy(graph));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuCtxSynchronize());
	OK(cuGraphExecDestroy(exec));
	OK(cuMemGetInfo(&after, &total));
	CHECK(after == before);
}

static void memory_of_a_graph_is_held_until_graph_and_executable_are_gone(void **state)
{
	(void)state;
	run_scenario(own_memory, "SIMCUDA_TIME_SCALE", "0", NULL);
}

static void launch_for(double ns, CUstream stream)
{
	CUfunction function =
		simcuda_library_kernel("modelled", &(struct simcuda_cost){.fixed_ns = ns});

	OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

static void time_branches(void)
{
	CUstream stream, other;
	CUevent start, end, forked, joined;
	CUgraphExec exec;
	CUgraph graph;
	float ms = 0;

	open_device(0);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&start, 0));
	OK(cuEventCreate(&end, 0));
	OK(cuEventCreate(&forked, 0));
	OK(cuEventCreate(&joined, 0));
	OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch_for(1.0 * MS, stream);
	OK(cuEventRecord(forked, stream));
	OK(cuStreamWaitEvent(other, forked, 0));
	launch_for(4.0 * MS, other);
	launch_for(6.0 * MS, stream);
	OK(cuEventRecord(joined, other));
	OK(cuStreamWaitEvent(stream, joined, 0));
	launch_for(2.0 * MS, stream);
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphInstantiate(&exec, graph, 0));
	launch_for(5000.0 * MS, stream); /* what follows is enqueued before it could begin */
	OK(cuEventRecord(start, stream));
	OK(cuGraphLaunch(exec, stream));
	OK(cuEventRecord(end, stream));
	OK(cuEventElapsedTime(&ms, start, end));
	/* One after the other only where one needs the other: 1 + 6 + 2 and two gaps. */
	CHECK(ms > 9.0019F && ms < 9.0021F);
}

static void branches_run_at_the_same_time(void **state)
{
	(void)state;
	run_scenario(time_branches, "SIMCUDA_TIME_SCALE", "0", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_graph_built_by_hand_does_what_its_nodes_say),
		cmocka_unit_test(wrong_nodes_edges_and_cycles_are_refused),
		cmocka_unit_test(an_executable_is_updated_unless_its_shape_changed),
		cmocka_unit_test(memory_of_a_graph_is_held_until_graph_and_executable_are_gone),
		cmocka_unit_test(branches_run_at_the_same_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
