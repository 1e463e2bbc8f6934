/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls inside calls are one operation: a product that a library makes of another library's, and a
 * group of messages that NCCL sends with one kernel.
 */
#include <string.h>

#include "collective.h"
#include "model_script.h"
#include "unit_test.h"

#define MESSAGE_KERNEL "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
#define SUM_KERNEL     "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

struct scene {
	struct script *script;
	int64_t now_ns;
};

static struct script_call next_call(struct scene *scene, const char *api, uint32_t parent_id)
{
	struct script_call call = {.begin_ns = scene->now_ns,
				   .end_ns = scene->now_ns + 500,
				   .thread = 1,
				   .api = api,
				   .parent_id = parent_id};

	scene->now_ns += 1000;
	return call;
}

static void launch(struct scene *scene, uint32_t parent_id, const char *kernel)
{
	struct script_call call = next_call(scene, "cuLaunchKernelEx", parent_id);

	call.correlation = script_next_correlation(scene->script);
	script_add_launch(scene->script, &call, kernel);
	script_add_kernel(scene->script, 0, kernel, call.correlation, scene->now_ns + 100000,
			  scene->now_ns + 150000);
}

static uint32_t add_collective(struct scene *scene, uint8_t kind, uint32_t group)
{
	struct script_call call =
		next_call(scene, kind == COLLECTIVE_SEND ? "ncclSend" : "ncclOther", 0);
	struct record_collective record;

	memset(&record, 0, sizeof(record));
	record.communicator = record.hash = 0x77;
	record.op = kind;
	record.group = group;
	record.size_bytes = 4096;
	record.sequence = 1;
	record.peer = 1;
	return script_add_call_record(scene->script, &call, RECORD_KIND_collective, &record,
				      sizeof(record));
}

/* The kernels are launched inside the call that ends the group. */
static void end_group(struct scene *scene, uint32_t group, const char *const *kernels, int count)
{
	struct script_call call = next_call(scene, "ncclGroupEnd", 0);
	struct record_call record;
	uint32_t id;

	memset(&record, 0, sizeof(record));
	record.object = group;
	call.end_ns += 1000 * count;
	scene->now_ns -= 800;
	id = script_add_call_record(scene->script, &call, RECORD_KIND_call, &record,
				    sizeof(record));
	for (int i = 0; i < count; i++)
		launch(scene, id, kernels[i]);
	scene->now_ns += 1000;
}

static struct scene scene_new(void)
{
	return (struct scene){script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16), 1000};
}

static void a_product_made_of_another_librarys_is_one_product(void **state)
{
	struct scene scene = scene_new();
	struct record_gemm shape = script_gemm_f16(512, 256, 128);
	struct script_call outer = {
		.begin_ns = 1000, .end_ns = 9000, .thread = 1, .api = "cublasGemmEx"};
	struct script_call inner = {
		.begin_ns = 2000, .end_ns = 8000, .thread = 1, .api = "cublasLtMatmul"};
	struct model *model;
	uint32_t product;
	size_t counted = 0;

	(void)state;
	inner.parent_id = script_add_gemm(scene.script, &outer, &shape);
	scene.now_ns = 3000;
	launch(&scene, script_add_gemm(scene.script, &inner, &shape), "ampere_h16816gemm");
	model = script_model(scene.script);
	assert_int_equal(model->op_count, 1);
	product = model_call_gemm(model, model->ops[0].call);
	assert_string_equal(model_api_name(model, product), "cublasGemmEx");
	assert_int_equal(model->gemms[model->calls[product].detail].m, 512);
	for (size_t i = 0; i < model->call_count; i++)
		counted += model->calls[i].kind == RECORD_KIND_gemm &&
			   !(model->calls[i].flags & CALL_REDUNDANT);
	assert_int_equal(counted, 1);
	assert_int_equal(model->ops[0].end_ns - model->ops[0].begin_ns, 50000);
	model_free(model);
	script_free(scene.script);
}

static void a_group_of_many_messages_is_one_operation(void **state)
{
	static const char *const kernel[] = {MESSAGE_KERNEL};
	struct scene scene = scene_new();
	struct model *model;

	(void)state;
	for (uint32_t group = 1; group <= 2; group++) {
		for (int i = 0; i < 8; i++)
			add_collective(&scene, i % 2 ? COLLECTIVE_RECV : COLLECTIVE_SEND, group);
		end_group(&scene, group, kernel, 1);
	}
	model = script_model(scene.script);
	assert_int_equal(model->collective_count, 16);
	assert_int_equal(model->op_count, 2);
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(model->collectives[i].op, i / 8);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(
			model_api_name(model, model_call_root(model, model->ops[i].call)),
			"ncclGroupEnd");
	model_free(model);
	script_free(scene.script);
}

static void a_group_of_sums_and_messages_gives_each_its_kernel(void **state)
{
	static const char *const kernels[] = {SUM_KERNEL, SUM_KERNEL, MESSAGE_KERNEL};
	static const uint32_t wanted[] = {0, 1, 2, 2, 2};
	struct scene scene = scene_new();
	struct model *model;

	(void)state;
	add_collective(&scene, COLLECTIVE_ALL_REDUCE, 1);
	add_collective(&scene, COLLECTIVE_ALL_REDUCE, 1);
	add_collective(&scene, COLLECTIVE_SEND, 1);
	add_collective(&scene, COLLECTIVE_RECV, 1);
	add_collective(&scene, COLLECTIVE_SEND, 1);
	end_group(&scene, 1, kernels, 3);
	model = script_model(scene.script);
	assert_int_equal(model->op_count, 3);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(model->collectives[i].op, wanted[i]);
	model_free(model);
	script_free(scene.script);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_product_made_of_another_librarys_is_one_product),
		cmocka_unit_test(a_group_of_many_messages_is_one_operation),
		cmocka_unit_test(a_group_of_sums_and_messages_gives_each_its_kernel),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
