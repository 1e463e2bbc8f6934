/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls find the calls around them, GPU operations the calls that launched them, and nothing is
 * counted twice.
 */
#include "unit_test.h"

#include <string.h>

#include "error.h"
#include "model_script.h"

static struct script *new_script(void)
{
	return script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
}

static uint32_t find_call(const struct model *model, const char *api)
{
	for (uint32_t i = 0; i < model->call_count; i++) {
		if (!strcmp(model_api_name(model, i), api))
			return i;
	}
	fail_msg("no call %s", api);
	return 0;
}

static void a_product_owns_the_kernels_launched_inside(void **state)
{
	struct script *script = new_script();
	struct record_gemm shape = script_gemm_f16(512, 256, 128);
	struct script_call outer = {
		.begin_ns = 0, .end_ns = 30000, .thread = 1, .api = "cublasGemmEx", .site = 9};
	uint32_t id = script_add_gemm(script, &outer, &shape);
	struct model *model;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct script_call inner = {.begin_ns = 1000 + i * 9000,
					    .end_ns = 6000 + i * 9000,
					    .thread = 1,
					    .api = "cuLaunchKernelEx",
					    .parent_id = id,
					    .correlation = script_next_correlation(script)};

		script_add_launch(script, &inner, i ? "splitKreduce_kernel" : "ampere_sgemm");
		script_add_kernel(script, 0, i ? "splitKreduce_kernel" : "ampere_sgemm",
				  inner.correlation, 50000 + i * 9000, 58000 + i * 9000);
	}
	model = script_model(script);
	for (size_t i = 0; i < model->op_count; i++) {
		uint32_t gemm = model_call_gemm(model, model->ops[i].call);

		assert_int_equal(gemm, find_call(model, "cublasGemmEx"));
		assert_int_equal(model->gemms[model->calls[gemm].detail].m, 512);
		/* The launch has no site of its own: the product's tells where. */
		assert_int_equal(model->sites[model_call_site(model, model->ops[i].call)].id, 9);
	}
	assert_int_equal(model->steps.items[0].launches, 2);
	model_free(model);
	script_free(script);
}

static void a_copy_inside_a_copy_counts_once(void **state)
{
	struct script *script = new_script();
	struct script_call outer = {
		.begin_ns = 0, .end_ns = 30000, .thread = 1, .api = "cudaMemcpy"};
	struct script_call inner = {
		.begin_ns = 1000, .end_ns = 29000, .thread = 1, .api = "cuMemcpyHtoD_v2"};
	struct model *model;

	(void)state;
	inner.parent_id =
		script_add_copy(script, &outer, COPY_H2D, 4096, MEMORY_PINNED, MEMORY_DEVICE);
	script_add_copy(script, &inner, COPY_H2D, 4096, MEMORY_PINNED, MEMORY_DEVICE);
	model = script_model(script);
	assert_int_equal(model->steps.items[0].copies, 1);
	assert_int_equal(model->steps.items[0].h2d_bytes, 4096);
	model_free(model);
	script_free(script);
}

static void an_allocation_inside_an_allocation_counts_once(void **state)
{
	struct script *script = new_script();
	struct script_call outer = {
		.begin_ns = 0, .end_ns = 30000, .thread = 1, .api = "cudaMalloc"};
	struct script_call inner = {
		.begin_ns = 1000, .end_ns = 29000, .thread = 1, .api = "cuMemAlloc_v2"};
	struct model *model;

	(void)state;
	inner.parent_id =
		script_add_memory(script, &outer, MEMORY_ALLOC, MEMORY_DEVICE, 0x10000, 5000);
	script_add_memory(script, &inner, MEMORY_ALLOC, MEMORY_DEVICE, 0x10000, 5000);
	model = script_model(script);
	assert_int_equal(model->devices[0].memory.live_bytes, 5000);
	assert_int_equal(model->devices[0].memory.peak_bytes, 5000);
	model_free(model);
	script_free(script);
}

static void many_operations_share_one_launch(void **state)
{
	struct script *script = new_script();
	struct script_call graph = {.begin_ns = 0,
				    .end_ns = 9000,
				    .thread = 1,
				    .api = "cudaGraphLaunch",
				    .correlation = script_next_correlation(script)};
	struct model *model;

	(void)state;
	script_add_launch(script, &graph, "graph");
	for (int i = 0; i < 5; i++)
		script_add_kernel(script, 0, "softmax", graph.correlation, 10000 + i * 1000,
				  10900 + i * 1000);
	model = script_model(script);
	for (size_t i = 0; i < model->op_count; i++)
		assert_int_equal(model->ops[i].call, 0);
	assert_int_equal(model->devices[0].unlinked_ops, 0);
	model_free(model);
	script_free(script);
}

static void same_call_ids_of_two_threads_do_not_mix(void **state)
{
	struct script *script = new_script();
	struct record_gemm shape = script_gemm_f16(64, 64, 64);
	struct script_call outer = {
		.begin_ns = 0, .end_ns = 90000, .thread = 1, .api = "cublasGemmEx"};
	uint32_t id = script_add_gemm(script, &outer, &shape);
	struct script_call stranger = {.begin_ns = 500,
				       .end_ns = 900,
				       .thread = 2,
				       .api = "cudaLaunchKernel",
				       .parent_id = id};
	struct model *model;

	(void)state;
	script_add_launch(script, &stranger, "k");
	model = script_model(script);
	assert_int_equal(model->calls[find_call(model, "cudaLaunchKernel")].parent, MODEL_NONE);
	model_free(model);
	script_free(script);
}

#define THREADS 3u

/* Two calls more of each thread than there are. */
static int count_too_many(void *context, uint64_t kind_mask,
			  int (*fn)(void *context, const struct trace_batch *batch),
			  int (*runs_fn)(void *context, uint32_t thread, uint32_t rows),
			  void *fn_context, struct error *err)
{
	int rc = 0;

	(void)context;
	(void)kind_mask;
	(void)fn;
	(void)err;
	for (uint32_t thread = 1; rc == 0 && thread <= THREADS; thread++)
		rc = runs_fn(fn_context, thread, 100 + 2);
	return rc;
}

/* Chunks may be damaged behind their heads, by which calls are counted. */
static void calls_that_were_counted_and_never_came_leave_no_trace(void **state)
{
	struct script *script = new_script();
	struct model_source source;
	struct model *model, *expected;
	struct error err = {0, ""};

	(void)state;
	for (uint32_t i = 0; i < 100 * THREADS; i++) {
		struct script_call call = {.begin_ns = 1000 * i,
					   .end_ns = 1000 * i + 500,
					   .thread = 1 + i % THREADS,
					   .api = "cudaLaunchKernel",
					   .correlation = script_next_correlation(script)};

		script_add_launch(script, &call, i % 2 ? "one" : "other");
		script_add_kernel(script, 0, i % 2 ? "one" : "other", call.correlation,
				  (int64_t)1000 * i + 700, (int64_t)1000 * i + 900);
	}
	expected = script_model(script);
	script_health(script)->rows = 1000000;
	source = script_source(script);
	source.count = count_too_many;
	assert_int_equal(model_build(&source, &model, &err), 0);
	assert_int_equal(model->call_count, expected->call_count);
	assert_memory_equal(model->calls, expected->calls,
			    model->call_count * sizeof(*model->calls));
	assert_int_equal(model->op_count, expected->op_count);
	assert_memory_equal(model->ops, expected->ops, model->op_count * sizeof(*model->ops));
	model_free(model);
	model_free(expected);
	script_free(script);
}

static void a_lost_parent_leaves_the_child_outermost(void **state)
{
	struct script *script = new_script();
	struct script_call child = {.begin_ns = 500,
				    .end_ns = 900,
				    .thread = 1,
				    .api = "cudaLaunchKernel",
				    .parent_id = 4711};
	struct model *model;

	(void)state;
	script_add_launch(script, &child, "k");
	model = script_model(script);
	assert_int_equal(model->calls[0].parent, MODEL_NONE);
	model_free(model);
	script_free(script);
}

static void unknown_kinds_of_a_gpu_copy_come_from_its_call(void **state)
{
	struct script *script = new_script();
	struct script_call call = {.begin_ns = 0,
				   .end_ns = 9000,
				   .thread = 1,
				   .api = "cudaMemcpyAsync",
				   .flags = CALL_ASYNC,
				   .correlation = script_next_correlation(script)};
	const struct transfer *transfer;
	struct model *model;

	(void)state;
	script_add_copy(script, &call, COPY_H2D, 1 << 20, MEMORY_PAGEABLE, MEMORY_DEVICE);
	script_add_gpu_copy(script, 0, COPY_H2D, 1 << 20, MEMORY_UNKNOWN, MEMORY_DEVICE,
			    call.correlation, 10000, 60000);
	model = script_model(script);
	transfer = &model->transfers[model->ops[0].detail];
	assert_int_equal(transfer->source_kind, MEMORY_PAGEABLE);
	assert_true(transfer->is_async);
	model_free(model);
	script_free(script);
}

static void records_out_of_order_come_out_by_time(void **state)
{
	struct script *script = new_script();
	struct model *model;

	(void)state;
	for (int i = 0; i < 50; i++) {
		int64_t at_ns = (i * 37 % 50) * 10000;
		struct script_call call = {.begin_ns = at_ns,
					   .end_ns = at_ns + 4000,
					   .thread = 1,
					   .correlation = script_next_correlation(script)};

		script_add_launch(script, &call, "k");
		script_add_kernel(script, 0, "k", call.correlation, at_ns + 5000, at_ns + 9000);
	}
	model = script_model(script);
	for (size_t i = 1; i < model->op_count; i++)
		assert_true(model->ops[i - 1].begin_ns <= model->ops[i].begin_ns);
	for (size_t i = 0; i < model->op_count; i++)
		assert_int_equal(model->calls[model->ops[i].call].begin_ns + 5000,
				 model->ops[i].begin_ns);
	model_free(model);
	script_free(script);
}

static void add_allocation(struct script *script, int64_t begin_ns, int64_t end_ns, uint8_t op,
			   uint64_t address, uint64_t bytes, int32_t status)
{
	struct script_call call = {.begin_ns = begin_ns,
				   .end_ns = end_ns,
				   .thread = 1,
				   .api = op == MEMORY_ALLOC ? "cudaMalloc" : "cudaFree",
				   .status = status};

	script_add_memory(script, &call, op, MEMORY_DEVICE, address, bytes);
}

static void an_address_reused_while_its_free_still_runs_is_counted_right(void **state)
{
	struct script *script = new_script();
	struct model *model;

	(void)state;
	add_allocation(script, 0, 1000, MEMORY_ALLOC, 0xa000, 100, 0);
	/* The free returns late; another thread has been given the address by then. */
	add_allocation(script, 2000, 9000, MEMORY_FREE, 0xa000, 0, 0);
	add_allocation(script, 3000, 4000, MEMORY_ALLOC, 0xa000, 300, 0);
	model = script_model(script);
	assert_int_equal(model->devices[0].memory.live_bytes, 300);
	assert_int_equal(model->devices[0].memory.peak_bytes, 300);
	assert_int_equal(model->devices[0].memory.unknown_frees, 0);
	model_free(model);
	script_free(script);
}

static void failed_allocations_do_not_count_and_strange_frees_are_told(void **state)
{
	struct script *script = new_script();
	struct model *model;

	(void)state;
	add_allocation(script, 0, 1000, MEMORY_ALLOC, 0xa000, 100, 0);
	add_allocation(script, 2000, 3000, MEMORY_ALLOC, 0xb000, 1ull << 40, 2);
	add_allocation(script, 4000, 5000, MEMORY_FREE, 0xc000, 0, 0);
	add_allocation(script, 6000, 7000, MEMORY_FREE, 0xa000, 0, 0);
	model = script_model(script);
	assert_int_equal(model->devices[0].memory.peak_bytes, 100);
	assert_int_equal(model->devices[0].memory.live_bytes, 0);
	assert_int_equal(model->devices[0].memory.unknown_frees, 1);
	assert_int_equal(model->failed_calls, 1);
	model_free(model);
	script_free(script);
}

static void pinned_host_memory_is_no_device_memory(void **state)
{
	struct script *script = new_script();
	struct script_call call = {
		.begin_ns = 0, .end_ns = 1000, .thread = 1, .api = "cudaHostAlloc"};
	struct model *model;

	(void)state;
	script_add_memory(script, &call, MEMORY_ALLOC, MEMORY_PINNED, 0xa000, 100);
	model = script_model(script);
	assert_int_equal(model->devices[0].memory.peak_bytes, 0);
	model_free(model);
	script_free(script);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_product_owns_the_kernels_launched_inside),
		cmocka_unit_test(a_copy_inside_a_copy_counts_once),
		cmocka_unit_test(an_allocation_inside_an_allocation_counts_once),
		cmocka_unit_test(many_operations_share_one_launch),
		cmocka_unit_test(same_call_ids_of_two_threads_do_not_mix),
		cmocka_unit_test(calls_that_were_counted_and_never_came_leave_no_trace),
		cmocka_unit_test(a_lost_parent_leaves_the_child_outermost),
		cmocka_unit_test(unknown_kinds_of_a_gpu_copy_come_from_its_call),
		cmocka_unit_test(records_out_of_order_come_out_by_time),
		cmocka_unit_test(an_address_reused_while_its_free_still_runs_is_counted_right),
		cmocka_unit_test(failed_allocations_do_not_count_and_strange_frees_are_told),
		cmocka_unit_test(pinned_host_memory_is_no_device_memory),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
