/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs in the model: a launch is work, what was captured is not; a whole graph is an operation of
 * its launch; nodes find the captured calls, all or none.
 */
#include "unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "graph_use.h"
#include "model_script.h"

enum { GRAPH = 0x1000, EXECUTABLE = 0x2000, NODES = 3 };

static void add_graph(struct script *script, uint8_t op, int64_t begin_ns, uint32_t correlation)
{
	struct script_call call = {.begin_ns = begin_ns,
				   .end_ns = begin_ns + 100,
				   .thread = 1,
				   .api = op == GRAPH_LAUNCH ? "cudaGraphLaunch" : "cudaGraphOther",
				   .site = op == GRAPH_LAUNCH ? 8 : 7,
				   .correlation = correlation};
	struct record_graph record;

	memset(&record, 0, sizeof(record));
	record.op = op;
	record.graph = op == GRAPH_CAPTURE_END || op == GRAPH_INSTANTIATE ? GRAPH : 0;
	if (op == GRAPH_INSTANTIATE || op == GRAPH_LAUNCH) {
		record.executable = EXECUTABLE;
		record.capture_site = 7;
		record.node_count = NODES;
		record.kernel_nodes = 2;
	}
	script_add_call_record(script, &call, RECORD_KIND_graph, &record, sizeof(record));
}

/* A capture of a product, a copy and a kernel, instantiated and launched twice. */
static struct script *capture_and_launch(void)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct record_gemm shape = script_gemm_f16(512, 256, 128);
	struct script_call product = {.begin_ns = 1200,
				      .end_ns = 1500,
				      .thread = 1,
				      .api = "cublasGemmEx",
				      .flags = CALL_CAPTURED};
	struct script_call call = {.begin_ns = 1300,
				   .end_ns = 1400,
				   .thread = 1,
				   .api = "cuLaunchKernel",
				   .flags = CALL_CAPTURED};

	script_add_site(script, 7, "capture\x1ftrain.py");
	script_add_site(script, 8, "replay\x1ftrain.py");
	add_graph(script, GRAPH_CAPTURE_BEGIN, 1000, 0);
	call.parent_id = script_add_gemm(script, &product, &shape);
	script_add_launch(script, &call, "gemm");
	call.parent_id = 0;
	call.begin_ns = 1600;
	call.api = "cuMemcpyDtoHAsync_v2";
	script_add_copy(script, &call, COPY_D2H, 4096, MEMORY_DEVICE, MEMORY_PAGEABLE);
	call.begin_ns = 1700;
	call.api = "cudaLaunchKernel";
	call.parent_id = script_add_launch(script, &call, "gelu");
	call.begin_ns = 1710;
	call.api = "cuLaunchKernel";
	script_add_launch(script, &call, "gelu"); /* the same one, a library deeper */
	add_graph(script, GRAPH_CAPTURE_END, 2000, 0);
	add_graph(script, GRAPH_INSTANTIATE, 3000, 0);
	add_graph(script, GRAPH_LAUNCH, 4000, 91);
	add_graph(script, GRAPH_LAUNCH, 5000, 92);
	return script;
}

static void add_whole(struct script *script, uint32_t correlation, int64_t begin_ns)
{
	struct record_gpu_graph record;

	memset(&record, 0, sizeof(record));
	record.gpu.begin_ns = (uint64_t)begin_ns;
	record.gpu.end_ns = (uint64_t)begin_ns + 3000;
	record.gpu.correlation = correlation;
	record.gpu.graph = 55;
	script_add_record(script, RECORD_KIND_gpu_graph, &record, sizeof(record));
}

static void a_launch_of_a_graph_is_work_and_what_was_captured_is_not(void **state)
{
	struct script *script = capture_and_launch();
	const struct model_kernel *graph;
	struct model *model;
	struct graph_use *uses;
	size_t count;

	(void)state;
	add_whole(script, 91, 10000);
	add_whole(script, 92, 14000);
	model = script_model(script);
	assert_int_equal(model->steps.items[0].launches, 2);
	assert_int_equal(model->steps.items[0].copies, 0);
	assert_int_equal(model->op_count, 2);
	for (size_t i = 0; i < model->op_count; i++) {
		assert_int_equal(model->ops[i].type, GPU_OP_GRAPH);
		assert_int_equal(model->ops[i].kernel_class, KERNEL_GRAPH);
		assert_int_equal(model->ops[i].origin, MODEL_NONE);
		assert_string_equal(model_api_name(model, model->ops[i].call), "cudaGraphLaunch");
	}
	assert_int_equal(model->devices[0].ledger.whole.part[LEDGER_GRAPH],
			 6000 * LEDGER_UNITS_PER_NS);
	assert_int_equal(model->devices[0].unlinked_ops, 0);
	/* Nothing of the capture waits, not even its copy to pageable memory. */
	for (size_t i = 0; i < model->call_count; i++) {
		if (model->calls[i].flags & CALL_CAPTURED)
			assert_false(model->calls[i].flags & CALL_BLOCKS);
	}
	uses = graph_use_build(model, 0, &count);
	assert_int_equal(count, 1);
	assert_int_equal(uses[0].launches, 2);
	assert_int_equal(uses[0].gpu_ns, 6000);
	assert_false(uses[0].has_nodes);
	graph = &model->kernels[uses[0].kernel];
	assert_int_equal(graph->nodes, NODES);
	assert_int_equal(graph->kernel_nodes, 2);
	assert_int_equal(model->sites[graph->capture_site].id, 7);
	assert_int_equal(model->sites[model_call_site(model, uses[0].call)].id, 8);
	free(uses);
	model_free(model);
	script_free(script);
}

/* kinds: k a kernel, c a copy, by rising number of the node; they run the other way round. */
static void add_nodes(struct script *script, uint32_t correlation, const char *kinds)
{
	int64_t begin_ns = 10000 * (int64_t)correlation;

	for (size_t i = strlen(kinds); i-- > 0; begin_ns += 1000) {
		struct gpu_part gpu;

		memset(&gpu, 0, sizeof(gpu));
		gpu.begin_ns = (uint64_t)begin_ns;
		gpu.end_ns = (uint64_t)begin_ns + 500;
		gpu.correlation = correlation;
		gpu.graph = 55;
		gpu.graph_node = 600 + i;
		if (kinds[i] == 'k') {
			struct record_gpu_kernel kernel;

			memset(&kernel, 0, sizeof(kernel));
			kernel.gpu = gpu;
			script_add_record(script, RECORD_KIND_gpu_kernel, &kernel, sizeof(kernel));
		} else {
			struct record_gpu_copy copy;

			memset(&copy, 0, sizeof(copy));
			copy.gpu = gpu;
			copy.direction = COPY_D2H;
			copy.peer_device = DEVICE_UNKNOWN;
			script_add_record(script, RECORD_KIND_gpu_copy, &copy, sizeof(copy));
		}
	}
}

static const char *origin_api(const struct model *model, size_t op)
{
	return model_api_name(model, model->ops[op].origin);
}

static void nodes_find_the_calls_that_were_captured(void **state)
{
	struct script *script = capture_and_launch();
	struct graph_use *uses;
	struct model *model;
	uint32_t product;
	size_t count;

	(void)state;
	add_nodes(script, 91, "kck");
	add_nodes(script, 92, "kck");
	model = script_model(script);
	assert_int_equal(model->op_count, 6);
	for (size_t launch = 0; launch < 2; launch++) {
		assert_string_equal(origin_api(model, 3 * launch + 2), "cuLaunchKernel");
		assert_string_equal(origin_api(model, 3 * launch + 1), "cuMemcpyDtoHAsync_v2");
		assert_string_equal(origin_api(model, 3 * launch), "cudaLaunchKernel");
		product = model_call_gemm(model, model_op_call(&model->ops[3 * launch + 2]));
		assert_int_not_equal(product, MODEL_NONE);
		assert_int_equal(model->gemms[model->calls[product].detail].m, 512);
		/* The launch is still who launched them. */
		assert_string_equal(model_api_name(model, model->ops[3 * launch].call),
				    "cudaGraphLaunch");
	}
	uses = graph_use_build(model, 0, &count);
	assert_int_equal(count, 1);
	assert_true(uses[0].has_nodes);
	assert_int_equal(uses[0].launches, 2);
	assert_int_equal(uses[0].linked_nodes, 6);
	free(uses);
	model_free(model);
	script_free(script);
}

static void nodes_of_another_sort_or_number_are_not_guessed_at(void **state)
{
	static const char *const others[] = {"kkk", "ckk", "kc", "kckk", "k"};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct script *script = capture_and_launch();
		struct model *model;

		add_nodes(script, 91, others[i]);
		model = script_model(script);
		assert_int_equal(model->op_count, strlen(others[i]));
		for (size_t op = 0; op < model->op_count; op++) {
			assert_int_equal(model->ops[op].origin, MODEL_NONE);
			assert_int_not_equal(model->ops[op].call, MODEL_NONE);
		}
		model_free(model);
		script_free(script);
	}
}

static void a_graph_from_before_the_recording_is_unknown_but_counted(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model;

	(void)state;
	add_graph(script, GRAPH_LAUNCH, 4000, 91);
	add_nodes(script, 91, "kck");
	add_whole(script, 999, 50000000); /* launched by nobody that was recorded */
	model = script_model(script);
	assert_int_equal(model->steps.items[0].launches, 1);
	for (size_t op = 0; op < model->op_count; op++)
		assert_int_equal(model->ops[op].origin, MODEL_NONE);
	assert_int_equal(model->devices[0].unlinked_ops, 1);
	model_free(model);
	script_free(script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_of_a_graph_is_work_and_what_was_captured_is_not),
		cmocka_unit_test(nodes_find_the_calls_that_were_captured),
		cmocka_unit_test(nodes_of_another_sort_or_number_are_not_guessed_at),
		cmocka_unit_test(a_graph_from_before_the_recording_is_unknown_but_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
