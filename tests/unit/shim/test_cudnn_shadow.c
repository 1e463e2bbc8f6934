/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a product through cuDNN's graph API, from its tensors to the plan that runs it. */
#include "../../../shim/cudnn_shadow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../shim/api/cudnn_abi.h"

/* ---- descriptors as a program makes them ---- */

static uintptr_t next_descriptor = 0x7f0000001000;

static const void *create(int type)
{
	void *made = (void *)next_descriptor;

	next_descriptor += 0x40;
	cudnn_shadow_create(type, &made);
	return made;
}

static void set_numbers(const void *descriptor, int name, const int64_t *numbers, int64_t count)
{
	cudnn_shadow_set(descriptor, name, ABI_CUDNN_TYPE_INT64, count, numbers);
}

static void set_descriptor(const void *descriptor, int name, const void *value)
{
	cudnn_shadow_set(descriptor, name, ABI_CUDNN_TYPE_DESCRIPTOR, 1, &value);
}

static void set_type(const void *descriptor, int name, int type)
{
	cudnn_shadow_set(descriptor, name, ABI_CUDNN_TYPE_DATA_TYPE, 1, &type);
}

static const void *tensor(int64_t id, int type, int rank, const int64_t *dims,
			  const int64_t *strides)
{
	const void *made = create(ABI_CUDNN_TENSOR);

	set_type(made, ABI_CUDNN_TENSOR_DATA_TYPE, type);
	set_numbers(made, ABI_CUDNN_TENSOR_DIMENSIONS, dims, rank);
	set_numbers(made, ABI_CUDNN_TENSOR_STRIDES, strides, rank);
	set_numbers(made, ABI_CUDNN_TENSOR_UNIQUE_ID, &id, 1);
	return made;
}

#define DIMS(...)    ((const int64_t[]){__VA_ARGS__})
#define STRIDES(...) ((const int64_t[]){__VA_ARGS__})

/* 64 images of 34 channels, 56 x 48 pixels, channels last; 128 filters of 3 x 5. */
static const void *x_tensor(void)
{
	return tensor('x', ABI_CUDNN_HALF, 4, DIMS(64, 34, 56, 48),
		      STRIDES(34 * 56 * 48, 1, 34 * 48, 34));
}
static const void *w_tensor(void)
{
	return tensor('w', ABI_CUDNN_HALF, 4, DIMS(128, 34, 3, 5), STRIDES(34 * 15, 1, 34 * 5, 34));
}
static const void *y_tensor(void)
{
	return tensor('y', ABI_CUDNN_HALF, 4, DIMS(64, 128, 28, 24),
		      STRIDES(128 * 28 * 24, 1, 128 * 24, 128));
}

static const void *convolution(void)
{
	const void *made = create(ABI_CUDNN_CONVOLUTION);

	set_type(made, ABI_CUDNN_CONV_COMP_TYPE, ABI_CUDNN_FLOAT);
	set_numbers(made, ABI_CUDNN_CONV_STRIDES, DIMS(2, 2), 2);
	set_numbers(made, ABI_CUDNN_CONV_PRE_PADDINGS, DIMS(1, 2), 2);
	set_numbers(made, ABI_CUDNN_CONV_DILATIONS, DIMS(1, 1), 2);
	return made;
}

static const void *forward_operation(void)
{
	const void *made = create(ABI_CUDNN_OPERATION_CONV_FORWARD);

	set_descriptor(made, ABI_CUDNN_FORWARD_CONV, convolution());
	set_descriptor(made, ABI_CUDNN_FORWARD_X, x_tensor());
	set_descriptor(made, ABI_CUDNN_FORWARD_W, w_tensor());
	set_descriptor(made, ABI_CUDNN_FORWARD_Y, y_tensor());
	return made;
}

static const void *graph_of(const void *const *operations, int64_t count)
{
	const void *made = create(ABI_CUDNN_OPERATIONGRAPH);

	cudnn_shadow_set(made, ABI_CUDNN_GRAPH_OPS, ABI_CUDNN_TYPE_DESCRIPTOR, count, operations);
	return made;
}

static const void *plan_of(const void *graph)
{
	const void *engine = create(ABI_CUDNN_ENGINE), *config = create(ABI_CUDNN_ENGINECFG);
	const void *plan = create(ABI_CUDNN_EXECUTION_PLAN);

	set_descriptor(engine, ABI_CUDNN_ENGINE_GRAPH, graph);
	set_descriptor(config, ABI_CUDNN_CFG_ENGINE, engine);
	set_descriptor(plan, ABI_CUDNN_PLAN_CFG, config);
	return plan;
}

static const void *pack_of(const int64_t *ids, int64_t count)
{
	const void *made = create(ABI_CUDNN_VARIANT_PACK), *pointers[64];

	for (int64_t i = 0; i < count && i < 64; i++)
		pointers[i] = (const void *)(uintptr_t)(0x1000 * (i + 1));
	set_numbers(made, ABI_CUDNN_PACK_IDS, ids, count);
	cudnn_shadow_set(made, ABI_CUDNN_PACK_POINTERS, ABI_CUDNN_TYPE_POINTER, count, pointers);
	return made;
}

static struct record_conv conv_of(const void *plan, const void *pack, bool *is_known)
{
	struct record_conv record;
	struct cudnn_product product;
	struct cudnn_addresses addresses;

	memset(&record, 0xee, sizeof(record));
	cudnn_shadow_plan(plan, pack, &product, &addresses);
	assert_int_equal(product.kind, CUDNN_CONVOLUTION);
	*is_known = cudnn_product_conv(&product, &record);
	record.x = (uintptr_t)addresses.x;
	record.w = (uintptr_t)addresses.w;
	record.y = (uintptr_t)addresses.y;
	return record;
}

static void assert_is_the_convolution(const struct record_conv *r)
{
	assert_int_equal(r->batch, 64);
	assert_int_equal(r->channels_in, 34);
	assert_int_equal(r->channels_out, 128);
	assert_int_equal(r->groups, 1);
	assert_int_equal(r->dimensions, 2);
	assert_memory_equal(r->in, ((uint32_t[]){1, 56, 48}), sizeof(r->in));
	assert_memory_equal(r->filter, ((uint32_t[]){1, 3, 5}), sizeof(r->filter));
	assert_memory_equal(r->out, ((uint32_t[]){1, 28, 24}), sizeof(r->out));
	assert_memory_equal(r->stride, ((uint16_t[]){1, 2, 2}), sizeof(r->stride));
	assert_memory_equal(r->pad, ((uint16_t[]){0, 1, 2}), sizeof(r->pad));
	assert_memory_equal(r->dilation, ((uint16_t[]){1, 1, 1}), sizeof(r->dilation));
	assert_int_equal(r->layout_x, CONV_CHANNELS_LAST);
	assert_int_equal(r->layout_w, CONV_CHANNELS_LAST);
	assert_int_equal(r->type_x, ELEMENT_F16);
	assert_int_equal(r->type_compute, ELEMENT_F32);
	assert_int_equal(r->reserved0, 0);
}

/* ---- the way of a product ---- */

static void a_convolution_is_found_again_in_its_plan(void **state)
{
	const void *operation = forward_operation();
	const void *plan = plan_of(graph_of(&operation, 1));
	struct record_conv r;
	bool is_known;

	(void)state;
	r = conv_of(plan, pack_of(DIMS('y', 'x', 'w'), 3), &is_known);
	assert_true(is_known);
	assert_is_the_convolution(&r);
	assert_int_equal(r.op, CONV_FORWARD);
	assert_int_equal(r.operations, 1);
	assert_int_equal(r.y, 0x1000);
	assert_int_equal(r.x, 0x2000);
	assert_int_equal(r.w, 0x3000);
}

static void a_heuristic_hands_the_product_on_to_its_results(void **state)
{
	const void *operation = forward_operation();
	const void *graph = graph_of(&operation, 1), *heuristic = create(ABI_CUDNN_ENGINEHEUR);
	const void *results[3], *plan = create(ABI_CUDNN_EXECUTION_PLAN);
	struct cudnn_product product;
	struct cudnn_addresses addresses;
	const int64_t written = 2;
	struct record_conv r;
	bool is_known;

	(void)state;
	for (int i = 0; i < 3; i++)
		results[i] = create(ABI_CUDNN_ENGINECFG);
	set_descriptor(heuristic, ABI_CUDNN_HEUR_GRAPH, graph);
	cudnn_shadow_get(heuristic, ABI_CUDNN_HEUR_RESULTS, ABI_CUDNN_TYPE_DESCRIPTOR, 3, &written,
			 results);
	set_descriptor(plan, ABI_CUDNN_PLAN_CFG, results[1]);
	r = conv_of(plan, NULL, &is_known);
	assert_true(is_known);
	assert_is_the_convolution(&r);
	/* Only as many as were written. */
	set_descriptor(plan, ABI_CUDNN_PLAN_CFG, results[2]);
	cudnn_shadow_plan(plan, NULL, &product, &addresses);
	assert_int_equal(product.kind, CUDNN_NO_PRODUCT);
}

static void backward_passes_have_the_names_of_the_forward_one(void **state)
{
	const void *data = create(ABI_CUDNN_OPERATION_CONV_DATA);
	const void *filter = create(ABI_CUDNN_OPERATION_CONV_FILTER);
	struct record_conv r;
	bool is_known;

	(void)state;
	set_descriptor(data, ABI_CUDNN_DATA_CONV, convolution());
	set_descriptor(data, ABI_CUDNN_DATA_DX, x_tensor());
	set_descriptor(data, ABI_CUDNN_DATA_W, w_tensor());
	set_descriptor(data, ABI_CUDNN_DATA_DY, y_tensor());
	r = conv_of(plan_of(graph_of(&data, 1)), pack_of(DIMS('x'), 1), &is_known);
	assert_true(is_known);
	assert_is_the_convolution(&r);
	assert_int_equal(r.op, CONV_BACKWARD_DATA);
	assert_int_equal(r.x, 0x1000);
	assert_int_equal(r.y, 0); /* not in the pack */
	set_descriptor(filter, ABI_CUDNN_FILTER_CONV, convolution());
	set_descriptor(filter, ABI_CUDNN_FILTER_X, x_tensor());
	set_descriptor(filter, ABI_CUDNN_FILTER_DW, w_tensor());
	set_descriptor(filter, ABI_CUDNN_FILTER_DY, y_tensor());
	r = conv_of(plan_of(graph_of(&filter, 1)), NULL, &is_known);
	assert_is_the_convolution(&r);
	assert_int_equal(r.op, CONV_BACKWARD_FILTER);
}

static void what_is_fused_is_counted_and_two_products_are_none(void **state)
{
	const void *operations[3] = {forward_operation(), create(13), create(13)};
	const void *two[2] = {forward_operation(), forward_operation()};
	struct cudnn_product product;
	struct cudnn_addresses addresses;
	bool is_known;

	(void)state;
	assert_int_equal(conv_of(plan_of(graph_of(operations, 3)), NULL, &is_known).operations, 3);
	assert_true(is_known);
	cudnn_shadow_plan(plan_of(graph_of(two, 2)), NULL, &product, &addresses);
	assert_int_equal(product.kind, CUDNN_NO_PRODUCT);
}

static void destroyed_descriptors_leave_nothing_behind(void **state)
{
	const void *operation = forward_operation();
	const void *graph = graph_of(&operation, 1), *plan = plan_of(graph);
	void *again = (void *)(uintptr_t)plan;
	struct cudnn_product product;
	struct cudnn_addresses addresses;
	bool is_known;

	(void)state;
	/* What a plan was made of may go. */
	cudnn_shadow_destroy(operation);
	cudnn_shadow_destroy(graph);
	conv_of(plan, NULL, &is_known);
	assert_true(is_known);
	/* Another descriptor at the same address, whether or not its end was seen. */
	cudnn_shadow_create(ABI_CUDNN_EXECUTION_PLAN, &again);
	cudnn_shadow_plan(plan, NULL, &product, &addresses);
	assert_int_equal(product.kind, CUDNN_NO_PRODUCT);
	cudnn_shadow_destroy(plan);
	cudnn_shadow_plan(plan, NULL, &product, &addresses);
	assert_int_equal(product.kind, CUDNN_NO_PRODUCT);
}

static void shapes_that_are_told_elsewhere_are_unknown(void **state)
{
	const void *operation = forward_operation();
	const void *plan = plan_of(graph_of(&operation, 1));
	const void *overridden = pack_of(DIMS('x'), 1), *large = forward_operation();
	bool is_known;

	(void)state;
	set_numbers(overridden, ABI_CUDNN_PACK_OVERRIDE_IDS, DIMS('x'), 1);
	conv_of(plan, overridden, &is_known);
	assert_false(is_known);
	/* More dimensions than there is room for. */
	set_descriptor(large, ABI_CUDNN_FORWARD_X,
		       tensor('x', ABI_CUDNN_HALF, 6, DIMS(1, 2, 3, 4, 5, 6),
			      STRIDES(720, 360, 120, 30, 6, 1)));
	conv_of(plan_of(graph_of(&large, 1)), NULL, &is_known);
	assert_false(is_known);
}

static void nonsense_is_survived(void **state)
{
	const void *operation = forward_operation(), *tensor_of = x_tensor();
	const void *plan = plan_of(graph_of(&operation, 1)), *pack = create(ABI_CUDNN_VARIANT_PACK);
	struct cudnn_product product;
	struct cudnn_addresses addresses;
	int64_t many[100] = {0};

	(void)state;
	cudnn_shadow_create(ABI_CUDNN_TENSOR, NULL);
	cudnn_shadow_destroy(NULL);
	cudnn_shadow_set(NULL, ABI_CUDNN_TENSOR_DIMENSIONS, ABI_CUDNN_TYPE_INT64, 4, many);
	cudnn_shadow_set((const void *)8, ABI_CUDNN_GRAPH_OPS, ABI_CUDNN_TYPE_DESCRIPTOR, 4, many);
	for (int name = 0; name < 2000; name++) {
		cudnn_shadow_set(tensor_of, name, name % 16, INT64_MIN, many);
		cudnn_shadow_set(tensor_of, name, name % 16, 100, many);
		cudnn_shadow_set(tensor_of, name, name % 16, 4, NULL);
		cudnn_shadow_set(operation, name, name % 16, INT64_MAX, NULL);
		cudnn_shadow_set(plan, name, name % 16, 0, many);
		cudnn_shadow_set(pack, name, name % 16, 100, many);
		cudnn_shadow_set(pack, name, name % 16, -1, many);
		cudnn_shadow_get(plan, name, name % 16, -5, NULL, NULL);
		cudnn_shadow_get(plan, name, name % 16, 100, &many[0], many);
	}
	cudnn_shadow_plan(plan, pack, &product, &addresses);
	cudnn_shadow_plan(pack, plan, &product, &addresses);
	assert_int_equal(product.kind, CUDNN_NO_PRODUCT);
}

static void a_full_table_forgets_the_new_and_keeps_the_old(void **state)
{
	const void *operation = forward_operation();
	const void *plan = plan_of(graph_of(&operation, 1)), *first = (void *)next_descriptor;
	bool is_known;

	(void)state;
	for (int i = 0; i < 20000; i++)
		create(ABI_CUDNN_TENSOR);
	conv_of(plan, NULL, &is_known);
	assert_true(is_known);
	for (int i = 0; i < 20000; i++)
		cudnn_shadow_destroy((const char *)first + 0x40 * (size_t)i);
	operation = forward_operation();
	conv_of(plan_of(graph_of(&operation, 1)), NULL, &is_known);
	assert_true(is_known);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_convolution_is_found_again_in_its_plan),
		cmocka_unit_test(a_heuristic_hands_the_product_on_to_its_results),
		cmocka_unit_test(backward_passes_have_the_names_of_the_forward_one),
		cmocka_unit_test(what_is_fused_is_counted_and_two_products_are_none),
		cmocka_unit_test(destroyed_descriptors_leave_nothing_behind),
		cmocka_unit_test(shapes_that_are_told_elsewhere_are_unknown),
		cmocka_unit_test(nonsense_is_survived),
		cmocka_unit_test(a_full_table_forgets_the_new_and_keeps_the_old),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
