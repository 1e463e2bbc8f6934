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
