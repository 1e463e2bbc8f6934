/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT301 asks where calls were made, and names the node only where the job may go there.
 */
#include "machine_bench.h"

#include <string.h>

/* Copies at 70 % of what the link attains, as from the other socket. */
static void run_on_node(struct bench *bench, int64_t node, const char *cpus_allowed)
{
	bench_init(bench);
	bench_two_nodes(bench, cpus_allowed);
	bench->machine.pinned_gbs = 0.7 * link_rate_of(4, 16).attainable_gbs;
	bench_copy_steps(bench, 64 << 20);
	bench_sample(bench, SAMPLE_thread_node, 0, node);
	bench_run(bench);
}

static void calls_from_the_other_socket_are_raised_with_the_measured_loss(void **state)
{
	struct bench bench;
	const struct finding *finding;

	(void)state;
	run_on_node(&bench, 0, "0-3");
	finding = bench_only(&bench, "GT301");
	assert_float_equal(bench_number(finding, "gpu_node"), 1, 0);
	assert_float_equal(bench_number(finding, "process_node"), 0, 0);
	assert_float_equal(bench_number(finding, "distance"), 21, 0);
	assert_float_equal(bench_number(finding, "far_calls_percent"), 100, 0.01);
	assert_float_equal((float)(bench_number(finding, "achieved_gbs") /
				   bench_number(finding, "attainable_gbs")),
			   0.7f, 0.01f);
	assert_non_null(strstr(finding->fix, "numactl --cpunodebind=1 --membind=1"));
	assert_non_null(strstr(finding->fix, "taskset -c 1,3"));
	bench_fini(&bench);
}

static void binding_to_the_right_node_gains_what_the_range_says(void **state)
{
	struct bench far, near;

	(void)state;
	run_on_node(&far, 0, "0-3");
	bench_init(&near);
	bench_two_nodes(&near, "0-3");
	near.machine.pinned_gbs = link_rate_of(4, 16).attainable_gbs;
	bench_copy_steps(&near, 64 << 20);
	bench_sample(&near, SAMPLE_thread_node, 0, 1);
	bench_run(&near);
	bench_assert_range_holds(bench_only(&far, "GT301"),
				 bench_step_ms(&far) - bench_step_ms(&near));
	assert_int_equal(bench_status(&near, "GT301"), JUDGED_SILENT);
	bench_fini(&far);
	bench_fini(&near);
}

/* Steps of a rank that downloads 256 MiB; from the other node at 35 % of the local rate. */
static void run_download(struct bench *bench, bool is_remote)
{
	double local_gbs = link_rate_of(4, 16).attainable_gbs;

	bench_init(bench);
	bench_two_nodes(bench, "0-3");
	bench->machine.pinned_gbs = is_remote ? 0.35 * local_gbs : local_gbs;
	for (int step = 0; step < 20; step++) {
		machine_kernel(&bench->machine, "ampere_sgemm_128x128_nn", 10000000);
		machine_copy(&bench->machine, COPY_D2H, 256 << 20, MEMORY_PINNED, false);
		machine_kernel(&bench->machine, "adam_step", 50000);
	}
	bench_sample(bench, SAMPLE_thread_node, 0, is_remote ? 0 : 1);
	bench_run(bench);
}

static void four_of_eight_ranks_gain_together_what_their_ranges_say(void **state)
{
	double low_ms = 0, high_ms = 0, gained_ms = 0, gbs[2] = {0, 0};
	size_t raised = 0;

	(void)state;
	for (int rank = 0; rank < 8; rank++) {
		struct bench now, cured;

		run_download(&now, rank % 2);
		run_download(&cured, false);
		gained_ms += bench_step_ms(&now) - bench_step_ms(&cured);
		for (size_t i = 0; i < now.findings.count; i++) {
			const struct finding *finding = &now.findings.items[i];

			if (strcmp(finding->id, "GT301") != 0)
				continue;
			raised++;
			low_ms += finding->gain_low_ms;
			high_ms += finding->gain_high_ms;
			gbs[0] += bench_number(finding, "achieved_gbs");
			gbs[1] += bench_number(finding, "attainable_gbs");
			assert_int_equal(rank % 2, 1);
		}
		bench_fini(&now);
		bench_fini(&cured);
	}
	assert_int_equal(raised, 4);
	assert_float_equal((float)(gbs[0] / gbs[1]), 0.35f, 0.005f);
	assert_true(gained_ms >= low_ms && gained_ms <= 1.02 * high_ms);
	/* The ranges are worth something: not more than twice what is gained. */
	assert_true(high_ms < 2 * gained_ms);
}

static void a_job_without_cpus_of_the_node_gets_no_numactl_line(void **state)
{
	struct bench bench;

	(void)state;
	run_on_node(&bench, 0, "0,2");
	assert_null(strstr(bench_only(&bench, "GT301")->fix, "numactl"));
	assert_non_null(strstr(bench_only(&bench, "GT301")->fix, "scheduler"));
	bench_fini(&bench);
}

static void a_job_that_hardly_copies_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_two_nodes(&bench, "0-3");
	bench_copy_steps(&bench, 64 << 10);
	bench_sample(&bench, SAMPLE_thread_node, 0, 0);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT301"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void half_of_the_calls_are_not_enough(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_two_nodes(&bench, "0-3");
	bench_copy_steps(&bench, 64 << 20);
	bench_sample(&bench, SAMPLE_thread_node, 0, 0);
	bench_sample(&bench, SAMPLE_thread_node, bench.machine.host_ns / 2, 1);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT301"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void near_nodes_are_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_device(bench.script, 0)->numa_node = 1;
	script_info(bench.script, "host.numa_nodes", "2");
	script_info(bench.script, "numa.0.distances", "10 12");
	script_info(bench.script, "numa.1.distances", "12 10");
	bench_copy_steps(&bench, 64 << 20);
	bench_sample(&bench, SAMPLE_thread_node, 0, 0);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT301"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void one_node_is_silent(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	script_info(bench.script, "host.numa_nodes", "1");
	bench_copy_steps(&bench, 64 << 20);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT301"), JUDGED_SILENT);
	bench_fini(&bench);
}

static void a_gpu_without_a_node_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_two_nodes(&bench, "0-3");
	script_device(bench.script, 0)->numa_node = -1;
	bench_copy_steps(&bench, 64 << 20);
	bench_sample(&bench, SAMPLE_thread_node, 0, 0);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT301"), NOT_JUDGED);
	bench_fini(&bench);
}

static void without_samples_it_is_not_judged(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench_two_nodes(&bench, "0-3");
	bench_copy_steps(&bench, 64 << 20);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, "GT301"), NOT_JUDGED);
	bench_fini(&bench);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_from_the_other_socket_are_raised_with_the_measured_loss),
		cmocka_unit_test(binding_to_the_right_node_gains_what_the_range_says),
		cmocka_unit_test(four_of_eight_ranks_gain_together_what_their_ranges_say),
		cmocka_unit_test(a_job_without_cpus_of_the_node_gets_no_numactl_line),
		cmocka_unit_test(a_job_that_hardly_copies_is_silent),
		cmocka_unit_test(half_of_the_calls_are_not_enough),
		cmocka_unit_test(near_nodes_are_silent),
		cmocka_unit_test(one_node_is_silent),
		cmocka_unit_test(a_gpu_without_a_node_is_not_judged),
		cmocka_unit_test(without_samples_it_is_not_judged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
