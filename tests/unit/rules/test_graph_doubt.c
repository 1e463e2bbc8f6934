/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about kernels say "not judged" where graphs without nodes are a large part of the step, and
 * only they, and only where they found nothing.
 */
#include "rule_bench.h"

#include <string.h>

enum { STEPS = 20, KERNEL_NS = 2000000 };

/* A launch of a graph and what it does, after what the machine did so far. */
static void add_graph(struct bench *bench, int64_t gpu_ns)
{
	struct machine *machine = &bench->machine;
	struct script_call call = {.begin_ns = machine->host_ns,
				   .end_ns = machine->host_ns + machine->launch_ns,
				   .thread = 1,
				   .api = "cudaGraphLaunch",
				   .correlation = script_next_correlation(bench->script)};
	struct record_gpu_graph whole;
	struct record_graph launch;

	memset(&launch, 0, sizeof(launch));
	launch.op = GRAPH_LAUNCH;
	launch.executable = 0x1000;
	script_add_call_record(bench->script, &call, RECORD_KIND_graph, &launch, sizeof(launch));
	machine->host_ns += machine->launch_ns;
	if (machine->stream_ns < machine->host_ns)
		machine->stream_ns = machine->host_ns;
	memset(&whole, 0, sizeof(whole));
	whole.gpu.begin_ns = (uint64_t)machine->stream_ns;
	whole.gpu.end_ns = (uint64_t)(machine->stream_ns + gpu_ns);
	whole.gpu.correlation = call.correlation;
	whole.gpu.stream = 7;
	machine->stream_ns += gpu_ns;
	script_add_record(bench->script, RECORD_KIND_gpu_graph, &whole, sizeof(whole));
}

static void run(struct bench *bench, const char *kernel, int64_t graph_ns)
{
	bench_init(bench);
	for (int i = 0; i < STEPS; i++) {
		machine_kernel(&bench->machine, kernel, KERNEL_NS);
		add_graph(bench, graph_ns);
		machine_kernel(&bench->machine, "loss_kernel", 10000);
	}
	bench_run(bench);
}

static void silence_about_kernels_is_doubted_beside_large_graphs(void **state)
{
	struct bench bench;

	(void)state;
	run(&bench, "gelu_forward", 3000000);
	assert_int_equal(bench_status(&bench, "GT204"), NOT_JUDGED);
	assert_non_null(
		strstr(bench_reason(&bench, "GT204"), "graph replays without nodes are 59."));
	assert_int_equal(bench_status(&bench, "GT209"), NOT_JUDGED);
	/* What looks at copies and launches has seen everything. */
	assert_int_equal(bench_status(&bench, "GT101"), JUDGED_SILENT);
	assert_int_equal(bench_status(&bench, "GT501"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void small_graphs_hide_nothing_that_matters(void **state)
{
	struct bench bench;

	(void)state;
	run(&bench, "gelu_forward", 100000);
	assert_int_equal(bench_status(&bench, "GT204"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void what_was_found_beside_a_graph_stays_found(void **state)
{
	struct bench bench;

	(void)state;
	run(&bench, "ampere_sgemm_128x64_tn", 3000000);
	assert_int_equal(bench_status(&bench, "GT202"), JUDGED_RAISED);
	assert_int_equal(bench_status(&bench, "GT204"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silence_about_kernels_is_doubted_beside_large_graphs),
		cmocka_unit_test(small_graphs_hide_nothing_that_matters),
		cmocka_unit_test(what_was_found_beside_a_graph_stays_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
