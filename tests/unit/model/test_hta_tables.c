/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTA's tables on recordings small enough to be worked out by hand.
 */
#include "unit_test.h"

#include <math.h>

#include "hta_tables.h"
#include "model_script.h"

#define US 1000

static const char compute[] = "void at::native::vectorized_elementwise_kernel<4>(int)";
static const char communication[] = "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*)";

/* A launch of `length` us at `call` us that runs from `begin` us; times of one stream. */
static void add_kernel(struct script *script, const char *name, int64_t call_us, int64_t begin_us,
		       int64_t length_us)
{
	struct script_call call = {.begin_ns = call_us * US,
				   .end_ns = (call_us + 5) * US,
				   .thread = 1,
				   .api = "cudaLaunchKernel",
				   .flags = CALL_ASYNC,
				   .correlation = script_next_correlation(script)};

	script_add_launch(script, &call, name);
	script_add_kernel(script, 0, name, call.correlation, begin_us * US,
			  (begin_us + length_us) * US);
}

static struct model *build(struct script *script, struct hta_tables *tables)
{
	struct model *model = script_model(script);

	hta_tables_build(model, 0, tables);
	return model;
}

static void compute_communication_and_idle_add_up_to_the_kernel_time(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct hta_tables hta;
	struct model *model;

	(void)state;
	add_kernel(script, compute, 0, 100, 100);
	script_use_stream(script, 20);
	add_kernel(script, communication, 10, 150, 100);
	script_add_gpu_set(script, 0, 4096, 0, 300 * US, 310 * US);
	model = build(script, &hta);
	assert_int_equal(hta.operations, 3);
	assert_false(hta.is_cut);
	assert_int_equal(hta.kernel_ns, 210 * US);
	assert_int_equal(hta.idle_ns, 50 * US);
	assert_int_equal(hta.compute_ns, 100 * US);
	assert_int_equal(hta.non_compute_ns, 60 * US);
	assert_int_equal(hta.communication_ns, 100 * US);
	assert_int_equal(hta.overlapped_ns, 50 * US);
	assert_int_equal(hta.kinds_ns[1 << HTA_COMPUTATION], 50 * US);
	assert_int_equal(hta.kinds_ns[1 << HTA_COMPUTATION | 1 << HTA_COMMUNICATION], 50 * US);
	assert_int_equal(hta.kinds_ns[1 << HTA_MEMORY], 10 * US);
	hta_tables_free(&hta);
	model_free(model);
	script_free(script);
}

static void gaps_are_split_by_the_launch_that_ends_them(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct hta_tables hta;
	struct model *model;

	(void)state;
	add_kernel(script, compute, 0, 100, 50);   /* ends at 150 */
	add_kernel(script, compute, 10, 160, 40);  /* queued: 10 us, a kernel wait */
	add_kernel(script, compute, 20, 260, 40);  /* queued: 60 us, other */
	add_kernel(script, compute, 400, 420, 40); /* launched late: 120 us, host wait */
	model = build(script, &hta);
	assert_int_equal(hta.stream_count, 1);
	assert_int_equal(hta.streams[0].stream, 7);
	assert_int_equal(hta.streams[0].kernel_wait_ns, 10 * US);
	assert_int_equal(hta.streams[0].other_ns, 60 * US);
	assert_int_equal(hta.streams[0].host_wait_ns, 120 * US);
	/* +1 +1 +1 -1 -1 -1 +1 -1 */
	assert_int_equal(hta.streams[0].queue_length.count, 8);
	assert_float_equal(hta.streams[0].queue_length.max, 3, 0);
	assert_float_equal(hta.streams[0].queue_length.min, 0, 0);
	assert_float_equal(hta.streams[0].queue_length.mean, 10.0 / 8, 1e-6);
	hta_tables_free(&hta);
	model_free(model);
	script_free(script);
}

static void launches_are_compared_with_what_they_launched(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct hta_tables hta;
	struct model *model;

	(void)state;
	add_kernel(script, compute, 0, 10, 2);
	add_kernel(script, compute, 100, 300, 50);
	model = build(script, &hta);
	assert_int_equal(hta.launch_call_us.count, 2);
	assert_int_equal(hta.short_kernels, 1);
	assert_int_equal(hta.delayed_launches, 1);
	assert_int_equal(hta.slow_calls, 0);
	assert_float_equal(hta.launch_delay_us.min, 5, 1e-6);
	assert_float_equal(hta.launch_delay_us.max, 195, 1e-4);
	assert_int_equal(hta.kernel_count, 1);
	assert_int_equal(hta.kernels[0].count, 2);
	assert_float_equal(hta.kernels[0].mean_us, 26, 1e-6);
	assert_float_equal(hta.kernels[0].std_us, 33.9411, 1e-3);
	hta_tables_free(&hta);
	model_free(model);
	script_free(script);
}

static void what_the_last_step_of_two_launched_does_not_count(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct hta_tables hta;
	struct model *model;

	(void)state;
	script_add_mark_of(script, MARK_TORCH, "ProfilerStep#1", 0, 500 * US);
	script_add_mark_of(script, MARK_TORCH, "ProfilerStep#2", 500 * US, 900 * US);
	add_kernel(script, compute, 0, 100, 50);
	add_kernel(script, compute, 499, 510, 50);
	add_kernel(script, compute, 600, 650, 50);
	script_add_kernel(script, 0, compute, 0, 20 * US, 30 * US); /* nobody launched it */
	model = build(script, &hta);
	assert_true(hta.is_cut);
	assert_int_equal(hta.operations, 2);
	assert_int_equal(hta.kernel_ns, 460 * US);
	hta_tables_free(&hta);
	model_free(model);
	script_free(script);
}

static void rates_of_copies_at_once_add_up(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct hta_tables hta;
	struct model *model;

	(void)state;
	script_add_gpu_copy(script, 0, COPY_H2D, 1000000, MEMORY_PINNED, MEMORY_DEVICE, 0, 0,
			    100 * US);
	script_add_gpu_copy(script, 0, COPY_H2D, 1000000, MEMORY_PINNED, MEMORY_DEVICE, 0, 50 * US,
			    150 * US);
	model = build(script, &hta);
	/* 10, 20, 10, and 0, which does not count. */
	assert_int_equal(hta.bandwidth_gbs[HTA_COPY_H2D].count, 3);
	assert_float_equal(hta.bandwidth_gbs[HTA_COPY_H2D].max, 20, 1e-4);
	assert_float_equal(hta.bandwidth_gbs[HTA_COPY_H2D].p50, 10, 1e-4);
	assert_int_equal(hta.bandwidth_gbs[HTA_COPY_D2H].count, 0);
	assert_true(isnan(hta.bandwidth_gbs[HTA_COPY_D2H].mean));
	hta_tables_free(&hta);
	model_free(model);
	script_free(script);
}

/* Its detail says which executable it was, and no copy has that number. */
static void whole_graphs_are_no_copies(void **state)
{
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct record_gpu_graph graph = {
		.gpu = {.begin_ns = 200 * US, .end_ns = 300 * US, .stream = 7, .graph = 5}};
	struct hta_tables hta;
	struct model *model;

	(void)state;
	script_add_gpu_copy(script, 0, COPY_H2D, 1000000, MEMORY_PINNED, MEMORY_DEVICE, 0, 0,
			    100 * US);
	script_add_gpu_copy(script, 0, COPY_D2H, 500000, MEMORY_DEVICE, MEMORY_PINNED, 0, 600 * US,
			    700 * US);
	script_add_kernel(script, 0, "one", 0, 100 * US, 110 * US);
	script_add_record(script, RECORD_KIND_gpu_graph, &graph, sizeof(graph));
	graph.gpu.begin_ns += 200 * US;
	graph.gpu.end_ns += 200 * US;
	graph.gpu.graph = 6;
	script_add_record(script, RECORD_KIND_gpu_graph, &graph, sizeof(graph));
	model = build(script, &hta);
	assert_int_equal(hta.bandwidth_gbs[HTA_COPY_H2D].count, 1);
	assert_int_equal(hta.bandwidth_gbs[HTA_COPY_D2H].count, 1);
	hta_tables_free(&hta);
	model_free(model);
	script_free(script);
}

static void kinds_go_by_the_beginning_of_names(void **state)
{
	static const struct {
		const char *name;
		enum hta_kind kind;
	} kernels[] = {
		{"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", HTA_COMMUNICATION},
		{"_Z40ncclDevKernel_AllReduce_Sum_f16_RING_LLP11ncclDevComm", HTA_COMMUNICATION},
		{"void dpsk::ep::internode::combine<false>(int4*)", HTA_COMPUTATION},
		{"ampere_sgemm_128x64_tn", HTA_COMPUTATION},
		{"dma_transfer", HTA_MEMORY},
		{"void cub::DeviceSyncKernel()", HTA_KIND_COUNT},
	};
	struct script *script = script_new("NVIDIA A100-SXM4-80GB", 108, 4, 16);
	struct model *model;

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		script_add_kernel(script, 0, kernels[i].name, 0, (int64_t)i * 100,
				  (int64_t)i * 100 + 50);
	model = script_model(script);
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		assert_int_equal(hta_kind_of_op(model, &model->ops[i]), kernels[i].kind);
	model_free(model);
	script_free(script);
}

static void quartiles_lie_between_neighbours(void **state)
{
	struct value_list list = {0};
	struct value_stats stats;

	(void)state;
	for (int i = 4; i > 0; i--)
		value_list_add(&list, i);
	stats = value_stats_of(&list);
	assert_int_equal(stats.count, 4);
	assert_float_equal(stats.mean, 2.5, 1e-6);
	assert_float_equal(stats.std, 1.290994, 1e-5);
	assert_float_equal(stats.p25, 1.75, 1e-6);
	assert_float_equal(stats.p50, 2.5, 1e-6);
	assert_float_equal(stats.p75, 3.25, 1e-6);
	value_list_free(&list);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compute_communication_and_idle_add_up_to_the_kernel_time),
		cmocka_unit_test(gaps_are_split_by_the_launch_that_ends_them),
		cmocka_unit_test(launches_are_compared_with_what_they_launched),
		cmocka_unit_test(what_the_last_step_of_two_launched_does_not_count),
		cmocka_unit_test(rates_of_copies_at_once_add_up),
		cmocka_unit_test(whole_graphs_are_no_copies),
		cmocka_unit_test(kinds_go_by_the_beginning_of_names),
		cmocka_unit_test(quartiles_lie_between_neighbours),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
